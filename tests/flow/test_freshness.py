"""A web that stays true: visited again, it is what a fresh crawl of the changed site would have made."""

from __future__ import annotations

import json
import random
import resource
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import tantivy

from gossamer.graph.arrays import load_manifest
from gossamer.index.tantivy import TantivyLocation
from gossamer.wiring import open_searcher, open_store
from helpers.cli.commands import FAST, command, crawl, environment, gossamer, query
from webs import debian
from webs.changing import Changed, change, copy_of
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


START = "/index.html"
SHARE = 0.01  # of the pages are changed
QUERIES = (
    "spiderling", "ballooning spider", "gossamer thread 3", '"gossamer thread 7"', "intitle:added", "gossamer",
    "accessibility table", "swing focus listener", "certificate store exception", "intitle:stream", "bytebuffer",
    "deprecated", "nobody had read", "hashmap", "zip file entry",
)  # fmt: skip


MOST_HITS = 1000
FIRST_HITS = 10


class Took(NamedTuple):
    """What a pass took."""

    seconds: float  # by the clock
    worked: float  # seconds of processor time of all its processes: the same however busy the machine is


class Webs(NamedTuple):
    """A site that was crawled, changed, and crawled afresh."""

    nginx: Nginx
    before: Path  # the web as it was before the change
    first: Took
    fresh: Path  # the web of a fresh crawl after it
    changed: Changed


class Revisited(NamedTuple):
    """The web from before, after a second pass."""

    store: Path
    version: int  # of the store before it
    took: Took
    statuses: Counter[int]  # of what was asked
    graph: int  # version of the store that the links of the graph are of


@pytest.fixture(scope="module")
def webs(nginx_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webs]:
    tree = debian.find("openjdk-17-doc")
    assert tree is not None
    place = tmp_path_factory.mktemp("freshness")
    site = copy_of(tree, place / "site")
    with Nginx(nginx_binary, {"site": Site(site)}) as nginx:
        url = nginx.url("site", START)
        working = worked()
        seconds = crawl(url, place / "before", *FAST)["seconds"]
        first = Took(seconds, worked() - working)
        ranks(place / "before")  # so that the graph has to follow too
        changed = change(site, links_by_path(place / "before"), START, SHARE, 6)
        crawl(url, place / "fresh", *FAST)
        yield Webs(nginx, place / "before", first, place / "fresh", changed)


