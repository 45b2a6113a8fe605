"""The time of each report, and the comparison behind the choice of libraries.

    python bench/reports.py                     # a generated web of 20,000 pages and a million links; two minutes
    python bench/reports.py --web web           # a web of your own
    python bench/reports.py --overview --pages 16000   # /api/reports: cold, cached, compared; exits 1 beyond its limits
    python bench/reports.py --libraries         # needs: pip install datasketch simhash html5lib justhtml

The libraries find near duplicates and HTML errors. Pages are synthetic: 250 words of Zipf's frequencies, one page in
twenty nearly a copy of an earlier one, 50 links each: 20 in the navigation, the others in the text. One page in forty
links to a missing page, one to a moved page, one to a chain of redirects. Some pages lack a title or a description.
Memory is the peak of this process, without the inspection processes.

The overview is asked for over HTTP, from a server just started: first before anything is counted, then again and again.
Every count is compared with the rows of its report.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gossamer.auditing import QUICK_REPORTS, SLOW_REPORTS
from gossamer.graph.reports.audit import COUNTED_REPORTS
from gossamer.graph.reports.base import ReportOptions, Severity
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
from helpers.web.browser import AppServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.model import Lease
    from gossamer.store.protocol import Store

BATCH = 256
MISSING, MOVED, CHAIN = FAULTS = ("missing", "moved", "chain")
EVERY = 40  # pages, of which one has each fault
CACHED_REQUESTS = 20
MAX_COLD_SECONDS, MAX_CACHED_SECONDS = 3.0, 0.05  # of a request, for 16,000 pages
WORDS = 250
NAVIGATION, LINKS = 20, 50
COPIED = 0.05  # share of pages that are nearly copies
VOCABULARY = [f"word{number}" for number in range(20_000)]
FREQUENCIES = [1 / (number + 1) for number in range(len(VOCABULARY))]


def url_of(number: int) -> str:
    return f"http://127.0.0.1:8000/part-{number // 100}/page-{number}.html"


def faulty_url(fault: str, number: int) -> str:
    return f"http://127.0.0.1:8000/{fault}/page-{number}.html"


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
        fault = lease.url.split("/")[3]
        if fault == MISSING:
            return _ended(lease, Outcome.NOT_FOUND, State.GONE, 404)
        if fault in {MOVED, CHAIN}:
            return _ended(lease, Outcome.REDIRECTED, State.VISITED, 301, _next_of(fault, number))
        words = self._words()
        title = "" if number % 100 == 7 else f"Page {number % 5_000} about {words[0]}"
        text = msgspec.msgpack.encode([(Field.TITLE, title), (Field.H1, title), (Field.PARAGRAPH, " ".join(words))])
        html = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{' '.join(words)}</p>" + "</i>" * (
            number % 50 == 0
        )
        description = title if number % 30 else ""
        page = Page(
            0, Outcome.FETCHED, "", media_type="text/html", charset="utf-8", title=title, description=description,
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
        if number % EVERY < len(FAULTS):
            urls[-1] = faulty_url(FAULTS[number % EVERY], number)
        positions = [int(Position.NAV)] * NAVIGATION + [int(Position.CONTENT)] * (LINKS - NAVIGATION)
        return Links.pack(
            PageLink(digest_of(url), url, int(Kind.HYPERLINK), anchor=anchor, position=position)
            for url, anchor, position in zip(urls, anchors, positions, strict=True)
        )


def _next_of(fault: str, number: int) -> str:
    """Return where a page moved: to another one, or over one more redirect to a missing one."""
    if fault == MOVED:
        return url_of(number)
    return faulty_url(CHAIN, number + 1) if number % EVERY == FAULTS.index(CHAIN) else faulty_url(MISSING, number)


def _ended(lease: Lease, outcome: Outcome, state: State, status: int, to: str = "") -> Visit:
    """Return a visit without a page."""
    kind, hops = Kind.REDIRECT, lease.hops + 1
    redirect = Candidate(url=to, digest=digest_of(to), kind=kind, follow=True, depth=lease.depth, hops=hops)
    return Visit(
        lease=lease, outcome=outcome, state=state, reason="" if to else f"answered {status}", status=status,
        visited_at=time.time(), bytes=0, milliseconds=1, redirect=redirect if to else None,
    )  # fmt: skip


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


class OverviewTimes(NamedTuple):
    """Seconds of requests for the overview, and its last answer."""

    cold: float
    cached: list[float]
    background: float  # until every report was counted
    answer: dict[str, Any]


def time_overview(location: str) -> OverviewTimes:
    """Ask a server that was just started for the overview of a web without counts."""
    shutil.rmtree(Path(location) / "reports", ignore_errors=True)
    with AppServer(Path(location)) as serving:
        with urllib.request.urlopen(f"{serving.url}api/status") as opened:
            opened.read()  # opens the store, as any page before does
        started = time.perf_counter()
        cold, answer = _ask(serving)
        uncounted = [each["report"] for each in answer["reports"] if not each["inspects"] and _is_open(each)]
        if uncounted:
            sys.exit(f"the first answer has no count of {', '.join(uncounted)}")
        while answer["counting"] or any(map(_is_open, answer["reports"])):
            time.sleep(0.5)
            _, answer = _ask(serving)
        background = time.perf_counter() - started
        cached = [_ask(serving)[0] for _ in range(CACHED_REQUESTS)]
    return OverviewTimes(cold, cached, background, answer)


def _ask(serving: AppServer) -> tuple[float, dict[str, Any]]:
    started = time.perf_counter()
    with urllib.request.urlopen(f"{serving.url}api/reports") as answer:
        body = answer.read()
    return time.perf_counter() - started, json.loads(body)


def _is_open(each: dict[str, Any]) -> bool:
    return each["findings"] is None and not each["unavailable"] and "url" not in each["takes"]


def overview(store: Store, location: str) -> int:
    """Print the times of the overview and compare its counts with the rows of all reports; return the exit code."""
    times = time_overview(location)
    counts, cached = store.counts(), statistics.median(times.cached)
    found = {each["code"]: each["findings"] for each in times.answer["reports"]}
    filled = sum(1 for report in COUNTED_REPORTS if found[report.code] and report.severity is not Severity.INFO)
    faults = [] if times.cold <= MAX_COLD_SECONDS else [f"cold: more than {MAX_COLD_SECONDS:g} s"]
    if max(times.cached) > MAX_CACHED_SECONDS:
        faults.append(f"cached: more than {1_000 * MAX_CACHED_SECONDS:g} ms")
    faults += _differences(store, found)
    score = times.answer["score"]
    print(f"{counts.documents:,} pages, {counts.links:,} links, score {score}, {filled} kinds of findings")
    print(f"{len(QUICK_REPORTS)} reports by the database, first request: {times.cold:.2f} s")
    print(f"kept counts, request: median {1_000 * cached:.1f} ms, most {1_000 * max(times.cached):.1f} ms")
    print(f"{len(SLOW_REPORTS)} reports that inspect pages: {times.background:.0f} s in the background")
    print("\n".join(faults) or "every count is that of its report")
    return 1 if faults else 0


def _differences(store: Store, found: dict[str, int | None]) -> list[str]:
    """Return a sentence for each count that is not that of its report's rows."""
    current = store.current_round()
    since = current.started_at if current else 0.0
    faults = []
    for report in COUNTED_REPORTS:
        options = ReportOptions(since=since if "since" in report.takes else 0.0)
        rows = sum(1 for _ in report.rows(store, options))
        if rows != found[report.code]:
            faults.append(f"{report.name}: counted {found[report.code]}, but it has {rows:,} rows")
    return faults


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


def main() -> int:
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
        code = 0
        if options.overview:
            code = overview(store, location)
        else:
            (libraries if options.libraries else measure)(store)
        store.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
