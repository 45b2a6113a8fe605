"""Every page and state of the web app in a real browser: it fits, and axe-core finds no fault of any impact."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest
from fastapi.routing import APIRoute
from playwright.sync_api import expect

from gossamer.web.app import ROUTERS
from helpers.cli.commands import FAST, crawl
from helpers.web.browser import TOKEN, AppServer, accessibility_faults, check_appearances, open_page
from helpers.web.served_app import App, page, served_app, site
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

# Paths that answer with something else than a page of the app.
NO_PAGES = {"/healthz", "/metrics", "/opensearch.xml", "/search.atom", "/source/raw", "/widget.js", "/word"}
UNVISITED = "http://elsewhere.example/page"
SQL = "sql?q=SELECT+url,+outcome,+depth,+NULL+FROM+resources"


class Apps(NamedTuple):
    """The web app of a crawled and ranked web, and one of a web without an index."""

    full: App
    without_index: AppServer


class View(NamedTuple):
    """A page or a state of it."""

    path: str
    prepare: Callable[[Page], object] = lambda _: None  # leads to the state, and waits for it
    with_token: bool = False
    expected: tuple[str, ...] = ()  # on the console


def press_run(page: Page) -> None:
    page.click("button:text-is('Run')")


def run_answer(page: Page) -> None:
    press_run(page)
    page.wait_for_selector("#answer")


def run_fault(page: Page) -> None:
    page.fill("#sql", "DROP TABLE hosts")
    press_run(page)
    page.wait_for_selector("#fault")


def type_text(page: Page) -> None:
    page.fill("#q", "gos")
    page.wait_for_selector("#completions li .page-title")


def wait_for_graph(page: Page) -> None:
    page.wait_for_selector("#graph[data-state=ready]")


def choose_node(page: Page) -> None:
    wait_for_graph(page)
    page.click("#graph-table tbody tr:nth-child(2) button")
    page.wait_for_selector("#node-panel h2")


def suggest_nodes(page: Page) -> None:
    wait_for_graph(page)
    page.fill("#focus", "silk")
    page.wait_for_selector("#focus-options li")


def shows(selector: str) -> Callable[[Page], object]:
    """Return a step that waits for an element, so that the view is the state of its name."""
    return lambda page: page.wait_for_selector(selector)


def try_request(page: Page) -> None:
    section = page.locator("section.call", has=page.locator("code", has_text="GET /api/search")).first
    section.locator("summary").click()
    section.locator("input[name=q]").fill("silk")
    section.locator("button").click()
    section.locator("output pre").wait_for()


def open_facet(page: Page) -> None:
    page.click(".facet summary:has-text('position')")
    page.wait_for_selector(".facet[open] a")


VIEWS = {
    "home": View(""),
    "typing": View("", type_text),
    "results": View("search?q=gossamer", shows("#pages")),
    "results explained": View("search?q=silk&explain=true", shows(".explain")),
    "results without hits": View("search?q=zzzzqqqq", shows(".help")),
    "results filtered": View("search?q=gossamer&type=text/plain", shows("#facets a[aria-current=true]")),
    "results with notes": View("search?q=gosamer+silk+after:banana", shows(".note ~ #suggestion, #suggestion ~ .note")),
    "page": View("page?url={web}silk", shows("a.near img")),
    "page not visited": View(f"page?url={UNVISITED}"),
    "page gone": View("page?url={web}missing"),
    "tab text": View("page?url={web}silk&tab=text", shows(".tabs [aria-current]:text-is('Text')")),
    "tab links": View("page?url={web}silk&tab=links", shows("#inlinks")),
    "tab visits": View("page?url={web}silk&tab=visits", shows(".tabs [aria-current]:text-is('Visits')")),
    "tab source": View("page?url={web}silk&tab=source", shows("iframe")),
    "source": View("source?url={web}"),
    "word": View("word/gossamer"),
    "word missing": View("word/zzzzqqqq"),
    "explorer, pages": View("graph?level=pages", wait_for_graph),
    "explorer, hosts": View("graph?level=hosts", wait_for_graph),
    "explorer, communities": View("graph?level=pages&colour=community", wait_for_graph),
    "explorer, node": View("graph?level=pages", choose_node),
    "explorer, suggestions": View("graph?level=pages", suggest_nodes),
    "explorer, fault": View(
        "graph?focus=http://nowhere.example/", shows("#graph[data-state=error]"), expected=("404",)
    ),
    "hosts": View("hosts"),
    "hosts, all": View("hosts?all=true"),
    "errors": View("errors"),
    "overview": View("reports", shows("table.findings")),
    "report": View("reports/broken", shows("#rows tbody tr")),
    "report, facet open": View("reports/broken", open_facet),
    "report filtered": View("reports/broken?filter=missing&facet=status:404", shows(".chips a")),
    "report without rows": View("reports/broken?filter=nothing-has-this"),
    "report grouped": View("reports/broken?group=url", shows("#rows tbody tr")),
    "report of one URL": View("reports/inlinks?url={web}silk", shows("#rows tbody tr")),
    "report, second page": View("reports/most-linked?limit=10&page=2", shows(".pages")),
    "report of depths": View("reports/depth", shows("#rows tbody tr")),
    "dashboard": View("crawl", shows("#charts[data-state]")),
    "dashboard with token": View("crawl", shows("form[action='/control/crawlers']"), with_token=True),
    "control": View("control", shows("#token")),
    "sql": View("sql"),
    "sql, answer": View(SQL, run_answer, with_token=True),
    "sql, fault": View("sql", run_fault, with_token=True, expected=("400 (Bad Request)",)),
    "api": View("api", shows("section.call")),
    "api, tried": View("api", try_request, with_token=True),
    "not found": View("nothing-here", expected=("404",)),
    "page not known": View("page?url=http://unknown.example/", expected=("404",)),
    "refused": View("control?token=wrong", expected=("401",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apps]:
    """Serve a web of two hosts with faults, and a web without an index."""
    with ExitStack() as stack:
        other = stack.enter_context(SiteServer({"/": page("Other", "Another site."), "/p": page("P", "Its page.")}))
        pages = site()
        links = (("/", "home"), (other.url, "other"), (UNVISITED, "elsewhere"), ("/lost", "lost"))
        pages["/more"] = page("More", "More of gossamer.", *links)
        start = pages["/"]
        assert isinstance(start, str)
        pages["/"] = start + '<footer><a href="/more">more</a> <a href="/lost">lost</a></footer>'
        pages["/lost"] = SiteResponse("<title>Gone</title>", 410)
        full = stack.enter_context(served_app(tmp_path_factory.mktemp("seen"), pages, seeds=(other.url,)))
        store = tmp_path_factory.mktemp("unindexed")
        crawl(other.url, store, "--no-index", *FAST)
        without_index = stack.enter_context(AppServer(store))
        yield Apps(full, without_index)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_fits_and_has_no_fault_in_light_and_dark_mode(apps: Apps, browser: Browser, name: str) -> None:
    view, app = VIEWS[name], apps.full
    url = app.url + view.path.format(web=app.web)
    start = f"{app.url}control?token={TOKEN}" if view.with_token else url
    with open_page(browser, start, expected=view.expected) as page:
        if view.with_token:
            page.goto(url)
        view.prepare(page)
        check_appearances(page)


def test_every_page_of_the_app_has_a_view() -> None:
    paths = {f"/{view.path.partition('?')[0]}" for view in VIEWS.values()}
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    shown = [route for route in routes if "GET" in (route.methods or ()) and not route.path.startswith("/api/")]
    unseen = {route.path for route in shown if not any(route.path_regex.match(path) for path in paths)}
    assert unseen == NO_PAGES


def test_faults_of_any_impact_count(apps: Apps, browser: Browser) -> None:
    with open_page(browser, f"{apps.full.url}hosts") as page:
        page.evaluate("document.querySelector('main').innerHTML = '<h1>One</h1><h4>Far below</h4><h2></h2>'")
        assert {fault.partition(":")[0] for fault in accessibility_faults(page)} == {"heading-order", "empty-heading"}


def test_a_web_without_an_index_says_so_on_an_accessible_page(apps: Apps, browser: Browser) -> None:
    with open_page(browser, f"{apps.without_index.url}search?q=silk", expected=("503",)) as page:
        expect(page.locator("h1")).to_have_text("There is nothing to search yet")
        check_appearances(page)
