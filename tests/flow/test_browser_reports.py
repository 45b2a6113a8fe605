"""The overview of reports and their tables in a real browser: counts, facets, groups, pages, CSV; on a phone too."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from helpers.patience import until
from helpers.web.browser import Look, in_every_look, open_page
from helpers.web.served_app import App, page, served_app
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

SOURCES = 130  # pages with the same broken link in their footer; a table page has 100 rows


class TwoHosts(NamedTuple):
    """The web app of two sites, and the second site."""

    app: App
    other: SiteServer


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Serve a site whose template has a broken link."""
    legal = '<footer><a href="/legal">Legal</a></footer>'
    numbers = range(SOURCES)
    pages = {f"/p{n}": page(f"Page {n}", f"Text of page {n}.", ("/", "home")) + legal for n in numbers}
    start = page("Start", "All pages.", *((f"/p{n}", f"page {n}") for n in numbers), ("/lost", "lost"))
    with served_app(tmp_path_factory.mktemp("audited"), {"/": start, **pages}) as served:
        yield served


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHosts]:
    """Serve two sites with broken links of two kinds, and with pages without a title at two depths."""
    untitled = '<!doctype html><html lang="en"><h1>No title</h1><p>Text.</p>'
    with SiteServer({"/": page("Other", "Text.", ("/gone", "gone")) + '<iframe src="/frame-gone"></iframe>'}) as other:
        pages = {
            "/": page("Start", "Text.", ("/near", "near"), ("/gone", "gone")),
            "/near": f'{untitled} One. <a href="/far">far</a>',
            "/far": f"{untitled} Two.",
        }
        with served_app(tmp_path_factory.mktemp("hosts"), pages, seeds=(other.url,)) as served:
            yield TwoHosts(served, other)


def rows(page: Page) -> list[list[str]]:
    page.wait_for_selector("#rows tbody tr")
    return [row.locator("td").all_inner_texts() for row in page.locator("#rows tbody tr").all()]


def column(page: Page, name: str) -> list[str]:
    at = page.locator("#rows thead th").all_inner_texts().index(name)
    return [row[at] for row in rows(page)]


