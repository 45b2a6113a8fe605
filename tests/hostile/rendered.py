"""Pages that are hostile to a browser, each with what it does.

Without scripts every one is a small page with a link. A crawl that renders them must end, keep the pages of their
neighbours whole, and say what happened to each.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterable

LINKS_OF_A_FLOOD = 400_000
REQUESTS_OF_A_FLOOD = 100_000


class HostilePage(NamedTuple):
    """One page."""

    does: str
    limit: str  # a pattern: what the crawl says that cut it or ended it; empty: it may end by itself, as by an error
    script: str = ""
    html: str = ""


HOSTILE_PAGES = {
    "loop": HostilePage("runs for ever while it loads", "time|busy", "while (true) {}"),
    "late-loop": HostilePage(
        "runs for ever after it has loaded", "time|busy", "setTimeout(() => { while (true) {} }, 50)"
    ),
    "microtasks": HostilePage(
        "never returns to the event loop", "time|busy", "(function f() { Promise.resolve().then(f) })()"
    ),
    "restless": HostilePage(
        "changes its text a hundred times a second, for ever",
        "time|busy",
        "setInterval(() => { document.title = Date.now() }, 10)",
    ),
    "alerts": HostilePage(
        "opens dialogs without end", "dialogs", "for (;;) { alert('hello'); confirm('sure?'); prompt('name?') }"
    ),
    "stay": HostilePage(
        "asks whether to leave", "", "onbeforeunload = event => { event.preventDefault(); event.returnValue = 'stay' }"
    ),
    "growth": HostilePage(
        "adds nodes without end",
        r"\w",
        "setInterval(() => { for (let i = 0; i < 20000; i++) document.body.append(document.createElement('p')) }, 1)",
    ),
    "links": HostilePage(
        f"adds {LINKS_OF_A_FLOOD:,} links",
        r"\w",
        f"document.body.innerHTML += Array.from({{length: {LINKS_OF_A_FLOOD}}}, (_, i) => `<a href=/l/${{i}}>x</a>`)"
        ".join('')",
    ),
    "depth": HostilePage(
        "nests 100,000 elements",
        r"\w",
        "let at = document.body; for (let i = 0; i < 1e5; i++) { const e = document.createElement('b'); at.append(e);"
        " at = e }",
    ),
    "heap": HostilePage(
        "fills the heap of its scripts",
        "memory|MiB|time|busy",
        "const a = []; for (;;) a.push(new Array(1e6).fill({}))",
    ),
    "buffers": HostilePage(
        "fills memory beside the heap",
        "",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 26).fill(7))",
    ),
    "canvas": HostilePage(
        "draws on huge canvases",
        "",
        "const kept = []; for (;;) { const c = document.createElement('canvas'); c.width = c.height = 16384;"
        " const d = c.getContext('2d'); d.fillRect(0, 0, 9, 9); kept.push(d.getImageData(0, 0, 16384, 16384)) }",
    ),
    "text": HostilePage("writes 100 MB of text", r"\w", "document.body.append('word '.repeat(2e7))"),
    "requests": HostilePage(
        f"makes {REQUESTS_OF_A_FLOOD:,} requests",
        "requests",
        f"for (let i = 0; i < {REQUESTS_OF_A_FLOOD}; i++) fetch('/data/' + i)",
    ),
    "open-request": HostilePage("waits for an answer that never ends", "", "fetch('/stalled')"),
    "reload": HostilePage("loads itself again without end", "", "location.reload()"),
    "navigation": HostilePage("leaves for another URL without end", "", "location.href = '?' + Math.random()"),
    "refresh": HostilePage(
        "the same without a script", "", html='<meta http-equiv="refresh" content="0;url=/refresh?again">'
    ),
    "history": HostilePage(
        "changes its URL a million times",
        "",  # Chromium drops all but 200 in ten seconds, so that it may end by itself
        "for (let i = 0; i < 1e6; i++) history.pushState(null, '', '/h/' + i)",
    ),
    "popups": HostilePage(
        "opens windows without end", "popups", "setInterval(() => open('/?popup=' + Math.random()), 1)"
    ),
    "frames": HostilePage("is a frame of itself twice, without end", "", html="<iframe src=/frames?a></iframe>" * 2),
    "workers": HostilePage(
        "starts busy workers",
        "",
        "for (let i = 0; i < 50; i++) new Worker(URL.createObjectURL(new Blob(['while (true) {}'])))",
    ),
    "traps": HostilePage(
        "replaces what a snapshot might call",
        "",
        "for (const p of [Node, Element, Document, Array, String, Map, Set, Promise, Function].map(c => c.prototype))"
        " for (const n of Object.getOwnPropertyNames(p)) try { p[n] = () => { for (;;) {} } } catch {}",
    ),
}


def page_of(name: str, hostile: HostilePage) -> SiteResponse:
    """Return a hostile page; its link is there without scripts too."""
    script = f"<script>{hostile.script}</script>" if hostile.script else ""
    return SiteResponse(
        f"<!doctype html><html lang=en><title>{name}</title><body><p>This page {hostile.does}.</p>"
        f'<a href="/after/{name}">after {name}</a>{hostile.html}{script}'
    )


class HostileToBrowsers(SiteServer):
    """Serves the hostile pages, and between them pages that scripts draw: /good/0 and so on."""

    def __init__(self, names: Iterable[str] = HOSTILE_PAGES, good: int = 10) -> None:
        super().__init__({f"/{name}": page_of(name, HOSTILE_PAGES[name]) for name in names})
        self.good = [f"/good/{number}" for number in range(good)]
        links = "".join(f'<a href="{path}">{path}</a>\n' for path in (*self.pages, *self.good))
        self.pages["/"] = f"<!doctype html><title>Hostile to browsers</title>{links}"
        self.pages |= {path: _good(path) for path in self.good}
        self._stalled = threading.Event()
        self.pages["/stalled"] = SiteResponse(gate=self._stalled)

    def __exit__(self, *exception: object) -> None:
        self._stalled.set()
        super().__exit__(*exception)

    def response(self, path: str) -> SiteResponse:
        """Return the page of a path whatever its query; data and the pages after are small."""
        bare = path.partition("?")[0]
        if bare.startswith(("/data/", "/after/")):
            return SiteResponse(f"<!doctype html><title>{bare}</title><p>{bare}")
        return super().response(bare)


def _good(path: str) -> str:
    return (
        '<!doctype html><html lang="en"><title>Good</title><body><div id="root"></div><script>'
        f"fetch('/data{path}').then(() => {{ document.getElementById('root').innerHTML ="
        f" '<p>Drawn by a script: {path}.</p><a href=\"/after{path}\">next</a>' }})</script>"
    )
