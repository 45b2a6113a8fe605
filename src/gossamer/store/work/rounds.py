"""What was asked, as far as the store acts upon it: a round's limits, and what a new scope decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from gossamer.model import Candidate, Kind, Role, State
from gossamer.store.values import Round
from gossamer.store.work.claims import EVERYTHING, strength

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gossamer.model import Admission

READMIT_AT_ONCE = 2_000  # resources asked about together: bounded memory, few calls
NO_ROUND = 0  # visits made before any round began
LAST_OF_ALL = -1e9  # a priority after everything else of a host: what answered 404 is asked again then


class Limits(NamedTuple):
    """What the current round allows."""

    round: int
    pages: int  # visited so far
    max_pages: int | None
    max_pages_per_host: int | None
    max_depth: int | None
    backlink_gain: float  # what one backlink adds to a resource's priority


class _Read(msgspec.Struct):
    """The part of a round's settings that decides what is read out of a page and kept of it."""

    links: bool = True
    source: bool = True
    topic: str = ""
    query: str = "keep"
    drop_parameters: tuple[str, ...] = ()


class _Acted(msgspec.Struct):
    """The part of a round's settings that the store itself acts upon."""

    max_depth: int | None = None
    order: str = "breadth"


RoundRow = tuple[int, float, float | None, str, int | None, int | None, int]
# id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages


def limits_of(row: RoundRow | None) -> Limits:
    """What a round allows; everything when there is none."""
    if row is None:
        return Limits(NO_ROUND, 0, None, None, None, 0.0)
    round_id, _, _, settings, max_pages, max_pages_per_host, pages = row
    acted = msgspec.json.decode(settings, type=_Acted)
    # In the order "best" a backlink is the unit of priority (`crawl.policy`).
    gain = 1.0 if acted.order == "best" else 0.0
    return Limits(round_id, pages, max_pages, max_pages_per_host, acted.max_depth, gain)


class RoundSeeds(NamedTuple):
    """What a round starts from."""

    given: tuple[str, ...]
    joined: tuple[str, ...]

    @classmethod
    def of(cls, given: Iterable[str], seed_resources: Iterable[str]) -> RoundSeeds:
        """`seed_resources` are the URLs of all that count as seeds."""
        given = tuple(given)
        known = set(given)
        return cls(given, tuple(url for url in seed_resources if url not in known))


class SeedsRead:
    """The seeds that were read last. They may be a long list, and crawlers ask for the round all the time.

    They are the same as long as the round is, and the number and the last of the resources that count as seeds.
    """

    def __init__(self) -> None:
        self._read: tuple[object, RoundSeeds] | None = None  # one value, for several threads may ask

    def of(self, round_id: int, resources: object, read: Callable[[int], RoundSeeds]) -> RoundSeeds:
        """The seeds of a round: those in memory, or if there are others, read now."""
        known, sign = self._read, (round_id, resources)
        if known is not None and known[0] == sign:
            return known[1]
        seeds = read(round_id)
        self._read = (sign, seeds)
        return seeds


def round_of(row: RoundRow, seeds: RoundSeeds) -> Round:
    """A round as a value."""
    round_id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages = row
    return Round(
        id=round_id, started_at=started_at, finished_at=finished_at, settings=settings, seeds=seeds.given,
        joined=seeds.joined, max_pages=max_pages, max_pages_per_host=max_pages_per_host, pages=pages,
    )  # fmt: skip


def reads_alike(settings: str, others: str) -> bool:
    """Whether two rounds read the same out of a page. If not, a later visit cannot be content with "not modified"."""
    return msgspec.json.decode(settings, type=_Read) == msgspec.json.decode(others, type=_Read)


def kept_minimal(rounds: Iterable[str], depth: int) -> bool:
    """Whether rounds of these settings kept depths minimal as far as this: each had a limit, and none a smaller one."""
    decoded = (msgspec.json.decode(settings, type=_Acted) for settings in rounds)
    return all(acted.max_depth is not None and acted.max_depth >= depth for acted in decoded)


# -- a new scope -------------------------------------------------------------------------------------------------------


class Standing(NamedTuple):
    """What was decided on a resource."""

    state: str
    role: str
    reason: str
    priority: float
    asked: int  # strengths of claim judged


class Claim(NamedTuple):
    """A resource not visited yet, the claim it stands on, and what was decided on that."""

    id: int
    host: int
    outcome: str
    standing: Standing
    candidate: Candidate


def claim_of(row: Sequence[Any]) -> Claim:
    """A claim from its row: id, host, outcome, the columns of `Standing`, then those of the candidate."""
    url, digest, kind, follow, depth, hops, seed, backlinks, anchor, topic = row[8:]
    candidate = Candidate(
        url=url, digest=digest, kind=Kind(kind), follow=bool(follow), depth=depth, hops=hops, seed=bool(seed),
        backlinks=backlinks, anchor=anchor, source_topic=topic,
    )  # fmt: skip
    return Claim(row[0], row[1], row[2], Standing._make(row[3:8]), candidate)


def decided(claim: Claim, admission: Admission) -> Standing:
    """Where it stands after an admission. What is leased stays so if it may be visited; if not, the lease ends."""
    queued = admission.state is State.QUEUED
    state = State.LEASED if queued and claim.standing.state == State.LEASED else admission.state
    role = admission.role.value if queued else claim.standing.role
    asked = EVERYTHING if queued and admission.role is not Role.CHECK else 1 << strength(claim.candidate)
    return Standing(state.value, role, admission.reason, admission.priority, asked)
