"""Open the web that a crash left, bring it up to date as the next start does, and compare its parts.

As a script it checks many crashes in one process:

    python -m faults.crashed_web RECORD POINTS FOLDER

RECORD is a recording, POINTS a file with the numbers of operations after which the crashes come. FOLDER gets the webs.
It prints a JSON line for each fault, and at the end the number of crashes.
"""

from __future__ import annotations

import json
import pickle
import random
import shutil
import sqlite3
import sys
import tempfile
import traceback
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from faults.operations import Mark, Operation
from faults.replay import Disk, Tree, digest, write_tree
from gossamer import wiring
from gossamer.graph.bonds import open_bonds
from gossamer.index.build import update_index
from gossamer.index.protocol import Document, IndexReader, Phrase, Query
from helpers.index.same_as_store import check_documents
from helpers.index.small_index import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from gossamer.store.protocol import Store

MEMORY_DISK = Path("/dev/shm")
VISITS = "SELECT url, v.visited_at FROM visits v JOIN resources r ON r.id = v.resource"
HOST_PAGES = "SELECT count(*) FROM resources r JOIN hosts h ON h.id = r.host WHERE h.name = ? AND r.state = 'visited'"


class StoredFacts(NamedTuple):
    """What the commands had reported as stored before the crash."""

    visits: frozenset[tuple[str, float]] = frozenset()
    forgetting: frozenset[str] = frozenset()  # hosts whose removal had begun: their visits may be gone
    forgotten: frozenset[str] = frozenset()

    def after_mark(self, line: str) -> StoredFacts:
        """Return the facts after one more report."""
        mark = json.loads(line)
        match mark["event"]:
            case "stored":
                return self._replace(visits=self.visits | {(url, at) for url, at in mark["visits"]})
            case "forgetting":
                return self._replace(forgetting=self.forgetting | {mark["host"]})
        return self._replace(forgotten=self.forgotten | {mark["host"]})

    def lasting_visits(self) -> set[tuple[str, float]]:
        """Return the visits that no command had begun to forget."""
        return {visit for visit in self.visits if visit[0].split("/")[2] not in self.forgetting}


class Crash(NamedTuple):
    """A crash: when and how it came, what it left, and what was stored before."""

    at: int  # operations before it
    end: str
    tree: Tree
    facts: StoredFacts


def check_web(web: Path, facts: StoredFacts) -> None:
    """Check the store, then update index and graph, and compare them with the store."""
    if not (web / "web.db").exists():
        assert not facts.visits, "the whole web is lost"
        return
    check_store(web, facts)
    try:
        store = wiring.open_store(str(web), create=True)
    except Exception:
        assert not facts.visits
        raise
    with closing(store):
        update_index(store, lambda: wiring.open_index_writer(str(web)))
        with closing(wiring.open_index(str(web))) as reader:
            check_index(store, reader)
        check_graph(store, web)


def check_store(web: Path, facts: StoredFacts) -> None:
    """Check that the database is sound and holds every reported visit."""
    with closing(sqlite3.connect(web / "web.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not facts.visits and not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            return  # the crash came before the first commit
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        lost = facts.lasting_visits() - set(db.execute(VISITS))
        assert not lost, f"{len(lost)} stored visits are lost"
        for host in facts.forgotten:
            assert db.execute(HOST_PAGES, (host,)).fetchone() == (0,), f"{host} came back"


def check_index(store: Store, reader: IndexReader) -> None:
    """Compare documents, words and positions; Tantivy itself must find each page by its title."""
    documents = check_documents(store, reader)
    for number, document in documents.items():
        phrase = Phrase(text="", alternatives=(tuple(document.title.split()),))
        found = reader.match(Query(required=(phrase,)), WEIGHTS, limit=len(documents)).ids.tolist()
        assert number in found, f"{document.url} cannot be found by its title"
    for term in {term for document in documents.values() for term in _words(document)[:3]}:
        counted = {number: _words(one).count(term) for number, one in documents.items() if term in _words(one)}
        postings = reader.postings(term, by_frequency=True, offset=0, limit=len(documents))
        assert {one.id: one.frequency for one in postings} == counted, f"documents of {term}"


def _words(document: Document) -> list[str]:
    return document.title.split() + [word for run in document.body for word in run.split()]


def check_graph(store: Store, web: Path) -> None:
    """Compare the kept links with links that are read again from the store."""
    with tempfile.TemporaryDirectory(dir=web) as scratch:
        kept, fresh = open_bonds(store, web / "graph"), open_bonds(store, Path(scratch))
        for name, rows in fresh.rows._asdict().items():
            assert np.array_equal(getattr(kept.rows, name), rows), f"the kept {name} of links differ from the store"
        hosts = np.asarray(fresh.hosts)  # the kept ones may also name hosts of forgotten resources
        assert np.array_equal(np.where(hosts, kept.hosts[: len(hosts)], 0), hosts), (
            "the kept hosts differ from the store"
        )


@contextmanager
def memory_folder() -> Iterator[Path]:
    """Make a folder in memory, because syncs take no time there; remove it at the end."""
    place = MEMORY_DISK if MEMORY_DISK.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="gossamer-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def check_tree(tree: Tree, facts: StoredFacts, scratch: Path) -> str:
    """Check a crashed web; return the fault, or nothing."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    try:
        write_tree(tree, folder)
        check_web(folder / "web", facts)
    except Exception:  # noqa: BLE001 - every fault is reported with its crash point
        return traceback.format_exc(limit=-4)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a thread of Tantivy may still remove or write files
    return ""


def crashes(operations: Sequence[Operation], points: AbstractSet[int]) -> Iterator[Crash]:
    """Yield the crashes that come after so many operations, each with three ends."""
    disk, facts = Disk(), StoredFacts()
    for at, operation in enumerate(operations, 1):
        disk.apply(operation)
        if isinstance(operation, Mark):
            facts = facts.after_mark(operation.line)
        if at in points:
            yield Crash(at, "killed", disk.after_kill(), facts)
            yield Crash(at, "power cut", disk.after_power_cut(), facts)
            yield Crash(at, "torn by a power cut", disk.after_power_cut(random.Random(at)), facts)


def check_crashes(record: Path, points: AbstractSet[int], scratch: Path) -> int:
    """Check the webs that crashes leave, equal ones only once, and print the faults; return the number of crashes."""
    known: set[tuple[bytes, StoredFacts]] = set()
    number = 0
    for crash in crashes(pickle.loads(record.read_bytes()), points):
        number += 1
        web = digest(crash.tree), crash.facts
        if web not in known and (fault := check_tree(crash.tree, crash.facts, scratch)):
            print(json.dumps(f"after operation {crash.at}, {crash.end}: {fault}"), flush=True)
        known.add(web)
    return number


if __name__ == "__main__":
    points = set(json.loads(Path(sys.argv[2]).read_text()))
    print(check_crashes(Path(sys.argv[1]), points, Path(sys.argv[3])))
