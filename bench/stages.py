"""CPU time of a page, stage by stage, and whether a stage exceeds its budget.

    python bench/stages.py                 # the table
    python bench/stages.py --check         # exit code 1 when a stage takes 15 % more than its budget, or has none
    python bench/stages.py --write         # the new measurement becomes the budget; table to bench/results/README.md

The pages are a fixed sample of Debian's openjdk-17-doc. Processors differ in speed, and each varies over time. So the
budget of a stage is a ratio to a loop of fixed work (`reference`), which runs between the stages. Other work on the
machine only adds. So the script cuts the sample into slices, measures each in several passes, and counts the least time
of each slice. Instruction counts would be steadier, but virtual machines seldom provide them. `make test-full` runs the
check (tests/flow/test_bounded.py).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import socket
import sys
import tempfile
import time
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from selectolax.lexbor import LexborHTMLParser

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # tests and benchmarks use the same webs

from bench.fetch import fetch_all  # noqa: E402
from bench.harness.report import PAGE, measured_by, put_between, table  # noqa: E402
from bench.parse import MAX_LINKS, sample  # noqa: E402

from gossamer.index.build import update_index  # noqa: E402
from gossamer.index.documents import DocumentMaker  # noqa: E402
from gossamer.model import Admission, Candidate, Kind, Outcome, Page, ParseJob, State, Visit, VisitBatch  # noqa: E402
from gossamer.parse.options import ParseOptions  # noqa: E402
from gossamer.parse.page_parser import PageParser  # noqa: E402
from gossamer.parse.readers.fast_html import read_ordinary_html  # noqa: E402
from gossamer.parse.readers.html import read_html  # noqa: E402
from gossamer.processes.heap import ALLOCATOR_VARIABLES  # noqa: E402
from gossamer.urls.canonical import url_digest  # noqa: E402
from gossamer.wiring import open_index_writer, open_store  # noqa: E402
from webs import debian  # noqa: E402
from webs.nginx import Nginx, Site  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gossamer.index.documents import DocumentBatch
    from gossamer.store.follow.changes import IndexableResource
    from gossamer.store.protocol import Store

PACKAGE = "openjdk-17-doc"
BUDGETS = ROOT / "bench" / "budgets.json"
PAGES = 256
SLICE = 8  # pages: a few milliseconds, so that some passes run undisturbed
PASSES = 15
MAX_GROWTH = 1.15  # largest allowed ratio to the budget
PIECE = 64 << 10  # bytes per write to a socket
STAGES = {
    "fetch": "libcurl and the fetcher's own lines",
    "tree": "Lexbor builds the tree of pages that the kernel does not read",
    "walk": "one pass over the page or its tree: links resolved, with anchor text; text by field; metadata",
    "pack": "charset, digests, columns of links, zstd of source and text",
    "ipc": "job and page encoded, through a socket, decoded",
    "store": "one transaction for all: resources, links, texts, sources",
    "words": "text cut into words, stemmed, numbered",
    "index": "Tantivy, anchor texts, commits, all threads",
}

DIFFERENCES = {  # stage -> (measurement, part to subtract)
    "walk": ("read", "tree"),
    "pack": ("parse", "read"),
    "index": ("index", "words"),
}


def reference() -> int:
    """Do fixed work like that of a page: look up names, cut, join and search strings, compress bytes."""
    words = ("the walk of a tree is a thousand small steps; " * 60).split()
    counts: dict[str, int] = {}
    for _ in range(4):
        for word in words:
            counts[word] = counts.get(word, 0) + len(word)
    text = " ".join(sorted(words))
    matches = len(re.findall(r"[st]\w+", text))
    return matches + len(zlib.compress(text.encode() * 2, 1)) + sum(counts.values())


class Bench:
    """The sample, and the work of each stage."""

    def __init__(self, folder: Path, root: Path, site: str) -> None:
        self._folder = folder
        self._jobs = sample(root, PAGES)
        self._urls = [job.url.replace("http://localhost:8080", site.rstrip("/")) for job in self._jobs]
        self._parser = PageParser(ParseOptions())
        self._pages = [self._parser.parse(job) for job in self._jobs]
        self._without_tree = {
            job.id for job in self._jobs if read_ordinary_html(job.body, job.url, MAX_LINKS, keep_anchors=True)
        }
        self._stores = 0
        self._location = ""
        self.words_seconds = 0.0  # of CPU, in the last pass

    def fetch(self, some: slice) -> None:
        """Fetch pages."""
        pages, _ = fetch_all(self._urls[some], 32)
        assert pages == len(self._urls[some])

    def tree(self, some: slice) -> None:
        """Build the trees of pages that need one."""
        for job in self._jobs[some]:
            if job.id not in self._without_tree:
                LexborHTMLParser(job.body)

    def read(self, some: slice) -> None:
        """Read pages: links, text and metadata."""
        for job in self._jobs[some]:
            read_html(job.body, job.url, MAX_LINKS)

    def parse(self, some: slice) -> None:
        """Parse pages completely."""
        for job in self._jobs[some]:
            self._parser.parse(job)

    def ipc(self, some: slice) -> None:
        """Send jobs and pages between two ends of a socket pair."""
        encode = msgspec.msgpack.Encoder().encode
        as_job, as_page = msgspec.msgpack.Decoder(ParseJob).decode, msgspec.msgpack.Decoder(Page).decode
        here, there = socket.socketpair()
        with here, there:
            for job, page in zip(self._jobs[some], self._pages[some], strict=True):
                as_job(_send_and_receive(encode(job), here, there))
                as_page(_send_and_receive(encode(page), there, here))

    def prepare_store(self) -> None:
        """Open a fresh store with a lease for every page; not measured."""
        self._stores += 1
        self._location = str(self._folder / f"web-{self._stores}")
        self._store = open_store(self._location, create=True)
        self._crawler = self._store.join("bench", os.getpid()).id
        self._store.begin_round("{}", [self._urls[0]], None, None)
        self._store.add([_candidate(job.url) for job in self._jobs], _admit)
        self._visits = _visits(
            self._store, self._crawler, dict(zip((job.url for job in self._jobs), self._pages, strict=True))
        )

    def store(self, _: slice) -> None:
        """Write all pages in one batch."""
        self._store.submit(self._crawler, VisitBatch(visits=self._visits), _admit, time.time())

    def index(self, _: slice) -> None:
        """Index the pages of the store."""
        with record_document_seconds() as spent:
            update_index(self._store, partial(open_index_writer, self._location))
        self.words_seconds = sum(spent)

    def end_store(self) -> None:
        """Close the store."""
        self._store.close()


@contextmanager
def record_document_seconds() -> Iterator[list[float]]:
    """Record the CPU seconds of each call that makes documents, which happens within indexing."""
    spent: list[float] = []
    original = DocumentMaker.make

    def make(self: DocumentMaker, resources: Iterable[IndexableResource]) -> DocumentBatch:
        started = time.thread_time()
        try:
            return original(self, resources)
        finally:
            spent.append(time.thread_time() - started)

    DocumentMaker.make = make  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        DocumentMaker.make = original  # type: ignore[method-assign]


def _send_and_receive(message: bytes, here: socket.socket, there: socket.socket) -> bytearray:
    received = bytearray()
    for at in range(0, len(message), PIECE):
        piece = message[at : at + PIECE]
        here.sendall(piece)
        while len(received) < at + len(piece):
            received += there.recv(PIECE)
    return received


def _candidate(url: str) -> Candidate:
    return Candidate(url=url, digest=url_digest(url), kind=Kind.HYPERLINK, follow=True, depth=0, seed=True)


def _admit(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.QUEUED, priority=0.0) for _ in candidates]


def _visits(store: Store, crawler: int, pages: dict[str, Page]) -> list[Visit]:
    now = time.time()
    leased = store.lease(crawler, hosts=1, urls=len(pages), held=(), now=now)
    leases = [lease for host in leased for lease in host.leases]
    assert len(leases) == len(pages)
    return [
        Visit(
            lease=lease, outcome=Outcome.FETCHED, state=State.VISITED, reason="", status=200, visited_at=now,
            bytes=pages[lease.url].size, milliseconds=3, media_type="text/html", page=pages[lease.url],
        )
        for lease in leases
    ]  # fmt: skip


# -- measuring ---------------------------------------------------------------------------------------------------------

Times = dict[str, list[list[float]]]  # seconds of CPU: stage -> slice -> pass


def one_pass(bench: Bench, times: Times) -> None:
    """Run every stage once, slice by slice, with the reference in between."""
    gc.collect()
    gc.disable()  # as in a parser process
    for number, first in enumerate(range(0, PAGES, SLICE)):
        for stage in ("tree", "read", "parse", "ipc"):
            _add(times, stage, number, partial(getattr(bench, stage), slice(first, first + SLICE)))
        _add(times, "reference", 0, reference)
    gc.enable()
    bench.prepare_store()
    for stage in ("fetch", "store", "index"):
        _add(times, stage, 0, partial(getattr(bench, stage), slice(None)))
    times.setdefault("words", [[]])[0].append(bench.words_seconds)
    bench.end_store()


def _add(times: Times, stage: str, number: int, work: Callable[[], object]) -> None:
    started = time.process_time()
    work()
    took = time.process_time() - started
    slices = times.setdefault(stage, [])
    if number == len(slices):
        slices.append([])
    slices[number].append(took)


def measure(passes: int) -> dict[str, float]:
    """Return CPU milliseconds per page by stage, and of the reference; a first pass warms up."""
    binary, root = debian.find("nginx"), debian.find(PACKAGE)
    if binary is None or root is None:
        sys.exit(f"nginx or {PACKAGE} is missing: run `make test-packages`")
    times: Times = {}
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder,
        Nginx(binary, {"site": Site(root)}, log=False) as nginx,
    ):
        bench = Bench(Path(folder), root, nginx.url("site", "/"))
        one_pass(bench, {})
        for _ in range(passes):
            one_pass(bench, times)
    least = {stage: 1000 * sum(map(min, slices)) for stage, slices in times.items()}
    per_page = {stage: took / PAGES for stage, took in least.items()}
    milliseconds = per_page | {stage: per_page[more] - per_page[less] for stage, (more, less) in DIFFERENCES.items()}
    return {stage: milliseconds[stage] for stage in STAGES} | {"reference": least["reference"]}


# -- judging -----------------------------------------------------------------------------------------------------------


def faults(units: Mapping[str, float], budgets: Mapping[str, float]) -> list[str]:
    """Return a sentence per fault: stages over budget, stages without budget, budgets without stage."""
    grown = [
        f"{stage} takes {took / budgets[stage]:.2f} times its budget"
        for stage, took in units.items()
        if stage in budgets and took > MAX_GROWTH * budgets[stage]
    ]
    unbounded = [f"{stage} has no budget" for stage in units if stage not in budgets]
    left_over = [f"{stage} has a budget, but there is no such stage" for stage in budgets if stage not in units]
    return grown + unbounded + left_over


# -- report ------------------------------------------------------------------------------------------------------------

COLUMNS = ("stage", "CPU ms a page", "in reference loops", "budget", "of the budget", "what it is")


def rows(milliseconds: dict[str, float], budgets: dict[str, float]) -> list[list[str]]:
    """Return the table's lines, the sum last."""
    loop = milliseconds["reference"]
    lines = []
    for stage, does in STAGES.items():
        took, budget = milliseconds[stage], budgets.get(stage, 0.0)
        share = f"{took / loop / budget:.2f}" if budget else ""
        lines.append([stage, f"{took:.3f}", f"{took / loop:.3f}", f"{budget:.3f}", share, does])
    total = sum(milliseconds[stage] for stage in STAGES)
    return [*lines, ["together", f"{total:.3f}", f"{total / loop:.3f}", f"{sum(budgets.values()):.3f}", "", ""]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare every stage with its budget")
    parser.add_argument("--write", action="store_true", help="make the measurement the budget")
    parser.add_argument("--passes", type=int, default=PASSES)
    options = parser.parse_args()
    milliseconds = measure(options.passes)
    units = {stage: milliseconds[stage] / milliseconds["reference"] for stage in STAGES}
    budgets: dict[str, float] = json.loads(BUDGETS.read_text()) if BUDGETS.exists() else {}
    if options.write:
        budgets = {stage: round(took, 3) for stage, took in units.items()}
        BUDGETS.write_text(json.dumps(budgets, indent=1) + "\n")
    text = table(COLUMNS, rows(milliseconds, budgets))
    if options.write:
        put_between(PAGE, "stages", f"{measured_by('`make profile ARGS=--write`')}\n\n{text}")
    print(text)
    wrong = faults(units, budgets)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    if not os.environ.keys() >= ALLOCATOR_VARIABLES.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ALLOCATOR_VARIABLES})
    sys.exit(main())
