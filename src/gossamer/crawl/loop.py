"""The crawl loop: start transfers, wait, handle results, exchange them with the store for more work.

One thread runs the loop. Transfers, parser processes and the writer report through one selector.
The loop carries out decisions and makes none: `policy`, `frontier` and `visits` decide. `pending_robots`,
`rendering`, `seeds` and `round_settings` hold the state of robots.txt requests, rendered pages, seeds and settings.
"""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl import policy, visits
from gossamer.crawl.frontier import FetchRobots, FetchUrl, Frontier, RefuseUrl
from gossamer.crawl.outbox import Outbox
from gossamer.crawl.pending_robots import PendingRobots
from gossamer.crawl.rendering.stage import RenderStage
from gossamer.crawl.round_settings import RoundSettings
from gossamer.crawl.seeds import Seeds
from gossamer.crawl.statistics import CrawlStatistics
from gossamer.crawl.writer import StoreWriter
from gossamer.errors import RendererFault, StoreFull
from gossamer.model import Outcome, Request, Role, State, VisitBatch
from gossamer.store.values import CrawlerOrders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.config import IndexSettings
    from gossamer.crawl.plan import CrawlParts, CrawlPlan
    from gossamer.crawl.statistics import CrawlProgress
    from gossamer.crawl.writer import WriteOrder, WriteResult
    from gossamer.model import FetchResult, Lease, Page, Visit
    from gossamer.store.values import Round, VisitedTotals, WaitingHost

LOST_MESSAGE = (
    "{name} sent no heartbeat for so long that other crawlers took over its work. They fetch again what it had not"
    " stored; run the same command again to let it help."
)
HEARTBEAT_SECONDS = 2.0  # delay until `gossamer pause` and `stop` take effect; must stay well below LEASE_SECONDS
IDLE_POLL_SECONDS = 1.0  # a crawler without work asks the store this often whether another one left some
MIN_POLL_SECONDS = 0.1  # the shortest such interval, used when a host should be ready by now
DUE_CHECK_SECONDS = 5.0  # `watch` looks for due resources this often
HEARTBEAT_TIMEOUT_SECONDS = 8.0  # without a heartbeat reply: no new transfers, others may take the hosts over soon
DISK_POLL_SECONDS = 2.0  # a crawler paused for disk space tries to write this often
MAX_WAIT_SECONDS = 0.25  # the loop wakes at least this often, so that the display stays current
# Responses waiting per parser process. The queue keeps parsers busy while the loop works elsewhere, and lets hosts take
# their turn when many responses arrive at once. MAX_UNPARSED_BYTES bounds the memory of all of them.
MAX_BACKLOG_PER_PARSER = 64
STOP_GRACE_SECONDS = 5.0  # that transfers and pages in flight get to finish after a request to stop
STOP_SECONDS = 9.0  # from that request to the end, with the index: systems kill a service some 10 seconds after SIGTERM
MAX_UNPARSED_BYTES = 64 << 20  # bytes of bodies waiting for a parser, above which no transfer starts
HOSTS_REPORTED = 5  # hosts with queued URLs that the end report names
HOSTS_EXAMINED = 10_000  # hosts whose wait reasons can explain why a seed was not visited


