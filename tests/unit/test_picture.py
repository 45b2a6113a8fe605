"""Pictures of the link graph: selection, layout, and hostile text from the web."""

from __future__ import annotations

import io
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gossamer.errors import UsageError
from gossamer.graph.pictures import draw, plots
from gossamer.graph.pictures.communities import first_names
from gossamer.graph.pictures.labels import (
    MAX_LABEL_LENGTH,
    distinctive_titles,
    last_url_part,
    printable_line,
    shorten_label,
)
from gossamer.graph.pictures.layout import even_out, force_layout, separate_discs
from gossamer.graph.pictures.palette import COLOURS, OTHER_COLOUR, community_hex
from gossamer.graph.pictures.selection import Picture, click_depth_counts, default_level, select_picture
from gossamer.graph.ranking.rank_web import RankOptions, rank_web
from gossamer.graph.snapshot import open_graph
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import start, visit_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.protocol import Store

HOSTILE = [
    "$\\frac{1}{0}$",
    "<b>&\"'</b>",
    "\u202egpj.exe",
    "\x00\x1b[31m",
    "日本語",
    "שלום",
    "\U0001f600",
    "%s {0}",
    "",
    " ",
]


def two_groups(nodes: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return two groups of nodes that link among themselves, and one link between the groups."""
    half = nodes // 2
    pairs = [(i, j) for i in range(nodes) for j in range(nodes) if i != j and (i < half) == (j < half)]
    source, target = np.array([*pairs, (0, half)], np.int32).T
    groups = (np.arange(nodes) >= half).astype(np.int32)
    return groups, source, target, np.ones(len(source), np.float32), np.ones(nodes, np.float32)


def ring_picture(names: list[str], scores: list[float] | None = None) -> Picture:
    """Return a ring of nodes with these names."""
    count = len(names)
    source = np.arange(count, dtype=np.int32)
    return Picture(
        labels=[(name, f"fallback {number}") for number, name in enumerate(names)],
        scores=np.array(scores or range(count), float), groups=(source % 3).astype(np.int32),
        communities=(source % 3).astype(np.int32), names={}, source=source,
        target=np.roll(source, 1), strength=np.ones(count), is_drawn=np.ones(count, bool), level="pages",
        total_nodes=count,
    )  # fmt: skip


def render(picture: Picture, title: str = "A web", form: str = "svg") -> bytes:
    out = io.BytesIO()
    draw.draw_graph(picture, title, out, form)
    return out.getvalue()


def svg_texts(svg: bytes) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


# -- layout ------------------------------------------------------------------------------------------------------------


def test_linked_nodes_are_placed_close_together() -> None:
    groups, *rest = two_groups()
    positions = force_layout(groups, *rest)
    middles = [positions[groups == group].mean(0) for group in (0, 1)]
    spread = max(np.linalg.norm(positions[groups == group] - middles[group], axis=1).max() for group in (0, 1))
    assert np.linalg.norm(middles[0] - middles[1]) > 1.2 * spread


def test_the_same_graph_gets_the_same_layout() -> None:
    assert np.array_equal(force_layout(*two_groups()), force_layout(*two_groups()))


def test_links_alone_separate_the_groups() -> None:
    groups, source, target, weight, mass = two_groups()
    positions = force_layout(np.zeros_like(groups), source, target, weight, mass)  # one group for all nodes
    middles = [positions[groups == group].mean(0) for group in (0, 1)]
    own = np.linalg.norm(positions - np.array(middles)[groups], axis=1)
    other = np.linalg.norm(positions - np.array(middles)[1 - groups], axis=1)
    assert (own < other).all()


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_small_graphs_get_finite_positions(nodes: int) -> None:
    none = np.empty(0, np.int32)
    positions = force_layout(np.zeros(nodes, np.int32), none, none, np.empty(0, np.float32), np.ones(nodes, np.float32))
    assert positions.shape == (nodes, 2)
    assert np.isfinite(positions).all()


def test_separated_discs_do_not_overlap() -> None:
    rng = np.random.default_rng(1)
    positions, radii = rng.normal(size=(80, 2)).astype(np.float32) * 20, rng.uniform(1, 5, 80).astype(np.float32)
    moved = separate_discs(positions, radii, rounds=500)
    distance = np.linalg.norm(moved[:, None] - moved[None], axis=2) + np.eye(80) * 100
    assert (distance > radii[:, None] + radii[None] - 0.2).all()


def test_crowded_nodes_are_spread_in_the_same_order() -> None:
    positions = np.array([[0, 0], [1, 0], [2, 0], [100, 0]], np.float32)
    across = even_out(positions)[:, 0]
    assert (np.diff(across) > 0).all()
    assert across[1] - across[0] > 10


# -- names -------------------------------------------------------------------------------------------------------------


def test_titles_lose_their_common_part() -> None:
    titles = [f"{name} — Python 3.11 documentation" for name in ("os", "sys", "json", "csv")]
    assert distinctive_titles(titles) == ["os", "sys", "json", "csv"]
    assert distinctive_titles(["Site: a", "Site: b", "Site: c", "Site: d"]) == ["a", "b", "c", "d"]
    assert distinctive_titles(["A (v1)", "B (v1)", "C (v1)", "D (v1)"]) == ["A", "B", "C", "D"]
    assert distinctive_titles(["same", "same", "same"]) == ["same", "same", "same"]
    assert distinctive_titles(["one - two", "", "three"]) == ["one", "", "three"]


def test_labels_are_short_and_on_one_line() -> None:
    assert printable_line(" a\n\tb\x00c\u202e ") == "a b c"
    assert shorten_label("x" * 100) == "x" * (MAX_LABEL_LENGTH - 1) + "…"
    assert last_url_part("https://example.org/docs/os.html?x=1") == "os.html?x=1"
    assert last_url_part("https://example.org/") == "example.org"


# -- selection ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Store]:
    urls = [f"https://h{number % 15}.example/{number}" for number in range(60)]
    site = {url: [urls[(i * 7 + step) % 60] for step in range(1, 4)] + [urls[0]] for i, url in enumerate(urls)}
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        crawler = start(store, urls[0])
        visit_all(store, crawler, site)
        store.leave(crawler)
        yield store


@pytest.mark.parametrize("with_ranks", [False, True])
def test_the_best_nodes_are_selected(web: Store, tmp_path: Path, with_ranks: bool) -> None:
    if with_ranks:
        rank_web(web, tmp_path / "graph", RankOptions())
    graph = open_graph(web, tmp_path / "graph")
    picture = select_picture(web, graph, "pages", 10)
    assert len(picture.labels) <= 10
    assert picture.total_nodes == graph.pages.nodes
    assert picture.scores.max() == 100
    assert set(picture.groups) == set(range(picture.groups.max() + 1))
    assert len(picture.source) == len(picture.target) == len(picture.strength)
    assert ((picture.source >= 0) & (picture.source < len(picture.labels))).all()
    assert set(picture.source) | set(picture.target) == set(range(len(picture.labels)))  # every node has a link


def test_pages_of_the_same_title_are_named_by_their_urls(web: Store, tmp_path: Path) -> None:
    picture = select_picture(web, open_graph(web, tmp_path / "graph"), "pages", 10)
    assert all(names[0].isdecimal() and names[1] == "A title" for names in picture.labels)


def test_a_web_of_many_hosts_is_drawn_by_host(web: Store, tmp_path: Path) -> None:
    graph = open_graph(web, tmp_path / "graph")
    assert default_level(graph) == "hosts"
    picture = select_picture(web, graph, "hosts")
    assert ("h0.example",) in picture.labels


def test_a_web_without_links_cannot_be_drawn(tmp_path: Path) -> None:
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        graph = open_graph(store, tmp_path / "graph")
        with pytest.raises(UsageError, match="nothing to draw"):
            select_picture(store, graph, "pages")
        with pytest.raises(UsageError, match="No seed"):
            click_depth_counts(store, graph)


def test_clicks_are_counted_from_the_seeds(web: Store, tmp_path: Path) -> None:
    clicks = click_depth_counts(web, open_graph(web, tmp_path / "graph"))
    assert clicks[0] == 1
    assert clicks[1] == 3
    assert clicks.sum() == 60


def test_a_community_has_the_name_of_its_best_node() -> None:
    assert first_names(["home", "guide", "news"], [1, 0, 1]) == {1: "home", 0: "guide"}
    assert first_names(["home"], [None]) == {}


def test_the_first_communities_have_different_colours() -> None:
    colours = [community_hex(number) for number in range(24)]
    assert colours[:12] == list(COLOURS)
    assert len(set(colours)) == 24
    assert {community_hex(None), community_hex(24), community_hex(-1)} == {OTHER_COLOUR}


# -- drawing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_graph_makes_the_same_bytes(form: str) -> None:
    assert render(ring_picture(["a", "b", "c"]), form=form) == render(ring_picture(["a", "b", "c"]), form=form)


def test_png_output_is_a_png_file() -> None:
    assert render(ring_picture(["a", "b", "c"]), form="png").startswith(b"\x89PNG\r\n\x1a\n")


def test_labels_legend_and_caption_describe_the_picture() -> None:
    texts = svg_texts(render(ring_picture(["first", "second", "third", "fourth"]), "My web"))
    assert {"My web", "Communities", "first", "fourth", "community 0, 2 pages"} <= set(texts)
    assert "4 pages and 4 links between them. Size: PageRank. Colour: community." in texts


def test_no_text_from_the_web_spoils_a_picture() -> None:
    texts = svg_texts(render(ring_picture(HOSTILE), " ".join(HOSTILE)))
    assert {"$\\frac{1}{0}$", "<b>&\"'</b>", "%s {0}"} <= set(texts)
    assert "fallback 4" in texts  # letters that the font does not have
    assert "fallback 5" in texts  # letters that run from right to left
    assert not any(set("\x00\x1b\u202e日ש") & set(text) for text in texts)
    assert render(ring_picture(HOSTILE), form="png")


def test_labels_do_not_overlap() -> None:
    names = [f"a rather long name {number}" for number in range(300)]
    rng = np.random.default_rng(2)
    picture = ring_picture(names, rng.uniform(0, 100, 300).tolist())
    boxes = label_boxes(picture)
    assert len(boxes) > 20
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def label_boxes(picture: Picture) -> list[draw.Box]:
    svg = ET.fromstring(render(picture))
    labels = [
        element
        for element in svg.iter("{http://www.w3.org/2000/svg}text")
        if (element.text or "").startswith("a rather")
    ]
    boxes = []
    for label in labels:
        size = float((label.get("style") or "").split("font-size: ")[1].split("px")[0])
        left, bottom = float(label.get("x", "nan")), -float(label.get("y", "nan"))
        if left < draw.LEGEND_LEFT:
            boxes.append(draw.Box(left, bottom, left + 0.45 * size * len(label.text or ""), bottom + 0.5 * size))
    return boxes


def test_degrees_and_depths_are_drawn() -> None:
    out = io.BytesIO()
    plots.draw_degrees(np.array([0, 1, 1, 5]), np.array([2, 2, 0, 3]), "A web: links", out, "svg")
    assert "4 pages, 1 with no links in, 1 with no links out." in svg_texts(out.getvalue())
    out = io.BytesIO()
    plots.draw_depths(np.array([1, 3, 2]), 4, "A web: click depth", out, "svg")
    texts = svg_texts(out.getvalue())
    assert "6 pages, and 4 that no path of links reaches." in texts
    assert {"1", "3", "2", "A web: click depth"} <= set(texts)


def test_without_matplotlib_the_error_says_what_to_install() -> None:
    code = (
        "import sys, io; sys.modules['matplotlib'] = None\n"
        "import numpy as np\nfrom gossamer.errors import UsageError\n"
        "from gossamer.graph.pictures.plots import draw_depths\n"
        "try: draw_depths(np.array([1]), 0, '', io.BytesIO(), 'svg')\n"
        "except UsageError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "Pictures need matplotlib: pip install 'gossamer[pictures]'.\n"


@pytest.mark.parametrize("nodes", [2, 3])
def test_a_tiny_web_is_drawn(nodes: int) -> None:
    texts = svg_texts(render(ring_picture([f"page {number}" for number in range(nodes)], [50.0] * nodes)))
    assert {f"page {number}" for number in range(nodes)} <= set(texts)
