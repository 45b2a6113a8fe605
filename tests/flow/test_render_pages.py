"""Pages after their scripts, rendered by a real browser whose requests the test answers."""

from __future__ import annotations

from contextlib import closing
from html import unescape
from typing import TYPE_CHECKING

import pytest

from conftest import package
from gossamer.model import Kind, Outcome, PageResponse
from helpers.render.render_loop import SITE, RenderLoop, all_processes, proportional_bytes
from webs import museum

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MUSEUM_PAGES = 120
FOUR_TABS_BYTES = 450e6  # of the browser with its tabs and of the renderer process
WEB = {
    "/app.js": "document.body.append('by script'); fetch('/data.json').then(r => r.text()).then(t => show(t));",
    "/data.json": "fetched data",
    "/style.css": "p { color: red }",
    "/frame": "<p>in the frame <a href=inner>inner link</a></p>",
    "http://other.test/frame": "<p>in a foreign frame <a href=away>away</a></p>",
    "/worker.js": "importScripts('/imported.js'); fetch('/from-worker')",
    "/imported.js": "",
    "/from-worker": "",
}


@pytest.fixture(scope="module")
def shared_loop(browser_program: Path) -> Iterator[RenderLoop]:
    loop = RenderLoop(browser_program)
    yield loop
    loop.close()


@pytest.fixture
def loop(shared_loop: RenderLoop) -> RenderLoop:
    shared_loop.web = dict(WEB)
    shared_loop.requests.clear()
    return shared_loop


def html(loop: RenderLoop, document: str, **job: object) -> str:
    page = loop.render(document, **job)  # type: ignore[arg-type]
    assert page.outcome is Outcome.FETCHED, page.reason
    return page.html.decode()


# -- the document ------------------------------------------------------------------------------------------------------


def test_words_of_scripts_and_fetched_data_are_in_the_snapshot(loop: RenderLoop) -> None:
    show = "<script>const show = text => document.body.append(text)</script>"
    text = html(loop, f"<body>{show}<script src=/app.js></script><noscript>no scripts</noscript>")
    assert "by script" in text
    assert "fetched data" in text
    assert "no scripts" not in text


def test_a_page_without_quiet_for_its_data_waits_for_them(loop: RenderLoop) -> None:
    loop.held = lambda request: request.url.endswith("/data.json")
    number = loop.submit("<script>fetch('/data.json').then(r => r.text()).then(t => document.body.append(t))</script>")
    loop.run_until(lambda: any(request.kind is Kind.DATA for request in loop.requests))
    for _ in range(10):
        loop.step()
    assert all(page.id != number for page in loop.pages)
    loop.held = lambda _request: False
    loop.pool.answer(loop.response(loop.requests[-1]))
    assert b"fetched data" in loop.wait_for(number).html


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_shadow_roots_show_in_place_of_their_host_with_slots_filled(loop: RenderLoop, mode: str) -> None:
    script = (
        f"host.attachShadow({{mode: '{mode}'}}).innerHTML = '<nav>before <slot></slot> after <a href=/x>x</a></nav>'"
    )
    text = html(loop, f"<div id=host><b>slotted</b></div><script>{script}</script>")
    assert '<div id="host"><nav>before <b>slotted</b> after <a href="/x">x</a></nav></div>' in text


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_declarative_shadow_roots_show_too(loop: RenderLoop, mode: str) -> None:
    text = html(loop, f"<div><template shadowrootmode={mode}><p>declared</p></template>hidden</div>")
    assert "<div><p>declared</p></div>" in text


def test_frames_show_behind_their_element_with_absolute_links(loop: RenderLoop) -> None:
    text = html(loop, "<iframe src=/frame></iframe><iframe src=http://other.test/frame></iframe><p>last")
    assert f'<div data-frame="{SITE}/frame"><p>in the frame <a href="{SITE}/inner">inner link</a></p></div>' in text
    assert '<a href="http://other.test/away">away</a>' in text


@pytest.mark.parametrize("text", ["<", "&", "\u00e9", "\U0001f600", '"'], ids=["less", "and", "two", "four", "quote"])
def test_the_limit_of_bytes_counts_what_is_stored(browser_program: Path, text: str) -> None:
    many = f"'{text}'.repeat(30000)"
    script = f"document.body.title = {many}; document.body.append({many}, {many})"
    loop = RenderLoop(browser_program, max_bytes=100_000)
    try:
        page = loop.render(f"<body><script>{script}</script>")
    finally:
        loop.close()
    assert page.outcome is Outcome.FETCHED, page.reason
    assert len(page.html) < 100_100  # the ends of open elements come behind the limit
    shown = unescape(page.html.decode())  # also: no character is cut in two
    assert shown.count(text) > 15_000
    assert text == "&" or "&" not in shown
    assert (page.cut == "bytes") == (len(page.html) > 99_000)


def test_a_page_cannot_hide_its_document_behind_names_of_elements(loop: RenderLoop) -> None:
    names = "".join(f"<input name={name}>" for name in ("firstChild", "childNodes", "attributes", "localName"))
    text = html(loop, f"<form>{names}words</form><img name=documentElement><img name=body>")
    assert "words</form>" in text


