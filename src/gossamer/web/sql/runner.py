"""`StatementRunner`: the server's side of SQL statements. It starts a process for each and waits for its reply."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import GossamerError, StoreError, UsageError
from gossamer.processes.exit_report import describe_exit
from gossamer.processes.start import environment_without_secrets, start_python
from gossamer.store.read.statements import StatementLimits, StatementRefused
from gossamer.web.http.sessions import TooBusy
from gossamer.web.sql.statement_process import GRACE_SECONDS, StatementQuestion, StatementReply
from gossamer.wiring import statement_location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.store.read.statements import StatementAnswer, TableColumns

START_SECONDS = 20.0  # beyond the deadline that the process sets itself; a busy machine starts one in some seconds
WAIT_SECONDS = 10.0  # for the statement of someone else to end
FAULT_SECONDS = 10.0  # that a fault of listing the tables is the answer, before they are asked for again
DEFAULT_LIMITS = StatementLimits()


class StatementRunner:
    """Runs statements on the web at a location, one at a time."""

    def __init__(self, location: str, limits: StatementLimits = DEFAULT_LIMITS) -> None:
        self.location = location
        self.limits = limits
        self._lock = threading.Lock()
        self._tables: list[TableColumns] = []
        self._tables_lock = threading.Lock()
        self._fault: GossamerError | None = None  # why there are no tables
        self._fault_ends_at = 0.0  # monotonic time

    @property
    def off_reason(self) -> str:
        """Why no statement can run, for people; "" if they can."""
        try:
            statement_location(self.location, os.environ)
        except UsageError as error:
            return str(error)
        return ""

    def tables(self) -> list[TableColumns]:
        """Return the tables that statements can read; they do not change while a version of Gossamer runs.

        Everyone may ask, and a failing question takes a process. So its fault is the answer for some seconds.
        """
        if self._tables:
            return self._tables
        with _turn(self._tables_lock):
            if self._fault is not None and time.monotonic() < self._fault_ends_at:
                raise self._fault.with_traceback(None)
            try:
                self._tables = self._tables or list(self._ask("", self.limits).tables)
            except TooBusy:
                raise
            except GossamerError as fault:
                self._fault, self._fault_ends_at = fault, time.monotonic() + FAULT_SECONDS
                raise
        return self._tables

    def run(self, statement: str, rows: int) -> StatementAnswer:
        """Run a statement. Raises `StatementRefused` if it has a fault or exceeds a limit."""
        if not statement.strip():
            raise StatementRefused("Write a statement first, such as: SELECT url FROM resources LIMIT 10")
        answer = self._ask(statement, msgspec.structs.replace(self.limits, rows=rows)).answer
        assert answer is not None
        return answer

    def _ask(self, statement: str, limits: StatementLimits) -> StatementReply:
        location = statement_location(self.location, os.environ)
        question = msgspec.msgpack.encode(StatementQuestion(location=location, statement=statement, limits=limits))
        with _turn(self._lock):
            output, code = _run_process(question, limits.seconds + GRACE_SECONDS + START_SECONDS)
        if code:
            raise StatementRefused(
                f"The process of this statement {describe_exit(code)}: it takes longer than {limits.seconds:g} s or too"
                " much memory. Ask for less."
            )
        reply = msgspec.msgpack.decode(output, type=StatementReply)
        if reply.fault:
            raise StatementRefused(reply.fault) if reply.refused else StoreError(reply.fault)
        return reply


@contextmanager
def _turn(lock: threading.Lock) -> Iterator[None]:
    if not lock.acquire(timeout=WAIT_SECONDS):
        raise TooBusy("Another statement is running. Try again in a moment.")
    try:
        yield
    finally:
        lock.release()


def _run_process(question: bytes, timeout: float) -> tuple[bytes, int]:
    """Return the output and the exit code of a statement process."""
    try:
        process = start_python(
            "-m", "gossamer.web.sql.statement_process",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, environment=environment_without_secrets(),
        )  # fmt: skip
    except OSError as error:
        raise GossamerError(f"No process for the statement can start: {error.strerror}.") from error
    with process:
        try:
            output, _ = process.communicate(question, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        return output, process.returncode
