"""The graph explorer in a real browser: open, search, expand, restore from a URL, save as files."""

from __future__ import annotations

import itertools
import json
import math
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs
from urllib.request import urlopen

import networkx as nx
import pytest
from lxml import etree
from playwright.sync_api import expect

from helpers.cli.commands import gossamer
from helpers.patience import until
from helpers.web.browser import (
    DESK,
    PHONE,
    PICTURE_SIZE,
    AppServer,
    accessibility_faults,
    check_appearances,
    open_page,
    save_picture,
)
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, ViewportSize

HOSTS = 16  # enough for the explorer to open on the graph of hosts
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202egnp.exe"


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """Serve a web of hosts in a ring that also all link to the first host."""
    store = tmp_path_factory.mktemp("neighbours")
    with ExitStack() as stack:
        sites = [stack.enter_context(SiteServer({})) for _ in range(HOSTS)]
        for number, site in enumerate(sites):
            others = (sites[0], sites[(number + 1) % HOSTS])
            links = "".join(f'<a href="{other.url}">other</a> <a href="{other.url}p">more</a>' for other in others)
            site.pages["/"] = f"<title>{HOSTILE} {number}</title><a href=/p>p</a> {links}"
            site.pages["/p"] = f"<title>Page of {number}</title><a href=/>start</a>"
        done = gossamer("crawl", *(site.url for site in sites), "--quiet", "--store", store)
        assert done.returncode == 0, done.stderr
    assert gossamer("rank", "--store", store).returncode == 0
    with AppServer(store) as server:
        yield server


def ready(page: Page) -> dict[str, str]:
    """Wait until the explorer is ready; return its data attributes."""
    page.wait_for_selector("#graph[data-state=ready]")
    attributes: dict[str, str] = page.eval_on_selector("#graph", "graph => ({...graph.dataset})")
    return attributes


def count(page: Page) -> int:
    return int(ready(page)["nodes"])


def choose(page: Page, row: int) -> str:
    """Select a node in the list; return its key."""
    page.click(f"#graph-table tbody tr:nth-child({row}) button")
    page.wait_for_selector("#node-panel h2")
    until(lambda: "z" in query(page))  # the camera stopped moving
    return ready(page)["selected"]


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(page.evaluate("location.search.slice(1)"))


