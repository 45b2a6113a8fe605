"""A web that is visited again equals a fresh crawl of the changed site."""

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
from gossamer.kernels import native
from gossamer.wiring import open_searcher, open_store
from helpers.cli.commands import FAST, command, crawl, environment, gossamer, query
from helpers.patience import PATIENT_CRAWL
from webs.changing import SiteChanges, change, link_tree
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


START = "/index.html"
LARGEST_SHARE = 1 / 4 if native is None else 1 / 3  # of a second pass; kernels make the reading of pages cheap
SHARE = 0.01  # of the pages that change
QUERIES = (
    "spiderling", "ballooning spider", "gossamer thread 3", '"gossamer thread 7"', "intitle:added", "gossamer",
    "accessibility table", "swing focus listener", "certificate store exception", "intitle:stream", "bytebuffer",
    "deprecated", "nobody had read", "hashmap", "zip file entry",
)  # fmt: skip


MAX_HITS = 1000
FIRST_HITS = 10


class PassTime(NamedTuple):
    """The time of a pass."""

    seconds: float  # wall clock
    cpu_seconds: float  # of all its processes; does not depend on the load of the machine


class Webs(NamedTuple):
    """A site that was crawled, changed, and crawled into a new web."""

    nginx: Nginx
    before: Path  # the web before the change
    first: PassTime
    fresh: Path  # the web of a fresh crawl after the change
    changed: SiteChanges


class Revisited(NamedTuple):
    """The web from before the change, after a second pass."""

    store: Path
    version: int  # of the store before the pass
    took: PassTime
    idle_cpu_seconds: tuple[float, float]  # CPU time of a first and a second pass over one page: start and end
    statuses: Counter[int]  # of the responses
    graph: int  # version of the store from which the graph took its links


@pytest.fixture(scope="module")
def webs(nginx_binary: Path, java_module: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webs]:
    directory = tmp_path_factory.mktemp("freshness")
    site = link_tree(java_module, directory / "site")
    with Nginx(nginx_binary, {"site": Site(site)}) as nginx:
        url = nginx.url("site", START)
        cpu_before = children_cpu_seconds()
        seconds = crawl(url, directory / "before", *FAST, env=PATIENT_CRAWL)["seconds"]
        first = PassTime(seconds, children_cpu_seconds() - cpu_before)
        ranks(directory / "before")  # so that the second pass must update the graph too
        changed = change(site, links_by_path(directory / "before"), START, SHARE, 6)
        crawl(url, directory / "fresh", *FAST, env=PATIENT_CRAWL)
        yield Webs(nginx, directory / "before", first, directory / "fresh", changed)


