"""The search box for other sites in a real browser: on a page of an allowed origin, and of one that is not allowed."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from helpers.docs.walkthrough import blocks
from helpers.patience import until
from helpers.web.browser import (
    MANIFEST,
    ROOT,
    SCHEMES,
    Look,
    check_appearances,
    in_every_look,
    open_page,
    questions_of,
)
from helpers.web.served_app import App, served_app, site
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from playwright.sync_api import Browser, Locator, Page, Route

HOW_TO = ROOT / "docs/how-to/search-box-for-your-site.md"
MAX_SCRIPT_BYTES = 15_000  # compressed by gzip
PAUSE_MS = 120  # without a key, before the search box asks
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


def handbook(server: str, attributes: str = "", more: str = "") -> SiteResponse:
    """Return a page of another site with the search box."""
    return SiteResponse(
        '<!doctype html><html lang="en"><head><title>Handbook</title><link rel="icon" href="data:,">'
        '<meta name="viewport" content="width=device-width"></head><body><main><h1>Handbook</h1>'
        f"<p>A page with its own search.</p>{more}"
        f'<script src="{server}widget.js" defer {attributes}></script></main></body>',
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
        options = ("--origin", origin, "--trusted-proxy", "127.0.0.1", "--rate", "2")  # loopback itself has no rate
        with served_app(tmp_path_factory.mktemp("widget"), site(), *options) as app:
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


@in_every_look
def test_the_keyboard_alone_finds_and_opens_a_page(browser: Browser, sites: Sites, look: Look) -> None:
    icon = ("404",)  # that the opened page lacks
    others = (sites.app.url, sites.app.web)
    with open_page(browser, sites.allowed.url, others=others, expected=icon, **look) as page:
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


def open_dialog(page: Page) -> Locator:
    """Open the dialog and stop the page's clock, so that a test decides how long the pauses in typing are."""
    page.wait_for_selector(".gossamer-search button.open")
    page.keyboard.press("Control+k")
    page.clock.pause_at(datetime.now(tz=UTC) + timedelta(minutes=1))
    box = page.get_by_role("combobox")
    expect(box).to_be_focused()
    return box


def test_each_pause_in_typing_sends_one_request(browser: Browser, sites: Sites) -> None:
    with open_page(browser, sites.allowed.url, others=(sites.app.url,)) as page:
        page.clock.install()
        page.reload()
        asked = questions_of(page)
        open_dialog(page)
        for key in "spiral":
            page.keyboard.press(key)
            page.clock.run_for(PAUSE_MS - 1)
        assert asked == []
        page.clock.run_for(1)
        expect(page.get_by_role("option").first).to_contain_text("The spiral")
        page.keyboard.type(" orb")
        page.clock.run_for(PAUSE_MS)
        expect(page.get_by_role("option").first).to_contain_text("Webs")
        page.clock.run_for(10 * PAUSE_MS)
        assert asked == ["spiral", "spiral orb"]


