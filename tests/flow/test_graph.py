"""The link graph of a real crawl, compared with other libraries on the same links, read with plain SQL."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import igraph
import networkx as nx
import numpy as np
import pytest

from gossamer.graph.ranking.pagerank import load_pagerank
from helpers.cli.commands import FAST, command, gossamer, query
from helpers.patience import PATIENCE
from webs import debian

if TYPE_CHECKING:
    from pathlib import Path

    from webs.nginx import Nginx

SITES = ("python3.11-doc", "postgresql-doc-15", debian.JAVA_MODULE)
LINKS = """
    SELECT source, target, sum(weight) FROM links JOIN resources s ON s.id = source JOIN resources t ON t.id = target
    WHERE links.kind = 1 AND links.follow = 1 AND source <> target AND s.outcome = 'fetched' AND t.outcome = 'fetched'
    GROUP BY 1, 2"""


class Web:
    """Three sites of Debian's documentation, crawled and ranked by the commands."""

    def __init__(self, store: Path) -> None:
        self.store = store
        pages = query(store, "SELECT id FROM resources WHERE outcome = 'fetched' AND role = 'page'")
        self.graph: Any = nx.DiGraph()
        self.graph.add_nodes_from(page for (page,) in pages)
        self.graph.add_weighted_edges_from(query(store, LINKS))

    def ranks(self, column: str) -> dict[int, Any]:
        return dict(query(self.store, f"SELECT resource, {column} FROM ranks"))


@pytest.fixture(scope="module")
def web(documentation_webs: Nginx, tmp_path_factory: pytest.TempPathFactory) -> Web:
    store = tmp_path_factory.mktemp("documentation") / "web"
    urls = [documentation_webs.url(site, "/index.html") for site in SITES]
    crawled = gossamer("crawl", *urls, "--store", store, *FAST, "--no-index")
    assert crawled.returncode == 0, crawled.stderr
    ranked = gossamer("rank", "--store", store, "--json")
    assert ranked.returncode == 0, ranked.stderr
    assert not query(store, "SELECT 1 FROM links JOIN resources ON id = target WHERE outcome = 'redirected'"), (
        "there are no redirects in these sites, so the links above are the graph"
    )
    return Web(store)


def assert_close(actual: dict[int, float], expected: dict[int, float]) -> None:
    """Check that both agree within 1e-6 for every page."""
    assert actual.keys() == expected.keys()
    worst = max(actual, key=lambda page: abs(actual[page] - expected[page]))
    assert actual[worst] == pytest.approx(expected[worst], abs=1e-6)


def test_the_graph_has_all_followed_hyperlinks_between_visited_pages(web: Web) -> None:
    assert web.ranks("indegree") == dict(web.graph.in_degree())
    assert web.ranks("outdegree") == dict(web.graph.out_degree())
    assert web.ranks("in_weight") == dict(web.graph.in_degree(weight="weight"))
    assert web.ranks("out_weight") == dict(web.graph.out_degree(weight="weight"))
    assert len(web.graph) > 4_000


def test_pagerank_equals_that_of_networkx(web: Web) -> None:
    assert_close(web.ranks("pagerank"), nx.pagerank(web.graph, weight=None, tol=1e-12, max_iter=500))


def test_pagerank_equals_that_of_a_plain_power_iteration(web: Web) -> None:
    pages = list(web.graph)
    targets = {page: list(web.graph[page]) for page in pages}
    values = dict.fromkeys(pages, 1 / len(pages))
    for _ in range(60):  # 0.85 ** 60 < 1e-4, shared by thousands of pages
        given = dict.fromkeys(pages, 0.0)
        lost = 0.0
        for page, value in values.items():
            if not targets[page]:
                lost += value
            for target in targets[page]:
                given[target] += value / len(targets[page])
        values = {page: (0.15 + 0.85 * lost) / len(pages) + 0.85 * got for page, got in given.items()}
    assert_close(web.ranks("pagerank"), values)


def test_hubs_and_authorities_equal_those_of_networkx(web: Web) -> None:
    plain = nx.DiGraph(web.graph.edges)
    plain.add_nodes_from(web.graph)
    hubs, authorities = nx.hits(plain, max_iter=1000, tol=1e-14)
    assert_close(web.ranks("hub"), hubs)
    assert_close(web.ranks("authority"), authorities)


def test_strong_components_equal_those_of_networkx(web: Web) -> None:
    components: dict[int, set[int]] = {}
    for page, component in web.ranks("component").items():
        components.setdefault(component, set()).add(page)
    expected = [set(each) for each in nx.strongly_connected_components(web.graph)]
    assert sorted(map(sorted, components.values())) == sorted(map(sorted, expected))
    assert [len(components[i]) for i in range(len(components))] == sorted(map(len, expected), reverse=True)


def test_the_bow_tie_follows_the_reach_of_the_biggest_component(web: Web) -> None:
    core = max(nx.strongly_connected_components(web.graph), key=len)
    page = next(iter(core))
    forth, back = nx.descendants(web.graph, page), nx.ancestors(web.graph, page)
    parts = web.ranks("bowtie")
    assert {one for one, part in parts.items() if part == "core"} == core
    assert {one for one, part in parts.items() if part == "out"} == forth - core - {page}
    assert {one for one, part in parts.items() if part == "in"} == back - core - {page}


def test_depth_is_the_number_of_clicks_from_the_nearest_seed(web: Web) -> None:
    seeds = {seed for (seed,) in query(web.store, "SELECT id FROM resources WHERE seed = 1")}
    expected = nx.multi_source_dijkstra_path_length(web.graph, seeds, weight=None)
    assert {page: depth for page, depth in web.ranks("depth").items() if depth is not None} == expected


