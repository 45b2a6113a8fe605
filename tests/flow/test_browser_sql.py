"""SQL, the tabs of a page and the forms of the API page in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from helpers.web.browser import LOOKS, TOKEN, Look, in_every_look, open_page
from helpers.web.served_app import App, served_app, site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with served_app(tmp_path_factory.mktemp("seen"), site()) as served:
        yield served


def test_an_example_is_chosen_and_run(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}control?token={TOKEN}") as page:
        page.goto(f"{app.url}sql")
        page.click("text=Pages by state")
        page.click("button:text-is('Run')")
        cells = page.locator("#answer tbody tr").first.locator("td").all_inner_texts()
        assert cells == ["visited", "14"]
        assert "GROUP BY state" in page.input_value("#sql")


def test_without_the_token_there_is_nothing_to_press(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}sql") as page:
        assert page.locator(".statement button").count() == 0
        assert "enter the token" in page.inner_text(".statement")


@in_every_look
def test_long_answers_are_cut_and_faults_are_shown(app: App, browser: Browser, look: Look) -> None:
    refused = ("400 (Bad Request)",)
    with open_page(browser, f"{app.url}control?token={TOKEN}", expected=refused, **look) as page:
        page.goto(f"{app.url}sql")
        page.fill("#sql", NUMBERS)
        page.click("button:text-is('Run')")
        assert "the first 200" in page.inner_text("section h2 >> nth=0")
        assert page.locator("#answer tbody tr").count() == 200
        page.fill("#sql", "DROP TABLE hosts")
        page.click("button:text-is('Run')")
        assert "Only statements that read" in page.inner_text("#fault")
        assert page.input_value("#sql") == "DROP TABLE hosts"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
GREEDY = "SELECT length(zeroblob(900000000) || 'x')"


@pytest.mark.parametrize(
    ("statement", "sentence", "look"),
    [
        *(
            pytest.param(ENDLESS, "longer than 10 s", look, marks=[] if number == 0 else pytest.mark.full)
            for number, look in enumerate(LOOKS.values())  # each waits for ten seconds
        ),
        *((GREEDY, "too much memory", look) for look in LOOKS.values()),
    ],
)
def test_limits_of_time_and_memory_are_named_on_the_page(
    app: App, browser: Browser, statement: str, sentence: str, look: Look
) -> None:
    expected = ("400 (Bad Request)",)
    with open_page(browser, f"{app.url}control?token={TOKEN}", expected=expected, **look) as page:
        page.goto(f"{app.url}sql")
        expect(page.locator("main > p").first).to_contain_text("10 seconds and 256 MiB of memory")
        page.fill("#sql", statement)
        page.click("button:text-is('Run')")
        expect(page.locator("#fault")).to_contain_text(sentence)
        assert page.input_value("#sql") == statement
        page.fill("#sql", "SELECT 41 + 1")  # the next statement runs
        page.click("button:text-is('Run')")
        expect(page.locator("#answer tbody td")).to_have_text("42")


@in_every_look
def test_the_tabs_of_a_page_lead_to_its_parts(app: App, browser: Browser, look: Look) -> None:
    with open_page(browser, f"{app.url}page?url={app.web}silk", **look) as page:
        page.wait_for_selector("a.near img")
        tops = page.eval_on_selector_all(".tabs a", "tabs => tabs.map(tab => tab.getBoundingClientRect().top)")
        assert len({*tops}) == 1  # on one line
        for name, part in (("Text", ".text"), ("Links", "#inlinks"), ("Visits", "h2"), ("Stored source", "iframe")):
            page.click(f".tabs a:text-is('{name}')")
            page.wait_for_selector(part)
            assert page.inner_text(".tabs [aria-current]") == name
        assert page.frame_locator("iframe").locator("h1").inner_text() == "The silk"


def test_a_request_is_tried_on_the_api_page(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}control?token={TOKEN}") as page:
        page.goto(f"{app.url}api")
        section = page.locator("section.call", has=page.locator("code", has_text="GET /api/search")).first
        section.locator("summary").click()
        section.locator("input[name=q]").fill("silk")
        section.locator("button").click()
        section.locator("output pre").wait_for()
        assert "200" in section.locator("output p").inner_text()
        assert '"title": "The silk"' in section.locator("output pre").inner_text()


def test_a_call_with_a_body_is_tried_on_the_api_page(app: App, browser: Browser) -> None:
    with open_page(browser, f"{app.url}control?token={TOKEN}") as page:
        page.goto(f"{app.url}api")
        section = page.locator("section.call", has=page.locator("code", has_text="POST /api/sql")).first
        section.locator("summary").click()
        section.locator("textarea").fill('{"sql": "SELECT 41 + 1 AS answer"}')
        section.locator("button").click()
        section.locator("output pre").wait_for()
        assert "42" in section.locator("output pre").inner_text()
