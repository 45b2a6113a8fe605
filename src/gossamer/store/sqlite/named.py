"""URLs that somebody names one by one: added as seeds, or claimed by an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import Admission, Lease, Role, State
from gossamer.store.base import Added
from gossamer.store.sqlite import rounds
from gossamer.store.sqlite.admission import ROWS, Finder, Row, as_json, authority, recall, settle
from gossamer.store.sqlite.depth import pass_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model import Candidate
    from gossamer.store.sqlite.database import Transaction

HELD_BY_OTHERS = "SELECT name FROM hosts WHERE holder <> ? AND name IN (SELECT value FROM json_each(?))"
CLAIMED = """
    SELECT id, host, state, role, outcome, url, depth, hops, tries FROM resources
    WHERE id IN (SELECT value FROM json_each(?))"""
CLAIM = "UPDATE resources SET state = 'leased', role = 'page' WHERE id IN (SELECT value FROM json_each(?))"


def add(tx: Transaction, candidates: Sequence[Candidate], finder: Finder) -> list[Added]:
    """Add URLs; the answer says of each where it stands now."""
    known = recall(tx, (candidate.digest for candidate in candidates))
    before = set(known)
    shallower = settle(tx, candidates, known, finder)
    pass_on(tx, shallower, rounds.limits(tx.db).max_depth, finder)
    ids = as_json(entry.id for entry in known.values())
    rows = {row.id: row for row in map(Row._make, tx.db.execute(ROWS, (ids,)))}
    return [
        Added(
            url=candidate.url, resource=(row := rows[known[candidate.digest].id]).id, known=candidate.digest in before,
            state=State(row.state), reason=row.reason,
        )
        for candidate in candidates
    ]  # fmt: skip


def claim(tx: Transaction, crawler: int, candidates: Sequence[Candidate], now: float) -> list[Lease | None]:
    """Lease exactly these URLs, adding those not known; None for those on a host that another crawler holds."""
    names = {candidate.digest: authority(candidate.url) for candidate in candidates}
    others = {name for (name,) in tx.db.execute(HELD_BY_OTHERS, (crawler, as_json(set(names.values()))))}
    ours = [candidate for candidate in candidates if names[candidate.digest] not in others]
    known = recall(tx, (candidate.digest for candidate in ours))
    settle(tx, ours, known, Finder(_admit_all, now, crawler))
    ids = as_json({entry.id for entry in known.values()})
    rows = {row[0]: row for row in tx.db.execute(CLAIMED, (ids,)).fetchall()}
    for _, host, state, role, outcome, *_ in rows.values():
        tx.ledger.leave(host, state, role, outcome)
        tx.ledger.enter(host, State.LEASED, Role.PAGE, outcome)
    tx.db.execute(CLAIM, (ids,))
    hosts = {row[1] for row in rows.values()}
    tx.db.executemany("UPDATE hosts SET holder = ? WHERE id = ?", ((crawler, host) for host in hosts))
    return [
        _claimed(rows[known[candidate.digest].id]) if candidate.digest in known else None for candidate in candidates
    ]


def _admit_all(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.QUEUED) for _ in candidates]


def _claimed(row: tuple[int, int, str, str, str, str, int, int, int]) -> Lease:
    resource, host, _, _, _, url, depth, hops, tries = row
    return Lease(resource=resource, host=host, url=url, role=Role.PAGE, depth=depth, hops=hops, tries=tries)
