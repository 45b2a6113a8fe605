"""words.db: the words of each document in order, for proximity, positions and the word table.

Tantivy's Python API does not expose positions. A list of WordIDs per document, four bytes each, loads in microseconds.

words.db and Tantivy commit one after the other, and a kill may come between. So the writer adds to `sequences` before
Tantivy's commit and deletes after it: `sequences` has every document that Tantivy has. It treats `held` the other way
round: Tantivy has every document whose signature is in `held`.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.basics.cache import SizedCache
from gossamer.basics.sqlite_files import open_sqlite_file, open_sqlite_reader
from gossamer.errors import IndexFault
from gossamer.index.protocol import WordSequence
from gossamer.index.tantivy import disk_space

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from gossamer.index.protocol import AnchorDocument, Document

FILE = "words.db"
BUSY_SECONDS = 60.0  # that SQLite waits for a lock
CACHE_BYTES = 64 << 20  # word sequences in the cache of a reader, about ten thousand documents
ARRAY_OVERHEAD = 100  # bytes of an array beside its elements
FIRST_WORDS_BYTES = 4 * 4_096  # of `words`; the words after the first 4,096 seldom change the order of hits

SCHEMA = """
    CREATE TABLE sequences (
        doc      INTEGER PRIMARY KEY,
        language TEXT NOT NULL,
        runs     BLOB NOT NULL,              -- uint32: number of words * 16 + field
        words    BLOB NOT NULL,              -- uint32: WordIDs or stop codes of the first words
        more     BLOB NOT NULL               -- ... of the others; last, so that reading the first words skips it
    ) STRICT;
    CREATE TABLE callings (                  -- the anchor texts of links to a document
        doc   INTEGER PRIMARY KEY,
        words BLOB NOT NULL                  -- uint32: the codes of their terms
    ) STRICT;
    CREATE TABLE held (
        doc       INTEGER PRIMARY KEY,
        signature BLOB NOT NULL
    ) STRICT;
    CREATE TABLE forms (                     -- written words and their terms; a word can have one term per language
        form      TEXT NOT NULL,
        term      TEXT NOT NULL,
        documents INTEGER NOT NULL,          -- approximate, because a page that changes counts again
        PRIMARY KEY (form, term)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX forms_term ON forms (term);
    CREATE TABLE set_aside (                 -- documents that the index could not take
        doc    INTEGER PRIMARY KEY,
        reason TEXT NOT NULL
    ) STRICT;
"""
_ID_LIST = "(SELECT value FROM json_each(?))"
_FIRST_WORDS = f"""
    SELECT s.doc, s.language, s.words, s.runs, c.words
    FROM sequences AS s LEFT JOIN callings AS c ON c.doc = s.doc WHERE s.doc IN {_ID_LIST}"""  # noqa: S608


class WordsDatabase:
    """An open words.db."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self._path = folder / FILE
        with self._translate_errors():
            self._db = (
                open_sqlite_reader(self._path, BUSY_SECONDS)
                if read_only
                else open_sqlite_file(self._path, "rwc", BUSY_SECONDS)
            )
            self._lock = Lock()  # several threads share a reader
            self._sequence_cache: SizedCache[int, WordSequence] = SizedCache(CACHE_BYTES)
            self._anchor_cache: SizedCache[int, NDArray[np.uint32]] = SizedCache(CACHE_BYTES // 4)
            self._db.execute("PRAGMA mmap_size = 1073741824")
            if not read_only:
                self._prepare()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA page_size = 16384")  # the words of most documents fit one page
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
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF  # the low byte is the primary code
            folder = self._path.parent
            if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and disk_space.is_low(folder)):
                raise disk_space.full_error(folder) from error
            raise IndexFault(f"{self._path} cannot be used ({error}): run `gossamer index --rebuild`.") from error

    def close(self) -> None:
        """Close the file; uncommitted changes are lost."""
        self._db.close()
        if "_unmapped_db" in vars(self):
            self._unmapped_db.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(self, documents: Iterable[Document]) -> None:
        """Write the sequences of documents; call it before Tantivy's commit."""
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
        """Drop the signatures of documents to remove; call it before Tantivy's commit."""
        with self._translate_errors():
            self._delete_held(ids)

    def _delete_held(self, ids: Sequence[int]) -> None:
        self._db.executemany("DELETE FROM held WHERE doc = ?", ((one,) for one in ids))
        self._db.executemany("DELETE FROM set_aside WHERE doc = ?", ((one,) for one in ids))

    def put_anchor_terms(self, anchors: Iterable[AnchorDocument]) -> None:
        """Write the words of anchor texts; call it before Tantivy's commit. A target without texts has no row."""
        with self._translate_errors():
            for one in anchors:
                if one.words:
                    self._db.execute("REPLACE INTO callings (doc, words) VALUES (?, ?)", (one.target, one.words))
                else:
                    self._db.execute("DELETE FROM callings WHERE doc = ?", (one.target,))

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Record documents that the index could not take."""
        with self._translate_errors():
            self._db.executemany("REPLACE INTO set_aside (doc, reason) VALUES (?, ?)", reasons.items())

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Add to the document counts of (written word, term)."""
        sql = """
            INSERT INTO forms (form, term, documents) VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET documents = documents + excluded.documents"""
        with self._translate_errors():
            self._db.executemany(sql, ((*form, forms[form]) for form in sorted(forms)))

    def mark_committed(self, signatures: Mapping[int, bytes], gone: Sequence[int]) -> None:
        """Record what Tantivy's commit added, and delete what it removed."""
        with self._translate_errors():
            self._db.executemany("REPLACE INTO held (doc, signature) VALUES (?, ?)", signatures.items())
            for table in ("sequences", "callings"):
                self._db.executemany(f"DELETE FROM {table} WHERE doc = ?", ((one,) for one in gone))  # noqa: S608
            self.commit()

    def commit(self) -> None:
        """Commit, and begin the next transaction."""
        with self._translate_errors():
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")

    # -- reading -------------------------------------------------------------------------------------------------------

    def _rows(self, sql: str, *parameters: object) -> list[Any]:
        with self._lock, self._translate_errors():
            return self._db.execute(sql, parameters).fetchall()

    @cached_property
    def _unmapped_db(self) -> sqlite3.Connection:
        """A connection that maps nothing: an export reads all documents, and the mapped file would fill memory."""
        return open_sqlite_reader(self._path, BUSY_SECONDS)

    def present_ids(self, ids: Sequence[int]) -> set[int]:
        """Return those documents that Tantivy may hold."""
        rows = self._rows(f"SELECT doc FROM sequences WHERE doc IN {_ID_LIST}", json.dumps(list(ids)))  # noqa: S608
        return {doc for (doc,) in rows}

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the signatures of those documents that Tantivy certainly holds."""
        sql = f"SELECT doc, signature FROM held WHERE doc IN {_ID_LIST}"  # noqa: S608
        return dict(self._rows(sql, json.dumps(list(ids))))

    def word_sequences(self, ids: Sequence[int]) -> dict[int, WordSequence]:
        """Return all words of each committed document in order."""
        sql = f"SELECT doc, language, words, runs, more FROM sequences WHERE doc IN {_ID_LIST}"  # noqa: S608
        with self._lock, self._translate_errors():
            rows = self._unmapped_db.execute(sql, (json.dumps(list(ids)),)).fetchall()
        return {doc: WordSequence(language, words + more, runs) for doc, language, words, runs, more in rows}

    def first_word_sequences(self, ids: Sequence[int]) -> dict[int, WordSequence]:
        """Return the first words of each document in order, from the cache where possible.

        The same read gets the anchor texts, because a ranking asks for them next.
        """
        cache = self._sequence_cache
        sequences = cache.find(ids)
        if len(sequences) < len(ids):
            missing = json.dumps([doc for doc in ids if doc not in sequences])
            for doc, language, words, runs, anchor_words in self._rows(_FIRST_WORDS, missing):
                sequences[doc] = sequence = WordSequence(language, words, runs)
                cache.put(doc, sequence, len(words) + len(runs))
                self._cache_anchor_terms(doc, anchor_words or b"")
        return sequences

    def anchor_terms(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """Return the words of the anchor texts of each document that has any."""
        terms = self._anchor_cache.find(ids)
        missing = [doc for doc in ids if doc not in terms]
        if missing:
            sql = f"SELECT doc, words FROM callings WHERE doc IN {_ID_LIST}"  # noqa: S608
            stored = dict(self._rows(sql, json.dumps(missing)))
            for doc in missing:  # cache the absence of anchor texts too
                terms[doc] = self._cache_anchor_terms(doc, stored.get(doc, b""))
        return {doc: words for doc, words in terms.items() if len(words)}

    def _cache_anchor_terms(self, doc: int, words: bytes) -> NDArray[np.uint32]:
        terms = np.frombuffer(words, "<u4")
        self._anchor_cache.put(doc, terms, len(words) + ARRAY_OVERHEAD)
        return terms

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the language of each document."""
        sql = f"SELECT doc, language FROM sequences WHERE doc IN {_ID_LIST}"  # noqa: S608
        return dict(self._rows(sql, json.dumps(list(ids))))

    def forms(self, term: str) -> list[str]:
        """Return the written words that have a term, the most frequent first."""
        sql = "SELECT form FROM forms WHERE term = ? ORDER BY documents DESC, form"
        return [form for (form,) in self._rows(sql, term)]

    def words_like(self, prefix: str, shortest: int, longest: int, limit: int | None) -> list[tuple[str, int]]:
        """Return written words with their approximate number of documents, the most frequent first."""
        sql = """
            SELECT form, sum(documents) AS number FROM forms
            WHERE form >= ? AND form < ? AND length(form) BETWEEN ? AND ?
            GROUP BY form ORDER BY number DESC, form LIMIT ?"""
        return self._rows(sql, prefix, f"{prefix}\U0010ffff", shortest, longest, -1 if limit is None else limit)

    def set_aside_documents(self) -> dict[int, str]:
        """Return the documents that the index could not take, and why."""
        return dict(self._rows("SELECT doc, reason FROM set_aside ORDER BY doc"))
