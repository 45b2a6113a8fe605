"""The crawl loop, on one screen: start what is due, wait, take what came, hand it to the store.

One thread runs it. Transfers, parser processes and the writer report through one selector. What the loop decides with
is in `policy`, `frontier` and `visits`, what it knows of robots.txt, seeds and the round's settings in `asking`,
`seeds` and `terms`; it only carries out.
"""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl import policy, visits
from gossamer.crawl.frontier import AskRobots, Fetch, Frontier, Refuse
from gossamer.crawl.outbox import Outbox
from gossamer.crawl.pending_robots import RobotsAsked
from gossamer.crawl.round_settings import Terms
from gossamer.crawl.seeds import Seeds
from gossamer.crawl.statistics import Tally
from gossamer.crawl.writer import Watch, Writer
from gossamer.errors import StoreFull
from gossamer.model import Outcome, Request, Role, State, Value

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable, Iterator, Mapping

    from gossamer.config import IndexSettings, Settings
    from gossamer.crawl.log import CrawlLog
    from gossamer.crawl.progress import Progress
    from gossamer.crawl.writer import Done, Order
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.model import FetchResult, Lease, Page, Visit
    from gossamer.parse.pool import ParserPool
    from gossamer.store.protocol import Store
    from gossamer.store.values import CrawlerOrders, CrawlerRow, Round, WaitingHost

LOST = (
    "{name} was not heard of for so long that others were given its work. What it had fetched meanwhile is fetched"
    " again; start it again to let it help."
)
BEAT_SECONDS = 2.0  # how soon `gossamer pause` and `stop` are noticed; well below LEASE_SECONDS
IDLE_POLL = 1.0  # how often a crawler without work looks whether another one left some (seconds)
SOONEST_POLL = 0.1  # ... when there should be some by now
LOOK_SECONDS = 5.0  # how often `watch` looks for what is due
UNHEARD_SECONDS = 8.0  # without an answer to a beat, after which others may be about to take the hosts over
DISK_POLL = 2.0  # how often a crawler paused for disk space looks again (seconds)
LONGEST_WAIT = 0.25  # the display is refreshed at least this often (seconds)
# Answers waiting per parser: none idles while the loop is busy, and no host's turn is missed because others answered
# at the same time. How much they may be in all, BODIES_IN_MEMORY says.
PARSE_AHEAD = 64
BODIES_IN_MEMORY = 64 << 20  # bytes of answers waiting for a parser before new transfers hold off
HOSTS_TOLD = 5  # of those with something left at the end
HOSTS_LOOKED_AT = 10_000  # ... for why a seed could not be visited


class Parts(Value, frozen=True, kw_only=True):
    """What a crawl is made of; `wiring` puts it together."""

    store: Store
    identity: CrawlerRow
    fetcher: Fetcher
    pool: ParserPool
    selector: selectors.BaseSelector
    free_space: Callable[[], int | None]
    log: CrawlLog


class Plan(Value, frozen=True, kw_only=True):
    """What is asked of a crawl."""

    settings: Settings
    round: Round
    product: str
    typed: tuple[str, ...] = ()  # the seeds given with this call, new or not
    fallbacks: Mapping[str, str] = {}  # https seeds typed without a scheme -> their http form
    watch: Watch | None = None  # go on for ever, with what is due


