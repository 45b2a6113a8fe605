"""The time of each report, and the comparison behind the choice of libraries.

    python bench/reports.py                     # a generated web of 20,000 pages and a million links; two minutes
    python bench/reports.py --web web           # a web of your own
    python bench/reports.py --overview --pages 16000   # the overview of `gossamer report`: cold, cached, compared
    python bench/reports.py --libraries         # needs: pip install datasketch simhash html5lib justhtml

The libraries find near duplicates and HTML errors. Pages are synthetic: 250 words of Zipf's frequencies, one page in
twenty nearly a copy of an earlier one, 50 links each: 20 in the navigation, the others in the text. Memory is the peak
of this process, without the inspection processes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import zstandard

from gossamer.auditing import QUICK_REPORTS, SLOW_REPORTS, count_reports
from gossamer.graph.reports.audit import make_audit
from gossamer.graph.reports.audit_file import read_counts, web_state
from gossamer.graph.reports.base import ReportOptions
from gossamer.graph.reports.registry import REPORTS
from gossamer.model import (
    Admission,
    Candidate,
    Field,
    Kind,
    Links,
    Outcome,
    Page,
    PageLink,
    Position,
    State,
    Visit,
    VisitBatch,
)
from gossamer.store.content import decode_source, decode_text
from gossamer.store.read.questions import Question
from gossamer.wiring import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.model import Lease
    from gossamer.store.protocol import Store

BATCH = 256
WORDS = 250
NAVIGATION, LINKS = 20, 50
COPIED = 0.05  # share of pages that are nearly copies
VOCABULARY = [f"word{number}" for number in range(20_000)]
FREQUENCIES = [1 / (number + 1) for number in range(len(VOCABULARY))]


def url_of(number: int) -> str:
    return f"http://127.0.0.1:8000/part-{number // 100}/page-{number}.html"


def digest_of(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def admit(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.QUEUED, priority=float(-candidate.depth)) for candidate in candidates]


class ReportPages:
    """A site generated during its visits."""

    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._random = random.Random(1)
        self._texts: list[list[str]] = []

    def visit(self, lease: Lease) -> Visit:
        number = int(lease.url.rpartition("-")[2].removesuffix(".html"))
        words = self._words()
        title = f"Page {number} about {words[0]}"
        text = msgspec.msgpack.encode([(Field.TITLE, title), (Field.H1, title), (Field.PARAGRAPH, " ".join(words))])
        html = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{' '.join(words)}</p>" + "</i>" * (
            number % 50 == 0
        )
        page = Page(
            0, Outcome.FETCHED, "", media_type="text/html", charset="utf-8", title=title, description=title,
            content_digest=digest_of(html), text_digest=digest_of(" ".join(words)), size=len(html),
            text=zstandard.compress(text), source=zstandard.compress(html.encode()), links=self._links(number),
        )  # fmt: skip
        return Visit(
            lease=lease, outcome=Outcome.FETCHED, state=State.VISITED, reason="", status=200, visited_at=time.time(),
            bytes=len(html), milliseconds=self._random.randrange(500), media_type="text/html", page=page,
        )  # fmt: skip

    def _words(self) -> list[str]:
        if self._texts and self._random.random() < COPIED:
            words = list(self._random.choice(self._texts))
            words[self._random.randrange(len(words))] = "changed"
        else:
            words = self._random.choices(VOCABULARY, FREQUENCIES, k=WORDS)
        self._texts.append(words)
        return words

    def _links(self, number: int) -> Links:
        near = [min(number * 4 + step, self._pages - 1) for step in range(1, 5)]
        others = [self._random.randrange(self._pages) for _ in range(LINKS - NAVIGATION - len(near))]
        targets = [*range(NAVIGATION), *near, *others]
        anchors = [f"part {each}" for each in range(NAVIGATION)] + [
            f"{self._random.choice(VOCABULARY)} {self._random.choice(VOCABULARY)}" for _ in range(LINKS - NAVIGATION)
        ]
        urls = [url_of(target) for target in targets]
        positions = [int(Position.NAV)] * NAVIGATION + [int(Position.CONTENT)] * (LINKS - NAVIGATION)
        return Links.pack(
            PageLink(digest_of(url), url, int(Kind.HYPERLINK), anchor=anchor, position=position)
            for url, anchor, position in zip(urls, anchors, positions, strict=True)
        )


def generate(directory: str, pages: int) -> None:
    store = open_store(directory, create=True)
    crawler = store.join("bench", os.getpid()).id
    store.begin_round("{}", [url_of(0)], None, None)
    first = url_of(0)
    seed = Candidate(url=first, digest=digest_of(first), kind=Kind.HYPERLINK, follow=True, depth=0, seed=True)
    store.add([seed], admit)
    site, held = ReportPages(pages), tuple[int, ...]()
    while leased := store.lease(crawler, hosts=1, urls=BATCH, held=held, now=time.time()):
        held = (leased[0].host,)
        visits = [site.visit(lease) for lease in leased[0].leases]
        store.submit(crawler, VisitBatch(visits=visits), admit, time.time())
    store.leave(crawler)
    store.close()


def measure(store: Store) -> None:
    counts = store.counts()
    print(f"{counts.documents:,} pages, {counts.links:,} links\n{'report':<32}{'seconds':>9}{'rows':>10}{'MB':>7}")
    for report in REPORTS:
        started = time.perf_counter()
        rows = sum(1 for _ in report.rows(store, ReportOptions(resource=1)))
        seconds = time.perf_counter() - started
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
        print(f"{report.code} {report.name:<24}{seconds:>9.2f}{rows:>10,}{memory:>7,}", flush=True)


def overview(store: Store, location: str) -> None:
    """Print the time of the overview, first counted and then kept; compare it with the rows of each report."""
    with tempfile.TemporaryDirectory() as directory:
        kept = Path(directory)
        started, cpu = time.perf_counter(), time.process_time()
        stored = count_reports(location, store, QUICK_REPORTS, kept)
        cold, cold_cpu = time.perf_counter() - started, time.process_time() - cpu
        started = time.perf_counter()
        audit = make_audit(read_counts(kept), web_state(store), {})
        cached = time.perf_counter() - started
        started = time.perf_counter()
        count_reports(location, store, SLOW_REPORTS, kept)
        slow = time.perf_counter() - started
    counts = store.counts()
    print(f"{counts.documents:,} pages, {counts.links:,} links, score {audit.score}")
    print(f"{len(QUICK_REPORTS)} reports by the database: {cold:.2f} s, {cold_cpu:.2f} s of processor time here")
    print(f"kept counts read again: {1_000 * cached:.2f} ms")
    print(f"{len(SLOW_REPORTS)} reports that inspect pages: {slow:.2f} s in the background")
    since = audit_round.started_at if (audit_round := store.current_round()) else 0.0
    for report in QUICK_REPORTS:
        options = ReportOptions(since=since if "since" in report.takes else 0.0)
        rows = sum(1 for _ in report.rows(store, options))
        if rows != stored.counts[report.code].findings:
            print(f"{report.name}: counted {stored.counts[report.code].findings:,}, but it has {rows:,} rows")


def libraries(store: Store, pages: int = 300) -> None:
    """Print milliseconds per page, on the web's own first pages."""
    import datasketch  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    import html5lib  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415
    import justhtml  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    import simhash  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    from gossamer.graph.reports.markup import _parse  # noqa: PLC0415
    from gossamer.graph.reports.near_duplicates import hash_shingles, minhash_signatures  # noqa: PLC0415

    texts = [" ".join(run for _, run in decode_text(row[4])) for row in islice(store.ask(Question.TEXTS), pages)]
    sources = [decode_source(row[3]) for row in islice(store.ask(Question.SOURCES), pages)]
    runs = [hash_shingles(text) for text in texts]

    def minhash() -> None:
        for each in runs:
            datasketch.MinHash(num_perm=128).update_batch([run.tobytes() for run in each])

    errors: Counter[str] = Counter()

    def count_errors(name: str, parse: Callable[[bytes], Sequence[object]]) -> Callable[[], None]:
        def run() -> None:
            errors[name] = sum(len(parse(source)) for source in sources)

        return run

    def by_html5lib(source: bytes) -> Sequence[object]:
        parser = html5lib.HTMLParser()
        parser.parse(source)
        return parser.errors  # type: ignore[no-any-return]

    for name, run in {
        "rensa": lambda: minhash_signatures(runs),
        "datasketch": minhash,
        "simhash": lambda: [simhash.Simhash(text.split()) for text in texts],
        "html5ever": count_errors("html5ever", lambda source: _parse(source).errors()),
        "html5lib": count_errors("html5lib", by_html5lib),
        "justhtml": count_errors("justhtml", lambda source: justhtml.JustHTML(source, collect_errors=True).errors),
    }.items():
        started = time.perf_counter()
        run()
        print(f"{name:<12}{1000 * (time.perf_counter() - started) / pages:>9.3f} ms a page {errors.get(name, '')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000, help="pages of the generated web")
    parser.add_argument("--web", help="a web to use instead")
    parser.add_argument("--libraries", action="store_true", help="compare libraries instead")
    parser.add_argument("--overview", action="store_true", help="measure the overview of all reports instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        location = options.web or str(Path(directory) / "web")
        if not options.web:
            generate(location, options.pages)
        store = open_store(location, read_only=True)
        if options.overview:
            overview(store, location)
        else:
            (libraries if options.libraries else measure)(store)
        store.close()


if __name__ == "__main__":
    main()
