"""A function of ours at work on another core, and the connection to it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gossamer.processes.start import start_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

_RUN = "import importlib, sys; getattr(importlib.import_module(sys.argv[1]), sys.argv[2])(*sys.argv[3:])"


@contextmanager
def helper_process(module: str, *arguments: object, function: str = "main") -> Iterator[Connection[Any, Any]]:
    """Run a function of a module of ours in a process of its own, and yield the connection to it.

    It gets the arguments as strings, and behind them the one that `connect_to_parent` takes. Leaving the context
    kills the process. If it exits earlier or cannot start, the connection ends: reads raise EOFError or OSError.
    """
    from multiprocessing import Pipe  # noqa: PLC0415 - 9 ms of every command; only those on big webs need it

    process = None
    ours, theirs = Pipe()
    with ours:
        with theirs, suppress(OSError):
            descriptor = theirs.fileno()
            process = start_python(
                "-c", _RUN, module, function, *map(str, arguments), str(descriptor), pass_fds=(descriptor,)
            )
        try:
            yield ours
        finally:
            if process is not None:
                process.kill()
                process.wait()


def connect_to_parent(descriptor: str) -> Connection[Any, Any]:
    """Open the connection in the helper process, by the last argument of its function."""
    from multiprocessing.connection import Connection  # noqa: PLC0415 - as above

    return Connection(int(descriptor))
