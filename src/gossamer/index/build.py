"""Bring an index up to date with its store: during a crawl, after it, and in a rebuild.

The index knows the store version it holds. `IndexBuilder.catch_up` reads the changes since, puts and removes documents,
and commits every few seconds. A kill at any instant leaves the last commit, and the next builder continues from there.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.errors import IndexBroken, IndexFault
from gossamer.index.analyze import get_analyzer, split_runs, split_terms_by_run
from gossamer.index.documents import DocumentMaker, signature
from gossamer.index.protocol import AnchorDocument, IndexProgress, term_code
from gossamer.store.content import unpacked_size
from gossamer.store.follow.changes import ChangeCursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gossamer.index.protocol import IndexWriter
    from gossamer.store.follow.changes import AnchorTexts, Changes, IndexableResource
    from gossamer.store.protocol import IndexSource

BATCH_SIZE = 256  # resources read at a time
COMMIT_SHARE = 0.05  # of the time; commits come less often on a busy machine
COUNT_SECONDS = 60.0  # between writes of word counts; every commit writes new words
COMMIT_SECONDS = 5.0  # between commits, so that search results are not older
# Links to one document that the builder reads for its anchor texts. Only pages that a whole big web links to have
# more, and reading these takes 60 ms. Beyond the limit the first pages found count, so two crawls of a site may differ.
MOST_LINKS = 50_000
MOST_TEXTS = 100  # different anchor texts of one document
MOST_REPEATS = 5  # occurrences of one text that count, however many pages use it
TARGETS_AT_ONCE = 16_000  # documents; 20 MB with ten texts each
MOST_CACHED_ANCHORS = 50_000  # anchor texts cached with their terms
SHRINK_FACTOR = 8  # divides the batch size after the writer failed or processes were killed repeatedly
MOST_ATTEMPTS = 6  # killed writers in a row before the builder sets the next document aside
BATCH_TEXT_BYTES = 16 << 20  # of unpacked texts that become documents at a time; a longer one comes alone
MEMORY_REASON = "indexing this document needs more memory than the process may use"
KILLED_REASON = "the process was killed again and again while it was indexing this document"


class IndexBuilder:
    """Brings one index up to date with its store."""

    def __init__(
        self,
        store: IndexSource,
        open_writer: Callable[[], IndexWriter],
        on_progress: Callable[[IndexProgress], None] = lambda _: None,
    ) -> None:
        self._store, self._open_writer, self._on_progress = store, open_writer, on_progress
        self._maker = DocumentMaker(store)
        self._anchor_analyzer = _AnchorAnalyzer()
        self._breaking_documents: dict[int, str] = {}  # documents that made the writer fail, and its error
        self._writer = open_writer()
        self._check_version()
        self.progress = IndexProgress(version=self._writer.version)
        self._batch_size = _batch_size_after(self._writer.attempts)
        self._next_count_write = 0.0
        self._start_at_last_commit()

    def _check_version(self) -> None:
        """Refuse an index ahead of its store: it belongs to an earlier web, or to a newer state of this one."""
        version, latest = self._writer.version, self._store.version()
        if version > latest:
            self._writer.close()
            raise IndexFault(
                f"The index is ahead of the web (version {version:,} of {latest:,}): the web was made again, or "
                "restored from a backup. Run `gossamer index --rebuild`."
            )

    def _start_at_last_commit(self) -> None:
        self._cursor = ChangeCursor(version=self._writer.version, resource=1 << 62)
        self._next_commit = time.monotonic() + COMMIT_SECONDS

    def close(self) -> None:
        """Release the index; the next builder repeats the uncommitted changes."""
        self._writer.close()

    def catch_up(self) -> None:
        """Index every change up to now, and commit."""
        while True:
            if self.step() and self._run_or_recover(lambda: self._commit(self.progress.version)):
                return

    def step(self) -> bool:
        """Index the next changes, and commit when due; return whether the index is now up to date."""
        changes = self._store.changes(self._cursor, self._batch_size)
        if not self._run_or_recover(lambda: self._apply_and_commit(changes), changes):
            return False
        self._cursor = changes.cursor
        self._add_progress(version=changes.version, latest=changes.latest)
        return changes.version == changes.latest

    def go_idle(self) -> None:
        """Commit and drop the caches, because no changes are expected for a while."""
        if self._run_or_recover(lambda: self._commit(self.progress.version, always=True)):
            self._maker, self._anchor_analyzer = DocumentMaker(self._store), _AnchorAnalyzer()
            get_analyzer.cache_clear()

    def complete(self) -> None:
        """Replace the previous index with the rebuilt one."""
        self._writer.complete()

    def _apply_and_commit(self, changes: Changes) -> None:
        self._apply_changes(changes)
        is_careful = self._batch_size < BATCH_SIZE  # commit every batch, so that a crash repeats only one
        if is_careful or time.monotonic() >= self._next_commit:
            self._commit(changes.version, always=is_careful)

    def _run_or_recover(self, action: Callable[[], None], changes: Changes | None = None) -> bool:
        """Return whether the action succeeded; open the next writer when this one failed."""
        try:
            action()
        except IndexBroken as fault:
            reason = str(fault)
        except MemoryError:
            reason = MEMORY_REASON
        else:
            return True
        self._recover(changes, reason)  # out here, because the fault keeps Tantivy's writer and its lock alive
        return False

    def _apply_changes(self, changes: Changes) -> None:
        indexable = [resource for resource in changes.resources if resource.text is not None]
        held_signatures = self._writer.signatures([resource.id for resource in indexable])
        new = [
            resource
            for resource in indexable
            if resource.id not in held_signatures or held_signatures[resource.id] != signature(resource)
        ]
        if self._writer.attempts > MOST_ATTEMPTS and not self.progress.put and not self.progress.set_aside:
            self._breaking_documents |= {resource.id: KILLED_REASON for resource in new}
        refused = self._put([resource for resource in new if resource.id not in self._breaking_documents]) | {
            resource.id: self._breaking_documents[resource.id]
            for resource in new
            if resource.id in self._breaking_documents
        }
        unindexable = [resource.id for resource in changes.resources if resource.text is None]
        self._writer.remove([*unindexable, *changes.gone, *refused])
        self._writer.set_aside(refused)
        if self._maker.is_full:  # the next commit may be minutes away
            self._writer.note_forms(self._maker.take_forms())
        self._add_progress(
            put=len(new) - len(refused), unchanged=len(indexable) - len(new), set_aside=len(refused),
            removed=len(unindexable) + len(changes.gone),
        )  # fmt: skip

    def _put(self, resources: Sequence[IndexableResource]) -> dict[int, str]:
        """Put the documents of resources, some at a time; return those set aside, with their reasons."""
        refused: dict[int, str] = {}
        for part in _split_by_text(resources):
            batch = self._maker.make(part)
            refused |= self._writer.put(batch.documents) | batch.unreadable
        return refused

    def _commit(self, version: int, *, always: bool = False) -> None:
        started = time.monotonic()
        if always or version != self._writer.version:
            everything = always or version == self.progress.latest or started >= self._next_count_write
            self._writer.note_forms(self._maker.take_forms(everything=everything))
            self._writer.commit(version)
            if everything:
                self._next_count_write = started + COUNT_SECONDS
        took = time.monotonic() - started
        self._next_commit = started + max(COMMIT_SECONDS, took / COMMIT_SHARE)

    def _recover(self, changes: Changes | None, fault: str) -> None:
        """Restart at the last commit with smaller batches, until a batch of one shows which document fails."""
        if self._batch_size == 1 and changes is not None:
            self._breaking_documents |= {
                resource.id: fault for resource in changes.resources if resource.text is not None
            }
            self._batch_size = BATCH_SIZE
        else:
            self._batch_size = max(1, self._batch_size // SHRINK_FACTOR)
        self._writer.close()
        self._writer = self._open_writer()
        self._maker = DocumentMaker(self._store)  # its word counts were only partly committed
        self._start_at_last_commit()

    def _add_progress(self, **changes: int) -> None:
        """Add to the counts, set the versions, and report the progress."""
        fields = {name: getattr(self.progress, name) for name in IndexProgress.__struct_fields__}
        for name, number in changes.items():
            fields[name] = number if name in {"version", "latest"} else fields[name] + number
        self.progress = IndexProgress(**fields)
        self._on_progress(self.progress)

    # -- anchor texts --------------------------------------------------------------------------------------------------

    def catch_up_anchors(self) -> None:
        """Bring the anchor texts up to the version of the documents."""
        version = self._writer.version
        if version == self._writer.anchors_version:
            return
        targets = sorted(set().union(*self._store.relinked_documents(self._writer.anchors_version)))
        for first in range(0, len(targets), TARGETS_AT_ONCE):
            self._put_anchors(targets[first : first + TARGETS_AT_ONCE])
        self._writer.commit_anchors(version)

    def _put_anchors(self, targets: list[int]) -> None:
        languages = self._writer.languages(targets)
        anchor_texts = self._store.anchor_texts(list(languages), max_links=MOST_LINKS, max_texts=MOST_TEXTS)
        unindexed = [AnchorDocument(target=one, texts=()) for one in targets if one not in languages]
        self._writer.put_anchors([*self._anchor_analyzer.anchor_documents(anchor_texts, languages), *unindexed])
        self._add_progress(anchors=len(anchor_texts))


class _TermCodes(dict[str, bytes]):
    """Terms -> their `term_code`, four bytes each."""

    def __missing__(self, term: str) -> bytes:
        code = self[term] = term_code(term).to_bytes(4, "little")
        return code


class _AnchorAnalyzer:
    """Anchor texts -> terms, with a cache, because many pages share the same texts."""

    def __init__(self) -> None:
        self._codes = _TermCodes()
        self._known: dict[tuple[str, str], tuple[str, bytes]] = {}  # language and text -> terms and their codes

    def anchor_documents(
        self, anchor_texts: Sequence[AnchorTexts], languages: Mapping[int, str]
    ) -> list[AnchorDocument]:
        """Return the documents, each analysed in the language of the page it describes."""
        self._analyze_new_texts(anchor_texts, languages)
        documents = [self._anchor_document(one, languages[one.target]) for one in anchor_texts]
        if len(self._known) > MOST_CACHED_ANCHORS:
            self._known.clear()
            self._codes.clear()
        return documents

    def _analyze_new_texts(self, anchor_texts: Sequence[AnchorTexts], languages: Mapping[int, str]) -> None:
        """Analyse all new texts of a language in one call: there are tens of thousands, of two words each."""
        texts_by_language: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for one in anchor_texts:
            texts_by_language[languages[one.target]].update(one.texts)
        for language, texts in texts_by_language.items():
            new = [text for text in texts if (language, text) not in self._known]
            analyzed_terms = split_terms_by_run(get_analyzer(language).terms_of_pieces(split_runs(new))) if new else []
            for text, terms in zip(new, analyzed_terms, strict=True):
                self._known[language, text] = terms, b"".join(map(self._codes.__getitem__, terms.split()))

    def _anchor_document(self, anchor_texts: AnchorTexts, language: str) -> AnchorDocument:
        """Repeat a text once for one page, twice for two or three, three times for four to seven, and so on."""
        texts, words = [], []
        for text, pages in anchor_texts.texts:
            terms, codes = self._known[language, text]
            if terms:
                times = min(pages.bit_length(), MOST_REPEATS)
                texts += [terms] * times
                words.append(codes * times)
        return AnchorDocument(target=anchor_texts.target, texts=tuple(texts), words=b"".join(words))


def _split_by_text(resources: Sequence[IndexableResource]) -> Iterator[list[IndexableResource]]:
    """Yield the resources in parts whose unpacked texts fit into memory together."""
    part: list[IndexableResource] = []
    size = 0
    for resource in resources:
        bytes_ = unpacked_size(resource.text or b"")
        if part and size + bytes_ > BATCH_TEXT_BYTES:
            yield part
            part, size = [], 0
        part.append(resource)
        size += bytes_
    yield part


def _batch_size_after(attempts: int) -> int:
    """Return the batch size; it shrinks from the third failed attempt on, which suggests a bad document."""
    size = BATCH_SIZE
    for _ in range(attempts - 2):
        size //= SHRINK_FACTOR
    return max(1, size)


def update_index(
    store: IndexSource,
    open_writer: Callable[[], IndexWriter],
    on_progress: Callable[[IndexProgress], None] = lambda _: None,
) -> IndexProgress:
    """Index all changed documents, then all anchor texts; return the counts."""
    builder = IndexBuilder(store, open_writer, on_progress)
    try:
        builder.catch_up()
        builder.catch_up_anchors()
        builder.complete()
        return builder.progress
    finally:
        builder.close()
