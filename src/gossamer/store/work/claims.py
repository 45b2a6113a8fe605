"""Claims on resources, judged without a database: which are news, which is best, what it changes.

Every way to find a URL (a link, a redirect, a seed, a link found again at a smaller depth) is a claim on it. The store
asks the crawl's `admit` only about claims that are news. A claim is news if the resource is unknown, or if the claim is
stronger or nearer than all judged claims. So each of thousands of links to known URLs costs one dictionary look-up.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from gossamer.model import EMBEDS, Admission, Candidate, Kind, Role, State
from gossamer.store.work.url_cache import KnownResource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gossamer.model import AdmitCandidates

FORGOTTEN = "forgotten"  # the reason of a resource that stays known only because pages link to it
OPEN_STATES = frozenset({State.KNOWN, State.OUT_OF_SCOPE})  # not admitted
ACTIVE_STATES = frozenset({State.QUEUED, State.LEASED})
FAILED_STATES = frozenset({State.FAILED, State.REFUSED, State.GONE})


class Strength(IntEnum):
    """How strongly a bond suggests a visit of its target. The numbers are stored as bits; never renumber."""

    FAINT_EMBED = 0  # an embed behind nofollow
    EMBED = 1
    FAINT_LINK = 2  # behind nofollow
    STATEMENT = 3  # from the page's head: canonical, alternate, related
    LINK = 4  # a reader can follow it, or a site lists it
    SEED = 5


# Judged strengths that make a claim of a strength superfluous. Different rules judge embeds and links. A link out of
# scope is not visited, the same URL as an image may be checked. So neither covers the other.
_EMBED_BITS = {strength: 1 << strength for strength in (Strength.FAINT_EMBED, Strength.EMBED)}
COVERED_BY: dict[int, int] = {
    **{strength: sum(bit for other, bit in _EMBED_BITS.items() if other >= strength) for strength in _EMBED_BITS},
    **{strength: (1 << len(Strength)) - (1 << strength) for strength in Strength if strength not in _EMBED_BITS},
}
ALL_STRENGTHS = (1 << len(Strength)) - 1


def _strength(kind: Kind, follow: bool) -> Strength:
    if kind in EMBEDS:
        return Strength.EMBED if follow else Strength.FAINT_EMBED
    if not follow:
        return Strength.FAINT_LINK
    return Strength.STATEMENT if kind in {Kind.CANONICAL, Kind.ALTERNATE, Kind.RELATED} else Strength.LINK


STRENGTHS: dict[tuple[int, bool], int] = {
    (int(kind), follow): int(_strength(kind, follow)) for kind in Kind for follow in (False, True)
}


def strength(candidate: Candidate) -> int:
    """Return how strongly a candidate suggests a visit."""
    return int(Strength.SEED) if candidate.seed else STRENGTHS[candidate.kind, candidate.follow]


def distance(depth: int, hops: int) -> int:
    """Return depth and hops as one number to compare, depth first."""
    return depth << 6 | min(hops, 63)


def is_news(known: KnownResource, claim_strength: int, claim_distance: int) -> bool:
    """Return whether a claim could change a resource: an unjudged strength, or a shorter distance."""
    return not known.asked & COVERED_BY[claim_strength] or (
        claim_distance < known.distance and claim_strength > Strength.EMBED
    )


class Discovery(NamedTuple):
    """How candidates were found, and the function that decides on them."""

    admit: AdmitCandidates
    discovered_at: float
    discovered_by: int | None
    reopen: bool = False  # queue failed seeds again


class ResourceClaim(NamedTuple):
    """The columns of a known resource that a claim can change, and those that decide it."""

    id: int
    host: int
    state: str
    role: str
    outcome: str
    depth: int
    hops: int
    asked: int
    priority: float
    tries: int
    kind: int
    follow: int
    seed: int
    reason: str
    backlinks: int


class BestClaim(NamedTuple):
    """The best claim on one resource, and all judged strengths."""

    candidate: Candidate
    admission: Admission
    asked: int


def select_news(
    candidates: Sequence[Candidate],
    known: Mapping[bytes, KnownResource],
    rows: Mapping[int, ResourceClaim],
    discovery: Discovery,
) -> Iterator[Candidate]:
    """Yield candidates that are new or news; known ones get their number of backlinks."""
    for candidate in candidates:
        if candidate.digest not in known:
            yield candidate
        elif _may_change(row := rows[known[candidate.digest].id], candidate, discovery):
            yield replace(candidate, backlinks=row.backlinks)


def _may_change(row: ResourceClaim, candidate: Candidate, discovery: Discovery) -> bool:
    if row.state == State.KNOWN and row.reason == FORGOTTEN:
        return candidate.seed
    if discovery.reopen and candidate.seed and row.state in FAILED_STATES:
        return True
    return is_news(to_known_resource(row), strength(candidate), distance(candidate.depth, candidate.hops))


def choose_best_claims(candidates: Sequence[Candidate], admissions: Sequence[Admission]) -> dict[bytes, BestClaim]:
    """Return the best claim on each resource."""
    claims: dict[bytes, BestClaim] = {}
    for candidate, admission in zip(candidates, admissions, strict=True):
        bit = 1 << strength(candidate)
        other = claims.get(candidate.digest)
        if other is None:
            claims[candidate.digest] = BestClaim(candidate, admission, bit)
        elif _claim_rank(candidate, admission) > _claim_rank(other.candidate, other.admission):
            claims[candidate.digest] = BestClaim(candidate, admission, bit | other.asked)
        else:
            claims[candidate.digest] = other._replace(asked=bit | other.asked)
    return claims


def _claim_rank(candidate: Candidate, admission: Admission) -> tuple[bool, bool, int, int]:
    """Rank claims on one URL: admitted page, check, not admitted; then the nearest or the strongest."""
    queued = admission.state is State.QUEUED
    claim_strength = 0 if queued else strength(candidate)
    return queued, admission.role is not Role.CHECK, claim_strength, -distance(candidate.depth, candidate.hops)


def judged_strengths(claim: BestClaim) -> int:
    """Return the strengths that need no judging again.

    Later claims can only reduce the distance of an admitted page.
    """
    admission = claim.admission
    return ALL_STRENGTHS if admission.state is State.QUEUED and admission.role is not Role.CHECK else claim.asked


def new_row(
    resource: int, host: int, claim: BestClaim, discovery: Discovery
) -> tuple[int, bytes, int, str, str, int, int, int, float, int, int, int, str, str, float, int | None]:
    """Return the columns of a new resource."""
    c, a = claim.candidate, claim.admission
    return (
        resource, c.digest, host, a.state.value, a.role.value, c.depth, c.hops, judged_strengths(claim), a.priority,
        int(c.kind), int(c.follow), int(c.seed), c.url, a.reason, discovery.discovered_at, discovery.discovered_by,
    )  # fmt: skip


def apply_claim(row: ResourceClaim, claim: BestClaim, discovery: Discovery) -> ResourceClaim:
    """Return a resource after a decision on it."""
    candidate, admission = claim.candidate, claim.admission
    row = row._replace(asked=row.asked | judged_strengths(claim))
    is_nearer = distance(candidate.depth, candidate.hops) < distance(row.depth, row.hops)
    if admission.state is not State.QUEUED:
        new_strength, old_strength = strength(candidate), _claim_strength(row)
        if row.state in OPEN_STATES and (new_strength > old_strength or (new_strength == old_strength and is_nearer)):
            return _with_claim(row, candidate)._replace(state=admission.state.value, reason=admission.reason)
        return row
    if row.state in OPEN_STATES or _needs_another_visit(row, claim, discovery):
        row = row._replace(state=State.QUEUED.value, reason="", tries=0)
        return _with_claim(row, candidate)._replace(role=admission.role.value, priority=admission.priority)
    if row.role == Role.CHECK and admission.role is not Role.CHECK:  # the next visit, after the check, fetches the page
        return _with_claim(row, candidate)._replace(role=admission.role.value, priority=admission.priority)
    if is_nearer:
        return row._replace(depth=candidate.depth, hops=candidate.hops, priority=admission.priority)
    return row


def _needs_another_visit(row: ResourceClaim, claim: BestClaim, discovery: Discovery) -> bool:
    """Return whether a visited resource needs another visit: it was only checked, or is a failed seed."""
    if row.state in ACTIVE_STATES:
        return False
    if row.role == Role.CHECK and claim.admission.role is not Role.CHECK:
        return True
    return discovery.reopen and claim.candidate.seed and row.state in FAILED_STATES


def _claim_strength(row: ResourceClaim) -> int:
    """Return the strength of the claim that an open resource has."""
    return int(Strength.SEED) if row.seed else STRENGTHS[row.kind, bool(row.follow)]


def _with_claim(row: ResourceClaim, candidate: Candidate) -> ResourceClaim:
    return row._replace(
        depth=candidate.depth, hops=candidate.hops, kind=int(candidate.kind), follow=int(candidate.follow),
        seed=int(candidate.seed),
    )  # fmt: skip


def improved_row(row: ResourceClaim) -> tuple[str, str, int, int, int, float, int, int, int, int, str, int]:
    """Return the columns that a claim can change, and the id."""
    return (
        row.state, row.role, row.depth, row.hops, row.asked, row.priority, row.tries, row.kind, row.follow, row.seed,
        row.reason, row.id,
    )  # fmt: skip


def to_known_resource(row: ResourceClaim) -> KnownResource:
    """Return the row as the cache keeps it."""
    return KnownResource(row.id, row.asked, distance(row.depth, row.hops))