def test_a_late_answer_does_not_replace_a_newer_one(browser: Browser, sites: Sites) -> None:
    with open_page(browser, sites.allowed.url, others=(sites.app.url,)) as page:
        held: list[Route] = []
        page.route("**/api/complete?q=silk&*", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks its handlers
        # An abort must not be what keeps the late answer away: the page still gets it.
        page.evaluate("() => { const ask = fetch; window.fetch = (url) => ask(url, {credentials: 'omit'}); }")
        type_query(page, "silk")
        until(lambda: page.evaluate("1") and held, "the request to be held")  # the handler runs while this waits
        page.keyboard.press("Control+a")
        page.keyboard.type("spiral")
        options = page.get_by_role("option")
        expect(options.first).to_contain_text("The spiral")
        with page.expect_response("**/api/complete?q=silk&*"):
            held[0].continue_()
        page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
        expect(options.first).to_contain_text("The spiral")
        expect(page.locator(".gossamer-search [role=status]")).to_have_text(re.compile(r"Results: \d"))


def test_a_chosen_element_gets_the_button(browser: Browser, sites: Sites) -> None:
    sites.allowed.pages["/target"] = handbook(sites.app.url, 'data-target="#nav"', '<nav id="nav">Menu</nav>')
    with open_page(browser, f"{sites.allowed.url}target", others=(sites.app.url,)) as page:
        page.locator("#nav .gossamer-search").get_by_role("button", name="Search").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert page.locator(".gossamer-search").count() == 1


def test_a_button_of_the_page_opens_the_dialog(browser: Browser, sites: Sites) -> None:
    button = '<button id="mine">Look up</button>'
    sites.allowed.pages["/button"] = handbook(sites.app.url, 'data-button="#mine"', button)
    with open_page(browser, f"{sites.allowed.url}button", others=(sites.app.url,)) as page:
        assert page.get_by_role("button").all_inner_texts() == ["Look up"]  # the box brings none
        page.click("#mine")
        expect(page.get_by_role("combobox")).to_be_focused()
        page.keyboard.type("silk")
        expect(page.get_by_role("option").first).to_contain_text("The silk")


def test_another_key_opens_the_dialog_or_none_does(browser: Browser, sites: Sites) -> None:
    sites.allowed.pages["/key"] = handbook(sites.app.url, 'data-key="j"')
    sites.allowed.pages["/no-key"] = handbook(sites.app.url, 'data-key=""')
    with open_page(browser, f"{sites.allowed.url}key", others=(sites.app.url,)) as page:
        button = page.get_by_role("button", name="Search")
        expect(button).to_have_attribute("aria-keyshortcuts", "Control+J")
        expect(button).to_contain_text("Ctrl J")
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.keyboard.press("Control+j")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.goto(f"{sites.allowed.url}no-key")
        expect(button).to_have_text("Search")
        for key in ("Control+k", "/"):
            page.keyboard.press(key)
            expect(page.get_by_role("dialog")).to_be_hidden()
        button.click()
        expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.parametrize(("theme", "other"), [("dark", "light"), ("light", "dark")])
def test_a_fixed_theme_stays_whatever_page_and_system_prefer(
    browser: Browser, sites: Sites, theme: Literal["dark", "light"], other: Literal["dark", "light"]
) -> None:
    sites.allowed.pages["/theme"] = handbook(sites.app.url, f'data-theme="{theme}"')
    with open_page(browser, f"{sites.allowed.url}theme", others=(sites.app.url,), color_scheme=other) as page:
        page.evaluate(f"document.documentElement.dataset.theme = '{other}'")
        type_query(page, "silk")
        expect(page.get_by_role("option").first).to_contain_text("The silk")
        expect(page.locator(".gossamer-search")).to_have_attribute("data-theme", theme)
        paper = page.get_by_role("dialog").evaluate("dialog => getComputedStyle(dialog).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 26, 31)"}[theme]


def test_a_typing_error_still_finds_the_page(browser: Browser, sites: Sites) -> None:
    with open_page(browser, sites.allowed.url, others=(sites.app.url,)) as page:
        type_query(page, "spirla")
        expect(page.get_by_role("option").first).to_contain_text("The spiral")


@in_every_look
def test_a_page_of_another_origin_gets_no_answer(browser: Browser, sites: Sites, look: Look) -> None:
    refused = ("CORS policy", "ERR_FAILED")
    with open_page(browser, sites.refused.url, others=(sites.app.url,), expected=refused, **look) as page:
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
    (policy,) = (block.text for block in blocks(HOW_TO) if block.language == "text")
    header, _, directives = policy.replace("https://search.example", sites.app.url.rstrip("/")).strip().partition(": ")
    names = ["Search", "Suchen"]
    for example, name in zip(examples, names, strict=True):
        script = example.replace("https://search.example/", sites.app.url)
        sites.allowed.pages["/documented"] = SiteResponse(
            f'<!doctype html><html lang="en"><title>Handbook</title><link rel="icon" href="data:,">{script}',
            headers={"Content-Type": "text/html; charset=utf-8", header: directives},
        )
        with open_page(browser, f"{sites.allowed.url}documented", others=(sites.app.url,)) as page:
            page.get_by_role("button", name=name).click()
            page.keyboard.type("silk")
            expect(page.get_by_role("option").first).to_contain_text("The silk")


def test_the_documented_properties_set_colours_and_font(browser: Browser, sites: Sites) -> None:
    (styles,) = (block.text for block in blocks(HOW_TO) if block.language == "css")
    page_with_styles = handbook(sites.app.url, more=f"<style>{styles}</style>")
    sites.allowed.pages["/styled"] = page_with_styles._replace(headers={"Content-Type": "text/html; charset=utf-8"})
    with open_page(browser, f"{sites.allowed.url}styled", others=(sites.app.url,)) as page:
        type_query(page, "silk")
        expect(page.get_by_role("option").first).to_be_visible()
        dialog = page.get_by_role("dialog")
        assert dialog.evaluate("dialog => getComputedStyle(dialog).backgroundColor") == "rgb(255, 253, 248)"
        assert dialog.evaluate("dialog => getComputedStyle(dialog).fontFamily") == "Georgia, serif"
        all_hits = page.locator(".gossamer-search a.all")
        assert all_hits.evaluate("link => getComputedStyle(link).color") == "rgb(122, 62, 157)"


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


def test_a_visitor_who_asks_too_often_is_told_so(sites: Sites) -> None:
    """The page may read the refusal; its proxy names the visitor, and other visitors go on."""
    origin = {"Origin": sites.allowed.url.rstrip("/")}

    def ask(visitor: str) -> httpx.Response:
        return sites.app.get("api/complete?q=silk", headers={**origin, "X-Forwarded-For": visitor})

    until(lambda: ask("192.0.2.7").status_code == 429, "the refusal", pause=0)
    refused = ask("192.0.2.7")
    assert refused.headers["access-control-allow-origin"] == origin["Origin"]
    assert "slow down" in refused.json()["detail"]
    assert ask("192.0.2.8").status_code == 200


def test_a_preflight_is_answered_for_allowed_origins_only(sites: Sites) -> None:
    allowed, refused = (server.url.rstrip("/") for server in (sites.allowed, sites.refused))

    def preflight(path: str, origin: str) -> int:
        headers = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        return sites.app.client.options(path, headers=headers).status_code

    assert preflight("api/complete", allowed) == 204
    assert preflight("api/search", allowed) == 204
    assert preflight("api/complete", refused) == 403
    assert preflight("api/status", allowed) == 405
