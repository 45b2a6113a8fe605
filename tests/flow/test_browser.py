"""Search and reports in a real browser, as people use them; these tests take the pictures of the README."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helpers.patience import until
from helpers.web.browser import open_page, save_picture
from helpers.web.demo_app import demo_app
from helpers.web.served_app import App, served_app, site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with served_app(tmp_path_factory.mktemp("seen"), site()) as served:
        yield served


def search_for(page: Page, words: str) -> None:
    page.fill("#q", words)
    page.press("#q", "Enter")
    page.wait_for_selector("#hits, .help")


def test_people_search_page_through_results_and_open_one(app: App, browser: Browser) -> None:
    with open_page(browser, app.url) as page:
        search_for(page, "gossamer")
        assert "14 pages" in page.inner_text(".sum")
        first = page.locator(".hit-title").all_inner_texts()
        page.click("#pages a[rel=next]")
        second = page.locator(".hit-title").all_inner_texts()
        assert len(first) == 10
        assert len(second) == 4
        assert not {*first} & {*second}
        page.go_back()
        assert page.locator(".hit-title").all_inner_texts() == first
        search_for(page, "intitle:silk gossamer")
        assert page.locator(".hit mark").count() > 1
        page.locator(".hit-more a").first.click()
        assert page.inner_text("h1") == "The silk"
        page.click("text=Stored source")
        assert page.frame_locator("iframe").locator("h1").inner_text() == "The silk"


def test_a_page_shows_its_neighbours_and_links_to_the_graph(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}page?url={app.web}silk") as page:
        image = page.locator("a.near img")
        image.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('a.near img').naturalWidth > 0")
        image.click()
        page.wait_for_url("**/graph?level=pages&focus=*")


@pytest.mark.parametrize(("scheme", "paper"), [("light", "ffffff"), ("dark", "14171b")])
def test_the_small_graph_of_a_page_follows_the_theme(app: App, browser: Browser, scheme: str, paper: str) -> None:
    with open_page(browser, f"{app.url}page?url={app.web}silk", color_scheme=scheme) as page:
        image = page.locator("a.near img")
        image.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('a.near img').naturalWidth > 0")
        drawing = app.get(image.evaluate("image => image.currentSrc")).text
        assert f'fill="#{paper}"' in drawing
        assert 'font-size="12"' in drawing
        assert image.evaluate("image => image.clientWidth") >= 600  # so that its letters have their size


def test_a_spelling_suggestion_corrects_the_query(app: App, browser: Browser) -> None:
    with open_page(browser, app.url) as page:
        search_for(page, "gosamer")
        page.click("#suggestion a")
        assert page.input_value("#q") == "gossamer"
        assert "14 pages" in page.inner_text(".sum")


def test_a_completion_is_chosen_with_the_keyboard(app: App, browser: Browser) -> None:
    with open_page(browser, app.url) as page:
        page.focus("#q")
        page.keyboard.type("goss", delay=30)
        page.wait_for_selector("#completions li:visible b:text-is('amer')")  # the completion of all four letters
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("#hits")
        assert page.input_value("#q") == "gossamer"


def test_a_late_completion_does_not_replace_the_selected_one(app: App, browser: Browser) -> None:
    with open_page(browser, app.url) as page:
        held_routes: list[Route] = []
        page.route("**/api/complete?q=goss&*", lambda route: held_routes.append(route))  # noqa: PLW0108 - playwright marks its handlers
        page.focus("#q")
        page.keyboard.type("gos")
        page.wait_for_selector("#completions li:visible b:text-is('samer')")
        with page.expect_request("**/api/complete?q=goss&*"):
            page.keyboard.type("s")
        page.keyboard.press("ArrowDown")
        page.wait_for_selector("#completions li[aria-selected=true]")
        for late in held_routes:
            late.continue_()
        page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
        page.keyboard.press("Enter")
        page.wait_for_selector("#hits")
        assert page.input_value("#q") == "gossamer"


def test_filters_narrow_the_results_and_can_be_removed(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}search?q=gossamer") as page:
        page.click("#facets a:has-text('Text')")
        assert page.locator(".hit").count() == 1
        assert page.locator(".hit-url").inner_text().endswith("notes.txt")
        page.click("#facets a[aria-current=true]")
        assert "14 pages" in page.inner_text(".sum")


def test_an_empty_result_shows_help_and_scores_are_explained(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}search?q=zzzzqqqq") as page:
        assert page.locator(".help li").count() >= 3
        search_for(page, "silk")
        page.click("text=Explain scores")
        rows = page.locator(".explain").first.locator("tbody tr").count()
        assert rows >= 5


def test_a_click_on_a_column_sorts_the_report(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}reports") as page:
        page.click("a:text-is('most-linked')")
        page.wait_for_selector("#rows thead th")  # because all_inner_texts() below does not wait
        column = page.locator("#rows thead th").all_inner_texts().index("url")
        for order in ("ascending", "descending"):
            page.locator("#rows thead th").nth(column).locator("a, button").first.click()
            page.wait_for_selector(f"th[aria-sort={order}]")
            shown = page.locator(f"#rows tbody tr > td:nth-child({column + 1})").all_inner_texts()
            assert shown == sorted(shown, reverse=order == "descending")
        with page.expect_download() as download:
            page.click("text=CSV")
        assert (
            Path(download.value.path()).read_text("utf-8-sig").splitlines()[0].startswith(("url", "target", "inlinks"))
        )


def test_the_app_works_without_scripts_except_explorer_and_charts(app: App, browser: Browser) -> None:
    with open_page(browser, app.url, java_script_enabled=False) as page:
        search_without_scripts(page, "silk")
        assert page.locator(".hit").count() == 3  # its own page, the one before it, the home page
        page.goto(f"{app.url}reports/most-linked")
        page.click("#rows thead th a >> nth=0")
        assert page.locator("th[aria-sort]").count() == 1
        page.goto(f"{app.url}graph?level=pages")
        assert page.locator("#graph-table tbody tr").count() == 14


def search_without_scripts(page: Page, words: str) -> None:
    page.fill("#q", words)
    page.click("button:has-text('Search')")
    page.wait_for_selector("#hits")


@pytest.mark.full
def test_the_demo_web_opens_for_the_pictures_of_the_documentation(browser: Browser, tmp_path: Path) -> None:
    size = {"width": 1200, "height": 760}
    with demo_app(tmp_path / "demo") as app:
        question = "search?q=read+lines+from+a+file"
        until(lambda: not app.get("/api/reports").json()["counting"])  # so that its picture has all numbers
        for name, path, scheme in (
            ("search", question, "light"),
            ("search-dark", question, "dark"),
            ("page", f"page?url={app.web}pathlib.html", "light"),
            ("reports", "reports", "light"),
        ):
            with open_page(browser, app.url + path, color_scheme=scheme, viewport=size) as page:
                assert page.inner_text("h1")
                save_picture(page, name)
