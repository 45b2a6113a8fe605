"""words.db: the words of each document in order, for proximity, positions and the word table.

Tantivy does not give its positions out. A list of WordIDs per document, four bytes a word, is read in microseconds.

The two parts of an index are committed one behind the other, and a kill may come between. So `sequences` is written
before Tantivy's commit and cleared after it: it always holds at least the documents that Tantivy holds. `held` is the
other way round: a signature in it stands for a document that Tantivy surely holds.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.errors import IndexFault
from gossamer.index.protocol import WordSequence
from gossamer.index.recent import TwoGenerationCache
from gossamer.index.tantivy import disk_space

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from gossamer.index.protocol import AnchorDocument, Document

FILE = "words.db"
BUSY_SECONDS = 60.0
CACHE_BYTES = 64 << 20  # bytes of word sequences that a reader keeps at hand: ten thousand documents or so
ARRAY_OVERHEAD = 100  # bytes of an array beside what is in it
FIRST_WORDS_BYTES = (
    4 * 4_096
)  # bytes of `words`; what is behind the first 4,096 words seldom matters to the order of hits

SCHEMA = """
    CREATE TABLE sequences (
        doc      INTEGER PRIMARY KEY,
        language TEXT NOT NULL,
        runs     BLOB NOT NULL,              -- uint32: number of words * 16 + field
        words    BLOB NOT NULL,              -- uint32: WordIDs of the first words, stop words 0
        more     BLOB NOT NULL               -- ... of the others: last, so that it need not be read with them
    ) STRICT;
    CREATE TABLE callings (                  -- what others call a document
        doc   INTEGER PRIMARY KEY,
        words BLOB NOT NULL                  -- uint32: the codes of their terms
    ) STRICT;
    CREATE TABLE held (
        doc       INTEGER PRIMARY KEY,
        signature BLOB NOT NULL
    ) STRICT;
    CREATE TABLE forms (                     -- the words seen, and their terms (by language there may be several)
        form      TEXT NOT NULL,
        term      TEXT NOT NULL,
        documents INTEGER NOT NULL,          -- about so many; a page that was put again counts again
        PRIMARY KEY (form, term)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX forms_term ON forms (term);
    CREATE TABLE set_aside (                 -- documents that could not be taken
        doc    INTEGER PRIMARY KEY,
        reason TEXT NOT NULL
    ) STRICT;
"""
_ID_LIST = "(SELECT value FROM json_each(?))"


class WordsDatabase:
    """An open words.db."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self._path = folder / FILE
        with self._translate_errors():
            mode = "ro" if read_only else "rwc"
            if read_only and not os.access(folder, os.W_OK) and not (folder / f"{FILE}-wal").exists():
                mode = "ro&immutable=1"  # the memory that readers of a log share could not be made; there is no log
            self._db = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None,
                check_same_thread=False,
            )  # fmt: skip
            self._lock = Lock()  # readers are used from several threads
            self._sequence_cache: TwoGenerationCache[int, WordSequence] = TwoGenerationCache(CACHE_BYTES)
            self._anchor_cache: TwoGenerationCache[int, NDArray[np.uint32]] = TwoGenerationCache(CACHE_BYTES // 4)
            self._db.execute("PRAGMA mmap_size = 1073741824")
            if not read_only:
                self._prepare()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA page_size = 16384")  # most documents' words lie in one piece
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        if not self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        self._db.execute("BEGIN IMMEDIATE")  # the writer is always inside a transaction

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF  # the low byte names the family
            folder = self._path.parent
            if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and disk_space.is_low(folder)):
                raise disk_space.full_error(folder) from error
            raise IndexFault(f"{self._path} cannot be used ({error}): `gossamer index --rebuild`.") from error

    def close(self) -> None:
        """Let go of the file; what was not committed is not there."""
        self._db.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(self, documents: Iterable[Document]) -> None:
        """Before Tantivy's commit."""
        rows = [
            (one.id, one.language, one.runs, one.words[:FIRST_WORDS_BYTES], one.words[FIRST_WORDS_BYTES:])
            for one in documents
        ]
        with self._translate_errors():
            self._db.executemany(
                "REPLACE INTO sequences (doc, language, runs, words, more) VALUES (?, ?, ?, ?, ?)", rows
            )
            self._delete_held([row[0] for row in rows])

    def mark_removed(self, ids: Sequence[int]) -> None:
        """Before Tantivy's commit: these will not be held any more."""
        with self._translate_errors():
            self._delete_held(ids)

    def _delete_held(self, ids: Sequence[int]) -> None:
        self._db.executemany("DELETE FROM held WHERE doc = ?", ((one,) for one in ids))
        self._db.executemany("DELETE FROM set_aside WHERE doc = ?", ((one,) for one in ids))

    def put_anchor_terms(self, anchors: Iterable[AnchorDocument]) -> None:
        """Before Tantivy's commit of anchor texts; those without any have no row."""
        with self._translate_errors():
            for one in anchors:
                if one.words:
                    self._db.execute("REPLACE INTO callings (doc, words) VALUES (?, ?)", (one.target, one.words))
                else:
                    self._db.execute("DELETE FROM callings WHERE doc = ?", (one.target,))

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Documents that could not be taken."""
        with self._translate_errors():
            self._db.executemany("REPLACE INTO set_aside (doc, reason) VALUES (?, ?)", reasons.items())

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Words with their terms, and in how many more documents they were seen."""
        sql = """
            INSERT INTO forms (form, term, documents) VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET documents = documents + excluded.documents"""
        with self._translate_errors():
            self._db.executemany(sql, ((form, term, number) for (form, term), number in sorted(forms.items())))

    def mark_committed(self, signatures: Mapping[int, bytes], gone: Sequence[int]) -> None:
        """After Tantivy's commit: these are held now, those are not."""
        with self._translate_errors():
            self._db.executemany("REPLACE INTO held (doc, signature) VALUES (?, ?)", signatures.items())
            for table in ("sequences", "callings"):
                self._db.executemany(f"DELETE FROM {table} WHERE doc = ?", ((one,) for one in gone))  # noqa: S608
            self.commit()

    def commit(self) -> None:
        """Make it durable."""
        with self._translate_errors():
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")

    # -- reading -------------------------------------------------------------------------------------------------------

    def _rows(self, sql: str, *parameters: object) -> list[Any]:
        with self._lock, self._translate_errors():
            return self._db.execute(sql, parameters).fetchall()

    def present_ids(self, ids: Sequence[int]) -> set[int]:
        """Those that Tantivy may hold."""
        rows = self._rows(f"SELECT doc FROM sequences WHERE doc IN {_ID_LIST}", json.dumps(list(ids)))  # noqa: S608
        return {doc for (doc,) in rows}

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Of those that Tantivy surely holds."""
        sql = f"SELECT doc, signature FROM held WHERE doc IN {_ID_LIST}"  # noqa: S608
        return dict(self._rows(sql, json.dumps(list(ids))))

    def word_sequences(self, ids: Sequence[int]) -> dict[int, WordSequence]:
        """The words in order."""
        sql = f"SELECT doc, language, words, runs, more FROM sequences WHERE doc IN {_ID_LIST}"  # noqa: S608
        rows = self._rows(sql, json.dumps(list(ids)))
        return {doc: _sequence(language, words + more, runs) for doc, language, words, runs, more in rows}

    def first_word_sequences(self, ids: Sequence[int]) -> dict[int, WordSequence]:
        """The first words in order."""
        cache = self._sequence_cache
        sequences = {doc: known for doc in ids if (known := cache.get(doc)) is not None}
        if len(sequences) < len(ids):
            missing = json.dumps([doc for doc in ids if doc not in sequences])
            sql = f"SELECT doc, language, words, runs FROM sequences WHERE doc IN {_ID_LIST}"  # noqa: S608
            for doc, language, words, runs in self._rows(sql, missing):
                sequences[doc] = sequence = _sequence(language, words, runs)
                cache.put(doc, sequence, len(words) + len(runs))
        return sequences

    def anchor_terms(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """What others call these."""
        cache = self._anchor_cache
        terms = {doc: known for doc in ids if (known := cache.get(doc)) is not None}
        missing = [doc for doc in ids if doc not in terms]
        if missing:
            sql = f"SELECT doc, words FROM callings WHERE doc IN {_ID_LIST}"  # noqa: S608
            stored = dict(self._rows(sql, json.dumps(missing)))
            for doc in missing:  # that nobody calls it anything is worth to be remembered too
                words = stored.get(doc, b"")
                terms[doc] = np.frombuffer(words, "<u4")
                cache.put(doc, terms[doc], len(words) + ARRAY_OVERHEAD)
        return {doc: words for doc, words in terms.items() if len(words)}

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """The analysis of each."""
        sql = f"SELECT doc, language FROM sequences WHERE doc IN {_ID_LIST}"  # noqa: S608
        return dict(self._rows(sql, json.dumps(list(ids))))

    def forms(self, term: str) -> list[str]:
        """The words seen that have a term, the most frequent first."""
        sql = "SELECT form FROM forms WHERE term = ? ORDER BY documents DESC, form"
        return [form for (form,) in self._rows(sql, term)]

    def words_like(self, prefix: str, shortest: int, longest: int, limit: int | None) -> list[tuple[str, int]]:
        """Words with about how many documents hold them, the most frequent first."""
        sql = """
            SELECT form, sum(documents) AS number FROM forms
            WHERE form >= ? AND form < ? AND length(form) BETWEEN ? AND ?
            GROUP BY form ORDER BY number DESC, form LIMIT ?"""
        return self._rows(sql, prefix, f"{prefix}\U0010ffff", shortest, longest, -1 if limit is None else limit)

    def set_aside_documents(self) -> dict[int, str]:
        """Documents that could not be taken."""
        return dict(self._rows("SELECT doc, reason FROM set_aside ORDER BY doc"))


def _sequence(language: str, words: bytes, runs: bytes) -> WordSequence:
    return WordSequence(language, np.frombuffer(words, "<u4"), np.frombuffer(runs, "<u4"))
