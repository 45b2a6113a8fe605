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
from gossamer.store.work.url_cache import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gossamer.model import AdmitCandidates

FORGOTTEN = "forgotten"  # reason of a resource that stays known only because remembered pages link to it
OPEN = frozenset({State.KNOWN, State.OUT_OF_SCOPE})  # not admitted so far
UNDER_WAY = frozenset({State.QUEUED, State.LEASED})
FAULTY = frozenset({State.FAILED, State.REFUSED, State.GONE})


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
EVERYTHING = (1 << len(Strength)) - 1


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


def is_news(known: Remembered, strong: int, far: int) -> bool:
    """Whether a claim could change what is known: a strength not judged yet, or a nearer way."""
    return not known.asked & COVERED_BY[strong] or (far < known.distance and strong > Strength.EMBED)


class Finder(NamedTuple):
    """Who found the candidates, and who decides on them."""

    admit: AdmitCandidates
    at: float
    by: int | None
    reopen: bool = False  # a seed given again is tried again though it failed


class Row(NamedTuple):
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


class Choice(NamedTuple):
    """The best of the claims on one resource, and all strengths that were judged."""

    candidate: Candidate
    admission: Admission
    asked: int


def worth_asking(
    candidates: Sequence[Candidate], known: Mapping[bytes, Remembered], rows: Mapping[int, Row], finder: Finder
) -> Iterator[Candidate]:
    """Candidates that are new, or news; of the known ones it is told how many pages point at them."""
    for candidate in candidates:
        if candidate.digest not in known:
            yield candidate
        elif _may_change(row := rows[known[candidate.digest].id], candidate, finder):
            yield replace(candidate, backlinks=row.backlinks)


def _may_change(row: Row, candidate: Candidate, finder: Finder) -> bool:
    if row.state == State.KNOWN and row.reason == FORGOTTEN:
        return candidate.seed
    if finder.reopen and candidate.seed and row.state in FAULTY:
        return True
    return is_news(remembered(row), strength(candidate), distance(candidate.depth, candidate.hops))


def choose(candidates: Sequence[Candidate], admissions: Sequence[Admission]) -> dict[bytes, Choice]:
    """The best claim on each resource."""
    choices: dict[bytes, Choice] = {}
    for candidate, admission in zip(candidates, admissions, strict=True):
        bit = 1 << strength(candidate)
        other = choices.get(candidate.digest)
        if other is None:
            choices[candidate.digest] = Choice(candidate, admission, bit)
        elif _rank(candidate, admission) > _rank(other.candidate, other.admission):
            choices[candidate.digest] = Choice(candidate, admission, bit | other.asked)
        else:
            choices[candidate.digest] = other._replace(asked=bit | other.asked)
    return choices


def _rank(candidate: Candidate, admission: Admission) -> tuple[bool, bool, int, int]:
    """Among claims on one URL: an admitted page before a check before none; then the nearest, or the strongest."""
    queued = admission.state is State.QUEUED
    strong = 0 if queued else strength(candidate)
    return queued, admission.role is not Role.CHECK, strong, -distance(candidate.depth, candidate.hops)


def asked_of(choice: Choice) -> int:
    """Who is admitted as a page cannot get further by another claim, only nearer."""
    admission = choice.admission
    return EVERYTHING if admission.state is State.QUEUED and admission.role is not Role.CHECK else choice.asked


def new_row(
    resource: int, host: int, choice: Choice, finder: Finder
) -> tuple[int, bytes, int, str, str, int, int, int, float, int, int, int, str, str, float, int | None]:
    """The columns of a resource that was not known before."""
    c, a = choice.candidate, choice.admission
    return (
        resource, c.digest, host, a.state.value, a.role.value, c.depth, c.hops, asked_of(choice), a.priority,
        int(c.kind), int(c.follow), int(c.seed), c.url, a.reason, finder.at, finder.by,
    )  # fmt: skip


def authority(url: str) -> str:
    """The host with its port, as a canonical URL has it: `http://localhost:8080/x` is on `localhost:8080`."""
    return url.split("/", 3)[2].rpartition("@")[2]


def improved(row: Row, choice: Choice, finder: Finder) -> Row:
    """A resource after a choice on it."""
    candidate, admission = choice.candidate, choice.admission
    row = row._replace(asked=row.asked | asked_of(choice))
    near = distance(candidate.depth, candidate.hops) < distance(row.depth, row.hops)
    if admission.state is not State.QUEUED:
        strong, before = strength(candidate), _standing(row)
        if row.state in OPEN and (strong > before or (strong == before and near)):
            return _claimed(row, candidate)._replace(state=admission.state.value, reason=admission.reason)
        return row
    if row.state in OPEN or _is_tried_again(row, choice, finder):
        row = row._replace(state=State.QUEUED.value, reason="", tries=0)
        return _claimed(row, candidate)._replace(role=admission.role.value, priority=admission.priority)
    if row.role == Role.CHECK and admission.role is not Role.CHECK:  # under way: the next visit will be a page's
        return _claimed(row, candidate)._replace(role=admission.role.value, priority=admission.priority)
    if near:
        return row._replace(depth=candidate.depth, hops=candidate.hops, priority=admission.priority)
    return row


def _is_tried_again(row: Row, choice: Choice, finder: Finder) -> bool:
    """Whether a resource that had its visit should have another: it was only checked, or is a seed that failed."""
    if row.state in UNDER_WAY:
        return False
    if row.role == Role.CHECK and choice.admission.role is not Role.CHECK:
        return True
    return finder.reopen and choice.candidate.seed and row.state in FAULTY


def _standing(row: Row) -> int:
    """The strength of the claim that an open resource stands on."""
    return int(Strength.SEED) if row.seed else STRENGTHS[row.kind, bool(row.follow)]


def _claimed(row: Row, candidate: Candidate) -> Row:
    return row._replace(
        depth=candidate.depth, hops=candidate.hops, kind=int(candidate.kind), follow=int(candidate.follow),
        seed=int(candidate.seed),
    )  # fmt: skip


def improved_row(row: Row) -> tuple[str, str, int, int, int, float, int, int, int, int, str, int]:
    """The columns that a choice can change, and the id."""
    return (
        row.state, row.role, row.depth, row.hops, row.asked, row.priority, row.tries, row.kind, row.follow, row.seed,
        row.reason, row.id,
    )  # fmt: skip


def remembered(row: Row) -> Remembered:
    """A row as it is kept in memory."""
    return Remembered(row.id, row.asked, distance(row.depth, row.hops))