def test_links_resolve_against_the_base_of_the_document(loop: RenderLoop) -> None:
    text = html(loop, "<script>history.pushState({}, '', '/deep/route')</script><a href=here>here</a>")
    assert f'<base href="{SITE}/deep/route">' in text


def test_lists_below_the_first_screen_load(loop: RenderLoop) -> None:
    observer = "new IntersectionObserver(seen => { if (seen[0].isIntersecting) document.body.append('seen') })"
    text = html(loop, f"<div style='height: 5000px'></div><p id=end>end</p><script>{observer}.observe(end)</script>")
    assert "seen" in text


def test_scrolling_reaches_what_loads_at_the_end(browser_program: Path) -> None:
    loop = RenderLoop(browser_program, scroll=True)
    script = """let left = 3; onscroll = () => { if (left-- > 0) {
        document.body.insertAdjacentHTML('beforeend', '<p style="height: 15000px">more</p>')
    } }"""
    try:
        page = loop.render(f"<div style='height: 20000px'></div><script>{script}</script>")
        assert page.html.count(b">more<") == 3
    finally:
        loop.close()


def test_a_screenshot_is_a_small_picture(loop: RenderLoop) -> None:
    page = loop.render("<h1>picture</h1>", screenshot=True)
    assert page.screenshot[:4] == b"RIFF"
    assert page.screenshot[8:12] == b"WEBP"
    assert len(page.screenshot) < 100_000


# -- requests and routes -----------------------------------------------------------------------------------------------


def test_requests_have_their_kinds_and_images_are_not_asked_for(loop: RenderLoop) -> None:
    page = loop.render(
        "<link rel=stylesheet href=/style.css><img src=/i.png onload=document.body.append('shown')>"
        "<iframe src=/frame></iframe><script src=/app.js></script><script>new Worker('/worker.js')</script>"
    )
    kinds = {url.removeprefix(SITE): kind for url, kind in page.requests}
    assert kinds["/style.css"] is Kind.STYLE
    assert kinds["/app.js"] is Kind.SCRIPT
    assert kinds["/frame"] is Kind.FRAME
    assert kinds["/data.json"] is Kind.DATA
    assert kinds["/i.png"] is Kind.IMAGE
    assert {"/worker.js", "/imported.js", "/from-worker"} <= set(kinds)
    assert f"{SITE}/i.png" not in [request.url for request in loop.requests]
    assert b"shown" in page.html


@pytest.mark.parametrize(
    "script",
    [
        "history.pushState({}, '', '/route')",
        "history.replaceState({}, '', '/route')",
        "location = '/route'",
        "location.replace('/route')",
        "open('/route')",
        "document.body.insertAdjacentHTML('beforeend', '<a id=a href=/route>a</a>'); a.click()",
        "document.body.insertAdjacentHTML('beforeend', '<a id=a href=/route target=_blank>a</a>'); a.click()",
        "document.body.insertAdjacentHTML('beforeend', '<form id=f action=/route></form>'); f.submit()",
        "document.head.insertAdjacentHTML('beforeend', '<meta http-equiv=refresh content=\"0;url=/route\">')",
    ],
)
def test_navigations_and_popups_become_routes_and_keep_the_page(loop: RenderLoop, script: str) -> None:
    page = loop.render(f"<body><p>words</p><script>{script}</script>")
    assert [route.rstrip("?") for route in page.routes] == [f"{SITE}/route"]
    assert b"<p>words</p>" in page.html
    assert not loop.requests


def test_a_page_never_sends_anything_but_get_and_head(loop: RenderLoop) -> None:
    script = "fetch('/post', {method: 'POST', body: 'x'}).then(r => document.body.append('status ' + r.status))"
    beacon = "navigator.sendBeacon('/beacon', 'x')"
    page = loop.render(
        f"<body><form id=f method=post action=/form></form><script>{script};{beacon};f.submit()</script>"
    )
    assert b"status 405" in page.html
    assert not loop.requests
    assert page.routes == []


def test_a_host_that_the_user_names_gets_other_methods_too(browser_program: Path) -> None:
    loop = RenderLoop(browser_program, {"/post": "answer"}, write_hosts=frozenset({"site.test"}))
    try:
        script = (
            "fetch('/post', {method: 'POST', body: 'question'}).then(r => r.text()).then(t => document.body.append(t))"
        )
        assert b"answer" in loop.render(f"<script>{script}</script>").html
        (request,) = loop.requests
        assert (request.method, request.body) == ("POST", b"question")
    finally:
        loop.close()


def test_the_browser_asks_no_server_before_a_cross_origin_request(loop: RenderLoop) -> None:
    loop.web["http://other.test/data"] = "cross-origin data"
    show = "then(r => r.text()).then(t => document.body.append(t))"
    page = loop.render(f"<body><script>fetch('http://other.test/data', {{headers: {{'x-own': 'v'}}}}).{show}</script>")
    (request,) = loop.requests
    assert request.method == "GET"
    assert request.headers["x-own"] == "v"
    assert b"cross-origin data" in page.html


