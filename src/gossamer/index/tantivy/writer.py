"""The one writer of an index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import tantivy

from gossamer.errors import IndexBroken
from gossamer.index.tantivy import schema
from gossamer.index.tantivy.reader import stored_version
from gossamer.index.tantivy.sequences import Sequences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from gossamer.index.base import Anchors, Document
    from gossamer.index.tantivy.place import IndexPlace

HEAP = 64 << 20  # bytes that Tantivy collects before it writes a segment
ANCHORS_HEAP = 16 << 20


class TantivyWriter:
    """Writes the generation that counts, or a new one that counts from its completion on."""

    def __init__(self, place: IndexPlace, *, rebuild: bool = False) -> None:
        self._place = place
        self._lock = place.lock()
        try:
            current = place.current()
            self._new = rebuild or current is None
            self._folder = place.new() if current is None or rebuild else current
            self._open(self._folder)
            self.attempts = self._place.begin(self._folder)
            if current is None:  # nothing is there to be read meanwhile
                self.complete()
            elif not self._new:
                place.clean(but=self._folder)
        except BaseException:
            os.close(self._lock)
            raise

    def _open(self, folder: Path) -> None:
        self._pages_schema, self._anchors_schema = schema.pages_schema(), schema.anchors_schema()
        self._sequences = Sequences(folder, read_only=False)
        for name in ("pages", "anchors"):
            (folder / name).mkdir(exist_ok=True)
        with _breaking():
            pages = tantivy.Index(self._pages_schema, str(folder / "pages"))
            anchors = tantivy.Index(self._anchors_schema, str(folder / "anchors"))
            self.version = stored_version(pages.searcher(), self._pages_schema)
            self.anchors_version = stored_version(anchors.searcher(), self._anchors_schema)
            # One thread: the analysis before it is what takes time, and one thread makes the fewest segments.
            self._pages = pages.writer(heap_size=HEAP, num_threads=1)
            self._anchors = anchors.writer(heap_size=ANCHORS_HEAP, num_threads=1)
        self._signatures: dict[int, bytes] = {}  # put since the last commit
        self._gone: set[int] = set()  # removed since the last commit

    def complete(self) -> None:
        """Let a new generation count, and remove the old one."""
        if self._new:
            self._place.count(self._folder)
            self._place.clean(but=self._folder)
            self._new = False

    def close(self) -> None:
        """Let go of it; what was not committed is as if it had never been put."""
        self._sequences.close()
        del self._pages, self._anchors
        self._place.end(self._folder)
        os.close(self._lock)

    # -- writing -------------------------------------------------------------------------------------------------------

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Of those that are held."""
        return self._sequences.signatures(ids)

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """The analysis of those that are held."""
        found = self._sequences.languages(ids)
        return {doc: language for doc, language in found.items() if doc not in self._gone}

    def put(self, documents: Sequence[Document]) -> dict[int, str]:
        """Add documents, each in place of the one with its id; returns those that could not be taken, and why."""
        taken, made, refused = [], [], {}
        for document in documents:
            try:
                made.append(schema.page(document))
            except (ValueError, TypeError, OverflowError) as error:  # no text (a lone surrogate), a number too big
                refused[document.id] = f"{type(error).__name__}: {error}"
            else:
                taken.append(document)
        before = self._sequences.present([document.id for document in documents])
        self._sequences.put(taken)
        self._sequences.leave(list(refused))
        with _breaking():
            for doc in before:
                self._pages.delete_documents_by_term("id", doc)
            for one in made:
                self._pages.add_document(one)
        self._signatures |= {document.id: document.signature for document in taken}
        self._gone = (self._gone - self._signatures.keys()) | refused.keys()
        return refused

    def remove(self, ids: Iterable[int]) -> None:
        """Take documents and their anchors out."""
        listed = list(ids)
        present = self._sequences.present(listed)
        self._sequences.leave(listed)
        with _breaking():
            for doc in present:
                self._pages.delete_documents_by_term("id", doc)
                self._anchors.delete_documents_by_term("id", doc)
        self._gone |= present
        for doc in listed:
            self._signatures.pop(doc, None)

    def put_anchors(self, anchors: Sequence[Anchors]) -> None:
        """Replace what is known of these targets' anchor texts."""
        with _breaking():
            for one in anchors:
                if self.anchors_version:
                    self._anchors.delete_documents_by_term("id", one.target)
                if one.texts:
                    self._anchors.add_document(schema.anchors(one))

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Remember words with their terms."""
        self._sequences.note_forms(forms)

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Remember documents that could not be taken, and why."""
        self._sequences.set_aside(reasons)

    def commit(self, version: int) -> None:
        """Make it durable: words first, then documents, then what is known of both."""
        self._sequences.commit()
        _commit(self._pages, version)
        self._sequences.committed(self._signatures, list(self._gone))
        self._signatures, self._gone = {}, set()
        self.version = version

    def commit_anchors(self, version: int) -> None:
        """Make the anchor texts durable."""
        _commit(self._anchors, version)
        self.anchors_version = version


def _commit(writer: tantivy.IndexWriter, version: int) -> None:
    with _breaking():
        writer.delete_documents_by_term("id", schema.VERSION_ID)
        writer.add_document(schema.version(version))
        writer.commit()


class _breaking:  # noqa: N801 - reads as a statement
    """The border: whatever Tantivy complains of while writing means that this writer is of no use any more."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError):
            raise IndexBroken(f"The index writer broke ({error}): `gossamer index --rebuild`.") from error