def test_a_web_of_one_host_opens_on_its_pages(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph", viewport=PICTURE_SIZE) as page:
        state = ready(page)
        assert (state["level"], state["nodes"]) == ("pages", "300")
        assert 0 < int(state["edges"]) <= 10_000
        assert page.locator("#graph-table tbody tr").count() == 300
        assert page.inner_text("#graph-status").startswith("Pages: 300 of 5")
        save_picture(page, "explorer")
        webgl = "canvas => ['webgl2', 'webgl'].some(kind => canvas.getContext(kind))"
        assert page.eval_on_selector("#graph canvas.sigma-nodes", webgl)


def test_a_web_of_many_hosts_opens_on_the_hosts(browser: Browser, neighbours: AppServer) -> None:
    with open_page(browser, f"{neighbours.url}graph") as page:
        state = ready(page)
        assert (state["level"], state["nodes"]) == ("hosts", str(HOSTS))
        choose(page, 1)
        page.click("#node-panel a")
        page.wait_for_url(re.compile("level=pages&host="))
        assert ready(page)["level"] == "pages"
        assert count(page) == 2


def test_a_search_goes_to_a_node(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph") as page:
        ready(page)
        page.fill("#focus", "Python Module Index")
        page.wait_for_selector("#focus-options li")
        page.press("#focus", "ArrowDown")
        assert page.get_attribute("#focus", "aria-activedescendant") == "focus-options-0"
        page.press("#focus", "Enter")
        page.wait_for_selector("#node-panel h2")
        assert ready(page)["selected"].endswith("/py-modindex.html")
        assert page.inner_text("#node-panel h2") == "Python Module Index"


def test_enter_in_the_focus_field_goes_to_the_best_match(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=50") as page:
        ready(page)
        page.fill("#focus", "colorsys")
        page.press("#focus", "Enter")
        page.wait_for_selector("#graph[data-focus$='colorsys.html'][data-state=ready]")
        page.fill("#focus", "")
        page.press("#focus", "Enter")
        page.wait_for_selector("#graph[data-focus=''][data-state=ready]")
        page.fill("#focus", "zzzzqqqq")
        page.press("#focus", "Enter")
        expect(page.locator("#graph-status")).to_contain_text("zzzzqqqq")


def test_a_node_outside_the_view_opens_with_its_neighbours(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=5") as page:
        assert count(page) <= 5
        page.fill("#focus", "colorsys")
        page.click("#focus-options li")
        page.wait_for_selector("#graph[data-focus$='colorsys.html'][data-state=ready]")
        assert page.inner_text("#node-panel h2") == "colorsys"
        page.go_back()
        page.wait_for_selector("#graph[data-focus=''][data-state=ready]")


def test_a_node_is_expanded_and_the_back_button_undoes_it(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=60") as page:
        before = count(page)
        key = choose(page, 2)
        page.click("#expand")
        until(lambda: count(page) > before)
        after = count(page)
        assert query(page)["expanded"] == [key]
        assert page.locator("#graph-table tbody tr").count() == after
        page.go_back()
        page.wait_for_selector(f"#graph[data-nodes='{before}'][data-state=ready]")
        page.go_forward()
        page.wait_for_selector(f"#graph[data-nodes='{after}'][data-state=ready]")


def test_a_click_selects_a_node_and_another_click_expands_it(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=60") as page:
        before = count(page)
        key = choose(page, 3)  # the explorer centres the node
        page.click("#node-panel [aria-label='Close the details']")
        page.wait_for_selector("#graph[data-selected=''][data-state=ready]")
        box = page.locator(".graph-canvas").bounding_box()
        assert box
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(*middle)
        page.mouse.click(*middle)
        page.wait_for_selector("#node-panel h2")
        assert ready(page)["selected"] == key
        page.wait_for_timeout(500)  # because a double click zooms
        page.mouse.click(*middle)
        until(lambda: count(page) > before)


def test_a_shared_url_shows_the_same_view(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=80&colour=depth") as page:
        ready(page)
        choose(page, 4)
        page.click("#expand")
        page.wait_for_selector("#expand[disabled]")
        page.click("#legend button[data-class='1']")
        until(lambda: ready(page)["hidden"] != "0")
        state, address = ready(page), page.evaluate("location.href")
        with open_page(browser, address) as other:
            assert ready(other) == state
            assert query(other) == query(page)
            assert other.inner_text("#graph-status") == page.inner_text("#graph-status")
            assert other.input_value("#colour") == "depth"
            assert other.get_attribute("#legend button[data-class='1']", "aria-pressed") == "false"


def test_the_legend_colours_classes_and_hides_them(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=100") as page:
        nodes = count(page)
        for colouring in ("host", "community", "depth", "status"):
            page.select_option("#colour", colouring)
            page.wait_for_selector(f"#graph[data-colour={colouring}][data-state=ready]")
            counts = page.locator("#legend .graph-count").all_inner_texts()
            assert sum(map(int, counts)) == nodes
            page.click("#legend button >> nth=0")
            page.wait_for_selector(f"#graph[data-hidden='{counts[0]}']")
            page.click("#legend .graph-all")
            page.wait_for_selector("#graph[data-hidden='0']")


def background(page: Page, selector: str) -> str:
    return str(page.eval_on_selector(selector, "element => getComputedStyle(element).backgroundColor"))


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        (DESK, "light"),
        (PHONE, "dark"),
        pytest.param(DESK, "dark", marks=pytest.mark.full),
        pytest.param(PHONE, "light", marks=pytest.mark.full),
    ],
)
def test_a_community_has_one_name_number_and_colour_everywhere(
    browser: Browser, documentation: AppServer, size: ViewportSize, scheme: Literal["light", "dark"]
) -> None:
    with urlopen(f"{documentation.url}api/graph?level=pages&nodes=100") as answer:
        view = json.load(answer)
    names = {each["community"]: each["name"] for each in view["communities"]}
    assert set(names) == set(view["nodes"]["community"])
    url = f"{documentation.url}graph?level=pages&nodes=100&colour=community"
    with open_page(browser, url, viewport=size, color_scheme=scheme) as page:
        ready(page)
        colours = {background(page, f"#legend [data-class='{number}'] .graph-swatch") for number in list(names)[:3]}
        assert len(colours) == min(3, len(names))  # communities differ
        for number in list(names)[:3]:
            label = f"{number} \u00b7 {names[number]}"
            assert page.inner_text(f"#legend [data-class='{number}'] .graph-class") == label
            row = page.locator("#graph-table tbody tr").filter(has_text=label).first
            swatch = row.locator(".graph-swatch")
            in_table = swatch.evaluate("element => getComputedStyle(element).backgroundColor")
            assert background(page, f"#legend [data-class='{number}'] .graph-swatch") == in_table
            key = row.get_attribute("data-key")
            assert view["nodes"]["community"][view["nodes"]["key"].index(key)] == number
            row.locator("button").click()
            expect(page.locator("#node-panel .graph-facts")).to_contain_text(label)
    with open_page(browser, f"{documentation.url}graph?nodes=20&colour=community") as page:
        ready(page)  # fewer nodes, and the same names
        for each in page.locator("#legend .graph-class").all_inner_texts():
            number, _, name = each.partition(" \u00b7 ")
            assert names[int(number)] == name


def test_a_host_filters_the_pages(browser: Browser, neighbours: AppServer) -> None:
    with open_page(browser, f"{neighbours.url}graph") as page:
        ready(page)
        expect(page.locator("#host")).to_be_hidden()  # of hosts there is nothing to filter
        page.select_option("#level", "pages")
        page.wait_for_selector("#graph[data-level=pages][data-state=ready]")
        everything = count(page)
        host = page.locator("#graph-table tbody tr td:nth-of-type(4)").first.inner_text()
        page.fill("#host", host)
        page.wait_for_selector("#host-options li")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        until(lambda: count(page) == 2)
        assert query(page)["host"] == [host]
        page.fill("#host", "")
        page.press("#host", "Enter")
        until(lambda: count(page) == everything)
        page.fill("#host", "nowhere.example")
        page.press("#host", "Enter")
        expect(page.locator("#graph-status")).to_contain_text("nowhere.example")


def test_suggestions_close_by_escape_choice_and_elsewhere(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=40") as page:
        ready(page)
        options = page.locator("#focus-options")

        def suggest() -> None:
            page.fill("#focus", "")
            page.fill("#focus", "Glossary")
            expect(options.locator("li").first).to_be_visible()

        suggest()
        page.keyboard.press("Escape")
        expect(options).to_be_hidden()
        suggest()
        page.mouse.click(*middle_of(page, ".graph-canvas"))
        expect(options).to_be_hidden()
        suggest()
        page.keyboard.press("Tab")
        expect(options).to_be_hidden()
        suggest()
        page.press("#focus", "Enter")
        expect(page.locator("#node-panel h2")).to_have_text("Glossary")
        expect(options).to_be_hidden()


def middle_of(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_graph_first(browser: Browser, documentation: AppServer, scheme: str) -> None:
    url = f"{documentation.url}graph?nodes=40&colour=community"
    with open_page(browser, url, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        ready(page)
        tops = [middle_of(page, part)[1] for part in ("#graph", "#legend", "#graph-form")]
        assert tops == sorted(tops)
        assert tops[0] < 400
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        choose(page, 1)
        opaque = "element => !/rgba|\\//.test(getComputedStyle(element).backgroundColor)"
        assert page.eval_on_selector("#node-panel", opaque)
        assert accessibility_faults(page) == []


def test_the_view_is_saved_as_files(browser: Browser, documentation: AppServer, tmp_path: Path) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=50") as page:
        ready(page)
        choose(page, 1)
        page.click("#expand")
        page.wait_for_selector("#expand[disabled]")
        state = ready(page)
        nodes, edges = int(state["nodes"]), int(state["edges"])
        files = {}
        for form in ("png", "svg", "gexf"):
            with page.expect_download() as download:
                page.click(f"#save-{form}")
            files[form] = tmp_path / download.value.suggested_filename
            download.value.save_as(files[form])
    assert files["png"].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    drawing = etree.parse(files["svg"]).getroot()
    names = [etree.QName(element).localname for element in drawing.iter()]
    assert (names.count("circle"), names.count("line")) == (nodes, edges)
    assert names.count("text") > 5
    graph = nx.read_gexf(files["gexf"])
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (nodes, edges)
    assert all(attributes["score"] >= 0 and attributes["host"] for _, attributes in graph.nodes(data=True))


def test_the_explorer_works_by_keyboard(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=40") as page:
        before = count(page)
        page.focus(".graph-canvas")
        page.keyboard.press("n")
        page.wait_for_selector("#node-panel h2")
        first = ready(page)["selected"]
        assert page.get_attribute("#graph-table tbody tr[aria-current]", "data-key") == first
        page.keyboard.press("Enter")
        until(lambda: count(page) > before)
        page.keyboard.press("n")
        until(lambda: ready(page)["selected"] != first)
        page.keyboard.press("Escape")
        page.wait_for_selector("#graph[data-selected=''][data-state=ready]")
        page.keyboard.press("f")
        until(lambda: "z" not in query(page))
        page.keyboard.press("+")
        until(lambda: float(query(page).get("z", ["1"])[0]) < 1)


# After two drawn frames, because the explorer finds the element under the pointer while it draws.
TIP_TEXT = """() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const tip = document.querySelector(".graph-tip");
    resolve(tip.hidden ? "" : tip.innerText);
})))"""


def test_pointing_at_a_link_shows_its_weight(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=30") as page:
        ready(page)
        choose(page, 1)
        box = page.locator(".graph-canvas").bounding_box()
        assert box
        across, along = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        steps = itertools.count()

        def next_tip() -> str:  # around the centred node, where its links start; the camera may still be moving
            angle = math.tau * next(steps) / 120
            page.mouse.move(across + 60 * math.cos(angle), along + 60 * math.sin(angle))
            return str(page.evaluate(TIP_TEXT))

        until(lambda: re.fullmatch(r".+ \u2192 .+: [\d,]+ links?", next_tip()), "the tip of a link", pause=0.0)


def test_the_panel_shows_link_weights(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=100") as page:
        ready(page)
        choose(page, 1)
        assert re.search(r"\u00d7\d", page.inner_text("#node-panel"))  # the multiplication sign
        name = page.inner_text("#node-panel .graph-link >> nth=0")
        page.click("#node-panel .graph-link >> nth=0")
        expect(page.locator("#node-panel h2")).to_have_text(name)


def test_an_unknown_node_shows_an_error(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?focus=http://nowhere.example/", expected=("404",)) as page:
        page.wait_for_selector("#graph[data-state=error]")
        status = page.inner_text("#graph-status")
        assert "nowhere.example" in status
        assert page.inner_text(".graph-notice") == status


def test_hostile_names_from_the_web_are_shown_as_text(browser: Browser, neighbours: AppServer) -> None:
    with open_page(browser, f"{neighbours.url}graph?level=pages") as page:
        ready(page)
        choose(page, 1)
        assert "<script>alert(1)</script>" in page.inner_text("#graph-table")
        assert "\u202e" not in page.inner_text("main")
        assert page.locator("main script, main img[src=x]").count() == 0


def test_a_browser_without_webgl_gets_the_list(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}hosts") as page:
        page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        page.goto(f"{documentation.url}graph")
        page.wait_for_selector("#graph[data-state=error]")
        assert "WebGL" in page.inner_text("#graph-status")
        assert page.locator("#graph-table tbody tr").count() >= 50


def test_the_explorer_of_a_big_web_is_accessible_and_fits(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}graph?nodes=40") as page:
        ready(page)
        choose(page, 2)
        check_appearances(page)
