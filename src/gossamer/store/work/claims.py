"""Claims on resources, judged without a database: which of them are news, which is best, and what it changes.

Every way a URL can be found (a link, a redirect, a seed, a link found again at a smaller depth) is a claim on it. The
crawl's `admit` is asked only about claims that are news: the resource is unknown, or this claim on it is stronger or
nearer than all that were judged before. Thousands of links to what is known for long cost a dictionary look-up each.
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

FORGOTTEN = "forgotten"  # reason of a resource that stays known only because remembered pages link to it
OPEN_STATES = frozenset({State.KNOWN, State.OUT_OF_SCOPE})  # not admitted so far
ACTIVE_STATES = frozenset({State.QUEUED, State.LEASED})
FAILED_STATES = frozenset({State.FAILED, State.REFUSED, State.GONE})


class Strength(IntEnum):
    """How much a bond says for visiting its target. The numbers are stored as bits; never renumber."""

    FAINT_EMBED = 0  # an embed behind nofollow
    EMBED = 1
    FAINT_LINK = 2  # behind nofollow
    STATEMENT = 3  # what the page's head says: canonical, alternate, related
    LINK = 4  # what a reader can follow, or a site lists
    SEED = 5


# Which judged claims make another one of a strength superfluous. Embeds and links are judged by different rules (a link
# out of scope is not visited, the same URL as an image may be checked), so neither covers the other.
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
    """How much a candidate says for visiting it."""
    return int(Strength.SEED) if candidate.seed else STRENGTHS[candidate.kind, candidate.follow]


def distance(depth: int, hops: int) -> int:
    """Depth first, then hops: one number to compare."""
    return depth << 6 | min(hops, 63)


def is_news(known: KnownResource, claim_strength: int, claim_distance: int) -> bool:
    """Whether a claim could change what is known: a strength not judged yet, or a nearer way."""
    return not known.asked & COVERED_BY[claim_strength] or (
        claim_distance < known.distance and claim_strength > Strength.EMBED
    )


class Discovery(NamedTuple):
    """Who found the candidates, and who decides on them."""

    admit: AdmitCandidates
    discovered_at: float
    discovered_by: int | None
    reopen: bool = False  # a seed given again is tried again though it failed


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
    """The best of the claims on one resource, and all strengths that were judged."""

    candidate: Candidate
    admission: Admission
    asked: int


def select_news(
    candidates: Sequence[Candidate],
    known: Mapping[bytes, KnownResource],
    rows: Mapping[int, ResourceClaim],
    discovery: Discovery,
) -> Iterator[Candidate]:
    """Candidates that are new, or news; of the known ones it is told how many pages point at them."""
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
    """The best claim on each resource."""
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
    """Among claims on one URL: an admitted page before a check before none; then the nearest, or the strongest."""
    queued = admission.state is State.QUEUED
    claim_strength = 0 if queued else strength(candidate)
    return queued, admission.role is not Role.CHECK, claim_strength, -distance(candidate.depth, candidate.hops)


def judged_strengths(claim: BestClaim) -> int:
    """Who is admitted as a page cannot get further by another claim, only nearer."""
    admission = claim.admission
    return ALL_STRENGTHS if admission.state is State.QUEUED and admission.role is not Role.CHECK else claim.asked


def new_row(
    resource: int, host: int, claim: BestClaim, discovery: Discovery
) -> tuple[int, bytes, int, str, str, int, int, int, float, int, int, int, str, str, float, int | None]:
    """The columns of a resource that was not known before."""
    c, a = claim.candidate, claim.admission
    return (
        resource, c.digest, host, a.state.value, a.role.value, c.depth, c.hops, judged_strengths(claim), a.priority,
        int(c.kind), int(c.follow), int(c.seed), c.url, a.reason, discovery.discovered_at, discovery.discovered_by,
    )  # fmt: skip


def authority(url: str) -> str:
    """The host with its port, as a canonical URL has it: `http://localhost:8080/x` is on `localhost:8080`."""
    return url.split("/", 3)[2].rpartition("@")[2]


def apply_claim(row: ResourceClaim, claim: BestClaim, discovery: Discovery) -> ResourceClaim:
    """A resource after a choice on it."""
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
    if row.role == Role.CHECK and admission.role is not Role.CHECK:  # under way: the next visit will be a page's
        return _with_claim(row, candidate)._replace(role=admission.role.value, priority=admission.priority)
    if is_nearer:
        return row._replace(depth=candidate.depth, hops=candidate.hops, priority=admission.priority)
    return row


def _needs_another_visit(row: ResourceClaim, claim: BestClaim, discovery: Discovery) -> bool:
    """Whether a resource that had its visit should have another: it was only checked, or is a seed that failed."""
    if row.state in ACTIVE_STATES:
        return False
    if row.role == Role.CHECK and claim.admission.role is not Role.CHECK:
        return True
    return discovery.reopen and claim.candidate.seed and row.state in FAILED_STATES


def _claim_strength(row: ResourceClaim) -> int:
    """The strength of the claim that an open resource stands on."""
    return int(Strength.SEED) if row.seed else STRENGTHS[row.kind, bool(row.follow)]


def _with_claim(row: ResourceClaim, candidate: Candidate) -> ResourceClaim:
    return row._replace(
        depth=candidate.depth, hops=candidate.hops, kind=int(candidate.kind), follow=int(candidate.follow),
        seed=int(candidate.seed),
    )  # fmt: skip


def improved_row(row: ResourceClaim) -> tuple[str, str, int, int, int, float, int, int, int, int, str, int]:
    """The columns that a choice can change, and the id."""
    return (
        row.state, row.role, row.depth, row.hops, row.asked, row.priority, row.tries, row.kind, row.follow, row.seed,
        row.reason, row.id,
    )  # fmt: skip


def to_known_resource(row: ResourceClaim) -> KnownResource:
    """A row as it is kept in memory."""
    return KnownResource(row.id, row.asked, distance(row.depth, row.hops))
