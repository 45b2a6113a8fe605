"""Runs the app on a socket until a signal ends it."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import sys
import threading
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from gossamer.web.app import create_app
from gossamer.web.http.client_limits import IDLE_SECONDS, MAX_CONNECTIONS, RESERVED_FILES, TrustedProxies
from gossamer.web.http.protocol import ConnectionRegister, LimitedProtocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from gossamer.web.http.security import AccessRules

# Thresholds for mallopt(3). Setting either one stops glibc from adjusting both.
M_TRIM_THRESHOLD, KEPT_BYTES = -1, 32 << 20
M_MMAP_THRESHOLD, MAPPED_BYTES = -3, 16 << 20
GRACE_SECONDS = 2  # for open connections at the end; event streams never end by themselves
END_SECONDS = 30  # from a signal to the end of a server that does not end by itself


def serve(
    location: str,
    rules: AccessRules,
    listener: socket.socket,
    on_started: Callable[[], None],
    *,
    with_stdin: bool = False,
) -> None:
    """Serve until SIGINT or SIGTERM; with `with_stdin` also until stdin closes, because the parent has exited."""
    register = ConnectionRegister(most_connections(), TrustedProxies(rules.proxies))
    config = uvicorn.Config(
        create_app(location, rules),
        access_log=False,
        log_level="warning",
        server_header=False,
        http=partial(LimitedProtocol, register=register),  # type: ignore[arg-type]
        ws="none",
        proxy_headers=False,  # `SecurityMiddleware` reads them, from the proxies in `rules`
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    if with_stdin:
        threading.Thread(target=_end_with_stdin, name="stdin", daemon=True).start()
    keep_memory()
    gc.freeze()  # full collections over the loaded modules would pause requests for 0.1 s
    with closing(listener):
        WebServer(config, on_started).run(sockets=[listener])


def most_connections() -> int:
    """Return how many connections may be open, after raising the limit on open files as far as needed and allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MAX_CONNECTIONS + RESERVED_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return MAX_CONNECTIONS
    allowed = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(1, allowed - RESERVED_FILES)


def keep_memory() -> None:
    """Make glibc keep freed memory, because the next search needs as much. Other C libraries have no `mallopt`."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


class WebServer(uvicorn.Server):
    """Exits with code 0 after a signal; uvicorn's own server raises the signal again at the end."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End the server on SIGINT and SIGTERM."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._end) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then report it."""
        await super().startup(sockets)
        self._on_started()

    def _end(self, _signal: int, _frame: object) -> None:
        if not self.should_exit:  # a second signal changes nothing
            self.should_exit = True
            ender = threading.Timer(END_SECONDS, _give_up)
            ender.daemon = True
            ender.start()


def _give_up() -> None:
    """End the process of a server whose event loop no longer works, for instance after a lack of memory."""
    os.write(2, b"gossamer: The server did not end by itself and was ended.\n")
    os._exit(2)
