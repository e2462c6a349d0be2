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
