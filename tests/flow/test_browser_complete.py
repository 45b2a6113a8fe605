"""Small scripts that need no build: completion in the search box, tables sorted by their headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from helpers.web.browser import AppServer, accessibility_faults, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def shown_completions(page: Page) -> list[str]:
    page.wait_for_selector("#completions li")
    return page.locator("#completions li").all_inner_texts()


def test_a_completion_is_chosen_with_the_keyboard(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, documentation.url) as page:
        page.fill("#q", "asyn")
        completions = shown_completions(page)
        assert completions
        assert all(completion.startswith("asyn") for completion in completions)
        assert page.get_attribute("#q", "aria-expanded") == "true"
        page.press("#q", "ArrowDown")
        assert page.get_attribute("#q", "aria-activedescendant") == "completions-0"
        expect(page.locator("#completions-0")).to_have_attribute("aria-selected", "true")
        assert accessibility_faults(page) == []
        page.press("#q", "Enter")
        page.wait_for_url("**/search?*")
        assert page.input_value("#q") == completions[0]


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


def test_a_click_on_a_table_header_sorts_without_a_request(browser: Browser, documentation: AppServer) -> None:
    with open_page(browser, f"{documentation.url}reports/depth") as page:
        numbers = page.locator("#rows tbody td[data-v]:first-child")
        head = page.locator("#rows thead th >> nth=0")
        request_types: list[str] = []
        page.on("request", lambda request: request_types.append(request.resource_type))
        for order, backwards in (("ascending", False), ("descending", True)):
            head.locator("a").click()
            expect(head).to_have_attribute("aria-sort", order)
            values = [float(cell.get_attribute("data-v") or 0) for cell in numbers.all()]
            assert values == sorted(values, reverse=backwards)
            assert len(set(values)) > 1
        assert set(request_types) <= {"other", "image"}  # Chromium requests the page's icon again