def downloaded(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.click("a:text-is('CSV')")
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8-sig"))))


@in_every_look
def test_the_overview_shows_every_report_with_its_count(app: App, browser: Browser, look: Look) -> None:
    until(lambda: not app.get("/api/reports").json()["counting"])
    with open_page(browser, f"{app.url}reports", **look) as page:
        expected = {each["report"]: each["findings"] for each in app.get("/api/reports").json()["reports"]}
        shown: dict[str, int | None] = {}
        for row in page.locator("table.findings tbody tr").all():
            number = row.locator(".count").inner_text()
            shown[row.locator(".name a").inner_text()] = int(number.replace(",", "")) if number != "\u2013" else None
        lists = page.locator(".names")
        shown |= dict.fromkeys(lists.nth(0).locator("a").all_inner_texts(), 0)  # nothing found
        shown |= dict.fromkeys(lists.nth(1).locator("a").all_inner_texts())  # about one URL
        assert shown == expected
        for name, findings in expected.items():
            if findings is not None:
                table = app.get(f"/api/reports/{name}", params={"limit": 1}).json()
                assert table["total"] == findings, name


def test_the_overview_leads_to_a_report_with_the_same_count(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}reports") as page:
        answer = app.get("/api/reports").json()
        assert page.inner_text("#score") == str(answer["score"])
        table = page.locator("table.findings").first
        assert table.locator("tbody tr").first.inner_text().split()[:3] == [str(SOURCES + 1), "error", "broken"]
        assert page.locator(".names a:text-is('redirect-loops')").count() == 1  # greyed, below
        page.click("table.findings a:text-is('broken')")
        assert page.inner_text("#found") == str(SOURCES + 1)


@in_every_look
def test_a_template_error_is_one_row_that_opens_its_sources(app: App, browser: Browser, look: Look) -> None:
    with open_page(browser, f"{app.url}reports/broken", **look) as page:
        page.select_option("#group", "url")
        page.wait_for_url("**group=url")
        assert [row[:3] for row in rows(page)] == [["/legal", str(SOURCES), str(SOURCES)], ["/lost", "1", "1"]]
        assert [(row["url"], row["rows"]) for row in downloaded(page)] == [
            (f"{app.web}legal", str(SOURCES)), (f"{app.web}lost", "1"),
        ]  # fmt: skip
        page.click(f"#rows a:text-is('{SOURCES}')")
        page.wait_for_url("**member=**")
        assert set(column(page, "url")) == {"/legal"}
        assert len(downloaded(page)) == SOURCES


@in_every_look
def test_facets_and_the_filter_leave_rows_that_the_csv_has_too(app: App, browser: Browser, look: Look) -> None:
    with open_page(browser, f"{app.url}reports/broken", **look) as page:
        page.click(".facet summary:has-text('position')")
        page.click(".facet[open] a:has-text('footer')")
        page.wait_for_url("**facet=position**")
        assert page.inner_text("#found") == str(SOURCES)
        page.fill("#filter", "/p12")
        page.press("#filter", "Enter")
        page.wait_for_url("**filter=**")
        assert sorted(column(page, "source")) == sorted(f"/p{n}" for n in (12, *range(120, 130)))
        page.click("#rows thead a:text-is('source')")
        page.wait_for_selector("th[aria-sort=ascending]")
        page.click("#rows thead a:text-is('source')")
        page.wait_for_selector("th[aria-sort=descending]")
        shown = column(page, "source")
        assert [row["source"] for row in downloaded(page)] == [f"{app.web}{path[1:]}" for path in shown]
        page.click(".chips a:has-text('position')")
        page.wait_for_url(lambda url: "facet" not in url)
        page.click(".chips a:has-text('/p12')")
        page.wait_for_url(re.compile(r"/reports/broken\?sort=source&order=desc$"))
        assert page.inner_text("#found") == str(SOURCES + 1)


def choose_facet(page: Page, name: str, value: str) -> None:
    """Choose a value of a facet."""
    page.click(f".facet summary:has-text('{name}')")
    page.click(f".facet[open] a:has(.value:text-is('{value}'))")
    page.wait_for_url(f"**facet={name}**")


@in_every_look
def test_a_host_a_kind_and_a_depth_are_chosen(two_hosts: TwoHosts, browser: Browser, look: Look) -> None:
    app, other = two_hosts
    with open_page(browser, f"{app.url}reports/broken", **look) as page:
        assert len(rows(page)) == 3
        choose_facet(page, "host", other.authority)
        assert sorted(column(page, "url")) == ["/frame-gone", "/gone"]  # paths, as one host is left
        choose_facet(page, "kind", "frame")
        assert column(page, "url") == ["/frame-gone"]
        assert [row["url"] for row in downloaded(page)] == [f"{other.url}frame-gone"]
        page.click(".chips a:has-text('host')")
        page.wait_for_url(lambda url: "host" not in url)
        assert column(page, "kind") == ["frame"]
        page.goto(f"{app.url}reports/titles-missing")
        assert sorted(column(page, "depth")) == ["1", "2"]
        choose_facet(page, "depth", "2")
        assert column(page, "url") == ["/far"]


def test_rows_have_numbered_pages(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}reports/broken?sort=source") as page:
        first = column(page, "source")
        assert page.locator(".pages a[aria-current]").inner_text() == "1"
        page.click(".pages a:text-is('2')")
        page.wait_for_url("**page=2")
        second = column(page, "source")
        assert (len(first), len(second)) == (100, SOURCES + 1 - 100)
        assert not {*first} & {*second}
        assert len(downloaded(page)) == SOURCES + 1  # all pages


def test_lists_of_facet_values_close_again(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}reports/broken") as page:
        page.click(".facet summary:has-text('position')")
        page.keyboard.press("Escape")
        assert page.locator(".facet[open]").count() == 0
        page.click(".facet summary:has-text('position')")
        page.click("h1")
        assert page.locator(".facet[open]").count() == 0


def test_tables_work_without_scripts(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}reports/broken", java_script_enabled=False) as page:
        page.fill("#filter", "/p129")
        page.select_option("#group", "source")
        page.click("button:text-is('Apply')")
        page.wait_for_url("**group=source**")
        assert [row[:2] for row in rows(page)] == [["/p129", "1"]]
