"""The search box for other sites in a real browser: on a page of an allowed origin, and of one that is not allowed."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from helpers.docs.walkthrough import blocks
from helpers.web.browser import MANIFEST, ROOT, SCHEMES, check_appearances, open_page
from helpers.web.served_app import App, served_app, site
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Request

HOW_TO = ROOT / "docs/how-to/search-box-for-your-site.md"
MAX_SCRIPT_BYTES = 15_000  # compressed by gzip
# What a careful site allows, and no more: no styles, no evaluation, no HTML from texts.
POLICY = (
    "default-src 'none'; script-src {server}; connect-src {server}; img-src data:; base-uri 'none';"
    " require-trusted-types-for 'script'"
)
GERMAN = (
    'data-lang="de" data-text-button="Suchen" data-text-placeholder="Worte" data-text-title="Auf dieser Seite suchen"'
    ' data-text-results="Treffer: {count}" data-text-none="Nichts mit {query}" data-text-all="Alle Treffer"'
    ' data-text-close="Zu"'
)


def handbook(server: str, attributes: str = "") -> SiteResponse:
    """Return a page of another site with the search box."""
    return SiteResponse(
        '<!doctype html><html lang="en"><head><title>Handbook</title><link rel="icon" href="data:,">'
        '<meta name="viewport" content="width=device-width"></head><body><main><h1>Handbook</h1>'
        f'<p>A page with its own search.</p><script src="{server}widget.js" defer {attributes}></script></main></body>',
        headers={
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": POLICY.format(server=server.rstrip("/")),
        },
    )


class Sites:
    """The web app, a site whose origin it allows, and one that it does not."""

    def __init__(self, app: App, allowed: SiteServer, refused: SiteServer) -> None:
        self.app, self.allowed, self.refused = app, allowed, refused


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with SiteServer({}) as allowed, SiteServer({}) as refused:
        origin = allowed.url.rstrip("/")
        with served_app(tmp_path_factory.mktemp("widget"), site(), "--origin", origin) as app:
            for server in (allowed, refused):
                server.pages["/"] = handbook(app.url)
            allowed.pages["/german"] = handbook(app.url, GERMAN)
            allowed.pages["/narrow"] = handbook(app.url, f'data-site="{app.web.split("//")[1].rstrip("/")}/silk"')
            yield Sites(app, allowed, refused)


def type_query(page: Page, text: str) -> None:
    """Open the dialog with its key, and type."""
    page.wait_for_selector(".gossamer-search button.open")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type(text, delay=20)


def test_the_keyboard_alone_finds_and_opens_a_page(browser: Browser, sites: Sites) -> None:
    icon = ("404",)  # that the opened page lacks
    with open_page(browser, sites.allowed.url, others=(sites.app.url, sites.app.web), expected=icon) as page:
        type_query(page, "gossa")
        options = page.get_by_role("option")
        expect(options).to_have_count(8)
        expect(options.first).to_have_attribute("aria-selected", "true")
        assert page.locator(".gossamer-search mark").count() > 0
        page.keyboard.press("ArrowDown")
        expect(options.nth(1)).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("combobox")).to_have_attribute("aria-activedescendant", "page-1")
        chosen = options.nth(1).get_attribute("href")
        assert chosen
        page.keyboard.press("Enter")
        page.wait_for_url(chosen)


def test_a_pause_in_typing_sends_one_request(browser: Browser, sites: Sites) -> None:
    with open_page(browser, sites.allowed.url, others=(sites.app.url,)) as page:
        requests: list[Request] = []
        page.on("request", lambda request: requests.append(request) if "/api/" in request.url else None)
        type_query(page, "spiral")
        expect(page.get_by_role("option").first).to_contain_text("The spiral")
        assert len(requests) < len("spiral")
        assert "q=spiral" in requests[-1].url
        for request in requests[:-1]:  # each was dropped for a newer one, or answered before the next key
            assert request.failure in {None, "net::ERR_ABORTED"}


def test_a_typing_error_still_finds_the_page(browser: Browser, sites: Sites) -> None:
    with open_page(browser, sites.allowed.url, others=(sites.app.url,)) as page:
        type_query(page, "spirla")
        expect(page.get_by_role("option").first).to_contain_text("The spiral")


def test_a_page_of_another_origin_gets_no_answer(browser: Browser, sites: Sites) -> None:
    refused = ("CORS policy", "ERR_FAILED")
    with open_page(browser, sites.refused.url, others=(sites.app.url,), expected=refused) as page:
        type_query(page, "gossamer")
        expect(page.locator(".gossamer-search [role=status]")).to_contain_text("does not answer")
        assert page.get_by_role("option").count() == 0


def test_texts_are_replaced_and_nothing_found_is_said(browser: Browser, sites: Sites) -> None:
    with open_page(browser, f"{sites.allowed.url}german", others=(sites.app.url,)) as page:
        expect(page.get_by_role("button", name="Suchen")).to_be_visible()
        page.get_by_role("button", name="Suchen").click()
        assert page.get_by_role("combobox", name="Auf dieser Seite suchen").get_attribute("placeholder") == "Worte"
        page.keyboard.type("zzzzqqqq")
        expect(page.locator(".gossamer-search [role=status]")).to_have_text("Nichts mit zzzzqqqq")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        assert page.locator(".gossamer-search").get_attribute("lang") == "de"


def test_the_scripts_of_the_documentation_work(browser: Browser, sites: Sites) -> None:
    examples = [block.text for block in blocks(HOW_TO) if block.language == "html"]
    names = ["Search", "Suchen"]
    for example, name in zip(examples, names, strict=True):
        script = example.replace("https://search.example/", sites.app.url)
        sites.allowed.pages["/documented"] = handbook(sites.app.url)._replace(
            body=f'<!doctype html><html lang="en"><title>Handbook</title><link rel="icon" href="data:,">{script}'
        )
        with open_page(browser, f"{sites.allowed.url}documented", others=(sites.app.url,)) as page:
            page.get_by_role("button", name=name).click()
            page.keyboard.type("silk")
            expect(page.get_by_role("option").first).to_contain_text("The silk")


def test_a_site_narrows_the_search(browser: Browser, sites: Sites) -> None:
    with open_page(browser, f"{sites.allowed.url}narrow", others=(sites.app.url,)) as page:
        type_query(page, "gossamer")
        expect(page.get_by_role("option")).to_have_count(1)
        expect(page.get_by_role("option")).to_contain_text("The silk")


def test_the_search_box_is_accessible(browser: Browser, sites: Sites) -> None:
    with open_page(browser, sites.allowed.url, others=(sites.app.url,)) as page:
        type_query(page, "silk")
        expect(page.get_by_role("option").first).to_be_visible()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            expect(page.locator(".gossamer-search")).to_have_attribute("data-theme", scheme)
        check_appearances(page)


def test_the_page_decides_about_dark_mode(browser: Browser, sites: Sites) -> None:
    with open_page(browser, sites.allowed.url, others=(sites.app.url,), color_scheme="light") as page:
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        expect(page.locator(".gossamer-search")).to_have_attribute("data-theme", "dark")


def test_the_script_is_small_and_any_site_may_load_it(sites: Sites) -> None:
    script = MANIFEST.parents[1] / "widget.js"
    assert len(gzip.compress(script.read_bytes())) <= MAX_SCRIPT_BYTES
    response = sites.app.get("widget.js")
    assert response.content == script.read_bytes()
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "max-age=3600" in response.headers["cache-control"]
    again = sites.app.get("widget.js", headers={"If-None-Match": response.headers["etag"]})
    assert again.status_code == 304


def test_only_allowed_origins_may_read_answers(sites: Sites) -> None:
    allowed, refused = (server.url.rstrip("/") for server in (sites.allowed, sites.refused))
    for path in ("api/search?q=silk", "api/complete?q=silk", "api/search?q=silk&facets=true"):
        response = sites.app.get(path, headers={"Origin": allowed})
        assert response.headers["access-control-allow-origin"] == allowed
        assert "origin" in response.headers["vary"].lower()
        for origin in (refused, f"{allowed}0", "null", allowed.upper()):
            assert "access-control-allow-origin" not in sites.app.get(path, headers={"Origin": origin}).headers
    for path in ("api/status", "api/page?url=x", ""):
        assert "access-control-allow-origin" not in sites.app.get(path, headers={"Origin": allowed}).headers


def test_a_preflight_is_answered_for_allowed_origins_only(sites: Sites) -> None:
    allowed, refused = (server.url.rstrip("/") for server in (sites.allowed, sites.refused))

    def preflight(path: str, origin: str) -> int:
        headers = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        return sites.app.client.options(path, headers=headers).status_code

    assert preflight("api/complete", allowed) == 204
    assert preflight("api/search", allowed) == 204
    assert preflight("api/complete", refused) == 403
    assert preflight("api/status", allowed) == 405
