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
from gossamer.graph.arrays import ArrayBundle, ArrayWriter, directory_lock, load_bundle, load_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph.arrays import Array
    from gossamer.store.follow.graph import LinkChanges
    from gossamer.store.protocol import Store

    OnProgress = Callable[[str], None]

BONDS = "bonds"
REDIRECT_WEIGHT = 0  # the weight of a redirect
MAX_DOC_ID = 2**31 - 1  # DocIDs are kept in 32 bits
BLOCK_ROWS = 1 << 15  # rows copied at once


class BondRows(NamedTuple):
    """Links by source: row `i` is of the resource `ids[i]`, its targets are `targets[starts[i]:starts[i + 1]]`."""

    ids: npt.NDArray[np.int32]  # sorted
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]  # DocIDs, sorted within a row
    weights: npt.NDArray[np.int32]
    url_starts: npt.NDArray[np.int64]
    urls: npt.NDArray[np.uint8]  # all of them, one after the other, in UTF-8

    def select(self, rows: npt.NDArray[np.int64]) -> BondRows:
        """Some rows, in an order."""
        starts, elements = gather_rows(self.starts, rows)
        url_starts, url_bytes = gather_rows(self.url_starts, rows)
        return BondRows(
            self.ids[rows], starts, self.targets[elements], self.weights[elements], url_starts, self.urls[url_bytes]
        )  # fmt: skip

    def url(self, row: int) -> str:
        """The URL of the resource of a row."""
        return bytes(self.urls[self.url_starts[row] : self.url_starts[row + 1]]).decode()

    def encoded_urls(self) -> list[bytes]:
        """The URLs of all rows in UTF-8: a seventh of the time that it takes one by one."""
        url_bytes = self.urls.tobytes()
        return [url_bytes[start:end] for start, end in pairwise(self.url_starts.tolist())]


class BondTable(NamedTuple):
    """The links of a store, and on which host every known resource is."""

    rows: BondRows
    hosts: npt.NDArray[np.int32]  # by DocID; 0: there is no such resource
    version: int  # of the store
    stamp: int  # by which what is made from it is known to be of it


EMPTY_ROWS = BondRows(
    np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32),
    np.zeros(1, np.int64), np.empty(0, np.uint8),
)  # fmt: skip


