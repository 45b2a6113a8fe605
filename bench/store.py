"""Speed of a batch write, and whether it depends on the number of known resources.

    python bench/store.py                        # the two sizes of the target, about two minutes
    python bench/store.py --known 50000 --profile
    python bench/store.py --writers 1,2,4        # several writers, SQLite and PostgreSQL: bench/writers.py

A batch is 256 visits of synthetic but realistic pages: 60 bonds on 35 targets (15 in the site's navigation, 20 near the
page), one of them new, 6 kB of source, 2 kB of text. The same pages, with ten new links each, first fill the store
until it knows the requested number of resources, one in ten of them visited. The output is milliseconds per visit of
`submit` (the target is 0.45) and of `lease`.
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import os
import pstats
import random
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model import Admission, Candidate, Kind, Lease, Links, Outcome, Page, PageLink, State, Visit, VisitBatch
from gossamer.store.sqlite import open_sqlite_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BATCH = 256
BONDS = 60
NAVIGATION = 15
NEAR = 20
MEASURED = 40  # batches
SETTINGS = "{}"
SITE = "http://127.0.0.1:8000/documentation/section-{}/page-{}.html"


def url_of(number: int) -> str:
    return SITE.format(number // 100, number)


def digest_of(number: int) -> bytes:
    return hashlib.blake2b(url_of(number).encode(), digest_size=16).digest()


def number_of(url: str) -> int:
    return int(url.rpartition("-")[2].removesuffix(".html"))


class Pages:
    """Pages of a site that grows during its visits."""

    def __init__(self, seed: int = 1) -> None:
        self.known = 1
        self._random = random.Random(seed)
        self._anchors = [f"an anchor of some words {n}" for n in range(50)]

    def visit(self, lease: Lease, new: int) -> Visit:
        """Return a visit whose page links to this many new ones."""
        fresh = range(self.known, self.known + new)
        self.known += new
        return Visit(
            lease=lease, outcome=Outcome.FETCHED, state=State.VISITED, reason="", status=200, visited_at=time.time(),
            bytes=24_000, milliseconds=12, etag='"5e8c-5f"', media_type="text/html", page=self._page(lease, fresh),
        )  # fmt: skip

    def _page(self, lease: Lease, fresh: Sequence[int]) -> Page:
        here, random_ = number_of(lease.url), self._random
        near = (abs(int(random_.gauss(here, 400))) % self.known for _ in range(NEAR - min(len(fresh), NEAR)))
        targets = [*range(NAVIGATION), *near, *fresh]
        targets += random_.choices(targets, k=max(0, BONDS - len(targets)))
        return Page(
            0, Outcome.FETCHED, "", media_type="text/html", charset="utf-8", title=f"Page {here} of the documentation",
            description="What this page is about, in a sentence or two.", language="en", content_digest=os.urandom(16),
            text_digest=os.urandom(16), size=24_000, text=random_.randbytes(2_000), source=random_.randbytes(6_000),
            links=Links.pack(
                PageLink(digest_of(n), url_of(n), int(Kind.HYPERLINK), anchor=anchor)
                for n, anchor in zip(targets, random_.choices(self._anchors, k=len(targets)), strict=True)
            ),
        )  # fmt: skip


def admit(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.QUEUED, priority=float(-candidate.depth)) for candidate in candidates]


class Measurement:
    """A store that grows to a size, and its timings."""

    def __init__(self, directory: Path, *, keep_links: bool) -> None:
        self.store = open_sqlite_store(directory, create=True)
        self.crawler = self.store.join("bench", os.getpid()).id
        self.keep_links = keep_links
        self.store.begin_round(SETTINGS, [url_of(0)], None, None)
        seed = Candidate(url=url_of(0), digest=digest_of(0), kind=Kind.HYPERLINK, follow=True, depth=0, seed=True)
        self.store.add([seed], admit)
        self.pages = Pages()
        self.held: tuple[int, ...] = ()
        self.submits: list[tuple[float, float]] = []  # wall and CPU seconds of each batch
        self.leases: list[float] = []

    def fill(self, known: int) -> None:
        while self.pages.known < known:
            self.batch(new=10)
        self.submits.clear()
        self.leases.clear()

    def batch(self, new: int, profile: cProfile.Profile | None = None) -> None:
        started = time.perf_counter()
        leased = self.store.lease(self.crawler, hosts=1, urls=BATCH, held=self.held, now=time.time())
        self.leases.append(time.perf_counter() - started)
        self.held = (leased[0].host,)
        visits = [self.pages.visit(lease, new) for lease in leased[0].leases]
        if profile:
            profile.enable()
        wall, cpu = time.perf_counter(), time.process_time()
        self.store.submit(self.crawler, VisitBatch(visits=visits, keep_links=self.keep_links), admit, time.time())
        self.submits.append((time.perf_counter() - wall, time.process_time() - cpu))
        if profile:
            profile.disable()


def measure(size_wanted: int, options: argparse.Namespace) -> float:
    profile = cProfile.Profile() if options.profile else None
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        measurement = Measurement(Path(directory), keep_links=not options.no_links)
        measurement.fill(size_wanted)
        for _ in range(MEASURED):
            measurement.batch(1, profile)
        counts = measurement.store.counts()
        measurement.store.close()
        size = sum(file.stat().st_size for file in Path(directory).iterdir() if file.is_file())
    wall = 1000 * sum(wall for wall, _ in measurement.submits) / MEASURED / BATCH
    cpu = 1000 * sum(cpu for _, cpu in measurement.submits) / MEASURED / BATCH
    lease = 1000 * sum(measurement.leases) / MEASURED / BATCH
    worst = 1000 * max(batch for batch, _ in measurement.submits)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    known = sum(counts.resources.values())
    print(
        f"{known:>9,} known, {counts.resources['visited']:>7,} visited, {counts.links:>10,} links,"
        f" {size >> 20:>5,} MiB: submit {wall:.3f} ms a visit ({cpu:.3f} CPU; slowest batch {worst:.0f} ms),"
        f" lease {lease:.3f} ms; peak memory {memory} MiB",
        flush=True,
    )
    if profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    return wall


def sizes(text: str) -> Iterator[int]:
    return map(int, text.split(","))


def main() -> None:
    if "--writers" in sys.argv:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        from bench import writers  # noqa: PLC0415 - needs a PostgreSQL server

        writers.main()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", type=sizes, default=sizes("10000,1000000"), help="known resources, comma-separated")
    parser.add_argument("--no-links", action="store_true", help="follow links without storing them")
    parser.add_argument("--profile", action="store_true", help="print a profile")
    parser.add_argument("--directory", help="where to put the store (the disk matters)")
    options = parser.parse_args()
    print(f"SQLite {sqlite3.sqlite_version}, batches of {BATCH} visits with {BONDS} bonds each")
    times = [measure(known, options) for known in options.known]
    if len(times) > 1:
        print(f"the last takes {times[-1] / times[0]:.2f} times as long as the first")


if __name__ == "__main__":
    main()
