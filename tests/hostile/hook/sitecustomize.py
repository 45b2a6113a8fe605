"""Make a parser process crash, hang or lie on demand, for tests of the hostile web.

This folder is on PYTHONPATH of the crawl, so Python imports the module at start. In a parser process, and only there, a
page that begins with `<!--fault:NAME-->` triggers that fault. The product has no such hook.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.model import Page, ParseJob
    from gossamer.parse.page_parser import PageParser

MARK = b"<!--fault:"


def _hang_ignoring_signals() -> None:
    """Hang so that only SIGKILL ends the process, not even the parser's own alarm."""
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
    time.sleep(3600)


def _spin() -> None:
    """Use all the processor time there is, until the parser's alarm."""
    while True:
        pass


def _announce_and_spin() -> None:
    """Write a line to standard error, then spin."""
    os.write(sys.stderr.fileno(), b"spinning\n")
    _spin()


def _raise() -> None:
    raise RuntimeError("a bug \x1b[31m in a reader")


FAULTS: dict[bytes, Callable[[], object]] = {
    b"segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    b"abort": os.abort,
    b"exit": lambda: os._exit(3),
    b"raise": _raise,
    b"spin": _spin,
    b"announced-spin": _announce_and_spin,
    b"hang": lambda: time.sleep(3600),
    b"hang-deaf": _hang_ignoring_signals,
    b"hoard": lambda: bytearray(1 << 40),
}


def _install() -> None:
    import msgspec

    from gossamer.parse.page_parser import PageParser

    original = PageParser.parse

    def parse(self: PageParser, job: ParseJob) -> Page:
        if job.body.startswith(MARK):
            name = job.body[len(MARK) :].partition(b"-->")[0]
            if name == b"lie":
                return msgspec.structs.replace(original(self, job), id=job.id + 1)
            FAULTS[name]()
        return original(self, job)

    PageParser.parse = parse  # type: ignore[method-assign]


if "gossamer.parse.parser_process" in sys.orig_argv:
    _install()