def gather_rows(starts: Array, rows: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For rows of a ragged array: where they start when put one behind the other, and where each element comes from."""
    counts = starts[rows + 1] - starts[rows]
    ends = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends, np.arange(ends[-1]) + np.repeat(starts[rows] - ends[:-1], counts)


# -- opening and catching up -------------------------------------------------------------------------------------------


def open_bonds(store: Store, directory: Path, on_progress: OnProgress = lambda _: None) -> BondTable:
    """The links as the store has them now: what changed since the last time is read, the rest is there already."""
    bonds = _load_bonds(store, directory)
    if bonds is not None and bonds.version == store.version():
        return bonds
    with directory_lock(directory):
        bonds = _load_bonds(store, directory)  # again: another process may have been first
        if bonds is None or bonds.version != store.version():
            _catch_up(store, directory, bonds, on_progress)
            bonds = _load_bonds(store, directory)
    assert bonds is not None
    return bonds


def update_kept_bonds(store: Store, directory: Path) -> None:
    """Bring the links up to date if they are kept here: if somebody has asked for them before."""
    if load_manifest(directory / f"{BONDS}.json") is not None:
        open_bonds(store, directory)


def _load_bonds(store: Store, directory: Path) -> BondTable | None:
    bundle = load_bundle(directory, BONDS)
    if bundle is None:
        return None
    bonds = BondTable(_bundle_rows(bundle), bundle["hosts"], bundle.version, bundle.facts["stamp"])
    return bonds if _match_store(store, bonds) else None


def _match_store(store: Store, bonds: BondTable) -> bool:
    """Whether they are of this web, and not of another one that was here before: some URLs tell."""
    rows = bonds.rows
    samples = {int(rows.ids[row]): rows.url(row) for row in {0, len(rows.ids) // 2, len(rows.ids) - 1} if len(rows.ids)}
    stored = dict(store.urls(sorted(samples)))
    return bonds.version <= store.version() and all(stored.get(doc, url) == url for doc, url in samples.items())


def _bundle_rows(bundle: ArrayBundle) -> BondRows:
    return BondRows(*(bundle[name] for name in BondRows._fields))


def _catch_up(store: Store, directory: Path, old: BondTable | None, on_progress: OnProgress) -> None:
    version = store.version()
    rows = old.rows if old is not None else EMPTY_ROWS
    with ArrayWriter(directory, BONDS) as writer:
        read = 0
        writer.append("starts", np.zeros(1, np.int64))
        writer.append("url_starts", np.zeros(1, np.int64))
        ends = [0, 0]
        for block in _merge_rows(rows, store.link_changes(old.version if old is not None else 0)):
            _append_rows(writer, block, ends)
            read += len(block.targets)
            on_progress(f"reading links: {read:,}")
        writer.append("hosts", _resource_hosts(store, old))
        writer.publish(version, {"stamp": secrets.randbits(62)})


def _append_rows(writer: ArrayWriter, block: BondRows, ends: list[int]) -> None:
    for name, values in block._asdict().items():
        if not name.endswith("starts"):
            writer.append(name, values)
    writer.append("starts", block.starts[1:] + ends[0])
    writer.append("url_starts", block.url_starts[1:] + ends[1])
    ends[0] += int(block.starts[-1])
    ends[1] += int(block.url_starts[-1])


def _resource_hosts(store: Store, old: BondTable | None) -> npt.NDArray[np.int32]:
    """The host of every resource."""
    known = old.hosts if old is not None else np.zeros(1, np.int32)
    pieces = [known]
    end = len(known)
    for ids, numbers in store.resource_hosts(end - 1):
        if ids[-1] > MAX_DOC_ID:
            raise UsageError(f"This web is too big for the link graph: there are DocIDs beyond {MAX_DOC_ID:,}.")
        piece = np.zeros(ids[-1] + 1 - end, np.int32)
        piece[np.frombuffer(ids, np.int64) - end] = np.frombuffer(numbers, np.int64)
        pieces.append(piece)
        end = ids[-1] + 1
    return np.concatenate(pieces)


# -- merging -----------------------------------------------------------------------------------------------------------


def _merge_rows(old: BondRows, changes: Iterator[LinkChanges]) -> Iterator[BondRows]:
    """The old rows, and in place of those that changed the new ones; by id."""
    yield EMPTY_ROWS  # so that there is something to write in any case
    start = 0
    for change in changes:
        new = rows_from_changes(change)
        changed = np.union1d(new.ids, np.frombuffer(change.gone, np.int64))
        # What the store tells comes by id, so everything up to the last one is settled now.
        end = int(np.searchsorted(old.ids, changed[-1], side="right"))
        for stop in (*range(start + BLOCK_ROWS, end, BLOCK_ROWS), end):
            cut = int(np.searchsorted(new.ids, old.ids[stop - 1], side="right")) if stop < end else len(new.ids)
            yield _join_rows(_unchanged_rows(old, start, stop, changed), new.select(np.arange(cut)))
            new = new.select(np.arange(cut, len(new.ids)))
            start = stop
    for begin in range(start, len(old.ids), BLOCK_ROWS):
        yield old.select(np.arange(begin, min(begin + BLOCK_ROWS, len(old.ids))))


def _unchanged_rows(old: BondRows, start: int, stop: int, changed: Array) -> BondRows:
    """The old rows from one to another that did not change."""
    return old.select(start + np.flatnonzero(~np.isin(old.ids[start:stop], changed)))


def _join_rows(one: BondRows, other: BondRows) -> BondRows:
    if not len(one.ids):
        return other
    both = BondRows(
        np.concatenate([one.ids, other.ids]),
        np.concatenate([one.starts, one.starts[-1] + other.starts[1:]]),
        np.concatenate([one.targets, other.targets]),
        np.concatenate([one.weights, other.weights]),
        np.concatenate([one.url_starts, one.url_starts[-1] + other.url_starts[1:]]),
        np.concatenate([one.urls, other.urls]),
    )
    return both.select(np.argsort(both.ids, kind="stable"))


def rows_from_changes(change: LinkChanges) -> BondRows:
    """What the store told, as rows: every target once, links to itself dropped, weights summed."""
    ids = np.frombuffer(change.ids, np.int64)
    source, target, weight = np.frombuffer(change.links, np.int64).reshape(-1, 3).T
    row = np.searchsorted(ids, source)
    other = source != target
    row, target, weight = sum_duplicates(row[other], target[other], weight[other])
    starts = np.searchsorted(row, np.arange(len(ids) + 1))
    encoded = [url.encode() for url in change.urls]
    url_starts = np.zeros(len(ids) + 1, np.int64)
    np.cumsum([len(url) for url in encoded], out=url_starts[1:])
    return BondRows(
        ids.astype(np.int32), starts, target.astype(np.int32), weight.astype(np.int32), url_starts,
        np.frombuffer(b"".join(encoded), np.uint8),
    )  # fmt: skip


def sum_duplicates(row: Array, column: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Entries of a matrix in order, each place once with the sum of its weights."""
    key = row.astype(np.int64) << 32 | column
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))[: len(key)]
    total = np.add.reduceat(weight[order], first) if len(first) else weight[:0]
    return key[first] >> 32, key[first] & 0xFFFF_FFFF, total
