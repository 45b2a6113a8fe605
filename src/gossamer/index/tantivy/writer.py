"""Write an index in a directory."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import msgspec
import tantivy

from gossamer.basics.durable import sync_directory
from gossamer.errors import IndexBroken
from gossamer.index.tantivy import disk_space, schema
from gossamer.index.tantivy.reader import stored_version
from gossamer.index.tantivy.sequences import WordsDatabase
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gossamer.index.protocol import AnchorDocument, Document
    from gossamer.index.tantivy.location import TantivyLocation

PAGES_HEAP = 64 << 20  # bytes that Tantivy buffers before it writes a segment
ANCHORS_HEAP = 16 << 20
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


class TantivyCommit(Value, frozen=True, kw_only=True):
    """What we read of Tantivy's meta.json."""

    opstamp: int  # number of the last operation in the commit


class TantivyWriter:
    """Writes the current generation, or a new one that `complete` makes current."""

    def __init__(self, location: TantivyLocation, *, rebuild: bool = False) -> None:
        self._location = location
        try:
            with ExitStack() as stack:
                stack.callback(os.close, location.lock())
                self._open_generation(stack, rebuild=rebuild)
                self._exit_stack = stack.pop_all()
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise disk_space.full_error(location.directory) from error

    def _open_generation(self, stack: ExitStack, *, rebuild: bool) -> None:
        location, current = self._location, self._location.current()
        self._is_new = rebuild or current is None
        self._folder = location.create_generation() if current is None or rebuild else current
        self._open_indexes(self._folder, stack)
        self.attempts = location.begin_attempt(self._folder)
        stack.callback(location.end_attempt, self._folder)
        if current is None:  # readers have no older generation to use meanwhile
            self.complete()
        elif not self._is_new:
            location.remove_other_generations(keep=self._folder)

    def _open_indexes(self, folder: Path, stack: ExitStack) -> None:
        self._pages_schema, self._anchors_schema = schema.pages_schema(), schema.anchors_schema()
        self._sequences = WordsDatabase(folder, read_only=False)
        stack.callback(self._sequences.close)
        for name in ("pages", "anchors"):
            (folder / name).mkdir(exist_ok=True)
        sync_directory(folder)
        for name in ("pages", "anchors"):
            _remove_uncommitted_deletes(folder / name)
        with self._translate_errors():
            pages = tantivy.Index(self._pages_schema, str(folder / "pages"))
            anchors = tantivy.Index(self._anchors_schema, str(folder / "anchors"))
            self.version = stored_version(pages.searcher(), self._pages_schema)
            self.anchors_version = stored_version(anchors.searcher(), self._anchors_schema)
            # One thread, because our analysis is the bottleneck, and one thread makes the fewest segments.
            self._pages = pages.writer(heap_size=PAGES_HEAP, num_threads=1)
            self._anchors = anchors.writer(heap_size=ANCHORS_HEAP, num_threads=1)
        self._signatures: dict[int, bytes] = {}  # put since the last commit
        self._removed: set[int] = set()  # removed since the last commit

    def complete(self) -> None:
        """Make a new generation the current one, and remove the old one."""
        if self._is_new:
            self._location.activate(self._folder)
            self._location.remove_other_generations(keep=self._folder)
            self._is_new = False

    def close(self) -> None:
        """Release the index and drop uncommitted changes; a second call does nothing."""
        for writer in ("_pages", "_anchors"):
            vars(self).pop(writer, None)  # deleting Tantivy's writers releases their locks
        self._exit_stack.close()

    # -- writing -------------------------------------------------------------------------------------------------------

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the signatures of those documents that the index holds."""
        return self._sequences.signatures(ids)

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the language of those documents that the index holds."""
        languages = self._sequences.languages(ids)
        return {doc: language for doc, language in languages.items() if doc not in self._removed}

    def put(self, documents: Sequence[Document]) -> dict[int, str]:
        """Add or replace documents by id; return the refused ones, and why."""
        accepted, tantivy_documents, refused = [], [], {}
        for document in documents:
            try:
                tantivy_documents.append(schema.page_document(document))
            except (ValueError, TypeError, OverflowError) as error:  # a lone surrogate, or a number too big
                refused[document.id] = f"{type(error).__name__}: {error}"
            else:
                accepted.append(document)
        present = self._sequences.present_ids([document.id for document in documents])
        self._sequences.put(accepted)
        self._sequences.mark_removed(list(refused))
        with self._translate_errors():
            for doc in present:
                self._pages.delete_documents_by_term("id", doc)
            for one in tantivy_documents:
                self._pages.add_document(one)
        self._signatures |= {document.id: document.signature for document in accepted}
        self._removed = (self._removed - self._signatures.keys()) | refused.keys()
        return refused

    def remove(self, ids: Iterable[int]) -> None:
        """Remove documents and their anchor texts."""
        listed = list(ids)
        present = self._sequences.present_ids(listed)
        self._sequences.mark_removed(listed)
        with self._translate_errors():
            for doc in present:
                self._pages.delete_documents_by_term("id", doc)
                self._anchors.delete_documents_by_term("id", doc)
        self._removed |= present
        for doc in listed:
            self._signatures.pop(doc, None)

    def put_anchors(self, anchors: Sequence[AnchorDocument]) -> None:
        """Replace the anchor texts of these targets."""
        self._sequences.put_anchor_terms(anchors)
        with self._translate_errors():
            for one in anchors:
                if self.anchors_version:
                    self._anchors.delete_documents_by_term("id", one.target)
                if one.texts:
                    self._anchors.add_document(schema.anchor_document(one))

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Add to the document counts of written words."""
        self._sequences.note_forms(forms)

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Record documents that the index could not take, and why."""
        self._sequences.set_aside(reasons)

    def commit(self, version: int) -> None:
        """Commit the sequences, then Tantivy's documents, then the signatures (see `sequences`)."""
        self._sequences.commit()
        self._commit(self._pages, version)
        sync_directory(self._folder / "pages")  # `held` must not survive a power cut that undoes Tantivy's commit
        self._sequences.mark_committed(self._signatures, list(self._removed))
        self._signatures, self._removed = {}, set()
        self.version = version

    def commit_anchors(self, version: int) -> None:
        """Commit the anchor texts; after a kill in between, the next builder puts all of them again."""
        self._sequences.commit()
        self._commit(self._anchors, version)
        self.anchors_version = version

    def _commit(self, writer: tantivy.IndexWriter, version: int) -> None:
        with self._translate_errors():
            writer.delete_documents_by_term("id", schema.VERSION_ID)
            writer.add_document(schema.version_document(version))
            writer.commit()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate Tantivy's errors; after any error while writing, this writer is unusable."""
        try:
            yield
        except ValueError as error:
            if disk_space.is_low(self._folder):
                raise disk_space.full_error(self._folder) from error
            raise IndexBroken(f"The index writer failed ({error}): run `gossamer index --rebuild`.") from error


def _remove_uncommitted_deletes(folder: Path) -> None:
    """Remove lists of deleted documents that a killed writer left before its commit.

    Tantivy names them by the number of the operation, and refuses to write a file that exists. The next writer starts
    with the same numbers. Readers never use them, because no commit names them.
    """
    try:
        commit = msgspec.json.decode((folder / "meta.json").read_bytes(), type=TantivyCommit)
    except (FileNotFoundError, msgspec.DecodeError):
        return  # a new index, or a damaged one that Tantivy reports itself
    for file in folder.glob("*.del"):
        if int(file.name.split(".")[1]) > commit.opstamp:
            file.unlink()
