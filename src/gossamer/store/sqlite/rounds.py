"""What was asked: rounds with their seeds and limits, and what a new round does to resources known before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.model import Candidate, Kind, Role, State
from gossamer.store.base import Round
from gossamer.store.sqlite.admission import EVERYTHING, FORGOTTEN, strength
from gossamer.store.sqlite.depth import shorten_ways

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from gossamer.model import Admission, Admit
    from gossamer.store.sqlite.database import Transaction

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


LAST = """
    SELECT id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages
    FROM rounds ORDER BY id DESC LIMIT 1"""
JOINED = "SELECT url FROM resources INDEXED BY resources_seeds WHERE seed = 1 ORDER BY id"
CLAIMS = """
    SELECT r.id, r.host, r.outcome, r.state, r.role, r.reason, r.priority, r.asked, r.url, r.digest, r.kind, r.follow,
        r.depth, r.hops, r.seed, coalesce(b.number, 0), coalesce(l.anchor, ''), coalesce(s.topic, 0)
    FROM resources AS r LEFT JOIN backlinks AS b ON b.resource = r.id
    LEFT JOIN links AS l ON (l.source, l.seq) = (SELECT source, seq FROM links WHERE target = r.id LIMIT 1)
    LEFT JOIN resources AS s ON s.id = l.source
    WHERE r.id > ? AND r.state IN ('known', 'queued', 'out of scope') AND NOT (r.state = 'known' AND r.reason = ?)
    ORDER BY r.id LIMIT ?"""
READMIT = "UPDATE resources SET state = ?, role = ?, reason = ?, priority = ?, asked = ? WHERE id = ?"


def current(db: sqlite3.Connection) -> Round | None:
    """The last round begun, finished or not."""
    row = db.execute(LAST).fetchone()
    if row is None:
        return None
    round_id, started_at, finished_at, settings, max_pages, max_pages_per_host, pages = row
    seeds = tuple(url for (url,) in db.execute("SELECT url FROM seeds WHERE round = ? ORDER BY seq", (round_id,)))
    joined = tuple(url for (url,) in db.execute(JOINED) if url not in seeds)
    return Round(
        id=round_id, started_at=started_at, finished_at=finished_at, settings=settings, seeds=seeds, joined=joined,
        max_pages=max_pages, max_pages_per_host=max_pages_per_host, pages=pages,
    )  # fmt: skip


def limits(db: sqlite3.Connection) -> Limits:
    """What the current round allows; everything when there is none."""
    row = db.execute(LAST).fetchone()
    if row is None:
        return Limits(NO_ROUND, 0, None, None, None, 0.0)
    round_id, _, _, settings, max_pages, max_pages_per_host, pages = row
    acted = msgspec.json.decode(settings, type=_Acted)
    # In the order "best" a backlink is the unit of priority (`crawl.policy`).
    gain = 1.0 if acted.order == "best" else 0.0
    return Limits(round_id, pages, max_pages, max_pages_per_host, acted.max_depth, gain)


def begin(
    tx: Transaction, settings: str, seeds: Sequence[str], max_pages: int | None, max_pages_per_host: int | None,
    now: float,
) -> Round:  # fmt: skip
    """Start a round; the one before, if it is under way, ends here."""
    _read_anew(tx, settings)
    tx.db.execute("UPDATE rounds SET finished_at = ? WHERE finished_at IS NULL", (now,))
    row = (now, settings, max_pages, max_pages_per_host)
    insert = "INSERT INTO rounds (started_at, settings, max_pages, max_pages_per_host) VALUES (?, ?, ?, ?)"
    begun = tx.db.execute(insert, row).lastrowid
    rows = ((begun, seq, url) for seq, url in enumerate(seeds))
    tx.db.executemany("INSERT INTO seeds (round, seq, url) VALUES (?, ?, ?)", rows)
    tx.db.execute("UPDATE hosts SET round_pages = 0, spent = 0 WHERE round_pages > 0 OR spent > 0")
    started = current(tx.db)
    assert started is not None
    return started


def _read_anew(tx: Transaction, settings: str) -> None:
    """If pages are to be read in another way than before, a later visit must not be content with "not modified"."""
    before = tx.db.execute(LAST).fetchone()
    if before is not None and _decoded(before[3]) != _decoded(settings):
        tx.db.execute("UPDATE resources SET etag = '', last_modified = '' WHERE etag <> '' OR last_modified <> ''")


def _decoded(settings: str) -> _Read:
    return msgspec.json.decode(settings, type=_Read)


def finish(tx: Transaction, now: float) -> None:
    """End the round if nothing is queued or leased: another crawler may have found work in the meantime."""
    if not tx.meta.resources(State.QUEUED) and not tx.meta.resources(State.LEASED):
        tx.db.execute("UPDATE rounds SET finished_at = ? WHERE finished_at IS NULL", (now,))


def requeue(tx: Transaction, now: float) -> int:
    """Queue again all that had its visit up to now."""
    which = "state IN ('visited', 'failed', 'refused', 'gone') AND visited_at <= ?"
    grouped = f"SELECT host, state, role, outcome, count(*) FROM resources WHERE {which} GROUP BY 1, 2, 3, 4"  # noqa: S608
    for host, state, role, outcome, times in tx.db.execute(grouped, (now,)).fetchall():
        tx.ledger.leave(host, state, role, outcome, times)
        tx.ledger.enter(host, State.QUEUED, role, outcome, times)
    update = f"""
        UPDATE resources SET state = 'queued', reason = '', tries = 0,
            priority = CASE WHEN priority <= {LAST_OF_ALL} THEN -depth ELSE priority END
        WHERE {which}"""  # noqa: S608
    return tx.db.execute(update, (now,)).rowcount


# -- readmit -----------------------------------------------------------------------------------------------------------


class _Standing(NamedTuple):
    """What was decided on a resource."""

    state: str
    role: str
    reason: str
    priority: float
    asked: int  # strengths of claim judged


class _Claim(NamedTuple):
    """A resource not visited yet, the claim it stands on, and what was decided on that."""

    id: int
    host: int
    outcome: str
    standing: _Standing
    candidate: Candidate


def readmit(tx: Transaction, admit: Admit) -> int:
    """Decide anew on everything not visited yet."""
    tx.meta["generation"] += 1  # what other processes remember of claims judged is no longer so
    depth = limits(tx.db).max_depth
    if depth is not None and not _kept_minimal(tx.db, depth):
        shorten_ways(tx.db, depth)
    changed, last = 0, 0
    while claims := list(_claims_after(tx.db, last)):
        admissions = admit([claim.candidate for claim in claims])
        decided = ((claim, _decided(claim, a)) for claim, a in zip(claims, admissions, strict=True))
        changes = [(claim, new) for claim, new in decided if new != claim.standing]
        tx.db.executemany(READMIT, ((*new, claim.id) for claim, new in changes))
        for claim, new in changes:
            tx.ledger.leave(claim.host, claim.standing.state, claim.standing.role, claim.outcome)
            tx.ledger.enter(claim.host, new.state, new.role, claim.outcome)
        changed += sum(claim.standing.state != new.state for claim, new in changes)
        last = claims[-1].id
    return changed


def _kept_minimal(db: sqlite3.Connection, depth: int) -> bool:
    """Whether every round so far kept depths minimal as far as this: it had a limit, and none that was smaller."""
    rounds = (msgspec.json.decode(settings, type=_Acted) for (settings,) in db.execute("SELECT settings FROM rounds"))
    return all(acted.max_depth is not None and acted.max_depth >= depth for acted in rounds)


def _claims_after(db: sqlite3.Connection, last: int) -> Iterator[_Claim]:
    for row in db.execute(CLAIMS, (last, FORGOTTEN, READMIT_AT_ONCE)):
        url, digest, kind, follow, depth, hops, seed, backlinks, anchor, topic = row[8:]
        candidate = Candidate(
            url=url, digest=digest, kind=Kind(kind), follow=bool(follow), depth=depth, hops=hops, seed=bool(seed),
            backlinks=backlinks, anchor=anchor, source_topic=topic,
        )  # fmt: skip
        yield _Claim(row[0], row[1], row[2], _Standing._make(row[3:8]), candidate)


def _decided(claim: _Claim, admission: Admission) -> _Standing:
    queued = admission.state is State.QUEUED
    role = admission.role.value if queued else claim.standing.role
    asked = EVERYTHING if queued and admission.role is not Role.CHECK else 1 << strength(claim.candidate)
    return _Standing(admission.state.value, role, admission.reason, admission.priority, asked)
