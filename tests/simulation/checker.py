"""The rules that every simulated crawl must keep, checked on the wire, at every commit and at the end."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from gossamer.crawl import policy
from gossamer.model import Outcome, Role, State
from gossamer.urls.canonical import authority

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.config import PolitenessSettings
    from gossamer.model import FetchResult, Request, VisitBatch
    from simulation.scheduler import Scheduler
    from simulation.site import Web

ROUNDING = 1e-3  # seconds; the store keeps times in double precision
TRIED_AGAIN = {*policy.HOST_FAILURES, Outcome.HTTP_ERROR}  # outcomes after which a URL may be visited again
FINAL_STATES = {State.VISITED, State.FAILED, State.REFUSED, State.GONE, State.OUT_OF_SCOPE}
OPEN_WORK = "SELECT sum(value) FROM meta WHERE key IN ('resources queued', 'resources leased')"
VISITS = """
    SELECT v.resource, v.visited_at, v.round, v.outcome, r.url
    FROM visits AS v JOIN resources AS r ON r.id = v.resource"""
ROUND = "SELECT id, max_pages, max_pages_per_host, pages FROM rounds ORDER BY id DESC LIMIT 1"


class Violation(AssertionError):
    """A rule was broken."""


class _LastTransfer(NamedTuple):
    crawler: str
    ended_at: float
    pause: float  # seconds that its crawler keeps after it


class Checker:
    """Watches one simulation. It reads the store through a connection of its own."""

    def __init__(self, scheduler: Scheduler, web: Web, politeness: PolitenessSettings) -> None:
        self._scheduler, self._web, self._politeness = scheduler, web, politeness
        self._active: defaultdict[str, dict[tuple[str, int], str]] = defaultdict(dict)  # host -> transfers
        self._last: dict[str, _LastTransfer] = {}  # by host
        self._knows_rules: set[tuple[str, str]] = set()  # crawler and host whose robots.txt it received
        self._committed: set[tuple[int, float]] = set()  # resource and time of visits that a submit reported as written
        self.ids: dict[str, int] = {}  # process -> crawler
        self.became_empty_at = 0.0  # when the store last had no open URL
        self.limit_reached_at = 0.0  # when a page limit of the current round last held URLs back
        self.stop_ordered: set[str] = set()  # names of crawlers that were asked to stop
        self._died: set[str] = set()  # processes that ended without giving back their hosts
        self.requests = 0

    def open(self, directory: Path) -> None:
        """Open the store to look into it."""
        self.db = sqlite3.connect(directory / "web.db", isolation_level=None)

    def require(self, condition: object, rule: str) -> None:
        """Report a broken rule. The scheduler raises it too, because the code that runs now may hide it."""
        if not condition:
            self._scheduler.fault = self._scheduler.fault or Violation(rule)
            raise self._scheduler.fault

    # -- on the wire ---------------------------------------------------------------------------------------------------

    def on_request(self, crawler: str, request: Request) -> None:
        """Check a request when it is sent."""
        self.requests += 1
        now, host = self._scheduler.now, authority(request.url)
        self._scheduler.log("request", crawler, request.url)
        (holder,) = self.db.execute("SELECT holder FROM hosts WHERE name = ?", (host,)).fetchone()
        self.require(holder == self.ids[crawler], f"{crawler} sent a request to {host}, which {holder} holds")
        active = self._active[host]
        limit = 1 if self._crawl_delay(host) is not None else self._politeness.connections
        self.require(len(active) < limit, f"{host} has {len(active) + 1} transfers at once: {crawler}, {active}")
        self.require(request.url not in active.values(), f"{request.url} is requested twice at once")
        last = self._last.get(host)
        if last is not None and self._politeness.connections == 1:
            gap, pause = now - last.ended_at, last.pause
            self.require(
                gap > pause - ROUNDING, f"{host} got a pause of {gap:.3f} s instead of {pause:g} s before {request.url}"
            )
        active[crawler, request.id] = request.url

    def _crawl_delay(self, host: str) -> float | None:
        return self._web.hosts[host].crawl_delay

    def on_response(self, crawler: str, result: FetchResult) -> None:
        """Note the end of a transfer and the pause that must follow."""
        host = authority(result.request.url)
        self._scheduler.log("response", crawler, result.request.url, str(result.outcome))
        if result.request.role is Role.ROBOTS and result.outcome is Outcome.FETCHED:
            self._knows_rules.add((crawler, host))
        self._end_transfer(crawler, result.request)

    def on_cancel(self, crawler: str, request: Request) -> None:
        """Note that a crawler closed a connection."""
        self._end_transfer(crawler, request)

    def _end_transfer(self, crawler: str, request: Request) -> None:
        host = authority(request.url)
        pause = self._politeness.delay if self._politeness.delay is not None else self._politeness.min_delay
        if (crawler, host) in self._knows_rules:
            pause = max(pause, self._crawl_delay(host) or 0.0)
        if self._active[host].pop((crawler, request.id), None) is not None:
            self._last[host] = _LastTransfer(crawler, self._scheduler.now, pause)
            if crawler in self._died:
                self._leave_stored_pause(host)

    def on_death(self, crawler: str) -> None:
        """Note that a process ended without giving back its hosts."""
        self._died.add(crawler)
        for host, last in self._last.items():
            if last.crawler == crawler:
                self._leave_stored_pause(host)

    def _leave_stored_pause(self, host: str) -> None:
        """Expect only the pause in the store: a crawler that died before its first report about a host leaves none."""
        (delay,) = self.db.execute("SELECT delay FROM hosts WHERE name = ?", (host,)).fetchone()
        last = self._last[host]
        self._last[host] = last._replace(pause=min(delay, last.pause))

    # -- at a commit ---------------------------------------------------------------------------------------------------

    def on_commit(self, crawler: str, call: str, values: tuple[object, ...], result: object) -> None:
        """Check the store after a transaction."""
        self._scheduler.log("commit", crawler, call)
        if call == "submit":
            batch: VisitBatch = values[1]  # type: ignore[assignment]
            if not result.lost:  # type: ignore[attr-defined]
                self._committed.update((visit.lease.resource, visit.visited_at) for visit in batch.visits)
        now, row = self._scheduler.now, self.db.execute(ROUND).fetchone()
        if not self.db.execute(OPEN_WORK).fetchone()[0]:
            self.became_empty_at = now
        if row is None:
            return
        _, max_pages, per_host, pages = row
        if max_pages is not None:
            self.require(pages <= max_pages, f"{pages} pages were visited in a round of {max_pages}")
        spent = per_host and self.db.execute("SELECT 1 FROM hosts WHERE spent AND queued_pages").fetchone()
        if spent or (max_pages is not None and pages >= max_pages):
            self.limit_reached_at = now

    # -- at the end ----------------------------------------------------------------------------------------------------

    def on_end(self, crawler: str, name: str, reason: str, decided_after: float) -> None:
        """Check why a crawler ended. It decided at or after a time."""
        self._scheduler.log("end", crawler, reason)
        match reason:
            case policy.COMPLETE:
                self.require(self.became_empty_at >= decided_after, f"{crawler} says complete, but URLs are open")
            case policy.PAGE_LIMIT:
                self.require(
                    self.limit_reached_at >= decided_after, f"{crawler} says {reason!r}, but no limit is reached"
                )
            case "stopped by request":
                self.require(name in self.stop_ordered, f"{crawler} says {reason!r}, but nobody asked {name}")
            case "other crawlers took over its work":
                [state] = self.db.execute("SELECT state FROM crawlers WHERE id = ?", (self.ids[crawler],)).fetchone()
                self.require(state == "lost", f"{crawler} says {reason!r}, but the store says {state}")
            case _:
                known = reason == "stopped" or reason.startswith("nothing can be visited within")
                self.require(known, f"{crawler} ended without a reason: {reason!r}")

    def check_visits(self, retries: int, seeds: set[str]) -> None:
        """Check that each URL was visited once per round and try, and that no committed visit is lost."""
        rows = self.db.execute(VISITS).fetchall()
        stored = Counter((resource, at) for resource, at, *_ in rows)
        lost = self._committed - set(stored)
        self.require(not lost, f"committed visits are lost: {sorted(lost)[:3]}")
        finals, tries = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
        for _, _, round_id, outcome, url in rows:
            (tries if outcome in TRIED_AGAIN else finals)[round_id, url] += 1
        twice = [key for key, times in finals.items() if times > 1 and key[1] not in seeds]
        self.require(not twice, f"visited twice in one round: {twice[:3]}")
        often = [key for key, times in tries.items() if times > retries and key[1] not in seeds]
        self.require(not often, f"tried more than {retries} times in one round: {often[:3]}")

    def check_resources(self, *, is_complete: bool) -> None:
        """Check that every URL that a visited page names is known, and is finished if the crawl is complete."""
        rows = {
            url: (state, outcome, reason)
            for url, state, outcome, reason in self.db.execute("SELECT url, state, outcome, reason FROM resources")
        }
        for url, (state, outcome, reason) in rows.items():
            if outcome in {Outcome.FETCHED, Outcome.REDIRECTED}:
                count = 1 if outcome == Outcome.REDIRECTED else None
                missing = [link for link in self._web.links[url][:count] if link not in rows]
                self.require(not missing, f"{url} was visited, but its links are lost: {missing}")
            if is_complete:
                self.require(state in FINAL_STATES, f"the crawl is complete, but {url} is {state}")
                explained = state == State.VISITED or outcome or reason
                self.require(explained, f"{url} is {state} without a reason")
                self.require(self._is_plausible(url, state, outcome), f"{url} ended as {state} ({outcome})")

    def _is_plausible(self, url: str, state: str, outcome: str) -> bool:
        """Return whether a URL ended as its server decides."""
        if state == State.OUT_OF_SCOPE or outcome == Outcome.PARSER_CRASHED:
            return True
        host = self._web.hosts[authority(url)]
        expected = {
            "page": State.VISITED,
            "slow": State.VISITED,
            "redirect": State.VISITED,
            "missing": State.GONE,
            "broken": State.FAILED,
            "picture": State.REFUSED,
            "private": State.VISITED if host.robots_kind == "unavailable" else State.REFUSED,
        }[self._web.kinds[url]]
        if expected is State.VISITED and outcome in {Outcome.REDIRECT_LOOP, Outcome.TOO_MANY_REDIRECTS}:
            return self._web.kinds[url] == "redirect"
        return state == expected or (state == State.FAILED and not host.is_reliable)
