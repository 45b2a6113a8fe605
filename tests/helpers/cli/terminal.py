"""Run programs on a real terminal (a pty) to test what people see and type."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from typing import NamedTuple

QUIET_SECONDS = 0.3  # silence after a question means that the program waits for input


class TerminalSession(NamedTuple):
    """The output of a program on its terminal, without colours, and its exit code."""

    output: str
    code: int


def gossamer_on_terminal(*arguments: str, columns: int = 100, typed: str = "", pager: str = "") -> TerminalSession:
    """Run `gossamer` on a terminal of 40 lines; send `typed` when the program asks a question and waits."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PAGER": pager}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
        preexec_fn=_accept_ctrl_c,  # noqa: PLW1509 - the tests that use it have no threads
    )
    os.close(slave)
    output = b""
    while (chunk := _read(master)) != b"":
        output += chunk or b""
        # Send it again until the program reacts. Python notices a Ctrl-C between its last signal check and its wait for
        # a key only with the next key.
        if typed and chunk is None and b"[y/N]:" in output:
            os.write(master, typed.encode())
    os.close(master)
    return TerminalSession(output.decode().replace("\r\n", "\n"), process.wait())


def _accept_ctrl_c() -> None:
    """Make this the controlling terminal and reset SIGINT, which shells ignore in background processes."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _read(master: int) -> bytes | None:
    """Return the next output; None after a silence, empty when the program has ended."""
    if not select.select([master], [], [], QUIET_SECONDS)[0]:
        return None
    try:
        return os.read(master, 65536)
    except OSError:  # Linux reports EIO once the other end is closed
        return b""
