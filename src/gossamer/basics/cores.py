"""The processor's cores: how many are ours, and a second process that works on another one."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

_RUN_MODULE = "import importlib, sys; importlib.import_module(sys.argv[1]).main(*sys.argv[2:])"


def available_cores() -> int:
    """The cores that this process and its children may run on.

    Containers and `taskset` often give a process fewer than the machine has.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1  # macOS has none


@contextmanager
def helper_process(module: str, *arguments: object) -> Iterator[Connection[Any, Any]]:
    """`main` of a module of ours at work in a process of its own, and the connection to it: its last argument's number.

    When nobody waits for it any more it is ended. If it ends by itself, or cannot be started, that is the end of the
    connection.
    """
    from multiprocessing import Pipe  # noqa: PLC0415 - 9 ms of every command, and only those on big webs need it

    process = None
    ours, theirs = Pipe()
    with ours:
        with theirs, suppress(OSError):
            descriptor = theirs.fileno()
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                # -P: what lies in the working directory must not be imported
                [sys.executable, "-P", "-c", _RUN_MODULE, module, *map(str, arguments), str(descriptor)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[descriptor],
                process_group=0,  # Ctrl-C is for the command
            )
        try:
            yield ours
        finally:
            if process is not None:
                process.kill()
                process.wait()