class CrawlLoop:
    """One crawler at work."""

    def __init__(self, plan: Plan, parts: Parts) -> None:
        self._plan, self._settings, self._parts = plan, plan.settings, parts
        self._fetcher, self._pool, self._log = parts.fetcher, parts.pool, parts.log
        self._terms = Terms(self._settings)
        self._outbox = Outbox(self._settings.store)
        self._seeds = Seeds(plan, self._terms, self._fetcher, self._outbox)
        self._frontier = Frontier(
            self._settings.politeness,
            self._settings.hosts,
            product=plan.product,
            obey_robots=self._terms.crawl.robots,
            ahead=self._terms.ahead,
        )
        self._copies = policy.Copies(self._terms.crawl.max_copies)
        self._robots = RobotsAsked(plan, self._terms, self._frontier, self._outbox, self._log)
        least = self._settings.store.min_free << 20
        self._writer = Writer(
            parts.store, parts.identity.id, selector=parts.selector, free=parts.free_space, least=least
        )
        self._ids = count(1)
        self._anew = 0  # the first request under the terms that hold
        self._leases: dict[int, Lease] = {}  # by request: being fetched or parsed
        self._answers: dict[int, FetchResult] = {}  # being parsed
        self._bodies = 0  # bytes of them
        self._clock_start = time.time() - time.monotonic()
        self._next_beat = self._next_ask = self._next_look = 0.0
        self._heard_at = self._now()  # that the leases hold
        self._stop = 0  # 1: after what is in flight; 2: at once
        self._paused = self._held = self._over = False
        self._more_hosts = False  # the store gave as many as it was asked for: it has more, perhaps
        self.ending = ""  # why the crawl ended, for people
        self.lost = ""  # a sentence when others have its work, for it was not heard of in time
        self.failure = ""  # a sentence when no seed of this call could be visited
        self.unvisited: dict[str, str] = {}  # seeds of this call that could not be visited, and why
        self.leftovers: list[WaitingHost] = []  # hosts with something still queued, and why
        self.tally = Tally(parts.store.counts())
        self._heed_limit(plan.round)

    def run(self, on_wait: Callable[[], None] = lambda: None) -> Iterator[Visit]:
        """Crawl; yields each visit when it is safely stored. `on_wait` is called at every turn."""
        try:
            yield from self._exchange(self._now())  # the first work is found while the parsers start
            while not self._is_over():
                self._start_work(self._now())
                self._wait()
                self._take_fetched(self._now())
                self._take_parsed(self._now())
                yield from self._exchange(self._now())
                on_wait()
        finally:
            self._close()

    def stop(self, *, at_once: bool = False) -> None:
        """Finish what is in flight and end; at once: drop what is in flight. Safe to call from a signal handler."""
        self._stop = 2 if at_once else max(self._stop, 1)

    @property
    def index(self) -> IndexSettings | None:
        """Where what it brings is to be indexed; None: nowhere."""
        return self._settings.index if self._settings.crawl.index else None

    @property
    def is_dropping(self) -> bool:
        """Whether it was told to stop at once."""
        return self._stop == 2

    def hold(self, *, on: bool) -> None:
        """Start nothing new for now: the consumer is behind."""
        self._held = on

    def progress(self) -> Progress:
        """How it goes."""
        state = "stopping" if self._stop else "paused" if self._paused or self._outbox.stuck else "running"
        if state == "running" and self.tally.waiting_for and not self._in_flight():
            state = "waiting"
        return self.tally.progress(
            name=self._parts.identity.name,
            state=state,
            transfers=self._fetcher.active_count,
            hosts=len(self._frontier),
            waiting=tuple(self._frontier.waiting(self._now())),
        )

    def _now(self) -> float:
        """Unix time that never jumps: a clock set back must not freeze the hosts."""
        return self._clock_start + time.monotonic()

    def _is_over(self) -> bool:
        if self._stop == 2:
            self._drop_in_flight()
        if self._stop:
            self._outbox.done_with_refused()  # no use waiting for disk space
        if self._stop and not self._in_flight():
            self.ending = self.ending or "stopped"
            return not (self._outbox.visits or self._outbox.stuck or self._writer.busy)
        return self._over

    def _in_flight(self) -> int:
        return len(self._leases) + len(self._robots)

    # -- out: what is due ----------------------------------------------------------------------------------------------

    def _start_work(self, now: float) -> None:
        while self._has_room():
            match self._frontier.next(now):
                case Fetch(lease=lease):
                    self._leases[self._start(lease.url, lease.role, lease.etag, lease.last_modified)] = lease
                case AskRobots() as ask:
                    self._robots.add(self._start(ask.url, Role.ROBOTS), ask)
                case Refuse(lease=lease):
                    refused = visits.unvisited(lease, Outcome.ROBOTS, "robots.txt", now=now, state=State.REFUSED)
                    self._finish(refused, now)
                case None:
                    break

    def _start(self, url: str, role: Role, etag: str = "", last_modified: str = "") -> int:
        request = Request(id=next(self._ids), url=url, role=role, etag=etag, last_modified=last_modified)
        self._fetcher.start(request)
        return request.id

    def _has_room(self) -> bool:
        """Room for one more transfer. What is not committed yet is at most one batch: a kill costs no more."""
        if self._stop or self._paused or self._held or self._outbox.stuck:
            return False
        if self._now() - self._heard_at > UNHEARD_SECONDS:
            return False
        uncommitted = len(self._leases) + len(self._outbox.visits) + self._writer.pending
        return (
            self._fetcher.active_count < self._settings.politeness.transfers
            and uncommitted < self._settings.store.batch_visits
            and self._pool.backlog < self._pool.processes * PARSE_AHEAD
            and self._bodies < BODIES_IN_MEMORY
        )

    def _wait(self) -> None:
        now = self._now()
        room = self._has_room()
        until = [now + LONGEST_WAIT]
        if room and (ready := self._frontier.next_ready()) is not None:
            until.append(ready)
        if not self._writer.busy and (due := self._outbox.due_at()) is not None:
            until.append(due)
        timeout = max(0.0, min(until) - now)
        if (curl := self._fetcher.next_timeout(now)) is not None:
            timeout = min(timeout, curl)
        limit = self._limit(room=room)  # before what is waited for has come
        for key, mask in self._parts.selector.select(timeout):
            key.data(mask)
        later = self._now()
        self._fetcher.tick(later)
        self._pool.tick(later)
        self.tally.waited(limit, later - now)

    def _limit(self, *, room: bool) -> str:
        """What the crawl waits for right now."""
        if self._outbox.stuck:
            return "disk"
        if self._stop or self._paused or self._held:
            return ""  # somebody asked it to
        if not room and self._fetcher.active_count < self._settings.politeness.transfers:
            unwritten = len(self._outbox.visits) + self._writer.pending
            return "store" if unwritten > self._settings.store.batch_visits // 2 else "parsing"
        if self._fetcher.active_count:
            return "network"
        if self._answers:
            return "parsing"
        if self._frontier.waiting_urls:
            return "politeness"
        return "store" if self._writer.busy else ""

    # -- in: what came -------------------------------------------------------------------------------------------------

    def _take_fetched(self, now: float) -> None:
        for fetched in self._fetcher.take_results():
            if fetched.request.role is Role.ROBOTS:
                self._robots_answered(fetched, now)
                continue
            lease = self._leases[fetched.request.id]
            if self._frontier.was_no_try(lease.host, fetched, now):
                self._put_back(lease, fetched, now)
                continue
            verdict = policy.verdict(fetched.outcome, fetched.status, lease.tries, self._retries(lease))
            wait = policy.retry_after(fetched.headers.get("retry-after", ""), now) if verdict.host_failure else 0.0
            took = fetched.milliseconds / 1000
            self._frontier.finished(
                lease, now, took=took, address=fetched.address, failed=verdict.host_failure, wait=wait
            )
            if fetched.outcome is Outcome.FETCHED and lease.role is not Role.CHECK:
                self._parse(fetched)
            else:
                self._visited(fetched, None, now)

    def _put_back(self, lease: Lease, fetched: FetchResult, now: float) -> None:
        """This was no try: the host or the network is gone for a while, and the URL waits with its host.

        If other terms hold since it was asked for, it waits in the store, where it is judged by them.
        """
        del self._leases[fetched.request.id]
        took = fetched.milliseconds / 1000
        if fetched.request.id < self._anew:
            self._frontier.finished(lease, now, took=took, address="", failed=True, wait=0.0)
            self._outbox.released.append(lease)
        else:
            self._frontier.lost(lease, now, took=took, reason=fetched.reason)
        self._log.write("host away", url=lease.url, reason=fetched.reason)

    def _robots_answered(self, fetched: FetchResult, now: float) -> None:
        if self._robots.has_rules(fetched, now):
            self._parse(fetched)
            return
        for visit in self._robots.without_rules(fetched, now):
            self._finish(visit, now)

    def _parse(self, fetched: FetchResult) -> None:
        self._pool.submit(visits.parse_job(fetched))
        self._bodies += len(fetched.body)
        self._answers[fetched.request.id] = fetched

    def _take_parsed(self, now: float) -> None:
        for page in self._pool.finished():
            fetched = self._answers.pop(page.id, None)
            if fetched is None:
                continue  # dropped by a stop at once
            self._bodies -= len(fetched.body)
            if page.id in self._robots:
                self._robots.parsed(page)
            else:
                self._visited(fetched, page, now)

    def _visited(self, fetched: FetchResult, page: Page | None, now: float) -> None:
        lease = self._leases.pop(fetched.request.id)
        redirect = None
        if fetched.outcome is Outcome.REDIRECTED:
            if lease.hops >= self._settings.fetch.max_redirects:
                reason = f"more than {self._settings.fetch.max_redirects} redirects in a row"
                fetched = msgspec.structs.replace(fetched, outcome=Outcome.TOO_MANY_REDIRECTS, reason=reason)
            else:
                redirect = visits.redirect_candidate(lease, fetched.location, self._terms.rules)
        # A page seen again is no copy of itself.
        if page is not None and not lease.before and (copies := self._copies.beyond(lease.host, page.content_digest)):
            page = visits.dead_end(page, copies)
        visit = visits.visit_of(
            lease, fetched, page, now=now, retries=self._retries(lease), redirect=redirect,
            confirm=self._plan.watch is None,
        )  # fmt: skip
        self._finish(visit, now)

    def _finish(self, visit: Visit, now: float) -> None:
        if visit.state is State.FAILED and visit.outcome in policy.UNREACHABLE:
            visit = self._seeds.fall_back(visit)
        self._outbox.put(visit, now)
        if visit.redirect is not None and visit.redirect.seed:
            self._seeds.add(visit.redirect.url)

    def _retries(self, lease: Lease) -> int:
        return 1 if lease.url in self._plan.fallbacks else self._settings.politeness.retries

    # -- the store -----------------------------------------------------------------------------------------------------

    def _exchange(self, now: float) -> Iterator[Visit]:
        done = self._writer.finished()
        if done is not None:
            yield from self._settle(done, now)
        if not self._writer.busy and self._exchange_is_due(now):
            self._writer.give(self._order(now), self._seeds.admit, keep_links=self._terms.crawl.links)

    def _exchange_is_due(self, now: float) -> bool:
        if self._outbox.stuck:
            return now >= self._next_ask
        starving = not self._frontier.waiting_urls
        if self._more_hosts and self._wanted_hosts(now) and not self._stop and not self._paused:
            return True
        if now >= self._next_beat or self._outbox.is_due(now, hurry=starving or bool(self._stop)):
            return True
        return starving and now >= self._next_ask and not self._stop and not self._paused

    def _wanted_hosts(self, now: float) -> int:
        return self._frontier.wants_hosts(self._settings.politeness.transfers, now)

    def _order(self, now: float) -> Order:
        beat = now >= self._next_beat
        if beat:
            self._next_beat = now + BEAT_SECONDS
        self._next_ask = now + IDLE_POLL
        working = not self._stop and not self._paused
        self._outbox.notes.extend(self._frontier.notes())
        looks = working and self._plan.watch is not None and now >= self._next_look
        if looks:
            self._next_look = now + LOOK_SECONDS
        return self._outbox.order(
            now,
            watch=self._plan.watch if looks else None,
            report=self.tally.report(self.progress(), self._pool.processes, self._pool.most) if beat else None,
            hungry=self._frontier.hungry() if working else [],
            hosts=self._wanted_hosts(now) if working else 0,
            urls=self._frontier.urls_per_host,
        )

    def _settle(self, done: Done, now: float) -> Iterator[Visit]:
        if isinstance(done.error, StoreFull):
            self._pause_for_disk(done, now)
            self._hear(done, now)
            return
        if done.error is not None:
            raise done.error
        self._outbox.done_with_refused()
        self.tally.stored(done)
        self._log.visits(done.order.visits)
        new = [leased for leased in done.leased if leased.host not in done.order.hungry]
        self._more_hosts = bool(done.order.new_hosts) and len(new) == done.order.new_hosts
        given_back = {note.host for note in self._outbox.notes if not note.keep}  # since the order was given
        for leased in done.leased:
            if leased.host not in given_back:
                self._frontier.take_in(leased, now)
        self._hear(done, now)
        if done.round is not None:
            self._heed_limit(done.round)
            if self._seeds.join(done.round):
                self._change_terms()
        yield from done.order.visits
        self._let_go(done, now)
        self._judge_end(done, now)

    def _heed_limit(self, current: Round) -> None:
        if self._plan.watch is None:  # its limits are of an hour, and end nothing
            self.tally.allowed(current)

    def _pause_for_disk(self, done: Done, now: float) -> None:
        if not self.tally.note:
            self._log.write("paused", reason=str(done.error))
        self.tally.note = f"{done.error}; free some and the crawl goes on by itself"
        self._outbox.refuse(done.order)
        self._next_ask = now + DISK_POLL

    def _hear(self, done: Done, now: float) -> None:
        if done.wanted is not None:
            self._heard_at = done.order.now
            self._obey(done.wanted)
            self._frontier.share(done.wanted.hosts, now)

    def _obey(self, wanted: CrawlerOrders) -> None:
        self._paused = wanted.state == "pause"
        name = self._parts.identity.name
        self.tally.asked = f"by request; gossamer resume {name} lets it go on" if self._paused else ""
        if wanted.state in {"stop", "lost"}:
            self.ending = "stopped by request" if wanted.state == "stop" else "given up for lost"
            self.lost = LOST.format(name=name) if wanted.state == "lost" else ""
            self.stop()
        if wanted.parsers is not None and wanted.parsers != self._pool.processes:
            self._pool.resize(min(wanted.parsers, self._pool.most))

    def _change_terms(self) -> None:
        """Another crawl has begun a round with other settings: go by them, also with what is leased already."""
        crawl = self._terms.crawl
        self._log.write("settings changed", settings=msgspec.to_builtins(crawl))
        self._fetcher.accept_types(crawl.accept)
        self._pool.begin_anew(self._terms.parse_options())
        self._copies.most = crawl.max_copies
        self._anew = next(self._ids)
        self._outbox.released.extend(self._frontier.begin_anew(obey_robots=crawl.robots, ahead=self._terms.ahead))

    def _let_go(self, done: Done, now: float) -> None:
        """Give back hosts for which the store has no more URLs, that others are to have, or that nobody can wait for.

        Not while something is under way: of the one it could bring more, and of the other it could not be written.
        """
        asked = set(done.order.hungry) - {leased.host for leased in done.leased}
        under_way = {lease.host for lease in self._leases.values()} | {v.lease.host for v in self._outbox.visits}
        put_off = self._frontier.put_off(self._settings.politeness.patience, now)
        for host in {*asked.intersection(self._frontier.idle()), *self._frontier.leaving(), *put_off} - under_way:
            note, leases = self._frontier.give_back(host, now)
            self._outbox.notes.append(note)
            self._outbox.released.extend(leases)

    def _judge_end(self, done: Done, now: float) -> None:
        asked = bool(done.order.new_hosts or done.order.hungry) and not done.order.add
        if not asked or done.leased or self._in_flight() or self._outbox or self._frontier.waiting_urls:
            return
        left = policy.what_is_left(
            done.waiting, queued=self.tally.queued, now=now, patience=self._settings.politeness.patience
        )
        self.tally.waiting_for = left.waiting_for
        self._next_ask = min(self._next_ask, max(left.ask_again_at, now + SOONEST_POLL))
        if left.ending and self._plan.watch is not None:
            self.tally.waiting_for = "the next visit that is due"
            self._next_ask = max(self._next_ask, self._next_look)
        elif left.ending and done.round is None:
            self._next_beat = now  # not before it was heard whether another crawl has brought seeds
        else:
            self._over, self.ending = bool(left.ending), left.ending

    # -- the end -------------------------------------------------------------------------------------------------------

    def _drop_in_flight(self) -> None:
        self._fetcher.cancel_all()
        self._fetcher.take_results()
        self._leases.clear()
        self._answers.clear()
        self._robots.clear()

    def _close(self) -> None:
        """Leave: whatever happened, leases go back and processes end."""
        self._drop_in_flight()
        try:
            self._writer.close()
            self._parts.store.heartbeat(self._parts.identity.id, self.tally.last_report(), self._now())
            self._parts.store.leave(self._parts.identity.id)
            self._hand_over()
            if self.ending == policy.COMPLETE:
                self._parts.store.finish_round(self._now())
            self._look_back()
        finally:
            self._pool.close()
            self._fetcher.close()
            self._parts.store.close()
            self._log.write("end", why=self.ending or "interrupted", pages=self.tally.pages)
            self._log.close()

    def _hand_over(self) -> None:
        """Other crawlers go on with what was found here: by their terms, if it ends before it heard of them."""
        current = self._parts.store.current_round()
        if current is not None:
            self._seeds.join(current)
        if self._outbox.readmit:
            self._parts.store.readmit(self._seeds.admit)

    def _look_back(self) -> None:
        """What people must be told: why something is left, and why a seed brought nothing."""
        store = self._parts.store
        waiting = [each for each in store.waiting_hosts(self._parts.identity.id, HOSTS_LOOKED_AT) if each.reason]
        self.leftovers = waiting[:HOSTS_TOLD]
        counts = store.counts()
        self.tally.standing(counts)
        if self._stop:
            return
        empty = not counts.resources.get(State.VISITED)
        reasons = {each.host: each.reason for each in waiting}
        self.unvisited, self.failure = self._seeds.unvisited(store, reasons, empty=empty)
