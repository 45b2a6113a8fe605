"""Start a child process with our own interpreter.

Plain subprocesses, not `multiprocessing`: they import nothing of the caller's program, which needs no `__main__` guard.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Processes that read pages of strangers need none of these.
SECRET_VARIABLES = frozenset({"PGPASSWORD", "GOSSAMER_STORE", "GOSSAMER_SQL_URL", "GOSSAMER_INDEX_PASSWORD"})
# numpy starts a thread for each core, to multiply big matrices. That takes time, and makes no process of ours faster.
ONE_NUMPY_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def start_python(
    *arguments: str,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int | IO[bytes] | None = None,
    pass_fds: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    own_session: bool = False,
) -> subprocess.Popen[bytes]:
    """Start our interpreter with arguments such as "-m", "gossamer.indexing"; without `environment` it inherits ours.

    -P keeps the working directory off the import path: pages exported from a web may lie there. In its own process
    group it never gets the Ctrl-C of a terminal, which could arrive before it ignores the signal. A session of its own
    (`own_session`) also separates it from the terminal.
    """
    return subprocess.Popen(  # noqa: S603 - our own interpreter and modules
        [sys.executable, "-P", *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        env=ONE_NUMPY_THREAD | dict(os.environ if environment is None else environment),
        process_group=None if own_session else 0,
        start_new_session=own_session,
    )


def environment_without_secrets() -> dict[str, str]:
    """Return our environment without `SECRET_VARIABLES`."""
    return {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES}