class CrawlLoop:
    """One running crawler."""

    def __init__(self, plan: CrawlPlan, parts: CrawlParts) -> None:
        self._plan, self._settings, self._parts = plan, plan.settings, parts
        self._fetcher, self._pool, self._log = parts.fetcher, parts.pool, parts.log
        self._round_settings = RoundSettings(self._settings)
        self._outbox = Outbox(self._settings.store)
        self._seeds = Seeds(plan, self._round_settings, self._fetcher, self._outbox)
        self._frontier = Frontier(
            self._settings.politeness,
            self._settings.hosts,
            product=plan.product,
            obey_robots=self._round_settings.crawl.robots,
            urls_per_connection=self._round_settings.urls_per_connection,
        )
        self._copy_counter = policy.CopyCounter(self._round_settings.crawl.max_copies)
        self._pending_robots = PendingRobots(plan, self._round_settings, self._frontier, self._outbox, self._log)
        min_free_bytes = self._settings.store.min_free << 20
        self._writer = StoreWriter(
            parts.store,
            parts.identity.id,
            selector=parts.selector,
            free_space=parts.free_space,
            min_free_bytes=min_free_bytes,
        )
        self._ids = count(1)
        self._render = RenderStage(plan, parts, self._round_settings, self._frontier, self._outbox, self._ids)
        self._first_current_request = 0  # id of the first request made under the current round settings
        self._leases: dict[int, Lease] = {}  # request id -> lease being fetched or parsed
        self._unparsed: dict[int, FetchResult] = {}  # request id -> response being parsed
        self._unparsed_bytes = 0  # total body size of `_unparsed`
        self._clock_start = time.time() - time.monotonic()
        self._next_heartbeat = self._next_poll = self._next_due_check = 0.0
        self._last_reply_at = self._now()  # when the store last confirmed that the leases hold
        self._stop_level = 0  # 1: stop after transfers in flight; 2: stop at once
        self._stop_requested_at = float("inf")  # `time.monotonic`
        self._round = plan.round  # as the store gave it last
        self._is_paused = self._has_backpressure = self._has_ended = False
        self._store_has_more_hosts = False  # the store leased as many hosts as asked for, so it may have more
        self.end_reason = ""  # why the crawl ended, for people
        self.lost_message = ""  # a sentence, if other crawlers took over its work
        self.failure_message = ""  # a sentence, if no seed of this call could be visited
        self.unvisited_seeds: dict[str, str] = {}  # seed of this call that could not be visited -> why
        self.leftover_hosts: list[WaitingHost] = []  # hosts with queued URLs, and why they wait
        self.visited_totals: VisitedTotals | None = None  # of the web, at the end
        self.statistics = CrawlStatistics(parts.store.counts())
        self._apply_limit(plan.round)

    def run(self, on_wait: Callable[[], None] = lambda: None) -> Iterator[Visit]:
        """Crawl, and yield each visit once it is stored. `on_wait` is called once per turn."""
        try:
            yield from self._exchange_with_store(self._now())  # the store looks for work while the parsers start
            while not self._is_over():
                self._start_work(self._now())
                self._wait()
                self._handle_responses(self._now())
                self._handle_pages(self._now())
                self._render.advance(self._now())
                yield from self._exchange_with_store(self._now())
                on_wait()
        finally:
            self._close()

    def stop(self, *, at_once: bool = False) -> None:
        """Finish transfers in flight, or drop them if `at_once`, and end. Safe to call from a signal handler.

        Transfers and pages that take longer than `STOP_GRACE_SECONDS` are dropped too; their URLs stay queued.
        """
        self._stop_requested_at = min(self._stop_requested_at, time.monotonic())
        self._stop_level = 2 if at_once else max(self._stop_level, 1)

    @property
    def index_settings(self) -> IndexSettings | None:
        """The settings of the index that follows this crawl; None if `crawl.index` is off."""
        return self._settings.index if self._settings.crawl.index else None

    @property
    def wants_ranking(self) -> bool:
        """Whether to rank the web: not if `crawl.rank` is off, or if the user has stopped this crawl."""
        return self._round_settings.crawl.rank and self.end_reason != policy.STOPPED

    @property
    def finish_by(self) -> float:
        """Until when the index may catch up after this crawl, by `time.monotonic`; infinity without a stop."""
        return float("-inf") if self._stop_level == 2 else self._stop_requested_at + STOP_SECONDS

    def set_backpressure(self, *, on: bool) -> None:
        """Start no transfers while `on`, because the consumer of the visits is behind."""
        self._has_backpressure = on

    def rendering_summary(self) -> list[str]:
        """Return which pages a browser rendered, and which would have needed one, in sentences for people."""
        no_browser = self._plan.no_browser or self._render.refusal
        return self.statistics.rendering_summary(
            no_browser, self._render.samples, failed_samples=self._render.failed_samples
        )

    def progress(self) -> CrawlProgress:
        """Return the current state, counts and rates."""
        state = "stopping" if self._stop_level else "paused" if self._is_paused or self._outbox.is_stuck else "running"
        if state == "running" and self.statistics.waiting_for and not self._in_flight_count():
            state = "waiting"
        return self.statistics.progress(
            name=self._parts.identity.name,
            state=state,
            transfers=self._fetcher.active_count,
            hosts=len(self._frontier),
            waiting=tuple(self._frontier.waiting_hosts(self._now())),
        )

    def _now(self) -> float:
        """Return a Unix time that never jumps, because a clock set back would freeze all hosts."""
        return self._clock_start + time.monotonic()

    def _is_over(self) -> bool:
        if self._stop_level == 2 or time.monotonic() > self._stop_requested_at + STOP_GRACE_SECONDS:
            self._drop_in_flight()
        if self._stop_level:
            self._outbox.drop_refused_order()  # a stop does not wait for disk space
        if self._stop_level and not self._in_flight_count():
            self.end_reason = self.end_reason or policy.STOPPED
            return not (self._outbox.visits or self._outbox.is_stuck or self._writer.is_busy)
        return self._has_ended

    def _in_flight_count(self) -> int:
        return len(self._leases) + len(self._pending_robots) + self._render.sample_count

    # -- start transfers -----------------------------------------------------------------------------------------------

    def _start_work(self, now: float) -> None:
        while self._has_room():
            match self._frontier.next_work(now, self._pages_left(), self._bytes_left()):
                case FetchUrl(lease=lease):
                    self._leases[self._start_fetch(lease.url, lease.role, lease.etag, lease.last_modified)] = lease
                case FetchRobots() as work:
                    self._pending_robots.add(self._start_fetch(work.url, Role.ROBOTS), work)
                case RefuseUrl(lease=lease):
                    refused = visits.skipped_visit(lease, Outcome.ROBOTS, "robots.txt", now=now, state=State.REFUSED)
                    self._put_in_outbox(refused, now)
                case None:
                    break

    def _start_fetch(self, url: str, role: Role, etag: str = "", last_modified: str = "") -> int:
        request = Request(id=next(self._ids), url=url, role=role, etag=etag, last_modified=last_modified)
        self._fetcher.start(request)
        return request.id

    def _has_room(self) -> bool:
        """Return whether one more transfer may start."""
        if self._stop_level or self._is_paused or self._has_backpressure or self._outbox.is_stuck:
            return False
        if self._now() - self._last_reply_at > HEARTBEAT_TIMEOUT_SECONDS:
            return False
        has_transfer = self._fetcher.active_count < self._settings.politeness.transfers
        return has_transfer and self._pages_left() > 0 and self._bytes_left() > 0

    def _pages_left(self) -> int:
        """Return the room for pages in flight.

        Uncommitted visits never exceed one batch, so a killed process loses one batch at most.
        """
        uncommitted = len(self._leases) + len(self._outbox.visits) + self._writer.pending_visits
        return min(
            self._settings.store.batch_visits - uncommitted,
            self._pool.processes * MAX_BACKLOG_PER_PARSER - self._pool.backlog,
        )

    def _bytes_left(self) -> int:
        return MAX_UNPARSED_BYTES - self._unparsed_bytes

    def _wait(self) -> None:
        now = self._now()
        room = self._has_room()
        deadlines = [now + MAX_WAIT_SECONDS]
        if room and (ready := self._frontier.next_ready_at()) is not None:
            deadlines.append(ready)
        if not self._writer.is_busy and (due := self._outbox.due_at()) is not None:
            deadlines.append(due)
        timeout = max(0.0, min(deadlines) - now)
        if (curl := self._fetcher.next_timeout(now)) is not None:
            timeout = min(timeout, curl)
        limiting_factor = self._limiting_factor(room=room)  # read before the wait: its events change the answer
        for key, mask in self._parts.selector.select(timeout):
            try:
                key.data(mask)
            except RendererFault as fault:
                self._render.give_up(fault)
        later = self._now()
        self._fetcher.tick(later)
        self._pool.tick(later)
        self.statistics.count_wait(limiting_factor, later - now)

    def _limiting_factor(self, *, room: bool) -> str:
        """Return what the crawl waits for right now, as in `CrawlProgress.limit`."""
        if self._outbox.is_stuck:
            return "disk"
        if self._stop_level or self._is_paused or self._has_backpressure:
            return ""  # a user or the consumer holds the crawl back
        if not room and self._fetcher.active_count < self._settings.politeness.transfers:
            unwritten = len(self._outbox.visits) + self._writer.pending_visits
            return "store" if unwritten > self._settings.store.batch_visits // 2 else "parsing"
        if self._fetcher.active_count:
            return "network"
        if self._unparsed:
            return "rendering" if self._render.is_busy else "parsing"
        if self._frontier.waiting_urls:
            return "politeness"
        return "store" if self._writer.is_busy else ""

    # -- handle responses and pages ------------------------------------------------------------------------------------

    def _handle_responses(self, now: float) -> None:
        for fetched in self._fetcher.take_results():
            if self._render.handle_response(fetched, now):
                continue
            if fetched.request.role is Role.ROBOTS:
                self._handle_robots_response(fetched, now)
                continue
            lease = self._leases[fetched.request.id]
            if self._frontier.is_outage(lease.host, fetched, now):
                self._requeue(lease, fetched, now)
                continue
            verdict = policy.verdict(fetched.outcome, fetched.status, lease.tries, self._max_tries(lease))
            wait = policy.retry_after(fetched.headers.get("retry-after", ""), now) if verdict.host_failure else 0.0
            transfer_seconds = fetched.milliseconds / 1000
            self._frontier.finish_transfer(
                lease,
                now,
                transfer_seconds=transfer_seconds,
                address=fetched.address,
                has_failed=verdict.host_failure,
                wait=wait,
            )
            if policy.is_excess(fetched):
                self._frontier.record_excess(lease.host, now, seconds=0.0, reason=fetched.outcome)
            if fetched.outcome is Outcome.FETCHED and lease.role is not Role.CHECK:
                self._frontier.start_page(lease.host, len(fetched.body))
                self._submit_for_parsing(fetched, lease.host)
            else:
                self._finish_visit(fetched, None, now)

    def _requeue(self, lease: Lease, fetched: FetchResult, now: float) -> None:
        """Queue a URL again without counting a try, because its host or the network is away.

        The URL waits in the frontier. If the round settings changed since the request, it goes back to the store, where
        the new settings decide about it.
        """
        del self._leases[fetched.request.id]
        transfer_seconds = fetched.milliseconds / 1000
        if fetched.request.id < self._first_current_request:
            self._frontier.finish_transfer(
                lease, now, transfer_seconds=transfer_seconds, address="", has_failed=True, wait=0.0
            )
            self._outbox.released.append(lease)
        else:
            self._frontier.requeue(lease, now, transfer_seconds=transfer_seconds, reason=fetched.reason)
        self._log.write("host away", url=lease.url, reason=fetched.reason)

    def _handle_robots_response(self, fetched: FetchResult, now: float) -> None:
        if self._pending_robots.has_rules(fetched, now):
            self._submit_for_parsing(fetched, self._pending_robots.host_of(fetched.request.id))
            return
        for visit in self._pending_robots.apply_missing_rules(fetched, now):
            self._put_in_outbox(visit, now)

    def _submit_for_parsing(self, fetched: FetchResult, host: int) -> None:
        self._pool.submit(visits.parse_job(fetched), host)
        self._unparsed_bytes += len(fetched.body)
        self._unparsed[fetched.request.id] = fetched

    def _handle_pages(self, now: float) -> None:
        for page in self._pool.take_results():
            if self._render.handle_page(page, now):
                continue
            fetched = self._unparsed.get(page.id)
            if fetched is None:
                continue  # `_drop_in_flight` dropped it
            if page.id in self._pending_robots:
                self._forget_response(fetched)
                self._pending_robots.apply_rules(page)
            elif (read := self._render.examine(fetched, page, self._leases[page.id], now)) is not None:
                self._finish_page(fetched, read, now)
        for fetched, page in self._render.take_pages():
            self._finish_page(fetched, page, now)

    def _forget_response(self, fetched: FetchResult) -> None:
        del self._unparsed[fetched.request.id]
        self._unparsed_bytes -= len(fetched.body)

    def _finish_page(self, fetched: FetchResult, page: Page, now: float) -> None:
        self._forget_response(fetched)
        self._account_for_page(fetched, page, now)
        self._finish_visit(fetched, page, now)

    def _account_for_page(self, fetched: FetchResult, page: Page, now: float) -> None:
        """Give the room of a page back to its host, and let the host rest if the page used up a limit."""
        host = self._leases[page.id].host
        self._frontier.finish_page(host, len(fetched.body))
        seconds = self._pool.take_slow_seconds(page.id)
        if page.outcome in policy.EXCESSES or seconds:
            reason = str(page.outcome) if page.outcome in policy.EXCESSES else f"{seconds:.0f} s in a parser"
            self._frontier.record_excess(host, now, seconds=seconds, reason=reason)
        else:
            self._frontier.record_good_page(host)

    def _finish_visit(self, fetched: FetchResult, page: Page | None, now: float) -> None:
        lease = self._leases.pop(fetched.request.id)
        redirect = None
        if fetched.outcome is Outcome.REDIRECTED:
            if lease.hops >= self._settings.fetch.max_redirects:
                reason = f"more than {self._settings.fetch.max_redirects} redirects in a row"
                fetched = msgspec.structs.replace(fetched, outcome=Outcome.TOO_MANY_REDIRECTS, reason=reason)
            else:
                redirect = visits.redirect_candidate(lease, fetched.location, self._round_settings.rules)
        # A revisited page is no copy of itself, so only first visits count.
        if page is not None and not lease.before:
            content = page.text_digest if page.rendered else page.content_digest  # scripts fill the same shell
            copies = self._copy_counter.count_excess(lease.host, content)
            page = visits.without_followed_links(page, copies) if copies else page
        visit = visits.build_visit(
            lease, fetched, page, now=now, retries=self._max_tries(lease), redirect=redirect,
            confirm_gone=self._plan.watch is None,
        )  # fmt: skip
        self._put_in_outbox(visit, now)

    def _put_in_outbox(self, visit: Visit, now: float) -> None:
        if visit.state is State.FAILED and visit.outcome in policy.UNREACHABLE:
            visit = self._seeds.fall_back(visit)
        self._outbox.add_visit(visit, now)
        if visit.redirect is not None and visit.redirect.seed:
            self._seeds.add(visit.redirect.url)

    def _max_tries(self, lease: Lease) -> int:
        return 1 if lease.url in self._plan.http_fallbacks else self._settings.politeness.retries

    # -- exchange with the store ---------------------------------------------------------------------------------------

    def _exchange_with_store(self, now: float) -> Iterator[Visit]:
        result = self._writer.take_result()
        if result is not None:
            yield from self._handle_write_result(result, now)
        if not self._writer.is_busy and self._is_exchange_due(now):
            self._writer.submit(self._build_order(now), self._seeds.admit)

    def _is_exchange_due(self, now: float) -> bool:
        if self._outbox.is_stuck:
            return now >= self._next_poll
        is_starving = not self._frontier.waiting_urls
        if self._store_has_more_hosts and self._wanted_host_count(now) and not self._stop_level and not self._is_paused:
            return True
        if now >= self._next_heartbeat or self._outbox.is_due(now, is_urgent=is_starving or bool(self._stop_level)):
            return True
        return is_starving and now >= self._next_poll and not self._stop_level and not self._is_paused

    def _wanted_host_count(self, now: float) -> int:
        return self._frontier.wanted_host_count(self._settings.politeness.transfers, now)

    def _build_order(self, now: float) -> WriteOrder:
        is_heartbeat_due = now >= self._next_heartbeat
        if is_heartbeat_due:
            self._next_heartbeat = now + HEARTBEAT_SECONDS
        self._next_poll = now + IDLE_POLL_SECONDS
        is_working = not self._stop_level and not self._is_paused
        self._outbox.host_updates.extend(self._frontier.take_host_updates())
        is_due_check = is_working and self._plan.watch is not None and now >= self._next_due_check
        if is_due_check:
            self._next_due_check = now + DUE_CHECK_SECONDS
        return self._outbox.take_order(
            now,
            watch=self._plan.watch if is_due_check else None,
            report=self.statistics.build_report(self.progress(), self._pool.processes, self._pool.most_parsers)
            if is_heartbeat_due
            else None,
            hosts_needing_urls=self._frontier.hosts_needing_urls() if is_working else [],
            new_hosts=self._wanted_host_count(now) if is_working else 0,
            urls_per_host=self._frontier.urls_per_host,
            keep_links=self._round_settings.crawl.links,
            with_shapes=self._parts.renderers is not None,
        )

    def _handle_write_result(self, result: WriteResult, now: float) -> Iterator[Visit]:
        if isinstance(result.error, StoreFull):
            self._pause_for_disk(result, now)
            self._apply_heartbeat_reply(result, now)
            return
        if result.error is not None:
            raise result.error
        self._outbox.drop_refused_order()
        if result.submitted is not None and result.submitted.crawler_lost:
            self._apply_orders(CrawlerOrders(state="lost"))
            return
        self.statistics.count_batch(result)
        self._log.write_failed_visits(result.order.batch.visits)
        new_hosts = [leased for leased in result.leased if leased.host not in result.order.hosts_needing_urls]
        self._store_has_more_hosts = bool(result.order.new_hosts) and len(new_hosts) == result.order.new_hosts
        # Hosts released while the order was under way stay released.
        released_hosts = {update.host for update in self._outbox.host_updates if not update.keep}
        for leased in result.leased:
            if leased.host not in released_hosts:
                self._frontier.add_host_lease(leased, now)
        self._render.add_evidence(result.shapes)
        self._apply_heartbeat_reply(result, now)
        if result.round is not None:
            self._apply_limit(result.round)
            if self._seeds.apply_round(result.round):
                self._apply_round_settings()
        yield from result.order.batch.visits
        self._release_hosts(result, now)
        self._check_for_end(result, now)

    def _apply_limit(self, current: Round) -> None:
        self._round = current
        if self._plan.watch is None:  # the limits of `watch` are hourly and end nothing
            self.statistics.set_page_limit(current)

    def _pause_for_disk(self, result: WriteResult, now: float) -> None:
        if not self.statistics.disk_note:
            self._log.write("paused", reason=str(result.error))
        self.statistics.disk_note = f"{result.error}; free some, and the crawl continues by itself"
        self._outbox.keep_refused_order(result.order)
        self._next_poll = now + DISK_POLL_SECONDS

    def _apply_heartbeat_reply(self, result: WriteResult, now: float) -> None:
        if result.crawler_orders is not None:
            self._last_reply_at = result.order.now
            self._apply_orders(result.crawler_orders)
            self._frontier.share_hosts(result.crawler_orders.hosts, now)

    def _apply_orders(self, orders: CrawlerOrders) -> None:
        self._is_paused = orders.state == "pause"
        name = self._parts.identity.name
        self.statistics.pause_note = f"by request; continue with: gossamer resume {name}" if self._is_paused else ""
        if orders.state in {"stop", "lost"}:
            self.end_reason = "stopped by request" if orders.state == "stop" else "other crawlers took over its work"
            self.lost_message = LOST_MESSAGE.format(name=name) if orders.state == "lost" else ""
            self.stop()
        if orders.parsers is not None and orders.parsers != self._pool.processes:
            self._pool.resize(min(orders.parsers, self._pool.most_parsers))

    def _apply_round_settings(self) -> None:
        """Apply the settings of a round that another crawl began, also to URLs that are already leased."""
        crawl = self._round_settings.crawl
        self._log.write("settings changed", settings=msgspec.to_builtins(crawl))
        self._fetcher.accept_types(crawl.accept)
        self._pool.reset(self._round_settings.parse_options())
        self._copy_counter.max_copies = crawl.max_copies
        self._first_current_request = next(self._ids)
        self._outbox.released.extend(
            self._frontier.reset(obey_robots=crawl.robots, urls_per_connection=self._round_settings.urls_per_connection)
        )

    def _release_hosts(self, result: WriteResult, now: float) -> None:
        """Give back hosts without queued URLs, hosts to share, and failing hosts that exceed the crawl's patience.

        A host with a transfer or an unwritten visit stays. Its page may bring more URLs, and `Store.submit` skips
        visits whose lease has ended.
        """
        without_new_urls = set(result.order.hosts_needing_urls) - {leased.host for leased in result.leased}
        busy_hosts = {lease.host for lease in self._leases.values()} | {v.lease.host for v in self._outbox.visits}
        failing_hosts = self._frontier.failing_hosts(self._settings.politeness.patience, now)
        for host in {
            *without_new_urls.intersection(self._frontier.idle_hosts()),
            *self._frontier.releasable_hosts(),
            *failing_hosts,
        } - busy_hosts:
            update, leases = self._frontier.release_host(host, now)
            self._render.forget_host(host)
            self._outbox.host_updates.append(update)
            self._outbox.released.extend(leases)

    def _check_for_end(self, result: WriteResult, now: float) -> None:
        wanted_work = bool(result.order.new_hosts or result.order.hosts_needing_urls) and not result.order.candidates
        if not wanted_work or result.leased or self._in_flight_count() or self._outbox or self._frontier.waiting_urls:
            return
        assert result.counts is not None
        decision = policy.decide_when_idle(
            result.waiting,
            counts=result.counts,
            current=self._round,
            now=now,
            patience=self._settings.politeness.patience,
        )
        if decision.end_reason == policy.COMPLETE and self._render.start_samples(now):
            return
        self.statistics.waiting_for = decision.waiting_for
        self._next_poll = min(self._next_poll, max(decision.poll_at, now + MIN_POLL_SECONDS))
        if decision.end_reason and self._plan.watch is not None:
            self.statistics.waiting_for = "the next visit that is due"
            self._next_poll = max(self._next_poll, self._next_due_check)
        else:
            self._has_ended, self.end_reason = bool(decision.end_reason), decision.end_reason

    # -- end -----------------------------------------------------------------------------------------------------------

    def _drop_in_flight(self) -> None:
        self._fetcher.cancel_all()
        self._fetcher.take_results()
        self._leases.clear()
        self._unparsed.clear()
        self._pending_robots.clear()
        self._render.cancel(self._now())

    def _close(self) -> None:
        """Give back all leases and end the processes, also after an exception."""
        self._drop_in_flight()
        try:
            self._writer.close()
            self._readmit_leftovers()
            self._give_back_hosts(self._now())
            self._parts.store.heartbeat(self._parts.identity.id, self.statistics.build_last_report(), self._now())
            self._parts.store.leave(self._parts.identity.id)
            if self.end_reason == policy.COMPLETE:
                self._parts.store.finish_round(self._now())
            self._collect_end_report()
        finally:
            self._render.close()
            self._pool.close()
            self._fetcher.close()
            self._parts.store.close()
            self._log.write("end", why=self.end_reason or "interrupted", pages=self.statistics.pages)
            self._log.close()

    def _give_back_hosts(self, now: float) -> None:
        """Tell the store how long hosts must rest, so that the next crawler that holds them keeps their pauses."""
        updates = (*self._outbox.host_updates, *self._frontier.release_all_hosts(now))
        if updates:
            self._parts.store.submit(self._parts.identity.id, VisitBatch(hosts=updates), self._seeds.admit, now)

    def _readmit_leftovers(self) -> None:
        """Apply settings of a newer round to queued URLs, if this crawl ends before it read them.

        Other crawlers continue with the URLs found here, and the current round must have decided about all of them.
        This comes before the hosts are given back, because another crawler may lease their URLs at once.
        """
        current = self._parts.store.current_round()
        if current is not None:
            self._seeds.apply_round(current)
        if self._outbox.readmit:
            self._parts.store.readmit(self._seeds.admit)

    def _collect_end_report(self) -> None:
        """Collect the reasons why URLs are left in the queue and why seeds were not visited."""
        store = self._parts.store
        waiting = [each for each in store.waiting_hosts(self._parts.identity.id, HOSTS_EXAMINED) if each.reason]
        self.leftover_hosts = waiting[:HOSTS_REPORTED]
        counts = store.counts()
        self.statistics.set_totals(counts)
        self.visited_totals = store.visited_totals()
        if self._stop_level:
            return
        is_empty = not counts.resources.get(State.VISITED)
        reasons = {each.host: each.reason for each in waiting}
        self.unvisited_seeds, self.failure_message = self._seeds.find_unvisited(store, reasons, is_web_empty=is_empty)