def test_harmonic_centrality_is_exact_at_this_size(web: Web) -> None:
    centralities = web.ranks("harmonic")
    some = random.Random(4).sample(sorted(centralities), 20)
    expected = nx.harmonic_centrality(web.graph, nbunch=some)
    assert {page: centralities[page] for page in some} == pytest.approx(expected, rel=1e-9)


def test_cores_and_communities_are_as_good_as_those_of_igraph(web: Web) -> None:
    pages = sorted(web.graph)
    number = {page: i for i, page in enumerate(pages)}
    edges = {tuple(sorted((number[a], number[b]))) for a, b in web.graph.edges}
    weights = [web.graph.has_edge(pages[a], pages[b]) + web.graph.has_edge(pages[b], pages[a]) for a, b in edges]
    other = igraph.Graph(n=len(pages), edges=list(edges))
    core, community = web.ranks("core"), web.ranks("community")
    assert [core[page] for page in pages] == other.coreness()
    random.seed(1)  # igraph takes its random numbers from Python
    leiden = other.community_leiden(objective_function="modularity", weights=weights, n_iterations=-1)
    modularity = other.modularity([community[page] for page in pages], weights=weights)
    assert modularity >= 0.98 * other.modularity(leiden.membership, weights=weights)
    (facts,) = query(web.store, "SELECT facts FROM rankings")[0]
    assert json.loads(facts)["modularity"] == pytest.approx(modularity, abs=1e-9)


def test_search_reads_the_scores_by_page_id(web: Web) -> None:
    scores = load_pagerank(web.store / "graph")
    assert scores is not None
    expected = np.zeros(len(scores), np.float32)
    for page, score in web.ranks("score").items():
        expected[page] = score / 100
    assert scores.tolist() == expected.tolist()
    assert (min(web.ranks("score").values()), max(web.ranks("score").values())) == (0, 100)


def test_a_second_ranking_reads_only_changed_pages(web: Web, tmp_path: Path) -> None:
    """Two pages lose their links behind the store's back; only the page marked as changed is read again."""
    copy = tmp_path / "web"
    copy.mkdir()
    first, second = sorted(degrees := web.ranks("outdegree"), key=degrees.__getitem__)[-2:]
    with closing(sqlite3.connect(web.store / "web.db")) as old, closing(sqlite3.connect(copy / "web.db")) as new:
        old.backup(new)
        assert gossamer("rank", "--store", copy, "--only", "pagerank").returncode == 0
        new.execute("DELETE FROM links WHERE source IN (?, ?)", (first, second))
        new.execute("UPDATE meta SET value = value + 1 WHERE key = 'version'")
        version = "SELECT value FROM meta WHERE key = 'version'"
        new.execute(f"UPDATE resources SET version = ({version}) WHERE id = ?", (first,))
        new.commit()
        assert gossamer("rank", "--store", copy, "--only", "pagerank").returncode == 0
        now = dict(new.execute("SELECT resource, outdegree FROM ranks"))
    assert now[first] == 0
    assert now[second] == degrees[second] > 0


def test_a_killed_ranking_changes_nothing_and_the_next_one_is_right(web: Web, tmp_path: Path) -> None:
    copy = tmp_path / "web"
    copy.mkdir()
    with closing(sqlite3.connect(web.store / "web.db")) as old, closing(sqlite3.connect(copy / "web.db")) as new:
        old.backup(new)
    ranking, killed = command("rank", "--store", copy, "--only", "hits"), 0
    states: list[list[tuple[object, ...]]] = []
    started = time.monotonic()
    subprocess.run(ranking, stdout=subprocess.DEVNULL, check=True)
    seconds = time.monotonic() - started  # of a ranking without a kill
    mark_ranks_as_old(copy)
    while killed < 5:
        process = subprocess.Popen(ranking, stdout=subprocess.DEVNULL)
        try:
            process.wait((0.4 + 0.12 * killed) * seconds)
            seconds *= 0.8  # it ended before the kill, because the machine is less busy now
            mark_ranks_as_old(copy)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
            states.append(query(copy, "SELECT DISTINCT pagerank < 0 FROM ranks"))
            assert states[-1] in ([(0,)], [(1,)]), "all of one run"
            if states[-1] == [(0,)]:
                mark_ranks_as_old(copy)
    assert [(1,)] in states, "a kill hit a ranking before it wrote"
    assert gossamer("rank", "--store", copy, "--only", "hits").returncode == 0
    assert dict(query(copy, "SELECT resource, pagerank FROM ranks")) == web.ranks("pagerank")
    assert len([path for path in (copy / "graph").iterdir() if path.is_dir()]) == 3, "no leftovers"


def mark_ranks_as_old(store: Path) -> None:
    """Give every page a rank that no ranking computes."""
    with closing(sqlite3.connect(store / "web.db")) as database, database:
        database.execute("UPDATE ranks SET pagerank = -1")
        database.execute("DELETE FROM rankings")


def test_two_rankings_at_once_succeed(web: Web, tmp_path: Path) -> None:
    copy = tmp_path / "web"
    copy.mkdir()
    with closing(sqlite3.connect(web.store / "web.db")) as old, closing(sqlite3.connect(copy / "web.db")) as new:
        old.backup(new)
    both = [
        subprocess.Popen(
            command("rank", "--store", copy, "--only", one), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for one in ("hits", "depth")
    ]
    for process in both:
        _, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, stderr
    assert dict(query(copy, "SELECT resource, pagerank FROM ranks")) == web.ranks("pagerank")
