"""Pure decisions of a crawl: what to do with a URL, how long to pause, when to try again, when to end.

Nothing here does I/O or reads the clock; the crawl loop acts on the decisions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gossamer.model import EMBEDS, PAGE_OUTCOMES, SUCCESSFUL_OUTCOMES, Admission, Kind, Outcome, Role, State, Value
from gossamer.revisit.dates import parse_http_date

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.config import CrawlSettings, PolitenessSettings
    from gossamer.model import Candidate, FetchResult
    from gossamer.store.values import Counts, Round, WaitingHost
    from gossamer.urls.scope import Scope

# Weights of `--order best`, in units of one backlink. A level of depth costs one backlink. Nearness to the topic (0..1)
# outweighs everything else, because the user asked for the topic.
BACKLINK_GAIN = 1.0
DEPTH_COST = 1.0
TOPIC_GAIN = 100.0
SOURCE_SHARE = 0.4  # share of its source page in a link's nearness (Chakrabarti's focused crawling)

MAX_SITEMAP_NESTING = 3  # levels of sitemap indexes; sitemaps.org allows one, some sites have two
ROBOTS_MAX_AGE_SECONDS = 24 * 3600.0  # RFC 9309 §2.4
ROBOTS_RETRY_SECONDS = 3600.0  # pause of a host whose robots.txt stays unreachable
OUTAGE_SECONDS = 600.0  # an unreachable host that answered within this time counts as away, not as failed
FIRST_BACKOFF_SECONDS = 1.0  # pause after a host's first failure; doubles with each further one

# Outcomes that count against the host and are tried again. A 404 and other faults of the URL itself do not count.
HOST_FAILURES = frozenset({Outcome.TIMEOUT, Outcome.CONNECT, Outcome.DNS, Outcome.BAD_HTTP, Outcome.THROTTLED})
CONNECTION_FAILURES = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TIMEOUT})
UNREACHABLE = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT, Outcome.BAD_HTTP})
# Outcomes of pages that took all they may: such a host backs off, although the page is not tried again.
EXCESSES = frozenset({
    Outcome.TOO_SLOW, Outcome.TOO_BIG, Outcome.HEADERS_TOO_BIG, Outcome.PARSER_CRASHED, Outcome.PARSER_TIMEOUT,
    Outcome.PARSER_MEMORY,
})  # fmt: skip
REFUSALS = frozenset({Outcome.ROBOTS, Outcome.TYPE, Outcome.ADDRESS, Outcome.TOO_BIG, Outcome.HEADERS_TOO_BIG})

MAX_CACHED_CONTENTS = 50_000  # about 10 MB; contents seen once are forgotten first

COMPLETE = "complete"
STOPPED = "stopped"  # after Ctrl-C
PAGE_LIMIT = "page limit reached"

WORD = re.compile(r"\w+")


class Verdict(Value, frozen=True, kw_only=True):
    """The effect of an outcome on its resource and its host."""

    state: State
    host_failure: bool


def verdict(outcome: Outcome, status: int, tries: int, retries: int) -> Verdict:
    """Return the effect of a visit's outcome; `tries` counts the failed tries before it, `retries` is the limit."""
    is_host_failure = outcome in HOST_FAILURES or (outcome is Outcome.HTTP_ERROR and status >= 500)
    if outcome in SUCCESSFUL_OUTCOMES:
        state = State.VISITED
    elif outcome is Outcome.NOT_FOUND:
        state = State.GONE
    elif outcome in REFUSALS:
        state = State.REFUSED
    elif is_host_failure and tries + 1 < retries:
        state = State.QUEUED
    else:
        state = State.FAILED
    return Verdict(state=state, host_failure=is_host_failure)


def is_unconnected(outcome: Outcome, address: str) -> bool:
    """Return whether a transfer got no connection, so that its URL cannot be the cause."""
    return outcome in CONNECTION_FAILURES and not address


def is_excess(fetched: FetchResult) -> bool:
    """Return whether a transfer used up a limit. A body refused by its declared length has cost nothing."""
    is_declared = fetched.outcome is Outcome.TOO_BIG and "content-length" in fetched.headers
    return fetched.outcome in EXCESSES and not is_declared


def needs_confirmation(outcome: Outcome, last_outcome: str) -> bool:
    """Return whether a page that existed at the last visit now seems gone, and must be requested once more."""
    return outcome is Outcome.NOT_FOUND and last_outcome in PAGE_OUTCOMES


def pause_after(
    politeness: PolitenessSettings,
    *,
    own_delay: float | None,
    crawl_delay: float | None,
    transfer_seconds: float,
    is_local: bool,
) -> float:
    """Return the seconds to pause for a host after a response that took `transfer_seconds`.

    `own_delay` is the user's setting, for all hosts or for this one. A Crawl-delay can only make it longer.
    `max_crawl_delay` caps the Crawl-delay, so that a site cannot stop the crawl by asking for a day.
    """
    if own_delay is not None:
        pause = own_delay
    elif is_local:
        pause = 0.0
    else:
        pause = max(transfer_seconds, politeness.min_delay)
    if crawl_delay is not None:
        pause = max(pause, min(crawl_delay, politeness.max_crawl_delay))
    return pause


def backoff(politeness: PolitenessSettings, failures: int) -> float:
    """Return the seconds to pause for a host after this many failures in a row."""
    return min(FIRST_BACKOFF_SECONDS * 2.0 ** min(failures - 1, 30), politeness.max_delay) if failures else 0.0


def retry_after(header: str, now: float) -> float:
    """Return the seconds that a Retry-After header asks for (RFC 9110 §10.2.3), at most a day; 0 if it is invalid."""
    if not header:
        return 0.0
    if header.strip().isdecimal():
        return float(min(int(header.strip()[:9]), 86_400))
    at = parse_http_date(header)
    return 0.0 if at is None else max(0.0, min(at - now, 86_400.0))


