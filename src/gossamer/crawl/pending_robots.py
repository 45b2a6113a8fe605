"""The requests for robots.txt, and what their answers mean for the host and its URLs (RFC 9309 §2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.crawl import policy, visits
from gossamer.model import Outcome, Robots, State
from gossamer.urls.robots import classify_robots_response

if TYPE_CHECKING:
    from gossamer.crawl.frontier import AskRobots, Frontier
    from gossamer.crawl.log import CrawlLog
    from gossamer.crawl.loop import Plan
    from gossamer.crawl.outbox import Outbox
    from gossamer.crawl.round_settings import Terms
    from gossamer.model import FetchResult, Page, Visit


class RobotsAsked:
    """Those under way, by request. What becomes known goes to the frontier and, for the store, to the outbox."""

    def __init__(self, plan: Plan, terms: Terms, frontier: Frontier, outbox: Outbox, log: CrawlLog) -> None:
        self._plan, self._settings = plan, plan.settings
        self._terms = terms
        self._frontier = frontier
        self._outbox = outbox
        self._log = log
        self._asked: dict[int, AskRobots] = {}  # being fetched or parsed
        self._came: dict[int, float] = {}  # when, of those being parsed

    def __len__(self) -> int:
        return len(self._asked)

    def __contains__(self, request: int) -> bool:
        return request in self._asked

    def add(self, request: int, ask: AskRobots) -> None:
        """A request has gone out."""
        self._asked[request] = ask

    def clear(self) -> None:
        """Forget them: nothing of it will come."""
        self._asked.clear()
        self._came.clear()

    def has_rules(self, fetched: FetchResult, now: float) -> bool:
        """Whether an answer is to be parsed; if so, it came now."""
        if classify_robots_response(fetched.outcome, fetched.status) != "rules":
            return False
        self._came[fetched.request.id] = now
        return True

    def parsed(self, page: Page) -> None:
        """Here are the rules."""
        ask, came = self._asked.pop(page.id), self._came.pop(page.id)
        usable = page.outcome is Outcome.FETCHED
        # A robots.txt that does not even decode says nothing: RFC 9309 §2.3.1.5 has us use what can be parsed.
        self._known(ask, "rules", page.text.decode("utf-8", "replace") if usable else "", page.reason, came)

    def without_rules(self, fetched: FetchResult, now: float) -> list[Visit]:
        """There are none, or none to be had; returns the visits that come to nothing by that."""
        ask = self._asked.pop(fetched.request.id)
        if classify_robots_response(fetched.outcome, fetched.status) == "unavailable":
            self._known(ask, "unavailable", "", fetched.reason, now)
            return []
        return self._unreachable(ask, fetched, now)

    def _known(self, ask: AskRobots, outcome: str, text: str, reason: str, came: float) -> None:
        robots = Robots(host=ask.host, scheme=ask.scheme, outcome=outcome, text=text, fetched_at=came, reason=reason)
        self._outbox.robots.append(robots)
        rules = self._frontier.robots_known(robots)
        if self._terms.crawl.sitemaps:
            found = (visits.sitemap_candidate(url, self._terms.rules) for url in rules.sitemaps)
            self._outbox.found.extend(found)

    def _unreachable(self, ask: AskRobots, fetched: FetchResult, now: float) -> list[Visit]:
        """RFC 9309 §2.3.1.4: no robots.txt because of a fault means no visit; try again, later and later."""
        reason = f"robots.txt unreachable: {fetched.reason or fetched.outcome}"
        wait = policy.retry_after(fetched.headers.get("retry-after", ""), now)
        away = self._frontier.was_no_try(ask.host, fetched, now)
        tries = self._frontier.robots_failed(ask, now, wait=wait, reason=reason, away=away)
        falls_back = any(url in self._plan.fallbacks for url in self._frontier.urls(ask.host))
        if not falls_back:  # https was a guess of ours, and says nothing of the host
            self._outbox.robots.append(
                Robots(host=ask.host, scheme=ask.scheme, outcome="unreachable", text="", fetched_at=now, reason=reason)
            )
        hopeless = fetched.outcome in {Outcome.ADDRESS, Outcome.TLS} or falls_back
        if not hopeless and (away or tries < self._settings.politeness.retries):
            return []
        leases = self._frontier.withdraw(ask.host, ask.scheme, now)
        if ask.host in self._frontier.idle():
            rest = 0.0 if hopeless else max(wait, policy.ROBOTS_RETRY)
            self._outbox.notes.append(self._frontier.give_back(ask.host, now, wait=rest, reason=reason)[0])
        self._log.write("host given up", host=ask.url, reason=reason)
        # When the host itself cannot be reached, neither can these URLs, and of a link people want to know that. When
        # only its robots.txt is broken, they stay queued.
        if fetched.outcome not in policy.UNREACHABLE and fetched.outcome is not Outcome.ADDRESS:
            self._outbox.released.extend(leases)
            return []
        state = State.REFUSED if fetched.outcome is Outcome.ADDRESS else State.FAILED
        return [visits.unvisited(lease, fetched.outcome, fetched.reason, now=now, state=state) for lease in leases]
