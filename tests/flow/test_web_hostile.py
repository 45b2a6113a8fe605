"""Crawled pages are hostile: the app shows their titles, texts, anchors and URLs, and executes nothing."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance

from conftest import package
from gossamer.web.http.security import SOURCE_POLICY
from helpers.cli.commands import gossamer
from helpers.patience import until
from helpers.web.browser import TOKEN, AppServer, open_page
from helpers.web.served_app import App, page, served_app, site
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

SCRIPT = "<script>window.owned = 1; alert(1)</script>"
HANDLER = '"><img src=x onerror="window.owned = 1; alert(2)"><svg onload=alert(3)>'
BIDI, CONTROLS = "\u202egnp.exe\u202c\u2066\u200b", "\x1b[31m\x07\x00"
NONCHARACTERS = "\ufffe\uffff\ufdd0\U0001ffff"
BAD = f"{SCRIPT}{HANDLER}{{{{7*7}}}}${{7*7}}'\"`--><!--{BIDI}{CONTROLS}{NONCHARACTERS}"
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


# -- connections that no policy stops ----------------------------------------------------------------------------------


class Canary:
    """A listener that counts the connections it accepts, as a context manager."""

    def __init__(self) -> None:
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                self._listener.accept()[0].close()
                self.connections += 1


def connecting_page(authority: str) -> str:
    """Return a page with everything that makes a browser connect, in several spellings."""
    url = f"http://{authority}/"
    links = "".join(
        f'<link rel="{kind}" href="{url}{kind}">'
        for kind in ("preconnect", "dns-prefetch", "prefetch", "prerender", "preload", "modulepreload", "stylesheet",
                     "icon", "manifest", "next")
    )  # fmt: skip
    return (
        f'<!doctype html><html manifest="{url}m"><head><title>Connecting</title>{links}'
        f"<LINK/REL=PreConnect href=//{authority}>"
        f"<link\nrel='preconnect dns-prefetch'\nhref='{url}' crossorigin><base href='{url}'>"
        f'<meta http-equiv=refresh content="0;url={url}"><meta http-equiv=link content="&lt;{url}&gt;;rel=preconnect">'
        f"<style>@import '{url}s.css'; @font-face{{font-family:f;src:url({url}f)}} p{{font-family:f;"
        f"background:url({url}b)}}</style></head><body background='{url}b'><p style='background:url({url}c)'>venom"
        f'<iframe src="{url}i"></iframe><iframe srcdoc="<link rel=preconnect href={url}>"></iframe>'
        f'<object data="{url}o"></object><embed src="{url}e"><img src="{url}p" srcset="{url}q 2x">'
        f'<video src="{url}v" poster="{url}w"></video><svg><image href="{url}x"/><use href="{url}y#z"/></svg>'
        f'<form action="{url}f"><input type=image src="{url}z"></form><a href="{url}" ping="{url}">on</a>'
        f'<title><link rel=preconnect href={url}></title><!-- --!><link rel=preconnect href="{url}"> -->'
    )


def test_a_stored_page_opens_no_connection(tmp_path: Path, browser: Browser) -> None:
    with Canary() as canary, Canary() as control_canary:
        stored = {"/": connecting_page(canary.authority)}
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": SOURCE_POLICY}
        original = SiteResponse(connecting_page(control_canary.authority), headers=headers)
        # The headless shell opens no connection for a hint, so the control needs the whole browser.
        whole = browser.browser_type.launch(executable_path=package("chromium"), chromium_sandbox=os.geteuid() != 0)
        with served_app(tmp_path, stored) as app, SiteServer({"/": original}) as control, closing(whole):
            before = canary.connections  # the crawler may visit the host
            seen = whole.new_page()
            seen.goto(f"{app.url}source?url={quote(app.web, safe='')}")
            seen.frame_locator("iframe").get_by_text("venom").wait_for()
            seen.goto(f"{app.url}source/raw?url={quote(app.web, safe='')}")
            seen.get_by_text("venom").wait_for()
            seen.goto(control.url)  # the same page as it was, with the same policy
            until(lambda: control_canary.connections, "a connection despite the policy")
            seen.wait_for_timeout(500)
            seen.close()
            assert canary.connections == before


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

    bad = quote(BAD, safe="")
    for path in (
        "/search.atom?q=venom", f"/search.atom?q={bad}", "/opensearch.xml", "/api/graph.svg?level=pages",
        "/api/graph.gexf?level=pages",
    ):  # fmt: skip
        etree.fromstring(app.get(path).content)
    for kind in ("gexf", "graphml"):
        exported = app.store.parent / f"graph.{kind}"
        assert gossamer("export", "graph", "--out", exported, "--store", app.store).returncode == 0
        etree.parse(exported)
    for path in ("/api/search?q=venom", f"/api/page?url={app.web}", "/api/reports/titles-long", "/api/now"):
        json.loads(app.get(path).content)
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


# Values that break careless code: halves of characters, no characters, numbers beyond 64 bits, times, much text.
NASTY = ("", " ", "\x00", "http://127.0.0.1:9/\x00", "\ufffe\uffff", "\ud800", "-1", "0", "9" * 30, "1e999", "NaN",
         "0001-01-01", "9999-99-99", "../../etc/passwd", "%00", "\r\nX: y", "*", '"', "(" * 500, "site:" * 100,
         "a" * 4_000, "http://[::1", "http://a:99999/", "//", "€", "\u202e")  # fmt: skip


def test_nasty_values_of_every_parameter_cause_no_server_error(fuzzed_app: App) -> None:
    document = fuzzed_app.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            for value in NASTY:
                raw = quote(value, safe="", errors="surrogatepass")
                name, place = parameter["name"], parameter["in"]
                target = path.replace(f"{{{name}}}", raw) if place == "path" else f"{path}?{name}={raw}"
                answer = fuzzed_app.get(re.sub(r"\{\w+\}", "x", target))
                assert answer.status_code < 500, (target, answer.text)


FORMS = ("seeds", "crawlers", "forget", "crawlers/Naiad/parsers", "crawlers/%00/stop", "nothing")


@pytest.mark.parametrize("form", FORMS)
def test_nasty_values_of_forms_cause_no_server_error(fuzzed_app: App, form: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    starts_crawlers = form in {"seeds", "crawlers"}  # no test starts one on a random URL
    nasty = NASTY if not starts_crawlers else ("http://127.0.0.1:9/\x00", "//", "\x00")
    for field in ("url", "parsers") if starts_crawlers else ("url", "host", "parsers"):
        for value in nasty:
            raw = quote(value, safe="", errors="surrogatepass")
            answer = fuzzed_app.client.post(f"/control/{form}", content=f"{field}={raw}", headers=headers)
            assert answer.status_code < 500, (field, value, answer.text)
            if form != "nothing":
                body = json.dumps({field: value})
                answer = fuzzed_app.client.post(
                    f"/api/{form}", content=body, headers={**headers, "Content-Type": "application/json"}
                )
                assert answer.status_code < 500, (field, value, answer.text)


def test_a_form_with_too_many_fields_is_refused(fuzzed_app: App) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = fuzzed_app.client.post("/control/forget", content="&".join(["url=x"] * 21), headers=headers)
    assert answer.status_code == 400
    assert "more than 20 fields" in answer.text


def test_a_seed_with_a_nul_is_refused(fuzzed_app: App) -> None:
    for path in ("/api/seeds", "/api/crawlers"):
        answer = fuzzed_app.post(path, {"url": "http://127.0.0.1:9/\x00"})
        assert answer.status_code == 400
        assert "NUL" in answer.json()["detail"]


def test_a_token_beyond_ascii_works_as_cookie_and_as_header(fuzzed_app: App) -> None:
    token = '€uro; päss"wort,%41'
    with AppServer(fuzzed_app.store, token=token) as serving, httpx.Client(base_url=serving.url) as client:
        bearer = {b"Authorization": b"Bearer " + token.encode()}
        assert client.post("/api/forget", json={"host": "nowhere"}, headers=bearer).status_code == 404
        assert client.post("/api/forget", json={"host": "nowhere"}).status_code == 401
        assert client.get("/control", params={"token": token}).status_code == 303
        assert client.post("/api/forget", json={"host": "nowhere"}).status_code == 404
        assert client.get("/control", params={"token": "€"}).status_code == 401


def _fuzz(operation: schemathesis.schemas.APIOperation[Any, Any, Any, Any], headers: dict[str, str]) -> None:

    @settings(
        max_examples=10, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy())
    def send(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(checks=[not_a_server_error, response_schema_conformance], headers=headers)

    send()
