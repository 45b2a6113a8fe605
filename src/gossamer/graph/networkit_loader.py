"""Load NetworKit without the libraries that it imports for pictures and tables.

Where matplotlib, networkx and pandas are installed, NetworKit imports them too. That takes ten times as long as its own
import, longer than the ranking of a small web. A program that needs NetworKit's plots imports it before Gossamer does.
"""

from __future__ import annotations

import importlib
import sys
import threading
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

UNUSED = frozenset({"matplotlib", "networkx", "pandas"})


def load_networkit() -> ModuleType:
    """Return NetworKit."""
    with _without(UNUSED):
        return importlib.import_module("networkit")


@contextmanager
def _without(names: frozenset[str]) -> Iterator[None]:
    """Let this thread import none of these packages; loaded ones stay."""
    finder = _RefusingFinder(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _RefusingFinder(MetaPathFinder):
    """Refuses some packages to the thread that made it; other threads may import them meanwhile."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names, self._thread = names, threading.get_ident()

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 - the protocol has them
        """Raise an error for one of the packages, and leave all others to the next finders."""
        if fullname in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is not loaded here", name=fullname)
