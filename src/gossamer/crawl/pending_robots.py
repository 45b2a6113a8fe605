"""Requests for robots.txt: how often they are tried, and what responses mean for a host (RFC 9309 §2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.crawl import policy, visits
from gossamer.model import Outcome, Robots, State
from gossamer.urls.robots import classify_robots_response

if TYPE_CHECKING:
    from gossamer.crawl.frontier import FetchRobots, Frontier
    from gossamer.crawl.log import CrawlLog
    from gossamer.crawl.outbox import Outbox
    from gossamer.crawl.plan import CrawlPlan
    from gossamer.crawl.round_settings import RoundSettings
    from gossamer.model import FetchResult, Page, Visit


class PendingRobots:
    """robots.txt requests in flight, by request id. Results go to the frontier, and through the outbox to the store."""

    def __init__(
        self, plan: CrawlPlan, round_settings: RoundSettings, frontier: Frontier, outbox: Outbox, log: CrawlLog
    ) -> None:
        self._plan, self._settings = plan, plan.settings
        self._round_settings = round_settings
        self._frontier = frontier
        self._outbox = outbox
        self._log = log
        self._requests: dict[int, FetchRobots] = {}  # request id -> work being fetched or parsed
        self._arrived_at: dict[int, float] = {}  # request id -> Unix time, of responses being parsed

    def __len__(self) -> int:
        return len(self._requests)

    def __contains__(self, request_id: int) -> bool:
        return request_id in self._requests

    def add(self, request_id: int, work: FetchRobots) -> None:
        """Record a request that has started."""
        self._requests[request_id] = work

    def host_of(self, request_id: int) -> int:
        """Return the host whose robots.txt a request fetches."""
        return self._requests[request_id].host

    def clear(self) -> None:
        """Forget all requests, because their transfers were cancelled."""
        self._requests.clear()
        self._arrived_at.clear()

    def has_rules(self, fetched: FetchResult, now: float) -> bool:
        """Return whether a response has rules to parse, and record its arrival time if so."""
        if classify_robots_response(fetched.outcome, fetched.status) != "rules":
            return False
        self._arrived_at[fetched.request.id] = now
        return True

    def apply_rules(self, page: Page) -> None:
        """Apply the parsed rules of a robots.txt."""
        work, arrived_at = self._requests.pop(page.id), self._arrived_at.pop(page.id)
        # RFC 9309 §2.3.1.5: use the rules that can be parsed. A file that does not decode has none.
        text = page.text.decode("utf-8", "replace") if page.outcome is Outcome.FETCHED else ""
        self._record_rules(work, "rules", text, page.reason, arrived_at)

    def apply_missing_rules(self, fetched: FetchResult, now: float) -> list[Visit]:
        """Handle a response without rules; return the visits that end because of it."""
        work = self._requests.pop(fetched.request.id)
        if classify_robots_response(fetched.outcome, fetched.status) == "unavailable":
            self._record_rules(work, "unavailable", "", fetched.reason, now)
            return []
        return self._handle_unreachable(work, fetched, now)

    def _record_rules(self, work: FetchRobots, outcome: str, text: str, reason: str, arrived_at: float) -> None:
        robots = Robots(
            host=work.host, scheme=work.scheme, outcome=outcome, text=text, fetched_at=arrived_at, reason=reason
        )
        self._outbox.robots.append(robots)
        rules = self._frontier.apply_robots(robots)
        if self._round_settings.crawl.sitemaps:
            candidates = (visits.sitemap_candidate(url, work.url, self._round_settings.rules) for url in rules.sitemaps)
            self._outbox.candidates.extend(candidates)

    def _handle_unreachable(self, work: FetchRobots, fetched: FetchResult, now: float) -> list[Visit]:
        """Back off from a host whose robots.txt cannot be fetched, and return the visits that end because of it.

        RFC 9309 §2.3.1.4: a robots.txt that is unreachable because of a fault forbids every visit.
        """
        reason = f"robots.txt unreachable: {fetched.reason or fetched.outcome}"
        wait = policy.retry_after(fetched.headers.get("retry-after", ""), now)
        is_away = self._frontier.is_outage(work.host, fetched, now)
        tries = self._frontier.record_robots_failure(work, now, wait=wait, reason=reason, is_away=is_away)
        has_http_fallback = any(url in self._plan.http_fallbacks for url in self._frontier.queued_urls(work.host))
        if not has_http_fallback:  # otherwise https is our guess, and its failure says nothing about the host
            self._outbox.robots.append(
                Robots(
                    host=work.host, scheme=work.scheme, outcome="unreachable", text="", fetched_at=now, reason=reason
                )
            )
        is_hopeless = fetched.outcome in {Outcome.ADDRESS, Outcome.TLS} or has_http_fallback
        if not is_hopeless and (is_away or tries < self._settings.politeness.retries):
            return []
        leases = self._frontier.withdraw_urls(work.host, work.scheme, now)
        if work.host in self._frontier.idle_hosts():
            pause = 0.0 if is_hopeless else max(wait, policy.ROBOTS_RETRY_SECONDS)
            self._outbox.host_updates.append(self._frontier.release_host(work.host, now, wait=pause, reason=reason)[0])
        self._log.write("host given up", host=work.url, reason=reason)
        # If the host itself is unreachable, its URLs are too, and link reports must show that. If only robots.txt is
        # broken, the URLs stay queued.
        if fetched.outcome not in policy.UNREACHABLE and fetched.outcome is not Outcome.ADDRESS:
            self._outbox.released.extend(leases)
            return []
        state = State.REFUSED if fetched.outcome is Outcome.ADDRESS else State.FAILED
        return [visits.skipped_visit(lease, fetched.outcome, fetched.reason, now=now, state=state) for lease in leases]
