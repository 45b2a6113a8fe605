"""The writer: the one thread that talks to the store, so that a slow disk never holds up a transfer.

The loop hands it one `Order` at a time (finished visits to write, work wanted) and finds the `Done` later. An order
that the store could not take (disk full) comes back unharmed, to be given again; a beat is tried nevertheless, for it
is small, and who waits for room must be seen and heard.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError, StoreFull
from gossamer.model import Value

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable

    from gossamer.model import AdmitCandidates, Candidate, HostLease, HostUpdate, Lease, Robots, Visit
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.protocol import Store
    from gossamer.store.values import Counts, CrawlerOrders, CrawlerReport, Round, SubmitResult, WaitingHost

WAKE = b"\0"


class Watch(Value, frozen=True, kw_only=True):
    """What it takes to keep a web fresh."""

    schedule: Schedule
    budget: VisitBudget


class Order(Value, frozen=True, kw_only=True):
    """What the loop wants done, in this order: add, write, readmit, beat, queue what is due, lease."""

    now: float
    visits: tuple[Visit, ...] = ()
    hosts: tuple[HostUpdate, ...] = ()
    robots: tuple[Robots, ...] = ()
    released: tuple[Lease, ...] = ()
    add: tuple[Candidate, ...] = ()
    readmit: bool = False
    report: CrawlerReport | None = None  # beat when given
    watch: Watch | None = None  # queue what is due when given
    hungry: tuple[int, ...] = ()  # held hosts that want more URLs
    new_hosts: int = 0
    urls: int = 0  # per host


class Done(Value, frozen=True, kw_only=True):
    """How an order ended."""

    order: Order
    error: GossamerError | None = None
    submitted: SubmitResult | None = None
    counts: Counts | None = None  # when all was judged anew since
    leased: tuple[HostLease, ...] = ()
    wanted: CrawlerOrders | None = None  # when there was a beat
    round: Round | None = None  # as it is now, when there was a beat or hosts were leased
    waiting: tuple[WaitingHost, ...] = ()  # when work was wanted and there was none
    seconds: float = 0.0


class Writer:
    """The store's thread, seen from the loop."""

    def __init__(
        self,
        store: Store,
        crawler: int,
        *,
        selector: selectors.BaseSelector,
        free: Callable[[], int | None],
        least: int,
    ) -> None:
        """`free` tells the bytes left on the store's disk (None: not ours to watch), `least` how many must stay."""
        self._store = store
        self._crawler = crawler
        self._free = free
        self._least = least
        self._orders: queue.SimpleQueue[tuple[Order, AdmitCandidates, bool] | None] = queue.SimpleQueue()
        self._done: Done | None = None
        self._crash: BaseException | None = None
        self._wake_here, self._wake_there = socket.socketpair()
        self._wake_here.setblocking(False)
        self._selector = selector
        selector.register(self._wake_here, 1, self._woken)
        self.pending = 0  # visits handed over and not committed yet
        self.busy = False
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def give(self, order: Order, admit: AdmitCandidates, *, keep_links: bool) -> None:
        """Hand over an order; only when not busy."""
        assert not self.busy
        self.busy = True
        self.pending = len(order.visits)
        self._orders.put((order, admit, keep_links))

    def finished(self) -> Done | None:
        """The order that has ended since the last call."""
        if self._crash is not None:
            raise self._crash
        done, self._done = self._done, None
        if done is not None:
            self.busy = False
            self.pending = 0
        return done

    def close(self) -> None:
        """End the thread; what was given is done first."""
        self._orders.put(None)
        self._thread.join()
        self._selector.unregister(self._wake_here)
        self._wake_here.close()
        self._wake_there.close()

    def _woken(self, _mask: int) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake_here.recv(64)

    def _work(self) -> None:
        while (given := self._orders.get()) is not None:
            order, admit, keep_links = given
            started = time.perf_counter()
            try:
                self._done = self._carry_out(order, admit, started, keep_links=keep_links)
            except GossamerError as error:
                self._done = Done(order=order, error=error, seconds=time.perf_counter() - started)
            except BaseException as crash:  # noqa: BLE001 - a bug in this thread must surface in the loop's
                self._crash = crash
                return
            finally:
                self._wake_there.send(WAKE)

    def _carry_out(self, order: Order, admit: AdmitCandidates, started: float, *, keep_links: bool) -> Done:
        try:
            submitted = self._write(order, admit, keep_links=keep_links)
            return self._find_work(order, submitted, started)
        except StoreFull as full:
            wanted = None
            with contextlib.suppress(StoreFull):  # to the brim: not even that can be written
                wanted = self._beat(order, started)
            return Done(order=order, error=full, wanted=wanted, seconds=time.perf_counter() - started)

    def _write(self, order: Order, admit: AdmitCandidates, *, keep_links: bool) -> SubmitResult | None:
        free = self._free()
        if free is not None and free < self._least:
            raise StoreFull(f"only {free >> 20} MiB of disk space are free")
        store, submitted = self._store, None
        # First, for a kill in between: a seed must not be done with before its other form is known.
        if order.add:
            store.add(order.add, admit, discovered_by=self._crawler)
        if order.visits or order.hosts or order.robots or order.released:
            submitted = store.submit(
                self._crawler, order.visits, admit, hosts=order.hosts, robots=order.robots, released=order.released,
                now=order.now, keep_links=keep_links,
            )  # fmt: skip
        if order.readmit:
            store.readmit(admit)  # what was just given back, too
        return submitted

    def _beat(self, order: Order, started: float) -> CrawlerOrders | None:
        now = order.now + time.perf_counter() - started  # writing may have waited for others, or for the server
        return self._store.heartbeat(self._crawler, order.report, now) if order.report else None

    def _find_work(self, order: Order, submitted: SubmitResult | None, started: float) -> Done:
        store = self._store
        wanted = self._beat(order, started)
        if order.watch is not None:
            store.keep_fresh(order.watch.schedule, order.watch.budget, order.now)
        wants_work = bool(order.new_hosts or order.hungry)
        leased = (
            store.lease(self._crawler, hosts=order.new_hosts, urls=order.urls, held=order.hungry, now=order.now)
            if wants_work
            else []
        )
        return Done(
            order=order,
            submitted=submitted,
            counts=store.counts() if order.readmit else None,
            leased=tuple(leased),
            wanted=wanted,
            # New hosts may be those of another crawl's seeds.
            round=store.current_round() if order.report or (leased and order.new_hosts) else None,
            waiting=tuple(store.waiting_hosts(self._crawler)) if wants_work and not leased else (),
            seconds=time.perf_counter() - started,
        )
