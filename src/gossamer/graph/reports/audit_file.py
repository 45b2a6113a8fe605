"""The file that keeps the counts of reports: `reports/counts.json` in the local directory of a web.

The counts are derived: without the file they are counted again. A process replaces the file as a whole, so a crash
leaves the old one. A reader that may not write beside the web keeps its counts in a temporary directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.locations import is_shared, local_directory
from gossamer.graph.arrays import directory_lock, replace_file
from gossamer.graph.reports.audit import StoredCounts, WebState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gossamer.graph.reports.audit import ReportCount
    from gossamer.graph.reports.base import StoredParts
    from gossamer.store.protocol import ReportSource

FOLDER, FILE, COUNTING_LOCK = "reports", "counts.json", "counting"


def counts_directory(location: str) -> Path | None:
    """Return the directory of the counts of a web; None if this process may not write there."""
    web = local_directory(location)
    if is_shared(location):
        web.mkdir(parents=True, exist_ok=True)
    folder = web / FOLDER
    return folder if os.access(folder if folder.is_dir() else web, os.W_OK) else None


@contextmanager
def lent_counts_directory(location: str) -> Iterator[Path]:
    """Yield the directory of the counts of a web, or a temporary one if this process may not write there."""
    if directory := counts_directory(location):
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="gossamer-") as scratch:
        yield Path(scratch)


def web_state(store: ReportSource) -> WebState:
    """Return the state of a web, to compare with that of its counts."""
    current = store.current_round()
    number = current.id if current else 0
    facts = (store.version(), number, sorted(store.counts().resources.items()))
    digest = hashlib.blake2b(msgspec.json.encode(facts), digest_size=16).hexdigest()
    return WebState(identity=store.identity, round=number, digest=digest)


def read_counts(directory: Path) -> StoredCounts:
    """Return the kept counts; none if the file is missing or of another version."""
    try:
        return msgspec.json.decode((directory / FILE).read_bytes(), type=StoredCounts)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return StoredCounts()


def add_counts(
    directory: Path, state: WebState, pages: int, counts: Mapping[str, ReportCount], *, beside_crawl: bool = False
) -> StoredCounts:
    """Add counts to the file and return all. On a full disk they are only returned, as they can be counted again."""
    return _change(directory, lambda stored: stored.with_counts(state, pages, counts, beside_crawl=beside_crawl))


def add_parts(directory: Path, state: WebState, parts: StoredParts) -> StoredCounts:
    """Add the parts stored of the pages to the file and return all."""
    return _change(directory, lambda stored: stored.with_parts(state, parts))


def _change(directory: Path, change: Callable[[StoredCounts], StoredCounts]) -> StoredCounts:
    changed = change(read_counts(directory))
    with suppress(OSError), directory_lock(directory):
        changed = change(read_counts(directory))  # another process may have added some
        replace_file(directory / FILE, msgspec.json.encode(changed))
    return changed


@contextmanager
def counting_lock(directory: Path) -> Iterator[bool]:
    """Yield whether this process may count in the background: one at a time does."""
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory / COUNTING_LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def is_counting(directory: Path) -> bool:
    """Return whether a process counts in the background."""
    if not directory.is_dir():
        return False
    with counting_lock(directory) as is_free:
        return not is_free
