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
from gossamer.index.opensearch.cas_document import Cell
from gossamer.model import Value

if TYPE_CHECKING:
    from gossamer.index.opensearch.location import OpenSearchPlace

SECONDS = 60.0
RENEW_SECONDS = 15.0


class Held(Value, frozen=True, kw_only=True):
    """The lease as it stands in the cluster."""

    holder: str = ""  # nobody
    term: int = 0
    until: float = 0.0  # Unix time
    attempts: int = 0  # writers in a row that neither committed nor ended as they should


class Lease:
    """The right to write an index, as long as it is renewed."""

    def __init__(self, place: OpenSearchPlace) -> None:
        self._cluster = place.cluster
        self._cell = Cell(self._cluster, place.state_index, "lease")
        self._holder = f"{_machine()} {os.getpid()} {_started(os.getpid())} {uuid4().hex}"
        held = self._cell.read()
        if held is None:
            place.prepare()
        before = Held(**(held or {}))
        if before.holder and before.until > time.time() and not _is_dead(before.holder):
            raise self._busy()
        self._mine = Held(holder=self._holder, term=before.term + 1, attempts=before.attempts + 1)
        self._write(self._mine)

    @property
    def term(self) -> int:
        """A number that no writer before had."""
        return self._mine.term

    @property
    def attempts(self) -> int:
        """How many writers in a row neither committed nor ended as they should, this one among them."""
        return self._mine.attempts

    def renew(self, *, now: bool = False) -> None:
        """Keep it; to be called more often than it runs out. `IndexBusy`: another has it."""
        if now or time.time() > self._mine.until - SECONDS + RENEW_SECONDS:
            self._write(self._mine)

    def prove(self) -> None:
        """Note that this writer got something done."""
        self._write(Held(holder=self._holder, term=self.term, attempts=0))

    def release(self) -> None:
        """Give it back. When the cluster does not answer it runs out; when it is lost there is nothing to give back."""
        with suppress(IndexFault):
            self._write(Held(term=self.term), patient=False)

    def _write(self, held: Held, *, patient: bool = True) -> None:
        until = time.time() + SECONDS if held.holder else 0.0
        self._mine = msgspec.structs.replace(held, until=until)
        if not self._cell.write(msgspec.to_builtins(self._mine), patient=patient):
            raise self._busy()

    def _busy(self) -> IndexBusy:
        return IndexBusy(f"Another process is writing the index at {self._cluster.address}.")


def _machine() -> str:
    """What only processes that see each other have in common: this boot of this machine, this namespace of processes.

    Empty where that cannot be told; then a lease has to run out.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return "?"


def _started(pid: int) -> str:
    """When a process started, so that another one with its number is not taken for it; "" when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _is_dead(holder: str) -> bool:
    machine, pid, started, _ = holder.split(" ")
    return machine != "?" and machine == _machine() and _started(int(pid)) != started
