"""How a child process exited, in words for people: its exit code or signal, and the last line that it wrote."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_STDERR_BYTES = 256 << 10  # read of a process that exited; its pipe holds less
MAX_LINE_LENGTH = 200  # characters of a line by a process that reads hostile bytes


def wait_or_kill(process: subprocess.Popen[bytes], timeout: float | None) -> int:
    """Wait for a process and return its exit code; kill it after `timeout` seconds. None: wait however long."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def describe_exit(code: int) -> str:
    """Return the end of a sentence: "was ended by SIGSEGV", "ended with code 1"."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # one of the real-time signals, which have no names
        name = f"signal {-code}"
    return f"was ended by {name}"


def last_line(output: bytes) -> str:
    """Return the last line of some output that is not blank."""
    return output.decode("utf-8", "replace").strip().rpartition("\n")[2]


def last_stderr_line(stderr: IO[bytes]) -> str:
    """Return the last line that a process has written, printable and not too long. Closes its pipe, never waits."""
    with stderr:
        os.set_blocking(stderr.fileno(), False)
        output = stderr.read(MAX_STDERR_BYTES) or b""
    return "".join(filter(str.isprintable, last_line(output)[:MAX_LINE_LENGTH]))


def last_log_line(log: Path, offset: int) -> str:
    """Return the last line of a log after `offset`, "" when there is none."""
    with log.open("rb") as file:
        file.seek(offset)
        return last_line(file.read())
