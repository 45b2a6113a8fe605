"""The largest page of each script and shape: indexed, searched, looked up and exported in bounded time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from gossamer import wiring
from gossamer.basics.page_budget import MAX_NODES, MAX_TEXT_BYTES, MAX_WORDS
from gossamer.config import IndexSettings
from gossamer.indexing import IndexFollower
from gossamer.model import Field, VisitBatch
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import PageParser
from gossamer.store.sqlite import open_sqlite_store
from helpers.cli.commands import command, environment
from helpers.parse.jobs import job
from helpers.patience import slowness
from helpers.store.crawl_steps import admit_none, fetched_visit, lease_all, leases, start, text

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.model import Page

HOME = "http://a.test/"
GOOD = [f"{HOME}{number}" for number in range(20)]
MEBIBYTES = 1_200  # of resident memory that one command may need; the page, its words and their positions
SECONDS = 30.0  # of CPU time that one command may take


class Shape(NamedTuple):
    """The body of a page, and a word that its beginning holds."""

    body: str
    word: str


def repeated(words: str, word: str) -> Shape:
    """Return a page that repeats these words up to the limit of text."""
    return Shape(f"<title>Largest</title><p>{words * (MAX_TEXT_BYTES // len(words.encode()) + 1)}", word)


SHAPES = {
    "han": repeated("漢字", "漢字"),
    "one word": repeated("kiwi ", "kiwi"),
    "different words": Shape("<p>kiwi " + " ".join(f"w{number:x}" for number in range(MAX_WORDS + 9)), "kiwi"),
    "thai": repeated("ภาษาไทย", "ภา"),
    "arabic": repeated("كتاب جديد ", "كتاب"),
    "hebrew": repeated("ספר חדש ", "ספר"),
    "devanagari": repeated("हिन्दी भाषा ", "भाषा"),
    "korean": repeated("한국어 책 ", "한국"),
    "emoji": repeated("kiwi 🥝 ", "kiwi"),
    "digits": repeated("1 22 333 ", "333"),
    "endless word": Shape("<p>kiwi " + "x" * MAX_TEXT_BYTES, "kiwi"),
    "links": Shape("<p>kiwi " + "".join(f"<a href=/{number}>l{number}</a>" for number in range(200_000)), "kiwi"),
    "headings": Shape("<h1>kiwi</h1>" + "".join(f"<h2>h{number}</h2>" for number in range(MAX_NODES // 2)), "kiwi"),
    "deep": Shape("<p>kiwi" + "<div>x" * 400_000, "kiwi"),
}
FEW = ("han", "deep")
IN_ALL_RUNS = [pytest.param(shape, id=name) for name, shape in SHAPES.items() if name in FEW]
IN_FULL_RUNS = [
    pytest.param(shape, id=name, marks=pytest.mark.full) for name, shape in SHAPES.items() if name not in FEW
]


def make_web(directory: Path, large: Page) -> None:
    """Store a large page and twenty others."""
    with closing(open_sqlite_store(directory, create=True)) as store:
        crawler = start(store, HOME, *GOOD)
        leased = leases(lease_all(store, crawler))
        visits = [fetched_visit(leased[url], body="a good page about plums") for url in GOOD]
        visit = fetched_visit(leased[HOME])
        assert visit.page is not None
        page = msgspec.structs.replace(large, id=visit.page.id)
        store.submit(crawler, VisitBatch(visits=[msgspec.structs.replace(visit, page=page), *visits]), admit_none, 1.0)
        store.leave(crawler)


def run_within_limits(*arguments: object) -> str:
    """Run a command; return its output if it stays within the limits of memory and time."""
    limit = SECONDS * slowness(time.process_time)
    with subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert usage.ru_maxrss / 1024 < MEBIBYTES
    assert usage.ru_utime + usage.ru_stime < limit
    return output


@pytest.mark.parametrize("shape", [*IN_ALL_RUNS, *IN_FULL_RUNS])
def test_the_largest_page_goes_through_every_stage_within_limits(shape: Shape, tmp_path: Path) -> None:
    web = tmp_path / "web"
    make_web(web, PageParser(ParseOptions()).parse(job(shape.body, "text/html; charset=utf-8", url=HOME)))
    run_within_limits("index", "--store", web)
    assert json.loads(run_within_limits("status", "--store", web, "--json"))["cut"] == 1
    assert json.loads(run_within_limits("page", HOME, "--store", web, "--json", "--limit", 9))["cut"]
    hits = json.loads(run_within_limits("search", shape.word, "--store", web, "--json"))["hits"]
    assert [hit["url"] for hit in hits] == [HOME]
    entry = json.loads(run_within_limits("word", shape.word, "--store", web, "--json"))
    assert [document["url"] for document in entry["documents"]] == [HOME]
    rows = run_within_limits("export", "words", "--format", "jsonl", "--store", web).splitlines()
    assert sum(json.loads(row)["tf"] for row in rows if json.loads(row)["url"] == HOME) <= MAX_WORDS
    assert len(json.loads(run_within_limits("search", "plums", "--store", web, "--json"))["hits"]) > 0


def test_a_giant_text_of_an_older_version_does_not_keep_the_index_from_other_pages(tmp_path: Path) -> None:
    page = PageParser(ParseOptions()).parse(job("<p>x"))
    giant = text((Field.TITLE, "Giant"), (Field.PARAGRAPH, "漢字" * (28_000_000 // len("漢字".encode()))))
    make_web(tmp_path / "web", msgspec.structs.replace(page, text=giant))
    assert IndexFollower(str(tmp_path / "web"), IndexSettings()).finish() == ""  # it has a memory limit of its own
    with closing(wiring.open_index(str(tmp_path / "web"))) as reader:
        assert reader.count() == len([HOME, *GOOD])