def worked() -> float:
    """Processor time of all processes that were started here and have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def links_by_path(store: Path) -> dict[str, set[str]]:
    """The links between pages, by path."""
    paths = {
        resource: "/" + url.split("/", 3)[3]
        for resource, url in query(store, "SELECT id, url FROM resources WHERE content_digest <> x''")
    }
    links: defaultdict[str, set[str]] = defaultdict(set)
    for source, target in query(store, "SELECT source, target FROM links WHERE kind < 20 AND follow"):
        if source in paths and target in paths:
            links[paths[source]].add(paths[target])
    return links


def pages(store: Path) -> dict[str, tuple[Any, ...]]:
    """What is stored of every page that is there."""
    rows = query(
        store,
        "SELECT url, role, content_digest, text_digest, title, description, media_type, charset, language, canonical,"
        " noindex, nofollow, outlinks, t.body, length(s.body) FROM resources r LEFT JOIN texts t ON t.resource = r.id"
        " LEFT JOIN sources s ON s.resource = r.id WHERE content_digest <> x''",
    )
    return {row[0]: row[1:] for row in rows}


def links(store: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        query(
            store,
            "SELECT s.url, seq, t.url, l.kind, l.follow, weight, position, rel, anchor FROM links l"
            " JOIN resources s ON s.id = source JOIN resources t ON t.id = target",
        )
    )


def backlinks(store: Path) -> dict[str, int]:
    """Of everything that something leads to."""
    return dict(query(store, "SELECT url, number FROM backlinks JOIN resources ON id = resource WHERE number <> 0"))


def recounted(store: Path) -> dict[str, int]:
    return dict(
        query(
            store,
            "SELECT t.url, count(DISTINCT source) FROM links l JOIN resources t ON t.id = target"
            " WHERE l.kind < 20 AND source <> target GROUP BY target",
        )
    )


def assert_equal(store: Path, fresh: Path) -> None:
    """The store and what is derived from it are as a fresh crawl makes them."""
    assert pages(store) == pages(fresh)
    assert links(store) == links(fresh)
    assert backlinks(store) == backlinks(fresh) == recounted(store)
    gone = "SELECT url FROM resources WHERE state = 'gone'"
    assert set(query(store, gone)) >= set(query(fresh, gone))
    assert query(store, f"SELECT count(*) FROM ({gone} AND (content_digest <> x'' OR outlinks > 0))") == [(0,)]
    assert query(store, "SELECT count(*) FROM resources WHERE state IN ('queued', 'leased', 'failed')") == [(0,)]
    assert ranks(store) == pytest.approx(ranks(fresh), rel=1e-6)
    assert found_by(store) == found_by(fresh)
    assert anchor_terms(store) == anchor_terms(fresh)
    assert first_hits(store) == first_hits(fresh)


def first_hits(store: Path) -> dict[str, list[str]]:
    """The first page of answers, in order."""
    with closing(open_store(str(store), read_only=True)) as web, closing(open_searcher(web, str(store))) as searcher:
        return {words: [hit.url for hit in searcher.search(words, limit=FIRST_HITS).hits] for words in QUERIES}


def anchor_terms(store: Path) -> dict[str, set[str]]:
    """What the index holds of the anchor texts of every page: their terms."""
    urls = dict(query(store, "SELECT id, url FROM resources"))
    index = tantivy.Index.open(str(TantivyLocation(store / "index").require_current() / "anchors"))
    searcher, found = index.searcher(), defaultdict[str, set[str]](set)
    for term, number in searcher.terms_with_prefix("text", ""):
        calling = tantivy.Query.term_query(index.schema, "text", term, index_option="basic")
        where = [address for _, address in searcher.search(calling, limit=number, count=False).hits]
        for target in searcher.fast_field_values("id", where):
            found[urls[target]].add(term)
    return found


def found_by(store: Path) -> dict[str, tuple[int, set[str]]]:
    """What a search finds, for words of titles, changed texts and anchors: how many, and if not too many, which."""
    with closing(open_store(str(store), read_only=True)) as web, closing(open_searcher(web, str(store))) as searcher:
        answers = {words: searcher.search(words, limit=MOST_HITS) for words in QUERIES}
        return {
            words: (answer.total, {hit.url for hit in answer.hits} if answer.total <= MOST_HITS else set())
            for words, answer in answers.items()
        }


def ranks(store: Path) -> dict[str, float]:
    """PageRank by URL, brought up to date first."""
    done = gossamer("rank", "--only", "depth", "--store", store)
    assert done.returncode == 0, done.stderr
    return dict(query(store, "SELECT url, pagerank FROM ranks JOIN resources ON id = resource"))


@pytest.fixture(scope="module")
def revisited(webs: Webs, tmp_path_factory: pytest.TempPathFactory) -> Revisited:
    store = shutil.copytree(webs.before, tmp_path_factory.mktemp("revisited") / "web")
    version = query(store, "SELECT value FROM meta WHERE key = 'version'")[0][0]
    asked = len(webs.nginx.asked())
    working = worked()
    done = gossamer("crawl", "--store", store, "--revisit", "--all", "--json", *FAST)
    assert done.returncode == 0, done.stderr
    took = Took(json.loads(done.stdout)["seconds"], worked() - working)
    statuses = Counter(each.status for each in webs.nginx.asked()[asked:] if each.path != "/robots.txt")
    graph = load_manifest(store / "graph" / "bonds.json")
    assert graph is not None
    return Revisited(store, version, took, statuses, graph.version)


def test_a_second_pass_asks_only_for_what_changed(webs: Webs, revisited: Revisited) -> None:
    statuses = revisited.statuses
    print(f"{dict(statuses)}; {webs.changed.bodies} pages changed or added")
    # What is refused for its type has no content that could be asked for with a condition.
    [(refused,)] = query(revisited.store, "SELECT count(*) FROM resources WHERE state = 'refused'")
    assert statuses[200] == webs.changed.bodies + refused
    assert statuses[304] > 90 * webs.changed.bodies


def test_a_second_pass_takes_a_quarter_of_the_first_ones_work(webs: Webs, revisited: Revisited) -> None:
    print(f"first pass {webs.first}, second {revisited.took}")
    assert revisited.took.worked <= webs.first.worked / 4


@pytest.mark.full  # alone on the machine: by the clock
def test_a_second_pass_takes_a_quarter_of_the_first_ones_time(webs: Webs, revisited: Revisited) -> None:
    assert revisited.took.seconds <= webs.first.seconds / 4


def test_the_links_of_the_graph_follow_a_second_pass(revisited: Revisited) -> None:
    assert [(revisited.graph,)] == query(revisited.store, "SELECT value FROM meta WHERE key = 'version'")


def test_a_second_pass_ends_like_a_fresh_crawl(webs: Webs, revisited: Revisited) -> None:
    assert_equal(revisited.store, webs.fresh)


def test_a_second_pass_indexes_and_links_anew_only_what_changed(webs: Webs, revisited: Revisited) -> None:
    store, changed = revisited.store, webs.changed
    newer = {url for (url,) in query(store, "SELECT url FROM resources WHERE version > ?", revisited.version)}
    expected = {*changed.texts, *changed.linked, *changed.unlinked, *changed.removed, *changed.added}
    assert newer == {webs.nginx.url("site", path) for path in expected}
    relinked = {url for (url,) in query(store, "SELECT url FROM relinked JOIN resources ON id = target")}
    assert relinked == touched(webs.before, store)


def touched(before: Path, after: Path) -> set[str]:
    """The targets whose bonds differ, but for those of pages that are new."""

    def bonds(store: Path) -> Counter[tuple[Any, ...]]:
        return Counter({row[:1] + row[2:]: number for row, number in links(store).items() if "/added-" not in row[0]})

    old, new = bonds(before), bonds(after)
    return {row[1] for row in (old - new) + (new - old)}


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.full)])
def test_a_second_pass_killed_again_and_again_ends_like_a_fresh_crawl(webs: Webs, tmp_path: Path, kills: int) -> None:
    store = shutil.copytree(webs.before, tmp_path / "web")
    chance = random.Random(kills)
    killed = 0
    while killed < kills:  # a pass that came to its end is followed by another one
        again = [] if has_work(store) else ["--revisit", "--all"]
        killed += kill_after(chance.uniform(0.3, 0.5 + webs.first.seconds / 15), store, *again)
    done = gossamer("crawl", "--store", store, *([] if has_work(store) else ["--revisit", "--all"]), *FAST)
    assert done.returncode == 0, done.stderr
    passes = query(store, "SELECT count(*) FROM rounds")[0][0] - 1
    print(f"{kills} kills in {passes} passes")
    assert_equal(store, webs.fresh)


def has_work(store: Path) -> bool:
    return bool(query(store, "SELECT count(*) FROM resources WHERE state IN ('queued', 'leased')")[0][0])


def kill_after(seconds: float, store: Path, *arguments: str) -> bool:
    """Start a crawl and kill it, unless it has come to its end by then."""
    process = subprocess.Popen(
        command("crawl", "--store", store, "--quiet", *arguments, *FAST), env=environment(), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    ended = process.poll() is not None
    process.kill()
    process.wait()
    return not ended
