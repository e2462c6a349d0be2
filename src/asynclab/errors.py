"""The exceptions of asynclab, all under one base class."""


class AsynclabError(Exception):
    """Base class of every error that asynclab raises itself."""


class UnsupportedTargetError(AsynclabError, TypeError):
    """Something was given to wait for that no loaded framework can wait for."""


class InvalidNameError(AsynclabError, ValueError):
    """A value or a claim was given a name that prose cannot quote."""


class InvalidNumberError(AsynclabError, ValueError):
    """A number was given to record that says nothing, such as NaN or a negative spread."""


class UnsupportedValueError(AsynclabError, TypeError):
    """Something was given to record that is no number, or to claim that is no truth value."""


class EngineClosedError(AsynclabError, RuntimeError):
    """An operation was submitted to an engine that had been closed."""


class DeadlockError(AsynclabError, RuntimeError):
    """An operation of an engine asked for something that only its own engine's worker could bring about."""


class InvalidCapacityError(AsynclabError, ValueError):
    """An engine's queue was given a capacity in which no operation has room."""


class UndescribedDrawingError(AsynclabError, ValueError):
    """A drawing was given no sentence that says what it shows."""


class TracingError(AsynclabError, RuntimeError):
    """Nothing that can be traced was loaded, or it is not clear which was meant."""


class NewProcessError(AsynclabError, RuntimeError):
    """Code that was run in a process of its own failed there."""


class FittingError(AsynclabError, RuntimeError):
    """A model could not be fitted to what was measured."""


class PreparationError(AsynclabError, RuntimeError):
    """A notebook could not be set up; shown as its sentence, not as a traceback.

    Attributes:
        reason: One line that the installer gave; empty if there is none.
    """

    def __init__(self, sentence: str, reason: str = "") -> None:
        """Make one from the sentence for the reader and the installer's own line."""
        super().__init__(sentence)
        self.reason = reason

    def _render_traceback_(self) -> list[str]:
        """Tell IPython what to show instead of a traceback."""
        return [str(self), *([f"The reason given: {self.reason}"] if self.reason else [])]


class ElsewhereError(AsynclabError, RuntimeError):
    """A notebook's cells cannot run in another interpreter's kernel, or no longer do."""

    def _render_traceback_(self) -> list[str]:
        # IPython's hook: the reader of a notebook is told what to do, without the way through our modules.
        return [f"{type(self).__name__}: {self}"]


class CheckFailed(AsynclabError, AssertionError):
    """An answer did not give what a check of an exercise expects; shown as a few lines, not as a traceback."""

    def __init__(self, call: str, facts: list[tuple[str, str]]) -> None:
        """Make one from the call, and from what to say about it: pairs of a word and a text."""
        self.lines = [f"✗ {call}", *(f"  {word:<9} {text}" for word, text in facts)]
        super().__init__("\n".join(self.lines))

    def _render_traceback_(self) -> list[str]:
        return self.lines


class PackError(AsynclabError, RuntimeError):
    """The file to hand in could not be written; shown as its sentences, not as a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()
