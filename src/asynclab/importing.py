"""Do something as soon as a module has been imported. ``waits`` uses it for frameworks that a block itself imports."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from typing import Any


@contextlib.contextmanager
def when_imported(module: str, then: Callable[[], object]) -> Iterator[None]:
    """Call a function once a module has been imported, if that happens inside of the block.

    Args:
        module: The name of a module that is not loaded.
        then: Called in the thread that imports it, right after the module's own code; not for an import that fails.
    """
    finder = _Finder(module, then)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.leave()


class _Finder(MetaPathFinder):
    """Finds nothing itself; lets the others find the module, and lengthens its import."""

    def __init__(self, module: str, then: Callable[[], object]) -> None:
        self._module, self._then = module, then

    def leave(self) -> bool:
        """Stop finding; tell whether that was still to do."""
        if here := self in sys.meta_path:
            sys.meta_path.remove(self)
        return here

    def find_spec(self, fullname: str, *where: Any) -> Any:
        if fullname != self._module:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next(filter(None, (finder.find_spec(fullname, *where) for finder in others)), None)
        if spec and spec.loader:
            spec.loader.exec_module = self._lengthened(spec.loader)  # type: ignore[assignment, method-assign]
        return spec

    def _lengthened(self, loader: Any) -> Callable[[Any], None]:
        def exec_module(module: Any) -> None:
            del loader.exec_module  # the module keeps its loader: it shall be as it was
            loader.exec_module(module)
            if self.leave():
                self._then()

        return exec_module