def test_the_crawl_gets_the_origin_and_the_headers_of_scripts(loop: RenderLoop) -> None:
    loop.web["http://other.test/data"] = "cross-origin data"
    headers = "{authorization: 'Bearer t', apikey: 'k', 'content-type': 'application/json'}"
    loop.render(f"<body><script>fetch('http://other.test/data', {{headers: {headers}}}).catch(() => 0)</script>")
    (request,) = loop.requests
    sent = {name: request.headers.get(name) for name in ("origin", "authorization", "apikey", "content-type")}
    assert sent == {"origin": SITE, "authorization": "Bearer t", "apikey": "k", "content-type": "application/json"}
    assert not {"user-agent", "referer", "cookie", "sec-ch-ua"} & set(request.headers)


def test_answers_wait_until_their_process_has_taken_those_before(loop: RenderLoop) -> None:
    loop.held = lambda _request: True
    number = loop.submit("<script>for (let i = 0; i < 100; i++) fetch('/large?' + i)</script>")
    loop.run_until(lambda: len(loop.requests) == 100, "the requests")
    body = b"x" * (1 << 20)
    for request in loop.requests:
        loop.pool.answer(PageResponse(request.id, 200, {}, body))
        assert all(len(process.outgoing) < 18 << 20 for process in loop.pool._processes)
    assert loop.wait_for(number).outcome is Outcome.FETCHED


# -- what pages may keep and do ----------------------------------------------------------------------------------------

COUNT = """<body><script>
    n = +(localStorage.n || 0) + 1; localStorage.n = n; document.cookie = 'n=' + n;
    document.body.append('visit ' + n + ' ' + document.cookie)
</script>"""


def test_storage_and_cookies_last_for_a_host_and_no_further(loop: RenderLoop) -> None:
    first, second = (html(loop, COUNT, host=71) for _ in range(2))
    other = html(loop, COUNT, host=72)
    assert "visit 1 n=1" in first
    assert "visit 2 n=2" in second
    assert "visit 1 n=1" in other


def test_permissions_are_refused_and_dialogs_dismissed(loop: RenderLoop) -> None:
    script = """
        const say = text => document.body.append(' ' + text);
        say('confirm ' + confirm('?')); say('prompt ' + prompt('?'));
        for (const name of ['geolocation', 'camera', 'microphone', 'notifications', 'clipboard-read'])
            navigator.permissions.query({name}).then(p => say(name + ' ' + p.state), e => say(name + ' missing'));
    """
    text = html(loop, f"<body><script>{script}</script>", url="http://localhost/")
    assert "confirm false" in text
    assert "prompt null" in text
    assert "granted" not in text
    assert "geolocation denied" in text


def test_downloads_are_refused(loop: RenderLoop) -> None:
    loop.web["/file"] = "bytes"
    page = loop.render("<body><p>words</p><a id=a href=/file download>a</a><script>a.click()</script>")
    assert b"words" in page.html
    assert not loop.requests or loop.requests[0].url == f"{SITE}/file"


def test_files_of_this_machine_stay_unread(loop: RenderLoop) -> None:
    text = html(loop, "<iframe src='file:///etc/passwd'></iframe><script>fetch('file:///etc/passwd')"
                      ".catch(() => document.body.append('refused'))</script>")  # fmt: skip
    assert "refused" in text
    assert "root:" not in text


@pytest.mark.usefixtures("browser_program")  # skips where a layer is missing
def test_a_full_chromium_renders_too() -> None:
    loop = RenderLoop(package("chromium"), WEB)
    try:
        page = loop.render(
            "<body><script>show = text => document.body.append(text)</script><script src=/app.js></script>"
        )
        assert page.outcome is Outcome.FETCHED, page.reason
        assert b"fetched data" in page.html
    finally:
        loop.close()


# -- cost --------------------------------------------------------------------------------------------------------------


def test_four_tabs_take_at_most_450_megabytes(browser_program: Path, museum_scripts: Path) -> None:
    """Also with the garbage of thirty pages in each. `bench/render.py` measures the same beside other work."""
    files = museum.client_rendered(museum_scripts)
    web = {path: file.body.decode() if isinstance(file.body, bytes) else file.body
           for path, file in files.items() if not path.endswith(".png")}  # fmt: skip
    routes = [path for path in museum.routes() if path.startswith("/exhibits/")][:MUSEUM_PAGES]
    peak = 0
    with closing(RenderLoop(browser_program, web, tabs=4)) as loop:
        for path in routes:
            loop.submit(museum.SHELL, f"{SITE}{path}")
        while len(loop.pages) < len(routes):
            loop.run_until(lambda: len(loop.pages) % 10 == 0 or len(loop.pages) == len(routes), "pages")
            peak = max(peak, sum(map(proportional_bytes, all_processes(loop))))
            loop.step()
    print(f"{peak / 1e6:.0f} MB")
    assert {page.outcome for page in loop.pages} == {Outcome.FETCHED}
    assert all(b"<h1>Exhibit" in page.html for page in loop.pages)
    assert peak < FOUR_TABS_BYTES
