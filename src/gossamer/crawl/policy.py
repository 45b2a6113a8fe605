"""Pure decisions of a crawl: what to do with a URL found, how long to wait, when to try again.

Nothing here touches the outside or the clock; the crawl loop asks and acts.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from gossamer.model import EMBEDS, Admission, Kind, Outcome, Role, State, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.config import CrawlSettings, PolitenessSettings
    from gossamer.model import Candidate
    from gossamer.store.values import WaitingHost
    from gossamer.urls.scope import Scope

# Weights of `--order best`, in units of one backlink. A level of depth costs one backlink; nearness to the topic (0..1)
# outweighs everything else, for that is what the user asked for.
BACKLINK_GAIN = 1.0
DEPTH_COST = 1.0
TOPIC_GAIN = 100.0
SOURCE_SHARE = 0.4  # how much of a link's nearness is that of the page it stands on (Chakrabarti's focused crawling)

MAX_SITEMAP_NESTING = 3  # an index of indexes of sitemaps; sitemaps.org allows one level, sites have been seen with two
ROBOTS_MAX_AGE = 24 * 3600.0  # RFC 9309 §2.4
ROBOTS_RETRY = 3600.0  # a host whose robots.txt stays unreachable is left alone for this long (seconds)
OUTAGE = 600.0  # for so long after its last answer a host that cannot be reached is only away (seconds)
FIRST_BACKOFF = 1.0  # pause after a host's first failure (seconds); doubles with each further one

# What counts against a host, and is tried again. Not 404s, nor anything the URL itself is to blame for.
HOST_FAILURES = frozenset({Outcome.TIMEOUT, Outcome.CONNECT, Outcome.DNS, Outcome.BAD_HTTP, Outcome.THROTTLED})
NOT_CONNECTED = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TIMEOUT})
UNREACHABLE = frozenset({Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT, Outcome.BAD_HTTP})
REFUSALS = frozenset({Outcome.ROBOTS, Outcome.TYPE, Outcome.ADDRESS, Outcome.TOO_BIG, Outcome.HEADERS_TOO_BIG})
SUCCESSES = frozenset({Outcome.FETCHED, Outcome.NOT_MODIFIED, Outcome.REDIRECTED, Outcome.CHECKED})

REMEMBERED_CONTENTS = 50_000  # about 10 MB; those seen once are forgotten first

COMPLETE = "complete"
PAGE_LIMIT = "page limit reached"

WORD = re.compile(r"\w+")


class Verdict(Value, frozen=True, kw_only=True):
    """What an outcome means for its resource and its host."""

    state: State
    host_failure: bool


def verdict(outcome: Outcome, status: int, tries: int, retries: int) -> Verdict:
    """Where a resource stands after a visit; `tries` were made before this one."""
    failure = outcome in HOST_FAILURES or (outcome is Outcome.HTTP_ERROR and status >= 500)
    if outcome in SUCCESSES:
        state = State.VISITED
    elif outcome is Outcome.NOT_FOUND:
        state = State.GONE
    elif outcome in REFUSALS:
        state = State.REFUSED
    elif failure and tries + 1 < retries:
        state = State.QUEUED
    else:
        state = State.FAILED
    return Verdict(state=state, host_failure=failure)


def is_nobody_there(outcome: Outcome, address: str) -> bool:
    """Whether a transfer did not even get a connection: nothing that the URL asked for could be to blame."""
    return outcome in NOT_CONNECTED and not address


def is_doubtful(outcome: Outcome, before: str) -> bool:
    """Whether a page that was there the last time is said to be gone: it is asked for once more before it goes."""
    return outcome is Outcome.NOT_FOUND and before in {Outcome.FETCHED, Outcome.NOT_MODIFIED}


def pause_after(
    politeness: PolitenessSettings, *, own: float | None, crawl_delay: float | None, took: float, local: bool
) -> float:
    """Seconds to leave a host alone after an answer that took `took` seconds.

    `own` is the delay asked for by the user (for all hosts or this one). A Crawl-delay makes it longer, never shorter,
    up to a cap, so that a site cannot stop the crawl altogether by asking for a day.
    """
    if own is not None:
        pause = own
    elif local:
        pause = 0.0
    else:
        pause = max(took, politeness.min_delay)
    if crawl_delay is not None:
        pause = max(pause, min(crawl_delay, politeness.max_crawl_delay))
    return pause


def backoff(politeness: PolitenessSettings, failures: int) -> float:
    """Seconds to leave a host alone after that many failures in a row."""
    return min(FIRST_BACKOFF * 2.0 ** min(failures - 1, 30), politeness.max_delay) if failures else 0.0


def retry_after(header: str, now: float) -> float:
    """Seconds that a Retry-After header asks to wait (RFC 9110 §10.2.3), 0 when it asks for nothing sensible."""
    if not header:
        return 0.0
    if header.strip().isdecimal():
        return float(min(int(header.strip()[:9]), 86_400))
    try:
        at = parsedate_to_datetime(header).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, min(at - now, 86_400.0))


def topic_words(topic: str) -> frozenset[str]:
    """The words of a topic, as they are compared."""
    return frozenset(WORD.findall(topic.lower()))


class Admissions:
    """What to do with candidates: the crawl's settings and scope made into one decision."""

    def __init__(self, settings: CrawlSettings, scope: Scope) -> None:
        self._settings = settings
        self._scope = scope
        self._topic = topic_words(settings.topic)

    def __call__(self, candidates: Sequence[Candidate]) -> list[Admission]:
        """Decide each candidate."""
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
            return self._queue(candidate, Role.SITEMAP)  # the host's own robots.txt names it, wherever it is
        if refusal := self._scope.refusal(candidate.url):
            if settings.check in {"external", "all"} and self._scope.is_outside(candidate.url):
                return self._queue(candidate, Role.CHECK)
            return Admission(state=State.OUT_OF_SCOPE, reason=refusal)
        return self._admit_in_scope(candidate)

    def _admit_in_scope(self, candidate: Candidate) -> Admission:
        most = self._settings.max_depth
        if most is not None and candidate.depth > most:
            return Admission(state=State.KNOWN, reason=f"deeper than {most} links")
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
        """How near a link is to the topic, 0..1: words of its anchor and URL, and the page it stands on."""
        if not self._topic:
            return 0.0
        words = {*WORD.findall(candidate.anchor.lower()), *WORD.findall(candidate.url.lower().replace("_", " "))}
        own = len(self._topic & words) / len(self._topic)
        return (1 - SOURCE_SHARE) * own + SOURCE_SHARE * candidate.source_topic


