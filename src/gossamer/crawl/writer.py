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

WAKE_BYTE = b"\0"


class WatchOptions(Value, frozen=True, kw_only=True):
    """What it takes to keep a web fresh."""

    schedule: Schedule
    budget: VisitBudget


class WriteOrder(Value, frozen=True, kw_only=True):
    """What the loop wants done, in this order: add, write, readmit, beat, queue what is due, lease."""

    now: float
    visits: tuple[Visit, ...] = ()
    host_updates: tuple[HostUpdate, ...] = ()
    robots: tuple[Robots, ...] = ()
    released: tuple[Lease, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    readmit: bool = False
    report: CrawlerReport | None = None  # beat when given
    watch: WatchOptions | None = None  # queue what is due when given
    hosts_needing_urls: tuple[int, ...] = ()  # held hosts that want more URLs
    new_hosts: int = 0
    urls_per_host: int = 0  # per host


class WriteResult(Value, frozen=True, kw_only=True):
    """How an order ended."""

    order: WriteOrder
    error: GossamerError | None = None
    submitted: SubmitResult | None = None
    counts: Counts | None = None  # when all was judged anew since
    leased: tuple[HostLease, ...] = ()
    crawler_orders: CrawlerOrders | None = None  # when there was a beat
    round: Round | None = None  # as it is now, when there was a beat or hosts were leased
    waiting: tuple[WaitingHost, ...] = ()  # when work was wanted and there was none
    seconds: float = 0.0


class StoreWriter:
    """The store's thread, seen from the loop."""

    def __init__(
        self,
        store: Store,
        crawler: int,
        *,
        selector: selectors.BaseSelector,
        free_space: Callable[[], int | None],
        min_free_bytes: int,
    ) -> None:
        """`free` tells the bytes left on the store's disk (None: not ours to watch), `least` how many must stay."""
        self._store = store
        self._crawler = crawler
        self._free_space = free_space
        self._min_free_bytes = min_free_bytes
        self._orders: queue.SimpleQueue[tuple[WriteOrder, AdmitCandidates, bool] | None] = queue.SimpleQueue()
        self._result: WriteResult | None = None
        self._crash: BaseException | None = None
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_receiver.setblocking(False)
        self._selector = selector
        selector.register(self._wake_receiver, 1, self._drain_wakeups)
        self.pending_visits = 0  # visits handed over and not committed yet
        self.is_busy = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, order: WriteOrder, admit: AdmitCandidates, *, keep_links: bool) -> None:
        """Hand over an order; only when not busy."""
        assert not self.is_busy
        self.is_busy = True
        self.pending_visits = len(order.visits)
        self._orders.put((order, admit, keep_links))

    def take_result(self) -> WriteResult | None:
        """The order that has ended since the last call."""
        if self._crash is not None:
            raise self._crash
        result, self._result = self._result, None
        if result is not None:
            self.is_busy = False
            self.pending_visits = 0
        return result

    def close(self) -> None:
        """End the thread; what was given is done first."""
        self._orders.put(None)
        self._thread.join()
        self._selector.unregister(self._wake_receiver)
        self._wake_receiver.close()
        self._wake_sender.close()

    def _drain_wakeups(self, _mask: int) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake_receiver.recv(64)

    def _run(self) -> None:
        while (item := self._orders.get()) is not None:
            order, admit, keep_links = item
            started = time.perf_counter()
            try:
                self._result = self._execute(order, admit, started, keep_links=keep_links)
            except GossamerError as error:
                self._result = WriteResult(order=order, error=error, seconds=time.perf_counter() - started)
            except BaseException as crash:  # noqa: BLE001 - a bug in this thread must surface in the loop's
                self._crash = crash
                return
            finally:
                self._wake_sender.send(WAKE_BYTE)

    def _execute(self, order: WriteOrder, admit: AdmitCandidates, started: float, *, keep_links: bool) -> WriteResult:
        try:
            submitted = self._write(order, admit, keep_links=keep_links)
            return self._find_work(order, submitted, started)
        except StoreFull as full:
            crawler_orders = None
            with contextlib.suppress(StoreFull):  # to the brim: not even that can be written
                crawler_orders = self._send_heartbeat(order, started)
            return WriteResult(
                order=order, error=full, crawler_orders=crawler_orders, seconds=time.perf_counter() - started
            )

    def _write(self, order: WriteOrder, admit: AdmitCandidates, *, keep_links: bool) -> SubmitResult | None:
        free_bytes = self._free_space()
        if free_bytes is not None and free_bytes < self._min_free_bytes:
            raise StoreFull(f"only {free_bytes >> 20} MiB of disk space are free")
        store, submitted = self._store, None
        # First, for a kill in between: a seed must not be done with before its other form is known.
        if order.candidates:
            store.add(order.candidates, admit, discovered_by=self._crawler)
        if order.visits or order.host_updates or order.robots or order.released:
            submitted = store.submit(
                self._crawler, order.visits, admit, hosts=order.host_updates, robots=order.robots, released=order.released,
                now=order.now, keep_links=keep_links,
            )  # fmt: skip
        if order.readmit:
            store.readmit(admit)  # what was just given back, too
        return submitted

    def _send_heartbeat(self, order: WriteOrder, started: float) -> CrawlerOrders | None:
        now = order.now + time.perf_counter() - started  # writing may have waited for others, or for the server
        return self._store.heartbeat(self._crawler, order.report, now) if order.report else None

    def _find_work(self, order: WriteOrder, submitted: SubmitResult | None, started: float) -> WriteResult:
        store = self._store
        crawler_orders = self._send_heartbeat(order, started)
        if order.watch is not None:
            store.keep_fresh(order.watch.schedule, order.watch.budget, order.now)
        wants_work = bool(order.new_hosts or order.hosts_needing_urls)
        leased = (
            store.lease(
                self._crawler,
                hosts=order.new_hosts,
                urls=order.urls_per_host,
                held=order.hosts_needing_urls,
                now=order.now,
            )
            if wants_work
            else []
        )
        return WriteResult(
            order=order,
            submitted=submitted,
            counts=store.counts() if order.readmit else None,
            leased=tuple(leased),
            crawler_orders=crawler_orders,
            # New hosts may be those of another crawl's seeds.
            round=store.current_round() if order.report or (leased and order.new_hosts) else None,
            waiting=tuple(store.waiting_hosts(self._crawler)) if wants_work and not leased else (),
            seconds=time.perf_counter() - started,
        )