def topic_words(topic: str) -> frozenset[str]:
    """Return the words of a topic in lower case."""
    return frozenset(WORD.findall(topic.lower()))


class AdmissionPolicy:
    """Decides about candidates by the crawl's settings and scope."""

    def __init__(self, settings: CrawlSettings, scope: Scope) -> None:
        self._settings = settings
        self._scope = scope
        self._topic = topic_words(settings.topic)

    def __call__(self, candidates: Sequence[Candidate]) -> list[Admission]:
        """Return one decision per candidate."""
        return [self._admit(candidate) for candidate in candidates]

    def _admit(self, candidate: Candidate) -> Admission:
        settings = self._settings
        if candidate.seed:
            return self._queue(candidate)
        if not candidate.follow and settings.robots:
            return Admission(state=State.KNOWN, reason="nofollow")
        if candidate.kind in EMBEDS:
            if settings.check in {"embeds", "all"}:
                return self._queue(candidate, Role.CHECK)
            return Admission(state=State.KNOWN, reason="embedded, not a page")
        if candidate.kind is Kind.SITEMAP_FILE and not candidate.hops:
            return self._queue(candidate, Role.SITEMAP)  # the robots.txt of its host names it: no prefix applies
        if refusal := self._scope.refusal(candidate.url):
            if settings.check in {"external", "all"} and self._scope.is_outside(candidate.url):
                return self._queue(candidate, Role.CHECK)
            return Admission(state=State.OUT_OF_SCOPE, reason=refusal)
        return self._admit_in_scope(candidate)

    def _admit_in_scope(self, candidate: Candidate) -> Admission:
        max_depth = self._settings.max_depth
        if max_depth is not None and candidate.depth > max_depth:
            return Admission(state=State.KNOWN, reason=f"deeper than {max_depth} links")
        if candidate.kind is not Kind.SITEMAP_FILE:
            return self._queue(candidate)
        if candidate.hops > MAX_SITEMAP_NESTING:
            return Admission(state=State.KNOWN, reason=f"sitemaps nested deeper than {MAX_SITEMAP_NESTING}")
        return self._queue(candidate, Role.SITEMAP)

    def _queue(self, candidate: Candidate, role: Role = Role.PAGE) -> Admission:
        return Admission(state=State.QUEUED, role=role, priority=self._priority(candidate))

    def _priority(self, candidate: Candidate) -> float:
        if self._settings.order == "depth":
            return float(candidate.depth)
        if self._settings.order == "breadth":
            return float(-candidate.depth)
        importance = BACKLINK_GAIN * candidate.backlinks - DEPTH_COST * candidate.depth
        return TOPIC_GAIN * self._nearness(candidate) + importance

    def _nearness(self, candidate: Candidate) -> float:
        """Return how near a link is to the topic, 0..1, by its anchor, its URL and its source page."""
        if not self._topic:
            return 0.0
        words = {*WORD.findall(candidate.anchor.lower()), *WORD.findall(candidate.url.lower().replace("_", " "))}
        own = len(self._topic & words) / len(self._topic)
        return (1 - SOURCE_SHARE) * own + SOURCE_SHARE * candidate.source_topic


class CopyCounter:
    """Counts pages with the same content per host, because a trap that answers every URL alike never ends."""

    def __init__(self, max_copies: int) -> None:
        self.max_copies = max_copies
        self._times_seen: dict[tuple[int, bytes], int] = {}

    def count_excess(self, host: int, content: bytes) -> int:
        """Count a page; return how many earlier pages had its content if that exceeds `max_copies`, else 0."""
        if len(self._times_seen) >= MAX_CACHED_CONTENTS:
            self._times_seen = {key: times for key, times in self._times_seen.items() if times > 1}
            if len(self._times_seen) >= MAX_CACHED_CONTENTS // 2:
                self._times_seen.clear()
        times_before = self._times_seen.get((host, content), 0)
        self._times_seen[host, content] = times_before + 1
        return times_before if times_before > self.max_copies else 0


class IdleDecision(Value, frozen=True, kw_only=True):
    """Whether an idle crawler ends, or what it waits for."""

    end_reason: str = ""  # why to end; "": wait
    waiting_for: str = ""  # hosts, and the crawlers that hold them
    poll_at: float = float("inf")  # Unix time at which to ask the store again


def decide_when_idle(
    waiting: Sequence[WaitingHost], *, counts: Counts, current: Round, now: float, patience: float
) -> IdleDecision:
    """Decide whether an idle crawler ends: it does if no host can become ready within `patience` seconds.

    A host that another crawler holds can become free at any time, so the crawler waits as long as that one runs. The
    store counted the URLs after it listed the hosts. Open URLs without a waiting host are beyond a page limit, or
    another crawler has just added them. Then the next look decides.
    """
    held_by_others = [each for each in waiting if each.holder]
    if held_by_others:
        return IdleDecision(
            waiting_for="; ".join(f"{each.host} (held by {each.holder})" for each in held_by_others[:3])
        )
    soonest = min((each.ready_at for each in waiting), default=float("inf"))
    if soonest <= now + patience:
        return IdleDecision(poll_at=max(soonest, now))
    if waiting:
        return IdleDecision(end_reason=f"nothing can be visited within {patience:g} s")
    queued, leased = (counts.resources.get(state, 0) for state in (State.QUEUED, State.LEASED))
    if not queued and not leased:
        return IdleDecision(end_reason=COMPLETE)
    is_full = current.max_pages is not None and current.pages >= current.max_pages
    if not leased and (is_full or current.max_pages_per_host is not None):
        return IdleDecision(end_reason=PAGE_LIMIT)
    return IdleDecision()
