"""Crawled pages are hostile: the app shows their titles, texts, anchors and URLs, and executes nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance

from helpers.web.browser import TOKEN, open_page
from helpers.web.served_app import App, page, served_app, site
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

SCRIPT = "<script>window.owned = 1; alert(1)</script>"
HANDLER = '"><img src=x onerror="window.owned = 1; alert(2)"><svg onload=alert(3)>'
BIDI, CONTROLS = "\u202egnp.exe\u202c\u2066\u200b", "\x1b[31m\x07\x00"
BAD = f"{SCRIPT}{HANDLER}{{{{7*7}}}}${{7*7}}'\"`--><!--{BIDI}{CONTROLS}"
PATH = "/%22%3E%3Cscript%3Ealert(4)%3C/script%3E'onmouseover='alert(5)"


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def hostile_site(evil: str = "https://evil.example/") -> dict[str, str]:
    """Return pages whose every part is an attack, as entities where plain text would not pass through HTML."""
    bad = escape(BAD.replace("\x00", ""))
    href = (
        PATH,
        "javascript:alert(6)",
        "data:text/html,<script>alert(7)</script>",
        f"/?q={quote(BAD, safe='')}",
        "/gone",
    )
    links = "".join(f'<a href="{escape(target)}">{bad} anchor</a> ' for target in href)
    body = (
        f'<!doctype html><html lang="{bad}"><head><title>{bad}</title><meta name=description content="{bad}">'
        f'<base target="_top"><meta http-equiv="Content-Security-Policy" content="script-src *">'
        f'<meta http-equiv="refresh" content="0; url={evil}refresh"><link rel=stylesheet href="{evil}x.css">'
        f"{SCRIPT}</head><body onload=alert(8)><h1>{bad}</h1><p>venom {bad} words {bad}</p>{links}"
        f'<iframe src="javascript:alert(9)"></iframe><img src="{evil}pixel.png"><object data="{evil}object"></object>'
        f'<form action="{evil}form"><input autofocus onfocus=alert(10)></form></body></html>'
    )
    return {"/": body, PATH: body, f"/?q={quote(BAD, safe='')}": body}


@pytest.fixture(scope="module")
def evil() -> Iterator[SiteServer]:
    """Start another server, which no view of the crawled pages may contact."""
    with SiteServer({}) as server:
        yield server


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, evil: SiteServer) -> Iterator[App]:
    with served_app(tmp_path_factory.mktemp("hostile"), hostile_site(evil.url)) as served:
        evil.requests.clear()  # the crawl may ask for robots.txt
        yield served


def known_urls(app: App) -> list[str]:
    links = app.get("/api/page", params={"url": app.web}).json()["outlinks"]
    urls = [app.web, *(link["url"] for link in links if link["url"].startswith(app.web))]
    assert len(set(urls)) >= 4
    return [quote(url, safe="") for url in dict.fromkeys(urls)]


def views(app: App) -> list[str]:
    """Return the paths of all views, for every known URL."""
    urls = known_urls(app)
    reports = (
        "status",
        "broken",
        "titles-long",
        "anchors-empty",
        "anchors-ambiguous",
        "duplicates",
        "inlinks",
        "outlinks",
        "html",
    )
    bad = quote(BAD, safe="")
    return [
        "/search?q=venom", "/search?q=venom&explain=true", f"/search?q={bad}", f"/search?q=venom&host={bad}",
        "/word/venom", f"/word/{bad}", "/crawl", f"/crawl?done={bad}", "/graph?level=pages", "/graph?level=hosts",
        f"/graph?focus={bad}", "/hosts", "/errors", f"/errors?outcome={bad}", f"/reports/{bad}",
        *(f"/reports/{name}?url={urls[0]}" for name in reports),
        *(f"/{view}?url={url}" for view in ("page", "graph") for url in urls),
    ]  # fmt: skip


ACTIVE_ATTRIBUTES = """[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])
    .filter(a => a.name.startsWith('on') || /^\\s*(javascript|data):/i.test(a.value))
    .map(a => `${a.name}=${a.value}`)"""
SCRIPTS = "[...document.scripts].map(s => s.getAttribute('src') || s.textContent)"


def test_no_view_executes_content_of_a_crawled_page(app: App, browser: Browser) -> None:
    with open_page(browser, app.url, expected=("status of 4", "status of 5")) as seen:
        for path in views(app):
            seen.goto(app.url.rstrip("/") + path)
            assert seen.evaluate("window.owned") is None, path
            assert seen.evaluate(ACTIVE_ATTRIBUTES) == [], path
            assert all(script.startswith("/static/") for script in seen.evaluate(SCRIPTS)), path


def test_a_stored_page_in_its_sandbox_runs_no_script_and_sends_no_request(
    app: App, browser: Browser, evil: SiteServer
) -> None:
    seen, dialogs = browser.new_page(), []
    seen.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for url in known_urls(app)[:3]:
        for path in ("source", "source/raw"):
            seen.goto(f"{app.url}{path}?url={url}")
            seen.wait_for_timeout(300)
            assert [frame.evaluate("window.owned") for frame in seen.frames if frame.url.startswith("http")] == [
                None
            ] * len([frame for frame in seen.frames if frame.url.startswith("http")])
            assert seen.url.startswith(app.url)
    seen.close()
    assert dialogs == []
    assert evil.requests == []


def test_direction_and_control_characters_are_shown_as_code_points(app: App) -> None:
    for path in ("/search?q=venom", f"/page?url={app.web}", "/crawl", "/graph?level=pages", "/reports/titles-long"):
        text = app.get(path).text
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x0b-\x1f]", text), path
    assert "«U+202E»" in app.get("/page", params={"url": app.web}).text


def test_links_to_crawled_pages_send_no_referrer_and_use_http_only(app: App) -> None:
    for path in ("/search?q=venom", f"/page?url={app.web}"):
        for tag in re.findall(r"<a [^>]*href=\"(?!/|#)[^>]*>", app.get(path).text):
            assert 'href="http' in tag
            assert 'rel="noopener noreferrer nofollow"' in tag


def test_files_made_of_hostile_pages_are_well_formed(app: App) -> None:
    from lxml import etree

    for path in ("/search.atom?q=venom", "/api/graph.svg?level=pages", "/api/graph.gexf?level=pages"):
        etree.fromstring(app.get(path).content)
    assert "\x1b" not in app.get("/api/reports/titles-long.csv").text


# -- requests that the schema of the API allows, and many that it does not --------------------------------------------


@pytest.fixture(scope="module")
def fuzzed_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    pages = site() | {"/hostile": page("Hostile", "venom")} | hostile_site()
    with served_app(tmp_path_factory.mktemp("fuzzed"), pages) as served:
        yield served


def test_no_request_breaks_the_server_and_responses_match_the_schema(fuzzed_app: App) -> None:
    every = schemathesis.openapi.from_url(f"{fuzzed_app.url}openapi.json")
    chosen = every.exclude(path="/api/live")  # events never end
    operations = [result.ok() for result in chosen.get_all_operations() if isinstance(result, Ok)]
    assert len(operations) > 20
    for operation in operations:
        # No crawler may start on a random URL, so these operations get no token; everything else is checked.
        starts = operation.path in {"/api/crawlers", "/api/seeds"}
        _fuzz(operation, {} if starts else {"Authorization": f"Bearer {TOKEN}"})


def _fuzz(operation: schemathesis.schemas.APIOperation[Any, Any, Any, Any], headers: dict[str, str]) -> None:

    @settings(
        max_examples=10, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy())
    def send(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(checks=[not_a_server_error, response_schema_conformance], headers=headers)

    send()
