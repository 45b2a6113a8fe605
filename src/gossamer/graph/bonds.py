"""The store's links by DocID, kept up to date from its changes.

This is what the graph is made of: for every page its followed hyperlinks to whatever is known, visited or not, each
target once with its bond weight; for every redirect where it leads. Targets are DocIDs, which never change, so that an
update is a merge: rows of sources that changed are read from the store, all others are copied as they are.

Memory is bounded by the number of resources (four bytes each) and the size of a block, not by the number of links.
"""

from __future__ import annotations

import secrets
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.errors import UsageError
from gossamer.graph.arrays import Part, Writer, alone_in, load_manifest, load_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph.arrays import Array
    from gossamer.store.follow.graph import LinkChanges
    from gossamer.store.protocol import Store

    Tell = Callable[[str], None]

BONDS = "bonds"
REDIRECT = 0  # the weight of a redirect
MOST = 2**31 - 1  # DocIDs are kept in 32 bits
BLOCK = 1 << 15  # rows copied at once


class Rows(NamedTuple):
    """Links by source: row `i` is of the resource `ids[i]`, its targets are `targets[starts[i]:starts[i + 1]]`."""

    ids: npt.NDArray[np.int32]  # sorted
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]  # DocIDs, sorted within a row
    weights: npt.NDArray[np.int32]
    url_starts: npt.NDArray[np.int64]
    urls: npt.NDArray[np.uint8]  # all of them, one after the other, in UTF-8

    def take(self, rows: npt.NDArray[np.int64]) -> Rows:
        """Some rows, in an order."""
        starts, at = spread(self.starts, rows)
        url_starts, letters = spread(self.url_starts, rows)
        return Rows(
            self.ids[rows], starts, self.targets[at], self.weights[at], url_starts, self.urls[letters]
        )  # fmt: skip

    def url(self, row: int) -> str:
        """The URL of the resource of a row."""
        return bytes(self.urls[self.url_starts[row] : self.url_starts[row + 1]]).decode()

    def every_url(self) -> list[bytes]:
        """The URLs of all rows in UTF-8: a seventh of the time that it takes one by one."""
        letters = self.urls.tobytes()
        return [letters[start:end] for start, end in pairwise(self.url_starts.tolist())]


class Bonds(NamedTuple):
    """The links of a store, and on which host every known resource is."""

    rows: Rows
    hosts: npt.NDArray[np.int32]  # by DocID; 0: there is no such resource
    version: int  # of the store
    stamp: int  # by which what is made from it is known to be of it


NOTHING = Rows(
    np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32),
    np.zeros(1, np.int64), np.empty(0, np.uint8),
)  # fmt: skip


