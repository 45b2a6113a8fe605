"""Small scripts that need no build: completion in the search box, tables sorted by their headers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.request import urlopen

from playwright.sync_api import expect

from helpers.patience import until
from helpers.web.browser import (
    AppServer,
    Look,
    accessibility_faults,
    check_appearances,
    in_every_look,
    open_page,
    questions_of,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route


PAUSE_MS = 90  # without a key, before the search box asks


def shown_completions(page: Page) -> list[str]:
    page.wait_for_selector("#completions li")
    return page.locator("#completions li").all_inner_texts()


def test_a_completion_is_chosen_with_the_keyboard(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, documentation.url) as page:
        page.fill("#q", "asyn")
        completions = shown_completions(page)
        words = page.locator("#completions li:not(:has(.page-title))").all_inner_texts()
        assert words
        assert all(word.startswith("asyn") for word in words)
        assert page.get_attribute("#q", "aria-expanded") == "true"
        page.press("#q", "ArrowDown")
        assert page.get_attribute("#q", "aria-activedescendant") == "completions-0"
        expect(page.locator("#completions-0")).to_have_attribute("aria-selected", "true")
        assert accessibility_faults(page) == []
        page.press("#q", "Enter")
        page.wait_for_url("**/search?*")
        assert page.input_value("#q") == completions[0]


def documented_host(documentation: AppServer) -> str:
    """Return the URL of the host that was crawled."""
    with urlopen(f"{documentation.url}api/hosts") as answer:
        return f"http://{json.load(answer)['hosts'][0]['name']}/"


@in_every_look
def test_the_keyboard_alone_finds_and_opens_a_page(browser: Browser, documentation: AppServer, look: Look) -> None:
    with open_page(browser, documentation.url, others=(documented_host(documentation),), **look) as page:
        page.route("**/library/asyncio-queue.html", lambda route: route.fulfill(body="<title>Queues</title>"))
        expect(page.locator("#q")).to_be_focused()  # by itself, when the browser first draws the page
        page.keyboard.type("asyncio que")
        option = page.locator("#completions li:has(.page-title)").first
        expect(option).to_contain_text("Queues")
        for _ in range(page.locator("#completions li:not(:has(.page-title))").count() + 1):
            page.keyboard.press("ArrowDown")
        expect(option).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        page.wait_for_url("**/library/asyncio-queue.html")


def test_a_typing_error_still_finds_words_and_pages(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, documentation.url) as page:
        page.fill("#q", "asnyci")
        expect(page.locator("#completions li").first).to_have_text("asyncio")
        expect(page.locator("#completions .page-title").first).to_contain_text("asyncio")
        check_appearances(page)


def test_each_pause_in_typing_sends_one_request(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, documentation.url) as page:
        page.clock.install()
        page.reload()
        asked = questions_of(page)
        expect(page.locator("#q")).to_be_focused()  # by itself, when the browser first draws the page
        page.clock.pause_at(datetime.now(tz=UTC) + timedelta(minutes=1))
        for key in "asyn":
            page.keyboard.press(key)
            page.clock.run_for(PAUSE_MS - 1)
        assert asked == []
        page.clock.run_for(1)
        page.wait_for_selector("#completions li b:text-is('c')")
        page.press("#q", "Escape")
        page.keyboard.type("ch")
        page.press("#q", "ArrowDown")  # asks at once, and the pause after it not again
        page.wait_for_selector("#completions li b:text-is('ronous')")
        page.clock.run_for(10 * PAUSE_MS)
        assert asked == ["asyn", "asynch"]


def test_a_late_answer_does_not_replace_a_newer_one(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, documentation.url) as page:
        held: list[Route] = []
        page.route("**/api/complete?q=asynch&*", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks its handlers
        # An abort must not be what keeps the late answer away: the page still gets it.
        page.evaluate("() => { const ask = fetch; window.fetch = (url) => ask(url); }")
        expect(page.locator("#q")).to_be_focused()  # by itself, when the browser first draws the page
        page.keyboard.type("asynch")
        until(lambda: page.evaluate("1") and held, "the request to be held")  # the handler runs while this waits
        page.keyboard.press("Control+a")
        page.keyboard.type("genera")
        first = page.locator("#completions li").first
        expect(first).to_contain_text("genera")
        with page.expect_response("**/api/complete?q=asynch&*"):
            held[0].continue_()
        page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
        expect(first).to_contain_text("genera")


def test_an_ignored_filter_and_a_better_word_are_named_above_the_hits(
    browser: Browser, documentation: AppServer
) -> None:
    with open_page(browser, f"{documentation.url}search?q=asnycio+queue+after:banana") as page:
        expect(page.locator(".note")).to_contain_text("after:banana is not a date")
        expect(page.locator("#suggestion a")).to_have_text("asyncio queue after:banana")
        assert page.locator(".hit").count() == 10


def test_a_completion_is_chosen_by_a_click(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, documentation.url) as page:
        page.fill("#q", "genera")
        chosen = shown_completions(page)[0]
        page.click("#completions li >> nth=0")
        page.wait_for_url("**/search?*")
        assert page.input_value("#q") == chosen


def test_escape_closes_the_completions_and_enter_searches_the_typed_text(
    browser: Browser, documentation: AppServer
) -> None:
    with open_page(browser, documentation.url) as page:
        page.fill("#q", "asyn")
        shown_completions(page)
        page.press("#q", "Escape")
        expect(page.locator("#completions")).to_be_hidden()
        assert page.get_attribute("#q", "aria-expanded") == "false"
        page.press("#q", "Enter")
        page.wait_for_url("**/search?q=asyn*")


def test_a_slash_focuses_the_search_box_except_while_typing(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}hosts") as page:
        page.keyboard.press("/")
        expect(page.locator("#q")).to_be_focused()
        page.keyboard.type("a/b")
        assert page.input_value("#q") == "a/b"


def test_a_click_on_a_table_header_sorts_the_rows(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}reports/depth") as page:
        numbers = page.locator("#rows tbody td:first-child")
        head = page.locator("#rows thead th >> nth=0")
        for order, backwards in (("ascending", False), ("descending", True)):
            head.locator("a").click()
            expect(head).to_have_attribute("aria-sort", order)
            values = [int(text) for text in numbers.all_inner_texts()]
            assert values == sorted(values, reverse=backwards)
            assert len(set(values)) > 1
