"""The index process is killed repeatedly: afterwards the index holds exactly the documents of the store."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gossamer import wiring
from gossamer.index.protocol import Phrase, Query, term_code
from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.cli.commands import command, environment, gossamer
from helpers.index.same_as_store import check_documents
from helpers.index.small_index import WEIGHTS
from helpers.store.crawl_steps import (
    Bond,
    admit_all,
    digest,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    requeue,
    start,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.model import Lease, Visit

PAGES = 3_000
WORDS = [f"word{number}" for number in range(400)] + ["the", "eggs", "boiling", "of", "naïve"]


def url(number: int) -> str:
    return f"http://a.test/{number}"


def visit_of(lease: Lease, version: int) -> Visit:
    """Return a visit of a page with random words of its version; a few pages are gone."""
    number = int(lease.url.rpartition("/")[2])
    chosen = random.Random(number * 1_000 + version)
    if number and chosen.random() < 0.05:
        return gone_visit(lease)
    body = " ".join(chosen.choices(WORDS, k=chosen.randrange(5, 400)))
    links: list[Bond | str] = [Bond(url(chosen.randrange(PAGES)), anchor=f"call {number} {version}") for _ in range(3)]
    links += [url(one) for one in (2 * number + 1, 2 * number + 2) if one < PAGES]
    return fetched_visit(lease, *links, body=body, title=f"page {number} version {version}")


def crawl(directory: Path, version: int, pages: int) -> None:
    """Visit this many pages; a new version visits every page again."""
    with closing(open_sqlite_store(directory, create=True)) as store:
        crawler = start(store, url(0))
        if version > 1:
            requeue(store)
        while pages > 0 and (leased := leases(lease_all(store, crawler, urls=min(pages, 200)))):
            pages -= len(leased)
            store.submit(
                crawler,
                VisitBatch(visits=[visit_of(lease, version) for lease in leased.values()]),
                admit_all,
                time.time(),
            )
        store.leave(crawler)


def kill_index_after(directory: Path, seconds: float) -> bool:
    """Run `gossamer index` and kill it; return whether it was still running."""
    child = subprocess.Popen(
        command("index", "--store", directory), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def check(directory: Path) -> int:
    """Compare index and store: document ids, every word, postings and hits; return the number of documents."""
    with (
        closing(open_sqlite_store(directory, create=False)) as store,
        closing(wiring.open_index(str(directory))) as reader,
    ):
        documents = check_documents(store, reader)
        holding = [
            (number, document.title.split() + document.body[0].split()) for number, document in documents.items()
        ]
        for term in ("word7", "egg", "the", "naiv", "version"):
            counted = {number: words.count(term) for number, words in holding if term in words}
            postings = reader.postings(term, by_frequency=True, offset=0, limit=PAGES)
            assert {one.id: one.frequency for one in postings} == counted
        for number in random.Random(1).sample(sorted(documents), 60):
            title = tuple(documents[number].title.split())
            matches = reader.match(Query(required=(Phrase(text="", alternatives=(title,)),)), WEIGHTS, limit=10)
            assert matches.ids.tolist() == [number], "page and version make every title unique"
            (anchors,) = store.anchor_texts([number], max_links=200, max_texts=100)
            anchor_codes = reader.anchor_terms([number]).get(number, np.empty(0, np.uint32)).tolist()
            for text, _ in anchors.texts[:3]:
                assert {term_code(term) for term in text.split()} <= set(anchor_codes)
                phrase = Phrase(text="", alternatives=(tuple(text.split()),))
                assert number in reader.best_by_anchor(Query(required=(phrase,)), 10)
        return len(documents)


def seconds_undisturbed(directory: Path) -> float:
    """Return the seconds that the index takes for half of the pages without a kill."""
    crawl(directory, 1, PAGES // 2)
    started = time.monotonic()
    assert gossamer("index", "--store", directory).returncode == 0
    return time.monotonic() - started


def check_kills(directory: Path, kills: int) -> None:
    span = seconds_undisturbed(directory.with_name("calm"))
    random_, killed, round_ = random.Random(kills), 0, 0
    while killed < kills:
        crawl(directory, 1 + round_ // 2, PAGES // 2)
        was_running = kill_index_after(directory, random_.uniform(0.2, 0.9) * span)
        killed, round_ = killed + was_running, round_ + 1
        span *= 1 if was_running else 0.8  # it ended before the kill, because the machine is less busy now
    with closing(open_sqlite_store(directory, create=False)) as store:
        store.forget(url_digest=digest(url(1)))
    done = gossamer("index", "--store", directory)
    assert done.returncode == 0, done.stderr
    assert check(directory) > PAGES // 3


def test_index_and_store_agree_after_kills(tmp_path: Path) -> None:
    check_kills(tmp_path / "web", 5)


@pytest.mark.full
def test_index_and_store_agree_after_twenty_kills(tmp_path: Path) -> None:
    check_kills(tmp_path / "web", 20)
