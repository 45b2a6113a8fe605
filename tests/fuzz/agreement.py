"""Differential fuzzing of the two ways to read HTML: mutated pages of real webs, and generated ones.

    python tests/fuzz/agreement.py [PAGES] [SEED]

Two processes read each page with the kernel and over Lexbor's tree, and compare links, text and metadata. A difference
ends the run with exit code 1 and leaves the page in a file. It also prints how many pages the kernel is not sure of.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gossamer.kernels import native
from helpers.parse.agreement import MAX_LINKS, find_differences, mutate_page, random_page
from webs import debian

PAGES = 200_000
PROCESSES = 2
BATCH = 500  # pages of one task
MAX_SOURCE_BYTES = 12_000  # of a real page, so that many pages are read in a minute
GENERATED = 0.25  # share of generated pages
URL = "http://example.org/a/b.html?c=d"
FAULTS = Path(".cache/agreement")
_real_pages: list[bytes] = []


def real_pages() -> list[bytes]:
    """Return small pages of the test webs, loaded once per process."""
    if not _real_pages:
        roots = [root for name in debian.DOCUMENTATION if (root := debian.find(name))]
        for root in roots:
            files = Random(0).sample(sorted(root.rglob("*.html")), 150)
            _real_pages.extend(page for file in files if len(page := file.read_bytes()) <= MAX_SOURCE_BYTES)
    return _real_pages


def make_page(rng: Random) -> bytes:
    """Return a mutated or generated page."""
    if rng.random() < GENERATED:
        return random_page(rng, rng.choice((6, 12, 30, 80)))
    return mutate_page(rng.choice(real_pages()), rng)


def compare_batch(seed: int) -> tuple[Counter[str], bytes | None]:
    """Compare some pages; return how many there were by outcome, and the first page that differs."""
    rng = Random(seed)
    outcomes: Counter[str] = Counter()
    for _ in range(BATCH):
        page = make_page(rng)
        differences = find_differences(page, URL)
        if differences:
            return outcomes, page
        outcomes["equal" if differences is not None else f"not sure: {reason(page)}"] += 1
    return outcomes, None


def reason(page: bytes) -> str:
    """Return why the kernel is not sure of a page."""
    assert native is not None
    reading = native.read_page(page, URL, MAX_LINKS, True, 64 * len(page))
    return reading if isinstance(reading, str) else "too expensive"


def main() -> int:
    """Run until a page differs, or to the end."""
    if native is None:
        sys.exit("the native package is missing: run `make native`")
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 1_000_000_007
    print(f"seed {seed}", flush=True)
    outcomes: Counter[str] = Counter()
    fault = None
    with ProcessPoolExecutor(PROCESSES) as pool:
        for counted, fault in pool.map(compare_batch, range(seed, seed + max(pages // BATCH, 1))):
            outcomes += counted
            if fault is not None:
                pool.shutdown(cancel_futures=True)
                break
    for outcome, count in outcomes.most_common():
        print(f"{count:8} {outcome}")
    if fault is None:
        return 0
    FAULTS.mkdir(parents=True, exist_ok=True)
    file = FAULTS / f"{seed}.html"
    file.write_bytes(fault)
    print(f"the two ways differ on {file}: {find_differences(fault, URL)}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