def children_cpu_seconds() -> float:
    """Return the CPU time of all ended child processes and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def links_by_path(store: Path) -> dict[str, set[str]]:
    """Return the links between pages, by path."""
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
    """Return what the store holds of every page with content."""
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
    """Return the stored number of backlinks of every linked URL."""
    return dict(query(store, "SELECT url, number FROM backlinks JOIN resources ON id = resource WHERE number <> 0"))


def counted_backlinks(store: Path) -> dict[str, int]:
    return dict(
        query(
            store,
            "SELECT t.url, count(DISTINCT source) FROM links l JOIN resources t ON t.id = target"
            " WHERE l.kind < 20 AND source <> target GROUP BY target",
        )
    )


def assert_equal(store: Path, fresh: Path) -> None:
    """Check that the store and everything derived from it equal those of a fresh crawl."""
    assert pages(store) == pages(fresh)
    assert links(store) == links(fresh)
    assert backlinks(store) == backlinks(fresh) == counted_backlinks(store)
    gone = "SELECT url FROM resources WHERE state = 'gone'"
    assert set(query(store, gone)) >= set(query(fresh, gone))
    assert query(store, f"SELECT count(*) FROM ({gone} AND (content_digest <> x'' OR outlinks > 0))") == [(0,)]
    assert query(store, "SELECT count(*) FROM resources WHERE state IN ('queued', 'leased', 'failed')") == [(0,)]
    assert ranks(store) == pytest.approx(ranks(fresh), rel=1e-6)
    assert hits_by_query(store) == hits_by_query(fresh)
    assert anchor_terms(store) == anchor_terms(fresh)
    assert first_hits(store) == first_hits(fresh)


def first_hits(store: Path) -> dict[str, list[str]]:
    """Return the first hits of every query, in order."""
    with closing(open_store(str(store), read_only=True)) as web, closing(open_searcher(web, str(store))) as searcher:
        return {words: [hit.url for hit in searcher.search(words, limit=FIRST_HITS).hits] for words in QUERIES}


def anchor_terms(store: Path) -> dict[str, set[str]]:
    """Return the anchor terms that the index holds of every page."""
    urls = dict(query(store, "SELECT id, url FROM resources"))
    index = tantivy.Index.open(str(TantivyLocation(store / "index").require_current() / "anchors"))
    searcher, terms = index.searcher(), defaultdict[str, set[str]](set)
    for term, number in searcher.terms_with_prefix("text", ""):
        matching = tantivy.Query.term_query(index.schema, "text", term, index_option="basic")
        where = [address for _, address in searcher.search(matching, limit=number, count=False).hits]
        for target in searcher.fast_field_values("id", where):
            terms[urls[target]].add(term)
    return terms


def hits_by_query(store: Path) -> dict[str, tuple[int, set[str]]]:
    """Return per query the number of hits and, unless there are too many, their URLs."""
    with closing(open_store(str(store), read_only=True)) as web, closing(open_searcher(web, str(store))) as searcher:
        results = {words: searcher.search(words, limit=MAX_HITS) for words in QUERIES}
        return {
            words: (result.total, {hit.url for hit in result.hits} if result.total <= MAX_HITS else set())
            for words, result in results.items()
        }


def ranks(store: Path) -> dict[str, float]:
    """Update the ranks and return PageRank by URL."""
    done = gossamer("rank", "--only", "depth", "--store", store)
    assert done.returncode == 0, done.stderr
    return dict(query(store, "SELECT url, pagerank FROM ranks JOIN resources ON id = resource"))


@pytest.fixture(scope="module")
def revisited(webs: Webs, tmp_path_factory: pytest.TempPathFactory) -> Revisited:
    store = shutil.copytree(webs.before, tmp_path_factory.mktemp("revisited") / "web")
    version = query(store, "SELECT value FROM meta WHERE key = 'version'")[0][0]
    requests_before = len(webs.nginx.requests())
    cpu_before = children_cpu_seconds()
    done = gossamer("crawl", "--store", store, "--revisit", "--all", "--json", *FAST, env=PATIENT_CRAWL)
    assert done.returncode == 0, done.stderr
    took = PassTime(json.loads(done.stdout)["seconds"], children_cpu_seconds() - cpu_before)
    statuses = Counter(each.status for each in webs.nginx.requests()[requests_before:] if each.path != "/robots.txt")
    graph = load_manifest(store / "graph" / "bonds.json")
    assert graph is not None
    idle = idle_cpu_seconds(webs, tmp_path_factory.mktemp("idle"))
    return Revisited(store, version, took, idle, statuses, graph.version)


def idle_cpu_seconds(webs: Webs, store: Path) -> tuple[float, float]:
    """Return the CPU time of a first and a second pass over one page, which is that of start and end."""
    cpu_before = children_cpu_seconds()
    crawl(webs.nginx.url("site", START), store, "--max-pages", 1, *FAST, env=PATIENT_CRAWL)
    first = children_cpu_seconds() - cpu_before
    ranks(store)
    cpu_before = children_cpu_seconds()
    assert (
        gossamer("crawl", "--store", store, "--revisit", "--all", "--max-pages", 1, *FAST, env=PATIENT_CRAWL).returncode
        == 0
    )
    return first, children_cpu_seconds() - cpu_before


def test_a_second_pass_downloads_only_changed_pages(webs: Webs, revisited: Revisited) -> None:
    statuses = revisited.statuses
    print(f"{dict(statuses)}; {webs.changed.bodies} pages changed or added")
    # A resource refused for its type has no stored content, so its request has no condition.
    [(refused,)] = query(revisited.store, "SELECT count(*) FROM resources WHERE state = 'refused'")
    assert statuses[200] == webs.changed.bodies + refused
    assert statuses[304] > 90 * webs.changed.bodies


def test_a_second_pass_takes_a_part_of_the_first_ones_cpu_time(webs: Webs, revisited: Revisited) -> None:
    """Start and end of the processes take as long for a small site as for a big one, so they do not count."""
    print(f"first pass {webs.first}, second {revisited.took}, start and end {revisited.idle_cpu_seconds}")
    first, second = revisited.idle_cpu_seconds
    assert revisited.took.cpu_seconds - second <= (webs.first.cpu_seconds - first) * LARGEST_SHARE


@pytest.mark.full  # measures wall time, so it must run alone on the machine
def test_a_second_pass_takes_a_quarter_of_the_first_ones_wall_time(webs: Webs, revisited: Revisited) -> None:
    assert revisited.took.seconds <= webs.first.seconds / 4


def test_a_second_pass_updates_the_links_of_the_graph(revisited: Revisited) -> None:
    assert [(revisited.graph,)] == query(revisited.store, "SELECT value FROM meta WHERE key = 'version'")


def test_a_second_pass_equals_a_fresh_crawl(webs: Webs, revisited: Revisited) -> None:
    assert_equal(revisited.store, webs.fresh)


def test_a_second_pass_indexes_and_relinks_only_changed_pages(webs: Webs, revisited: Revisited) -> None:
    store, changed = revisited.store, webs.changed
    newer = {url for (url,) in query(store, "SELECT url FROM resources WHERE version > ?", revisited.version)}
    expected = {*changed.texts, *changed.linked, *changed.unlinked, *changed.removed, *changed.added}
    assert newer == {webs.nginx.url("site", path) for path in expected}
    relinked = {url for (url,) in query(store, "SELECT url FROM relinked JOIN resources ON id = target")}
    assert relinked == targets_with_changed_bonds(webs.before, store)


def targets_with_changed_bonds(before: Path, after: Path) -> set[str]:
    """Return the targets whose bonds differ, leaving out bonds of new pages."""

    def bonds(store: Path) -> Counter[tuple[Any, ...]]:
        return Counter({row[:1] + row[2:]: number for row, number in links(store).items() if "/added-" not in row[0]})

    old, new = bonds(before), bonds(after)
    return {row[1] for row in (old - new) + (new - old)}


@pytest.mark.full
@pytest.mark.parametrize("kills", [5, 20])
def test_a_second_pass_killed_repeatedly_equals_a_fresh_crawl(webs: Webs, tmp_path: Path, kills: int) -> None:
    store = shutil.copytree(webs.before, tmp_path / "web")
    chance = random.Random(kills)
    killed = 0
    while killed < kills:  # after a pass that was not killed in time comes another
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
    """Start a crawl and kill it after some seconds; return whether it was still running."""
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
