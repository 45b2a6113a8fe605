"""The writer: the one thread that talks to the store, so that a slow disk never delays a transfer.

The loop submits one `WriteOrder` at a time and takes its `WriteResult` later. If the disk is full, the order comes back
unchanged and the loop submits it again. The writer still sends the small heartbeat. Without it, other crawlers would
take over the hosts of a crawler that only waits for disk space.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError, StoreFull
from gossamer.model import Value, VisitBatch

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable, Sequence

    from gossamer.crawl.plan import WatchOptions
    from gossamer.model import AdmitCandidates, Candidate, HostLease, ShapeEvidence
    from gossamer.store.protocol import WorkStore
    from gossamer.store.values import Counts, CrawlerOrders, CrawlerReport, Round, SubmitResult, WaitingHost

WAKE_BYTE = b"\0"


class WriteOrder(Value, frozen=True, kw_only=True):
    """Work for the writer, done in this order: add, submit, queue again, readmit, heartbeat, keep fresh, lease."""

    now: float  # Unix time
    batch: VisitBatch = VisitBatch()
    candidates: tuple[Candidate, ...] = ()
    requeued: tuple[int, ...] = ()  # DocIDs of pages to visit again
    readmit: bool = False
    report: CrawlerReport | None = None  # given: send a heartbeat
    watch: WatchOptions | None = None  # given: queue resources that are due
    hosts_needing_urls: tuple[int, ...] = ()  # held hosts to lease more URLs of
    new_hosts: int = 0  # further hosts to lease
    urls_per_host: int = 0  # URLs to lease for each host
    with_shapes: bool = False  # read what browsers found about the path shapes of new hosts


class WriteResult(Value, frozen=True, kw_only=True):
    """The result of an order."""

    order: WriteOrder
    error: GossamerError | None = None  # given: the order was not carried out
    submitted: SubmitResult | None = None
    counts: Counts | None = None  # after a readmit, or if the store had no work: read after `waiting`
    leased: tuple[HostLease, ...] = ()
    shapes: tuple[ShapeEvidence, ...] = ()  # of new hosts, if asked for
    crawler_orders: CrawlerOrders | None = None  # the reply to a heartbeat
    round: Round | None = None  # the current round, after a heartbeat, a lease of new hosts, or no lease
    waiting: tuple[WaitingHost, ...] = ()  # if the order wanted work and the store had none
    seconds: float = 0.0  # duration


class StoreWriter:
    """The loop's handle on the writer thread."""

    def __init__(
        self,
        store: WorkStore,
        crawler: int,
        *,
        selector: selectors.BaseSelector,
        free_space: Callable[[], int | None],
        min_free_bytes: int,
    ) -> None:
        """Start the thread. It writes only while `free_space()` is None or at least `min_free_bytes`."""
        self._store = store
        self._crawler = crawler
        self._free_space = free_space
        self._min_free_bytes = min_free_bytes
        self._orders: queue.SimpleQueue[tuple[WriteOrder, AdmitCandidates] | None] = queue.SimpleQueue()
        self._result: WriteResult | None = None
        self._crash: BaseException | None = None
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_receiver.setblocking(False)
        self._selector = selector
        selector.register(self._wake_receiver, 1, self._drain_wakeups)
        self.pending_visits = 0  # submitted visits that are not committed yet
        self.is_busy = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, order: WriteOrder, admit: AdmitCandidates) -> None:
        """Submit an order. The caller checks `is_busy` first."""
        assert not self.is_busy
        self.is_busy = True
        self.pending_visits = len(order.batch.visits)
        self._orders.put((order, admit))

    def take_result(self) -> WriteResult | None:
        """Return the result of the current order, or None while the thread works on it."""
        if self._crash is not None:
            raise self._crash
        result, self._result = self._result, None
        if result is not None:
            self.is_busy = False
            self.pending_visits = 0
        return result

    def close(self) -> None:
        """Finish the current order and end the thread."""
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
            order, admit = item
            started = time.perf_counter()
            try:
                self._result = self._execute(order, admit, started)
            except GossamerError as error:
                self._result = WriteResult(order=order, error=error, seconds=time.perf_counter() - started)
            except BaseException as crash:  # noqa: BLE001 - a bug in this thread must surface in the loop's
                self._crash = crash
                return
            finally:
                self._wake_sender.send(WAKE_BYTE)

    def _execute(self, order: WriteOrder, admit: AdmitCandidates, started: float) -> WriteResult:
        try:
            submitted = self._write(order, admit)
            return self._find_work(order, submitted, started)
        except StoreFull as full:
            crawler_orders = None
            with contextlib.suppress(StoreFull):  # the disk may have no room even for a heartbeat
                crawler_orders = self._send_heartbeat(order, started)
            return WriteResult(
                order=order, error=full, crawler_orders=crawler_orders, seconds=time.perf_counter() - started
            )

    def _write(self, order: WriteOrder, admit: AdmitCandidates) -> SubmitResult | None:
        free_bytes = self._free_space()
        if free_bytes is not None and free_bytes < self._min_free_bytes:
            raise StoreFull(f"only {free_bytes >> 20} MiB of disk space are free")
        store, submitted = self._store, None
        # Candidates first: then a kill between the two transactions is harmless. The http form of a seed is known
        # before its https form counts as finished.
        if order.candidates:
            store.add(order.candidates, admit, discovered_by=self._crawler)
        if order.batch:
            submitted = store.submit(self._crawler, order.batch, admit, order.now)
        if order.requeued:
            store.queue_again(order.requeued)
        if order.readmit:
            store.readmit(admit)  # last, so that it includes the URLs that `submit` just released
        return submitted

    def _send_heartbeat(self, order: WriteOrder, started: float) -> CrawlerOrders | None:
        now = order.now + time.perf_counter() - started  # the write may have waited for a lock or for the server
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
        is_idle = wants_work and not leased
        waiting = tuple(store.waiting_hosts(self._crawler)) if is_idle else ()
        return WriteResult(
            order=order,
            submitted=submitted,
            counts=store.counts() if order.readmit or is_idle else None,
            leased=tuple(leased),
            shapes=self._shapes_of_new_hosts(order, leased),
            crawler_orders=crawler_orders,
            # New hosts may come from seeds that another crawl added to the round. An idle crawler ends by its limits.
            round=store.current_round() if order.report or is_idle or (leased and order.new_hosts) else None,
            waiting=waiting,
            seconds=time.perf_counter() - started,
        )

    def _shapes_of_new_hosts(self, order: WriteOrder, leased: Sequence[HostLease]) -> tuple[ShapeEvidence, ...]:
        new_hosts = [each.host for each in leased if each.host not in order.hosts_needing_urls]
        return tuple(self._store.shapes(new_hosts)) if order.with_shapes and new_hosts else ()
