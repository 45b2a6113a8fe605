"""Rounds without a database: limits, and what changed settings decide about known URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from gossamer.model import Candidate, Kind, Role, State
from gossamer.store.values import Round
from gossamer.store.work.claims import ALL_STRENGTHS, strength

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gossamer.model import Admission

READMIT_AT_ONCE = 2_000  # resources per call of `admit`: bounded memory, few calls
NO_ROUND = 0  # visits made before any round began
LOWEST_PRIORITY = -1e9  # after all other URLs of a host; a page that answered 404 is retried with it


class RoundLimits(NamedTuple):
    """What the current round allows."""

    round: int
    started_at: float  # Unix time
    pages: int  # visited so far
    max_pages: int | None
    max_pages_per_host: int | None
    max_depth: int | None
    backlink_gain: float  # priority that one backlink adds to a resource


class _ContentSettings(msgspec.Struct):
    """The settings of a round that decide what is extracted from a page and kept."""

    links: bool = True
    source: bool = True
    topic: str = ""
    query: str = "keep"
    drop_parameters: tuple[str, ...] = ()
    render: str = "auto"
    render_scroll: bool = False
    script_links: bool = False


class _FrontierSettings(msgspec.Struct):
    """The settings of a round that the store itself uses."""

    max_depth: int | None = None
    order: str = "breadth"


RoundRow = tuple[int, float, float | None, str, int | None, int | None, int]
# id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages


def round_limits(row: RoundRow | None) -> RoundLimits:
    """Return the limits of a round; no limits when there is no round."""
    if row is None:
        return RoundLimits(NO_ROUND, 0.0, 0, None, None, None, 0.0)
    round_id, started_at, _, settings, max_pages, max_pages_per_host, pages = row
    frontier = msgspec.json.decode(settings, type=_FrontierSettings)
    # In the order "best" a backlink is the unit of priority (`crawl.policy`).
    gain = 1.0 if frontier.order == "best" else 0.0
    return RoundLimits(round_id, started_at, pages, max_pages, max_pages_per_host, frontier.max_depth, gain)


class RoundSeeds(NamedTuple):
    """The URLs that a round starts from."""

    given: tuple[str, ...]
    joined: tuple[str, ...]

    @classmethod
    def from_urls(cls, given: Iterable[str], seed_resources: Iterable[str]) -> RoundSeeds:
        """Build the seeds; `seed_resources` are the URLs of all resources marked as seeds."""
        given = tuple(given)
        known = set(given)
        return cls(given, tuple(url for url in seed_resources if url not in known))


class SeedCache:
    """The seeds read last, because the list may be long and crawlers ask for the round all the time.

    The key is the round with the number and the greatest id of the resources marked as seeds.
    """

    def __init__(self) -> None:
        self._entry: tuple[object, RoundSeeds] | None = None  # one tuple, because several threads may read it

    def get(self, round_id: int, seed_summary: object, load_seeds: Callable[[int], RoundSeeds]) -> RoundSeeds:
        """Return the seeds of a round, from memory if the key is the same."""
        entry, key = self._entry, (round_id, seed_summary)
        if entry is not None and entry[0] == key:
            return entry[1]
        seeds = load_seeds(round_id)
        self._entry = (key, seeds)
        return seeds


def build_round(row: RoundRow, seeds: RoundSeeds) -> Round:
    """Build a round from its row."""
    round_id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages = row
    return Round(
        id=round_id, started_at=started_at, finished_at=finished_at, settings=settings, seeds=seeds.given,
        joined=seeds.joined, max_pages=max_pages, max_pages_per_host=max_pages_per_host, pages=pages,
    )  # fmt: skip


def has_same_content_settings(settings: str, others: str) -> bool:
    """Return whether two rounds extract the same from a page.

    If not, a later visit must fetch the page again and cannot accept "not modified".
    """
    return msgspec.json.decode(settings, type=_ContentSettings) == msgspec.json.decode(others, type=_ContentSettings)


def has_minimal_depths(rounds: Iterable[str], depth: int) -> bool:
    """Return whether these rounds kept depths minimal up to `depth`: each had a limit of at least that."""
    decoded = (msgspec.json.decode(settings, type=_FrontierSettings) for settings in rounds)
    return all(acted.max_depth is not None and acted.max_depth >= depth for acted in decoded)


# -- changed scope -----------------------------------------------------------------------------------------------------


class AdmissionState(NamedTuple):
    """The decision on a resource."""

    state: str
    role: str
    reason: str
    priority: float
    asked: int  # judged strengths of claims, as bits


class UnvisitedResource(NamedTuple):
    """A resource not visited yet, its best claim, and the decision on it."""

    id: int
    host: int
    outcome: str
    admission_state: AdmissionState
    candidate: Candidate


def build_unvisited_resource(row: Sequence[Any]) -> UnvisitedResource:
    """Build it from id, host, outcome, the columns of `AdmissionState`, and those of the candidate."""
    url, digest, kind, follow, depth, hops, seed, backlinks, anchor, topic = row[8:]
    candidate = Candidate(
        url=url, digest=digest, kind=Kind(kind), follow=bool(follow), depth=depth, hops=hops, seed=bool(seed),
        backlinks=backlinks, anchor=anchor, source_topic=topic,
    )  # fmt: skip
    return UnvisitedResource(row[0], row[1], row[2], AdmissionState._make(row[3:8]), candidate)


def decide_admission(resource: UnvisitedResource, admission: Admission) -> AdmissionState:
    """Return the decision after an admission; a lease stays only if the URL may be visited."""
    queued = admission.state is State.QUEUED
    state = State.LEASED if queued and resource.admission_state.state == State.LEASED else admission.state
    role = admission.role.value if queued else resource.admission_state.role
    asked = ALL_STRENGTHS if queued and admission.role is not Role.CHECK else 1 << strength(resource.candidate)
    return AdmissionState(state.value, role, admission.reason, admission.priority, asked)
