"""What was asked, as far as the store acts upon it: a round's limits, and what a new scope decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from gossamer.model import Candidate, Kind, Role, State
from gossamer.store.values import Round
from gossamer.store.work.claims import ALL_STRENGTHS, strength

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gossamer.model import Admission

READMIT_AT_ONCE = 2_000  # resources asked about together: bounded memory, few calls
NO_ROUND = 0  # visits made before any round began
LOWEST_PRIORITY = -1e9  # a priority after everything else of a host: what answered 404 is asked again then


class RoundLimits(NamedTuple):
    """What the current round allows."""

    round: int
    pages: int  # visited so far
    max_pages: int | None
    max_pages_per_host: int | None
    max_depth: int | None
    backlink_gain: float  # what one backlink adds to a resource's priority


class _ContentSettings(msgspec.Struct):
    """The part of a round's settings that decides what is read out of a page and kept of it."""

    links: bool = True
    source: bool = True
    topic: str = ""
    query: str = "keep"
    drop_parameters: tuple[str, ...] = ()


class _FrontierSettings(msgspec.Struct):
    """The part of a round's settings that the store itself acts upon."""

    max_depth: int | None = None
    order: str = "breadth"


RoundRow = tuple[int, float, float | None, str, int | None, int | None, int]
# id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages


def round_limits(row: RoundRow | None) -> RoundLimits:
    """What a round allows; everything when there is none."""
    if row is None:
        return RoundLimits(NO_ROUND, 0, None, None, None, 0.0)
    round_id, _, _, settings, max_pages, max_pages_per_host, pages = row
    frontier = msgspec.json.decode(settings, type=_FrontierSettings)
    # In the order "best" a backlink is the unit of priority (`crawl.policy`).
    gain = 1.0 if frontier.order == "best" else 0.0
    return RoundLimits(round_id, pages, max_pages, max_pages_per_host, frontier.max_depth, gain)


class RoundSeeds(NamedTuple):
    """What a round starts from."""

    given: tuple[str, ...]
    joined: tuple[str, ...]

    @classmethod
    def from_urls(cls, given: Iterable[str], seed_resources: Iterable[str]) -> RoundSeeds:
        """`seed_resources` are the URLs of all that count as seeds."""
        given = tuple(given)
        known = set(given)
        return cls(given, tuple(url for url in seed_resources if url not in known))


class SeedCache:
    """The seeds that were read last. They may be a long list, and crawlers ask for the round all the time.

    They are the same as long as the round is, and the number and the last of the resources that count as seeds.
    """

    def __init__(self) -> None:
        self._entry: tuple[object, RoundSeeds] | None = None  # one value, for several threads may ask

    def get(self, round_id: int, seed_summary: object, load_seeds: Callable[[int], RoundSeeds]) -> RoundSeeds:
        """The seeds of a round: those in memory, or if there are others, read now."""
        entry, key = self._entry, (round_id, seed_summary)
        if entry is not None and entry[0] == key:
            return entry[1]
        seeds = load_seeds(round_id)
        self._entry = (key, seeds)
        return seeds


def build_round(row: RoundRow, seeds: RoundSeeds) -> Round:
    """A round as a value."""
    round_id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages = row
    return Round(
        id=round_id, started_at=started_at, finished_at=finished_at, settings=settings, seeds=seeds.given,
        joined=seeds.joined, max_pages=max_pages, max_pages_per_host=max_pages_per_host, pages=pages,
    )  # fmt: skip


def has_same_content_settings(settings: str, others: str) -> bool:
    """Whether two rounds read the same out of a page. If not, a later visit cannot be content with "not modified"."""
    return msgspec.json.decode(settings, type=_ContentSettings) == msgspec.json.decode(others, type=_ContentSettings)


def has_minimal_depths(rounds: Iterable[str], depth: int) -> bool:
    """Whether rounds of these settings kept depths minimal as far as this: each had a limit, and none a smaller one."""
    decoded = (msgspec.json.decode(settings, type=_FrontierSettings) for settings in rounds)
    return all(acted.max_depth is not None and acted.max_depth >= depth for acted in decoded)


# -- a new scope -------------------------------------------------------------------------------------------------------


class AdmissionState(NamedTuple):
    """What was decided on a resource."""

    state: str
    role: str
    reason: str
    priority: float
    asked: int  # strengths of claim judged


class UnvisitedResource(NamedTuple):
    """A resource not visited yet, the claim it stands on, and what was decided on that."""

    id: int
    host: int
    outcome: str
    admission_state: AdmissionState
    candidate: Candidate


def build_unvisited_resource(row: Sequence[Any]) -> UnvisitedResource:
    """A claim from its row: id, host, outcome, the columns of `Standing`, then those of the candidate."""
    url, digest, kind, follow, depth, hops, seed, backlinks, anchor, topic = row[8:]
    candidate = Candidate(
        url=url, digest=digest, kind=Kind(kind), follow=bool(follow), depth=depth, hops=hops, seed=bool(seed),
        backlinks=backlinks, anchor=anchor, source_topic=topic,
    )  # fmt: skip
    return UnvisitedResource(row[0], row[1], row[2], AdmissionState._make(row[3:8]), candidate)


def decide_admission(resource: UnvisitedResource, admission: Admission) -> AdmissionState:
    """Where it stands after an admission. What is leased stays so if it may be visited; if not, the lease ends."""
    queued = admission.state is State.QUEUED
    state = State.LEASED if queued and resource.admission_state.state == State.LEASED else admission.state
    role = admission.role.value if queued else resource.admission_state.role
    asked = ALL_STRENGTHS if queued and admission.role is not Role.CHECK else 1 << strength(resource.candidate)
    return AdmissionState(state.value, role, admission.reason, admission.priority, asked)
