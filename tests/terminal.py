"""Programs run on a real terminal (a pty), for tests of what people see and type there."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from typing import NamedTuple


class Session(NamedTuple):
    """What a program showed on its terminal, without colours, and how it ended."""

    shown: str
    code: int


def gossamer_on_terminal(*arguments: str, columns: int = 100, typed: str = "") -> Session:
    """Run `gossamer` on a terminal; `typed` is typed as soon as it asks something."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C reaches it
    )
    os.close(slave)
    shown = b""
    while chunk := _read(master):
        shown += chunk
        if typed and shown.rstrip().endswith(b":"):
            os.write(master, typed.encode())
            typed = ""
    os.close(master)
    return Session(shown.decode().replace("\r\n", "\n"), process.wait())


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # what Linux answers once nobody has the other end open
        return b""
