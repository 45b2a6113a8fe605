"""Allow one writer at a time: a document in the cluster names it, and only compare-and-set writes change it.

A lease expires unless renewed, so another machine can take over. On the same machine a new writer recognizes a killed
holder at once. Each lease has a higher term than the one before, and every write carries the term (`bulk`). So
OpenSearch rejects the writes of a holder that wakes up too late. The index is correct even if clocks are wrong; a wrong
clock only moves the lease between writers.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from gossamer.errors import IndexBusy, IndexFault
from gossamer.index.opensearch.cas_document import CasDocument
from gossamer.model import Value

if TYPE_CHECKING:
    from gossamer.index.opensearch.location import OpenSearchLocation

LEASE_SECONDS = 60.0
RENEW_SECONDS = 15.0


class LeaseState(Value, frozen=True, kw_only=True):
    """The lease as the cluster stores it."""

    holder: str = ""  # "": nobody
    term: int = 0
    until: float = 0.0  # Unix time
    attempts: int = 0  # consecutive writers without a commit or a clean end


class WriterLease:
    """The right to write an index; it expires unless renewed."""

    def __init__(self, location: OpenSearchLocation) -> None:
        self._cluster = location.cluster
        self._document = CasDocument(self._cluster, location.state_index, "lease")
        self._holder = f"{_machine_id()} {os.getpid()} {_process_start_time(os.getpid())} {uuid4().hex}"
        stored = self._document.read()
        if stored is None:
            location.create_state_index()
        previous = LeaseState(**(stored or {}))
        if previous.holder and previous.until > time.time() and not _is_dead(previous.holder):
            raise self._busy_error()
        self._state = LeaseState(holder=self._holder, term=previous.term + 1, attempts=previous.attempts + 1)
        self._write(self._state)

    @property
    def term(self) -> int:
        """A number higher than that of every earlier writer."""
        return self._state.term

    @property
    def attempts(self) -> int:
        """How many consecutive writers had no commit and no clean end, this one included."""
        return self._state.attempts

    def renew(self, *, now: bool = False) -> None:
        """Renew the lease when due; call it often. Raise `IndexBusy` when another writer has it."""
        if now or time.time() > self._state.until - LEASE_SECONDS + RENEW_SECONDS:
            self._write(self._state)

    def reset_attempts(self) -> None:
        """Record that this writer committed."""
        self._write(LeaseState(holder=self._holder, term=self.term, attempts=0))

    def release(self) -> None:
        """Give the lease back; if the cluster does not answer, the lease expires."""
        with suppress(IndexFault):
            self._write(LeaseState(term=self.term), retry=False)

    def _write(self, state: LeaseState, *, retry: bool = True) -> None:
        until = time.time() + LEASE_SECONDS if state.holder else 0.0
        self._state = msgspec.structs.replace(state, until=until)
        if not self._document.write(msgspec.to_builtins(self._state), retry=retry):
            raise self._busy_error()

    def _busy_error(self) -> IndexBusy:
        return IndexBusy(f"Another process is writing the index at {self._cluster.address}.")


def _machine_id() -> str:
    """Return the boot id and the process namespace, which only processes that see each other share.

    Return "?" where they are unknown; then a lease must expire before another writer can take it.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "?"


def _process_start_time(pid: int) -> str:
    """Return when a process started, which tells it from a later one with its number; "" when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _is_dead(holder: str) -> bool:
    machine, pid, started, _ = holder.split(" ")
    return machine != "?" and machine == _machine_id() and _process_start_time(int(pid)) != started
