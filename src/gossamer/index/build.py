"""Following the store: the one way documents come into an index, while a crawl runs, after it, and in a rebuild.

The index knows the store version it holds. `Builder.catch_up` reads what changed since, puts and removes documents, and
commits on a rhythm; a kill at any instant leaves the last commit, from which the next one goes on.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.errors import IndexBroken, IndexFault
from gossamer.index.analyze import analysis, cut_runs, in_runs
from gossamer.index.documents import DocumentMaker, signature
from gossamer.index.progress import Progress
from gossamer.index.protocol import Anchors, term_code
from gossamer.store.follow.changes import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gossamer.index.protocol import IndexWriter
    from gossamer.store.follow.changes import AnchorTexts, Changes
    from gossamer.store.protocol import Store

BATCH = 256  # resources read at a time
COMMIT_SHARE = 0.05  # of the time that commits may take: on a busy machine they come less often
COUNT_SECONDS = 60.0  # between two times that the counts of words are written; new words are with every commit
COMMIT_SECONDS = 5.0  # how old what is found may be, at most
# Links to one document that are looked at for its anchor texts: all of them, but for those that a whole big web leads
# to (60 ms a document). Of more, those of the pages found first count, and two webs of one site may differ in them.
MOST_LINKS = 50_000
MOST_TEXTS = 100  # different anchor texts of one document
MOST_REPEATS = 5  # times that one text counts, however many pages use it
TARGETS_AT_ONCE = 16_000  # with ten texts each, 20 MB
MOST_CALLINGS = 50_000  # anchor texts that are remembered with their terms
SMALLER = 8  # by which a batch shrinks when the writer breaks, or is killed again and again
MOST_ATTEMPTS = 6  # writers that were killed before the document they were at is set aside
KILLED = "the process was killed again and again while it was at this document"


class Builder:
    """Brings one index up to date with its store."""

    def __init__(
        self, store: Store, open_writer: Callable[[], IndexWriter], tell: Callable[[Progress], None] = lambda _: None
    ) -> None:
        self._store, self._open_writer, self._tell = store, open_writer, tell
        self._maker = DocumentMaker(store)
        self._callings = _Callings()
        self._breaking: dict[int, str] = {}  # documents that break the writer, and how
        self._writer = open_writer()
        self._be_of_this_web()
        self.progress = Progress(version=self._writer.version)
        self._size = _size_after(self._writer.attempts)
        self._next_counts = 0.0
        self._start()

    def _be_of_this_web(self) -> None:
        """An index that is ahead of its store is of another web that was here before, or of more of this one."""
        version, latest = self._writer.version, self._store.version()
        if version > latest:
            self._writer.close()
            raise IndexFault(
                f"The index is ahead of the web (version {version:,} of {latest:,}): the web was made anew, or brought "
                "back from a backup. `gossamer index --rebuild` makes the index anew."
            )

    def _start(self) -> None:
        self._place = Place(version=self._writer.version, resource=1 << 62)
        self._next_commit = time.monotonic() + COMMIT_SECONDS

    def close(self) -> None:
        """Let go of the index; what was not committed comes again."""
        self._writer.close()

    def catch_up(self) -> None:
        """Take everything that changed up to now, and commit."""
        while True:
            if self.step() and self._tried(lambda: self._commit(self.progress.version)):
                return

    def step(self) -> bool:
        """Take the next changes, and commit if it is time to; returns whether these were all."""
        changes = self._store.changes(self._place, self._size)
        if not self._tried(lambda: self._take_and_commit(changes), changes):
            return False
        self._place = changes.place
        self._count(version=changes.version, latest=changes.latest)
        return changes.version == changes.latest

    def rest(self) -> None:
        """Nothing comes for a while: commit, and forget what was only remembered for speed."""
        if self._tried(lambda: self._commit(self.progress.version, always=True)):
            self._maker, self._callings = DocumentMaker(self._store), _Callings()
            analysis.cache_clear()

    def complete(self) -> None:
        """Let a rebuilt index take the place of the one before."""
        self._writer.complete()

    def _take_and_commit(self, changes: Changes) -> None:
        self._take(changes)
        careful = self._size < BATCH  # so that what went well need not be done again
        if careful or time.monotonic() >= self._next_commit:
            self._commit(changes.version, always=careful)

    def _tried(self, act: Callable[[], None], changes: Changes | None = None) -> bool:
        """Whether it went well. If not, the writer broke, and is opened again."""
        try:
            act()
        except IndexBroken as fault:
            self._recover(changes, str(fault))
            return False
        return True

    def _take(self, changes: Changes) -> None:
        belong = [standing for standing in changes.standings if standing.text is not None]
        held = self._writer.signatures([standing.id for standing in belong])
        new = [standing for standing in belong if standing.id not in held or held[standing.id] != signature(standing)]
        if self._writer.attempts > MOST_ATTEMPTS and not self.progress.put and not self.progress.set_aside:
            self._breaking |= {standing.id: KILLED for standing in new}
        batch = self._maker.make([standing for standing in new if standing.id not in self._breaking])
        broken = {standing.id: self._breaking[standing.id] for standing in new if standing.id in self._breaking}
        refused = self._writer.put(batch.documents) | batch.unreadable | broken
        out = [standing.id for standing in changes.standings if standing.text is None]
        self._writer.remove([*out, *changes.gone, *refused])
        self._writer.set_aside(refused)
        if self._maker.full:  # the next commit may be minutes away
            self._writer.note_forms(self._maker.take_forms())
        self._count(
            put=len(new) - len(refused), unchanged=len(belong) - len(new), removed=len(out) + len(changes.gone),
            set_aside=len(refused),
        )  # fmt: skip

    def _commit(self, version: int, *, always: bool = False) -> None:
        started = time.monotonic()
        if always or version != self._writer.version:
            everything = always or version == self.progress.latest or started >= self._next_counts
            self._writer.note_forms(self._maker.take_forms(everything=everything))
            self._writer.commit(version)
            if everything:
                self._next_counts = started + COUNT_SECONDS
        took = time.monotonic() - started
        self._next_commit = started + max(COMMIT_SECONDS, took / COMMIT_SHARE)

    def _recover(self, changes: Changes | None, fault: str) -> None:
        """The writer broke: begin at the last commit, in smaller steps, until it is clear which document it was."""
        if self._size == 1 and changes is not None:
            self._breaking |= {standing.id: fault for standing in changes.standings if standing.text is not None}
            self._size = BATCH
        else:
            self._size = max(1, self._size // SMALLER)
        self._writer.close()
        self._writer = self._open_writer()
        self._maker = DocumentMaker(self._store)  # what it has told was not all committed
        self._start()

    def _count(self, **more: int) -> None:
        """Add to the counts, set the versions, and tell."""
        now = {name: getattr(self.progress, name) for name in Progress.__struct_fields__}
        for name, number in more.items():
            now[name] = number if name in {"version", "latest"} else now[name] + number
        self.progress = Progress(**now)
        self._tell(self.progress)

    # -- what others call them -----------------------------------------------------------------------------------------

    def catch_up_with_anchors(self) -> None:
        """Bring the anchor texts up to the version that the documents are of."""
        version = self._writer.version
        if version == self._writer.anchors_version:
            return
        targets = sorted(set().union(*self._store.relinked(self._writer.anchors_version)))
        for first in range(0, len(targets), TARGETS_AT_ONCE):
            self._put_anchors(targets[first : first + TARGETS_AT_ONCE])
        self._writer.commit_anchors(version)

    def _put_anchors(self, targets: list[int]) -> None:
        languages = self._writer.languages(targets)
        found = self._store.anchors(list(languages), most_links=MOST_LINKS, most_texts=MOST_TEXTS)
        without = [Anchors(target=one, texts=()) for one in targets if one not in languages]
        self._writer.put_anchors([*self._callings.anchors(found, languages), *without])
        self._count(anchors=len(found))


class _Codes(dict[str, bytes]):
    """Terms -> what stands for them (`term_code`), four bytes each."""

    def __missing__(self, term: str) -> bytes:
        code = self[term] = term_code(term).to_bytes(4, "little")
        return code


class _Callings:
    """Anchor texts -> terms. The same texts lead to many pages: those met are remembered."""

    def __init__(self) -> None:
        self._codes = _Codes()
        self._known: dict[tuple[str, str], tuple[str, bytes]] = {}  # language and text -> its terms, and their codes

    def anchors(self, found: Sequence[AnchorTexts], languages: Mapping[int, str]) -> list[Anchors]:
        """In the languages of the pages they lead to, which is what they speak of."""
        self._learn(found, languages)
        made = [self._made(one, languages[one.target]) for one in found]
        if len(self._known) > MOST_CALLINGS:
            self._known.clear()
            self._codes.clear()
        return made

    def _learn(self, found: Sequence[AnchorTexts], languages: Mapping[int, str]) -> None:
        """All new texts of a language are analysed in one call: there are tens of thousands, of two words each."""
        met: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for one in found:
            met[languages[one.target]].update(one.texts)
        for language, texts in met.items():
            new = [text for text in texts if (language, text) not in self._known]
            analysed = in_runs(analysis(language).joined(cut_runs(new))) if new else []
            for text, terms in zip(new, analysed, strict=True):
                self._known[language, text] = terms, b"".join(map(self._codes.__getitem__, terms.split()))

    def _made(self, found: AnchorTexts, language: str) -> Anchors:
        """A text counts once for one page, twice for two or three, three times for four to seven ..., no more."""
        texts, words = [], []
        for text, pages in found.texts:
            terms, codes = self._known[language, text]
            if terms:
                times = min(pages.bit_length(), MOST_REPEATS)
                texts += [terms] * times
                words.append(codes * times)
        return Anchors(target=found.target, texts=tuple(texts), words=b"".join(words))


def _size_after(attempts: int) -> int:
    """How many resources to take at a time. One killed writer says nothing, three may have met a bad document."""
    size = BATCH
    for _ in range(attempts - 2):
        size //= SMALLER
    return max(1, size)


def bring_up_to_date(
    store: Store, open_writer: Callable[[], IndexWriter], tell: Callable[[Progress], None] = lambda _: None
) -> Progress:
    """Documents, then anchor texts, to the end; returns what was done."""
    builder = Builder(store, open_writer, tell)
    try:
        builder.catch_up()
        builder.catch_up_with_anchors()
        builder.complete()
        return builder.progress
    finally:
        builder.close()
