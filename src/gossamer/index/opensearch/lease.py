"""One writer at a time: a document in the cluster says who it is, and is changed only from the state it was read in.

A lease runs out when it is not renewed, so that another may take over from a machine that is gone; a writer that was
killed on this very machine is known to be dead at once. Each lease has the next higher term, and everything a writer
writes carries its term (`bulk`): should one wake up after another took over, what it still sends is refused. So no
clock has to be right for the index to be; a wrong one only makes writers change places.
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
    """The lease as it stands in the cluster."""

    holder: str = ""  # nobody
    term: int = 0
    until: float = 0.0  # Unix time
    attempts: int = 0  # writers in a row that neither committed nor ended as they should


class WriterLease:
    """The right to write an index, as long as it is renewed."""

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
        """A number that no writer before had."""
        return self._state.term

    @property
    def attempts(self) -> int:
        """How many writers in a row neither committed nor ended as they should, this one among them."""
        return self._state.attempts

    def renew(self, *, now: bool = False) -> None:
        """Keep it; to be called more often than it runs out. `IndexBusy`: another has it."""
        if now or time.time() > self._state.until - LEASE_SECONDS + RENEW_SECONDS:
            self._write(self._state)

    def reset_attempts(self) -> None:
        """Note that this writer got something done."""
        self._write(LeaseState(holder=self._holder, term=self.term, attempts=0))

    def release(self) -> None:
        """Give it back. When the cluster does not answer it runs out; when it is lost there is nothing to give back."""
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
    """What only processes that see each other have in common: this boot of this machine, this namespace of processes.

    Empty where that cannot be told; then a lease has to run out.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "?"


def _process_start_time(pid: int) -> str:
    """When a process started, so that another one with its number is not taken for it; "" when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _is_dead(holder: str) -> bool:
    machine, pid, started, _ = holder.split(" ")
    return machine != "?" and machine == _machine_id() and _process_start_time(int(pid)) != started