def spread(starts: Array, rows: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For rows of a ragged array: where they start when put one behind the other, and where each element comes from."""
    counts = starts[rows + 1] - starts[rows]
    ends = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends, np.arange(ends[-1]) + np.repeat(starts[rows] - ends[:-1], counts)


# -- opening and catching up -------------------------------------------------------------------------------------------


def open_bonds(store: Store, directory: Path, tell: Tell = lambda _: None) -> Bonds:
    """The links as the store has them now: what changed since the last time is read, the rest is there already."""
    bonds = _loaded(store, directory)
    if bonds is not None and bonds.version == store.version():
        return bonds
    with alone_in(directory):
        bonds = _loaded(store, directory)  # again: another process may have been first
        if bonds is None or bonds.version != store.version():
            _catch_up(store, directory, bonds, tell)
            bonds = _loaded(store, directory)
    assert bonds is not None
    return bonds


def keep(store: Store, directory: Path) -> None:
    """Bring the links up to date if they are kept here: if somebody has asked for them before."""
    if load_manifest(directory / f"{BONDS}.json") is not None:
        open_bonds(store, directory)


def _loaded(store: Store, directory: Path) -> Bonds | None:
    part = load_part(directory, BONDS)
    if part is None:
        return None
    bonds = Bonds(_rows(part), part["hosts"], part.version, part.facts["stamp"])
    return bonds if _are_of(store, bonds) else None


def _are_of(store: Store, bonds: Bonds) -> bool:
    """Whether they are of this web, and not of another one that was here before: some URLs tell."""
    rows = bonds.rows
    some = {int(rows.ids[row]): rows.url(row) for row in {0, len(rows.ids) // 2, len(rows.ids) - 1} if len(rows.ids)}
    stored = dict(store.urls(sorted(some)))
    return bonds.version <= store.version() and all(stored.get(doc, url) == url for doc, url in some.items())


def _rows(part: Part) -> Rows:
    return Rows(*(part[name] for name in Rows._fields))


def _catch_up(store: Store, directory: Path, old: Bonds | None, tell: Tell) -> None:
    version = store.version()
    rows = old.rows if old is not None else NOTHING
    with Writer(directory, BONDS) as writer:
        read = 0
        writer.append("starts", np.zeros(1, np.int64))
        writer.append("url_starts", np.zeros(1, np.int64))
        ends = [0, 0]
        for block in _merged(rows, store.link_changes(old.version if old is not None else 0)):
            _append(writer, block, ends)
            read += len(block.targets)
            tell(f"reading links: {read:,}")
        writer.append("hosts", _places(store, old))
        writer.publish(version, {"stamp": secrets.randbits(62)})


def _append(writer: Writer, block: Rows, ends: list[int]) -> None:
    for name, values in block._asdict().items():
        if not name.endswith("starts"):
            writer.append(name, values)
    writer.append("starts", block.starts[1:] + ends[0])
    writer.append("url_starts", block.url_starts[1:] + ends[1])
    ends[0] += int(block.starts[-1])
    ends[1] += int(block.url_starts[-1])


def _places(store: Store, old: Bonds | None) -> npt.NDArray[np.int32]:
    """The host of every resource."""
    known = old.hosts if old is not None else np.zeros(1, np.int32)
    pieces = [known]
    end = len(known)
    for ids, numbers in store.places(end - 1):
        if ids[-1] > MOST:
            raise UsageError(f"This web is too big for the link graph: there are DocIDs beyond {MOST:,}.")
        piece = np.zeros(ids[-1] + 1 - end, np.int32)
        piece[np.frombuffer(ids, np.int64) - end] = np.frombuffer(numbers, np.int64)
        pieces.append(piece)
        end = ids[-1] + 1
    return np.concatenate(pieces)


# -- merging -----------------------------------------------------------------------------------------------------------


def _merged(old: Rows, changes: Iterator[LinkChanges]) -> Iterator[Rows]:
    """The old rows, and in place of those that changed the new ones; by id."""
    yield NOTHING  # so that there is something to write in any case
    start = 0
    for change in changes:
        new = new_rows(change)
        changed = np.union1d(new.ids, np.frombuffer(change.gone, np.int64))
        # What the store tells comes by id, so everything up to the last one is settled now.
        end = int(np.searchsorted(old.ids, changed[-1], side="right"))
        for stop in (*range(start + BLOCK, end, BLOCK), end):
            cut = int(np.searchsorted(new.ids, old.ids[stop - 1], side="right")) if stop < end else len(new.ids)
            yield _joined(_kept(old, start, stop, changed), new.take(np.arange(cut)))
            new = new.take(np.arange(cut, len(new.ids)))
            start = stop
    for begin in range(start, len(old.ids), BLOCK):
        yield old.take(np.arange(begin, min(begin + BLOCK, len(old.ids))))


def _kept(old: Rows, start: int, stop: int, changed: Array) -> Rows:
    """The old rows from one to another that did not change."""
    return old.take(start + np.flatnonzero(~np.isin(old.ids[start:stop], changed)))


def _joined(one: Rows, other: Rows) -> Rows:
    if not len(one.ids):
        return other
    both = Rows(
        np.concatenate([one.ids, other.ids]),
        np.concatenate([one.starts, one.starts[-1] + other.starts[1:]]),
        np.concatenate([one.targets, other.targets]),
        np.concatenate([one.weights, other.weights]),
        np.concatenate([one.url_starts, one.url_starts[-1] + other.url_starts[1:]]),
        np.concatenate([one.urls, other.urls]),
    )
    return both.take(np.argsort(both.ids, kind="stable"))


def new_rows(change: LinkChanges) -> Rows:
    """What the store told, as rows: every target once, links to itself dropped, weights summed."""
    ids = np.frombuffer(change.ids, np.int64)
    source, target, weight = np.frombuffer(change.links, np.int64).reshape(-1, 3).T
    row = np.searchsorted(ids, source)
    other = source != target
    row, target, weight = summed(row[other], target[other], weight[other])
    starts = np.searchsorted(row, np.arange(len(ids) + 1))
    encoded = [url.encode() for url in change.urls]
    url_starts = np.zeros(len(ids) + 1, np.int64)
    np.cumsum([len(url) for url in encoded], out=url_starts[1:])
    return Rows(
        ids.astype(np.int32), starts, target.astype(np.int32), weight.astype(np.int32), url_starts,
        np.frombuffer(b"".join(encoded), np.uint8),
    )  # fmt: skip


def summed(row: Array, column: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Entries of a matrix in order, each place once with the sum of its weights."""
    key = row.astype(np.int64) << 32 | column
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))[: len(key)]
    total = np.add.reduceat(weight[order], first) if len(first) else weight[:0]
    return key[first] >> 32, key[first] & 0xFFFF_FFFF, total
