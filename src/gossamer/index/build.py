"""Following the store: the one way documents come into an index, while a crawl runs, after it, and in a rebuild.

The index knows the store version it holds. `Builder.catch_up` reads what changed since, puts and removes documents, and
commits on a rhythm; a kill at any instant leaves the last commit, from which the next one goes on.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.errors import IndexBroken, IndexFault
from gossamer.index.analyze import get_analyzer, split_runs, split_terms_by_run
from gossamer.index.documents import DocumentMaker, signature
from gossamer.index.progress import IndexProgress
from gossamer.index.protocol import AnchorDocument, term_code
from gossamer.store.follow.changes import ChangeCursor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gossamer.index.protocol import IndexWriter
    from gossamer.store.follow.changes import AnchorTexts, Changes
    from gossamer.store.protocol import Store

BATCH_SIZE = 256  # resources read at a time
COMMIT_SHARE = 0.05  # of the time that commits may take: on a busy machine they come less often
COUNT_SECONDS = 60.0  # between two times that the counts of words are written; new words are with every commit
COMMIT_SECONDS = 5.0  # how old what is found may be, at most
# Links to one document that are looked at for its anchor texts: all of them, but for those that a whole big web leads
# to (60 ms a document). Of more, those of the pages found first count, and two webs of one site may differ in them.
MOST_LINKS = 50_000
MOST_TEXTS = 100  # different anchor texts of one document
MOST_REPEATS = 5  # times that one text counts, however many pages use it
TARGETS_AT_ONCE = 16_000  # with ten texts each, 20 MB
MOST_CACHED_ANCHORS = 50_000  # anchor texts that are remembered with their terms
SHRINK_FACTOR = 8  # by which a batch shrinks when the writer breaks, or is killed again and again
MOST_ATTEMPTS = 6  # writers that were killed before the document they were at is set aside
KILLED_REASON = "the process was killed again and again while it was at this document"


class IndexBuilder:
    """Brings one index up to date with its store."""

    def __init__(
        self,
        store: Store,
        open_writer: Callable[[], IndexWriter],
        on_progress: Callable[[IndexProgress], None] = lambda _: None,
    ) -> None:
        self._store, self._open_writer, self._on_progress = store, open_writer, on_progress
        self._maker = DocumentMaker(store)
        self._anchor_analyzer = _AnchorAnalyzer()
        self._breaking_documents: dict[int, str] = {}  # documents that break the writer, and how
        self._writer = open_writer()
        self._check_version()
        self.progress = IndexProgress(version=self._writer.version)
        self._batch_size = _batch_size_after(self._writer.attempts)
        self._next_count_write = 0.0
        self._start_at_last_commit()

    def _check_version(self) -> None:
        """An index that is ahead of its store is of another web that was here before, or of more of this one."""
        version, latest = self._writer.version, self._store.version()
        if version > latest:
            self._writer.close()
            raise IndexFault(
                f"The index is ahead of the web (version {version:,} of {latest:,}): the web was made anew, or brought "
                "back from a backup. `gossamer index --rebuild` makes the index anew."
            )

    def _start_at_last_commit(self) -> None:
        self._cursor = ChangeCursor(version=self._writer.version, resource=1 << 62)
        self._next_commit = time.monotonic() + COMMIT_SECONDS

    def close(self) -> None:
        """Let go of the index; what was not committed comes again."""
        self._writer.close()

    def catch_up(self) -> None:
        """Take everything that changed up to now, and commit."""
        while True:
            if self.step() and self._run_or_recover(lambda: self._commit(self.progress.version)):
                return

    def step(self) -> bool:
        """Take the next changes, and commit if it is time to; returns whether these were all."""
        changes = self._store.changes(self._cursor, self._batch_size)
        if not self._run_or_recover(lambda: self._apply_and_commit(changes), changes):
            return False
        self._cursor = changes.cursor
        self._add_progress(version=changes.version, latest=changes.latest)
        return changes.version == changes.latest

    def go_idle(self) -> None:
        """Nothing comes for a while: commit, and forget what was only remembered for speed."""
        if self._run_or_recover(lambda: self._commit(self.progress.version, always=True)):
            self._maker, self._anchor_analyzer = DocumentMaker(self._store), _AnchorAnalyzer()
            get_analyzer.cache_clear()

    def complete(self) -> None:
        """Let a rebuilt index take the place of the one before."""
        self._writer.complete()

    def _apply_and_commit(self, changes: Changes) -> None:
        self._apply_changes(changes)
        is_careful = self._batch_size < BATCH_SIZE  # so that what went well need not be done again
        if is_careful or time.monotonic() >= self._next_commit:
            self._commit(changes.version, always=is_careful)

    def _run_or_recover(self, action: Callable[[], None], changes: Changes | None = None) -> bool:
        """Whether it went well. If not, the writer broke, and is opened again."""
        try:
            action()
        except IndexBroken as fault:
            self._recover(changes, str(fault))
            return False
        return True

    def _apply_changes(self, changes: Changes) -> None:
        indexable = [resource for resource in changes.resources if resource.text is not None]
        held_signatures = self._writer.signatures([standing.id for standing in indexable])
        new = [
            standing
            for standing in indexable
            if standing.id not in held_signatures or held_signatures[standing.id] != signature(standing)
        ]
        if self._writer.attempts > MOST_ATTEMPTS and not self.progress.put and not self.progress.set_aside:
            self._breaking_documents |= {standing.id: KILLED_REASON for standing in new}
        batch = self._maker.make([standing for standing in new if standing.id not in self._breaking_documents])
        broken = {
            standing.id: self._breaking_documents[standing.id]
            for standing in new
            if standing.id in self._breaking_documents
        }
        refused = self._writer.put(batch.documents) | batch.unreadable | broken
        unindexable = [standing.id for standing in changes.resources if standing.text is None]
        self._writer.remove([*unindexable, *changes.gone, *refused])
        self._writer.set_aside(refused)
        if self._maker.is_full:  # the next commit may be minutes away
            self._writer.note_forms(self._maker.take_forms())
        self._add_progress(
            put=len(new) - len(refused), unchanged=len(indexable) - len(new), removed=len(unindexable) + len(changes.gone),
            set_aside=len(refused),
        )  # fmt: skip

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
        """The writer broke: begin at the last commit, in smaller steps, until it is clear which document it was."""
        if self._batch_size == 1 and changes is not None:
            self._breaking_documents |= {
                resource.id: fault for resource in changes.resources if resource.text is not None
            }
            self._batch_size = BATCH_SIZE
        else:
            self._batch_size = max(1, self._batch_size // SHRINK_FACTOR)
        self._writer.close()
        self._writer = self._open_writer()
        self._maker = DocumentMaker(self._store)  # what it has told was not all committed
        self._start_at_last_commit()

    def _add_progress(self, **changes: int) -> None:
        """Add to the counts, set the versions, and tell."""
        fields = {name: getattr(self.progress, name) for name in IndexProgress.__struct_fields__}
        for name, number in changes.items():
            fields[name] = number if name in {"version", "latest"} else fields[name] + number
        self.progress = IndexProgress(**fields)
        self._on_progress(self.progress)

    # -- what others call them -----------------------------------------------------------------------------------------

    def catch_up_anchors(self) -> None:
        """Bring the anchor texts up to the version that the documents are of."""
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
    """Terms -> what stands for them (`term_code`), four bytes each."""

    def __missing__(self, term: str) -> bytes:
        code = self[term] = term_code(term).to_bytes(4, "little")
        return code


class _AnchorAnalyzer:
    """Anchor texts -> terms. The same texts lead to many pages: those met are remembered."""

    def __init__(self) -> None:
        self._codes = _TermCodes()
        self._known: dict[tuple[str, str], tuple[str, bytes]] = {}  # language and text -> its terms, and their codes

    def anchor_documents(
        self, anchor_texts: Sequence[AnchorTexts], languages: Mapping[int, str]
    ) -> list[AnchorDocument]:
        """In the languages of the pages they lead to, which is what they speak of."""
        self._analyze_new_texts(anchor_texts, languages)
        documents = [self._anchor_document(one, languages[one.target]) for one in anchor_texts]
        if len(self._known) > MOST_CACHED_ANCHORS:
            self._known.clear()
            self._codes.clear()
        return documents

    def _analyze_new_texts(self, anchor_texts: Sequence[AnchorTexts], languages: Mapping[int, str]) -> None:
        """All new texts of a language are analysed in one call: there are tens of thousands, of two words each."""
        texts_by_language: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for one in anchor_texts:
            texts_by_language[languages[one.target]].update(one.texts)
        for language, texts in texts_by_language.items():
            new = [text for text in texts if (language, text) not in self._known]
            analyzed_terms = split_terms_by_run(get_analyzer(language).terms_of_pieces(split_runs(new))) if new else []
            for text, terms in zip(new, analyzed_terms, strict=True):
                self._known[language, text] = terms, b"".join(map(self._codes.__getitem__, terms.split()))

    def _anchor_document(self, anchor_texts: AnchorTexts, language: str) -> AnchorDocument:
        """A text counts once for one page, twice for two or three, three times for four to seven ..., no more."""
        texts, words = [], []
        for text, pages in anchor_texts.texts:
            terms, codes = self._known[language, text]
            if terms:
                times = min(pages.bit_length(), MOST_REPEATS)
                texts += [terms] * times
                words.append(codes * times)
        return AnchorDocument(target=anchor_texts.target, texts=tuple(texts), words=b"".join(words))


def _batch_size_after(attempts: int) -> int:
    """How many resources to take at a time. One killed writer says nothing, three may have met a bad document."""
    size = BATCH_SIZE
    for _ in range(attempts - 2):
        size //= SHRINK_FACTOR
    return max(1, size)


def update_index(
    store: Store, open_writer: Callable[[], IndexWriter], on_progress: Callable[[IndexProgress], None] = lambda _: None
) -> IndexProgress:
    """Documents, then anchor texts, to the end; returns what was done."""
    builder = IndexBuilder(store, open_writer, on_progress)
    try:
        builder.catch_up()
        builder.catch_up_anchors()
        builder.complete()
        return builder.progress
    finally:
        builder.close()