class Copies:
    """How often the same content was seen on one host: a trap that answers everything alike must not go on for ever."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._seen: dict[tuple[int, bytes], int] = {}

    def beyond(self, host: int, content: bytes) -> int:
        """The number of pages seen before with this content, when they are too many; 0 otherwise."""
        if len(self._seen) >= REMEMBERED_CONTENTS:
            self._seen = {key: times for key, times in self._seen.items() if times > 1}
            if len(self._seen) >= REMEMBERED_CONTENTS // 2:
                self._seen.clear()
        before = self._seen.get((host, content), 0)
        self._seen[host, content] = before + 1
        return before if before > self.most else 0


class Left(Value, frozen=True, kw_only=True):
    """What an idle crawler is left with."""

    ending: str = ""  # why to end; "": wait
    waiting_for: str = ""  # hosts, and who has them
    ask_again_at: float = float("inf")


def what_is_left(waiting: Sequence[WaitingHost], *, queued: int, now: float, patience: float) -> Left:
    """Whether a crawler with nothing to do should end: when nothing can become ready within its patience.

    A host that another crawler holds can become free at any time, so it is waited for as long as that one lives.
    """
    held = [each for each in waiting if each.holder]
    if held:
        return Left(waiting_for="; ".join(f"{each.host} (held by {each.holder})" for each in held[:3]))
    soonest = min((each.ready_at for each in waiting), default=float("inf"))
    if soonest <= now + patience:
        return Left(ask_again_at=max(soonest, now))
    if waiting:
        return Left(ending=f"nothing can be visited within {patience:g} s")
    return Left(ending=PAGE_LIMIT if queued > 0 else COMPLETE)
