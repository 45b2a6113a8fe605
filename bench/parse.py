"""Milliseconds of parsing per page, by stage, on a folder of HTML pages.

    python bench/parse.py [FOLDER] [PAGES]

FOLDER is best the unpacked `openjdk-17-doc` (10,000 javadoc pages). A fixed seed draws the sample. Each stage runs over
the whole sample several times, and the best time counts, because other work on the machine only adds. The allocator has
the settings of parser processes; without them, building the trees takes half as long again.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import zstandard
from selectolax.lexbor import LexborHTMLParser

from gossamer.model import ParseJob, Role
from gossamer.parse.charset import convert_to_utf8
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import PageParser
from gossamer.parse.readers.html import read_html
from gossamer.parse.readers.text import pack_runs, page_runs
from gossamer.processes.heap import ALLOCATOR_VARIABLES
from gossamer.urls.canonical import url_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FOLDER = "/usr/share/doc/openjdk-17-jre-headless/api"  # Debian's path of openjdk-17-doc
PAGES = 400
SEED = 0  # its sample has the mean page size of all of openjdk-17-doc (26 kB)
PASSES = 7
MAX_LINKS = 50_000


def sample(folder: Path, pages: int) -> list[ParseJob]:
    files = sorted(folder.rglob("*.html"))
    chosen = random.Random(SEED).sample(files, min(pages, len(files)))
    return [
        ParseJob(
            number, Role.PAGE, f"http://localhost:8080/{file.relative_to(folder)}", file.read_bytes(), "text/html",
            "", "", "", "", "",
        )
        for number, file in enumerate(chosen)
    ]  # fmt: skip


def milliseconds(stage: Callable[..., Any], inputs: Iterable[Any]) -> float:
    inputs = list(inputs)
    best = float("inf")
    for _ in range(PASSES):
        gc.collect()
        gc.disable()  # as in a parser process
        started = time.process_time()
        for one in inputs:
            stage(one)
        best = min(best, time.process_time() - started)
        gc.enable()
    return best / len(inputs) * 1000


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else FOLDER)
    jobs = sample(folder, int(sys.argv[2]) if len(sys.argv) > 2 else PAGES)
    bodies = [job.body for job in jobs]
    parser = PageParser(ParseOptions())
    encode = msgspec.msgpack.Encoder().encode
    compress = zstandard.ZstdCompressor(level=1).compress
    known = lru_cache(8192)(partial(url_digest))
    documents = [read_html(job.body, job.url, MAX_LINKS) for job in jobs]
    texts = [
        document.packed_runs or pack_runs(page_runs(document.title, document.description, document.runs))
        for document in documents
    ]

    print(f"{len(jobs)} pages of {folder}, {sum(map(len, bodies)) / len(jobs) / 1000:.1f} kB each")
    read = milliseconds(lambda job: read_html(job.body, job.url, MAX_LINKS), jobs)
    stages = {
        "charset": milliseconds(lambda body: convert_to_utf8(body, "text/html"), bodies),
        "read: links, text, metadata": read,
        "... its tree, without a kernel": milliseconds(LexborHTMLParser, bodies),
        "bonds -> columns, digests": milliseconds(lambda document: document.bonds.links(known), documents),
        "digests of body and text": milliseconds(lambda data: blake2b(data, digest_size=16).digest(), bodies)
        + milliseconds(lambda data: blake2b(data, digest_size=16).digest(), texts),
        "zstd of the source": milliseconds(compress, bodies),
        "zstd of the text": milliseconds(compress, texts),
    }
    following = PageParser(ParseOptions(keep_links=False, keep_source=False))
    stages["all: job -> encoded page"] = milliseconds(lambda job: encode(parser.parse(job)), jobs)
    stages["... without links and source"] = milliseconds(lambda job: encode(following.parse(job)), jobs)
    for name, took in stages.items():
        print(f"  {name:30} {took:6.3f} ms")


if __name__ == "__main__":
    if not os.environ.keys() >= ALLOCATOR_VARIABLES.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ALLOCATOR_VARIABLES})
    main()
