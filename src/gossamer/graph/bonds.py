"""The store's links by DocID, kept up to date from its changes.

The graph is built from these rows. A page's row has its followed hyperlinks to all known resources, visited or not:
each target once, with its bond weight. A redirect's row has its target.
Targets are DocIDs, which never change. So an update is a merge: it reads the rows of changed sources from the store
and copies all others.

Memory grows with the number of resources (four bytes each) and the block size, not with the number of links.
"""

from __future__ import annotations

import secrets
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.errors import UsageError
from gossamer.graph.arrays import ArrayBundle, ArrayWriter, directory_lock, load_bundle, load_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph import OnProgress
    from gossamer.graph.arrays import Array
    from gossamer.store.follow.graph import LinkChanges
    from gossamer.store.protocol import GraphSource

BONDS = "bonds"
REDIRECT_WEIGHT = 0  # marks the row of a redirect; links have positive weights
MAX_DOC_ID = 2**31 - 1  # arrays keep DocIDs in 32 bits
BLOCK_ROWS = 1 << 15  # rows per copied block


class BondRows(NamedTuple):
    """Links by source: row `i` belongs to resource `ids[i]`, with targets `targets[starts[i]:starts[i + 1]]`."""

    ids: npt.NDArray[np.int32]  # sorted
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]  # DocIDs, sorted within a row
    weights: npt.NDArray[np.int32]
    url_starts: npt.NDArray[np.int64]
    urls: npt.NDArray[np.uint8]  # all URLs, concatenated, in UTF-8

    def select(self, rows: npt.NDArray[np.int64]) -> BondRows:
        """Return the given rows, in the given order."""
        starts, elements = gather_rows(self.starts, rows)
        url_starts, url_bytes = gather_rows(self.url_starts, rows)
        return BondRows(
            self.ids[rows], starts, self.targets[elements], self.weights[elements], url_starts, self.urls[url_bytes]
        )  # fmt: skip

    def url(self, row: int) -> str:
        """Return the URL of a row."""
        return bytes(self.urls[self.url_starts[row] : self.url_starts[row + 1]]).decode()

    def encoded_urls(self) -> list[bytes]:
        """Return the URLs of all rows in UTF-8, seven times as fast as `url` for each row."""
        url_bytes = self.urls.tobytes()
        return [url_bytes[start:end] for start, end in pairwise(self.url_starts.tolist())]


class BondTable(NamedTuple):
    """The links of a store, and the host of every known resource."""

    rows: BondRows
    hosts: npt.NDArray[np.int32]  # host id by DocID; 0: no such resource
    version: int  # of the store
    stamp: int  # identifies this table; a graph built from it stores the same number


EMPTY_ROWS = BondRows(
    np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32),
    np.zeros(1, np.int64), np.empty(0, np.uint8),
)  # fmt: skip


def gather_rows(starts: Array, rows: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For rows of a ragged array, return their starts when concatenated and the source index of each element."""
    counts = starts[rows + 1] - starts[rows]
    ends = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends, np.arange(ends[-1]) + np.repeat(starts[rows] - ends[:-1], counts)


# -- opening and catching up -------------------------------------------------------------------------------------------


def open_bonds(store: GraphSource, directory: Path, on_progress: OnProgress = lambda _: None) -> BondTable:
    """Return the current links; read only changes since the last call from the store."""
    bonds = _load_bonds(store, directory)
    if bonds is not None and bonds.version == store.version():
        return bonds
    with directory_lock(directory):
        bonds = _load_bonds(store, directory)  # another process may have updated it while we waited
        if bonds is None or bonds.version != store.version():
            _catch_up(store, directory, bonds, on_progress)
            bonds = _load_bonds(store, directory)
    assert bonds is not None
    return bonds


def update_kept_bonds(store: GraphSource, directory: Path) -> None:
    """Update the links if the directory already has them, that is, if a command has used the graph."""
    if load_manifest(directory / f"{BONDS}.json") is not None:
        open_bonds(store, directory)


def _load_bonds(store: GraphSource, directory: Path) -> BondTable | None:
    bundle = load_bundle(directory, BONDS)
    if bundle is None:
        return None
    bonds = BondTable(_bundle_rows(bundle), bundle["hosts"], bundle.version, bundle.facts["stamp"])
    return bonds if _match_store(store, bonds) else None


def _match_store(store: GraphSource, bonds: BondTable) -> bool:
    """Whether the table belongs to this store: compare three of its URLs, because a new web may use the directory."""
    rows = bonds.rows
    samples = {int(rows.ids[row]): rows.url(row) for row in {0, len(rows.ids) // 2, len(rows.ids) - 1} if len(rows.ids)}
    stored = dict(store.urls(sorted(samples)))
    return bonds.version <= store.version() and all(stored.get(doc, url) == url for doc, url in samples.items())


def _bundle_rows(bundle: ArrayBundle) -> BondRows:
    return BondRows(*(bundle[name] for name in BondRows._fields))


def _catch_up(store: GraphSource, directory: Path, old: BondTable | None, on_progress: OnProgress) -> None:
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


def _resource_hosts(store: GraphSource, old: BondTable | None) -> npt.NDArray[np.int32]:
    """Return the host of every resource, by DocID."""
    known = old.hosts if old is not None else np.zeros(1, np.int32)
    pieces = [known]
    end = len(known)
    for ids, numbers in store.resource_hosts(end - 1):
        if ids[-1] > MAX_DOC_ID:
            raise UsageError(f"This web is too big for the link graph: it has DocIDs above {MAX_DOC_ID:,}.")
        piece = np.zeros(ids[-1] + 1 - end, np.int32)
        piece[np.frombuffer(ids, np.int64) - end] = np.frombuffer(numbers, np.int64)
        pieces.append(piece)
        end = ids[-1] + 1
    return np.concatenate(pieces)


# -- merging -----------------------------------------------------------------------------------------------------------


def _merge_rows(old: BondRows, changes: Iterator[LinkChanges]) -> Iterator[BondRows]:
    """Yield old rows merged with changed ones, sorted by id."""
    yield EMPTY_ROWS  # an empty web gets its arrays too
    start = 0
    for change in changes:
        new = rows_from_changes(change)
        changed = np.union1d(new.ids, np.frombuffer(change.gone, np.int64))
        # The store yields changes sorted by id, so rows up to the last changed id are final.
        end = int(np.searchsorted(old.ids, changed[-1], side="right"))
        for stop in (*range(start + BLOCK_ROWS, end, BLOCK_ROWS), end):
            cut = int(np.searchsorted(new.ids, old.ids[stop - 1], side="right")) if stop < end else len(new.ids)
            yield _join_rows(_unchanged_rows(old, start, stop, changed), new.select(np.arange(cut)))
            new = new.select(np.arange(cut, len(new.ids)))
            start = stop
    for begin in range(start, len(old.ids), BLOCK_ROWS):
        yield old.select(np.arange(begin, min(begin + BLOCK_ROWS, len(old.ids))))


def _unchanged_rows(old: BondRows, start: int, stop: int, changed: Array) -> BondRows:
    """Return the unchanged rows of a range."""
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
    """Return the store's changes as rows: each target once, weights summed, self-links dropped."""
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
    """Return matrix entries sorted, each position once with the sum of its weights."""
    key = row.astype(np.int64) << 32 | column
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))[: len(key)]
    total = np.add.reduceat(weight[order], first) if len(first) else weight[:0]
    return key[first] >> 32, key[first] & 0xFFFF_FFFF, total
