"""Programs run on a real terminal (a pty), for tests of what people see and type there."""

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

QUIET_SECONDS = 0.3  # a program that is quiet for so long, after a question, waits for an answer


class Session(NamedTuple):
    """What a program showed on its terminal, without colours, and how it ended."""

    shown: str
    code: int


def gossamer_on_terminal(*arguments: str, columns: int = 100, typed: str = "") -> Session:
    """Run `gossamer` on a terminal; `typed` is typed when it asks something and waits."""
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
        preexec_fn=_heed_ctrl_c,  # noqa: PLW1509 - the tests that use it have no threads
    )
    os.close(slave)
    shown = b""
    while (chunk := _read(master)) != b"":
        shown += chunk or b""
        # Again when nothing comes of it: a Ctrl-C can fall between Python's last look for signals and its wait for a
        # key, and is then noticed only with the next key.
        if typed and chunk is None and b"[y/N]:" in shown:
            os.write(master, typed.encode())
    os.close(master)
    return Session(shown.decode().replace("\r\n", "\n"), process.wait())


def _heed_ctrl_c() -> None:
    """Make the terminal the one that Ctrl-C is typed on; shells have what they start in the background ignore it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _read(master: int) -> bytes | None:
    """What the program shows next; None when it shows nothing for a while, empty when it has ended."""
    if not select.select([master], [], [], QUIET_SECONDS)[0]:
        return None
    try:
        return os.read(master, 65536)
    except OSError:  # what Linux answers once nobody has the other end open
        return b""
