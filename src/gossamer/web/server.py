"""Running the app on a socket, until a signal ends it."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import uvicorn

from gossamer.web.app import create_app

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from gossamer.web.http.security import AccessRules

KEEP_ALIVE_SECONDS = 30
# mallopt(3); setting one ends the guessing of both.
M_TRIM_THRESHOLD, KEPT_BYTES = -1, 32 << 20
M_MMAP_THRESHOLD, MAPPED_BYTES = -3, 16 << 20
GRACE_SECONDS = 2  # at the end, for open connections: those that watch never end by themselves


def serve(
    location: str,
    rules: AccessRules,
    listener: socket.socket,
    on_started: Callable[[], None],
    *,
    with_stdin: bool = False,
) -> None:
    """Serve until a signal ends it, or (`with_stdin`) stdin: then the process that started this one is gone."""
    config = uvicorn.Config(
        create_app(location, rules, on_started),
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    if with_stdin:
        threading.Thread(target=_end_with_stdin, name="stdin", daemon=True).start()
    keep_memory()
    gc.freeze()  # what is loaded by now stays: looking through it again and again took pauses of a tenth of a second
    with closing(listener):
        WebServer(config).run(sockets=[listener])


def keep_memory() -> None:
    """Tell glibc, where there is one, to keep what a search gave back: the next one wants as much."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


class WebServer(uvicorn.Server):
    """A server that a signal ends well: uvicorn's own raises the signal once more when all is done."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the server."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._end) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, _signal: int, _frame: object) -> None:
        self.should_exit = True  # a second one changes nothing: it ends within seconds, and well
