"""Signs in a source that scripts make the page, and the URLs that a source names for its scripts."""

from __future__ import annotations

import pytest

from conftest import skip_without_native
from gossamer.kernels import native
from gossamer.model import Kind, Role
from gossamer.parse import page_parser
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page
from gossamer.parse.readers.html import read_any_html
from helpers.parse.jobs import job, page

SCRIPT = '<script src="/bundle.js"></script>'
WORDS = "<p>" + "Words that the server wrote. " * 20
SHELLS = {
    "react": f'<title>Shop</title><div id="root"></div>{SCRIPT}',
    "vue": f"<title>Shop</title><body><div id=app></div>{SCRIPT}",
    "spinner": f'<div id="__next"><div class="spinner">Loading...</div></div>{SCRIPT}',
    "angular": f"<app-root></app-root>{SCRIPT}",
    "comment": f'<div id="root"><!-- the app --></div><footer>© Shop</footer>{SCRIPT}',
    "notice": f'<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>{SCRIPT}',
}


@pytest.mark.parametrize("name", SHELLS)
def test_an_app_shell_is_a_sign(name: str) -> None:
    assert page(SHELLS[name]).script_sign == "app shell"


@pytest.mark.parametrize(
    ("sign", "html"),
    [
        ("noscript", f"<main></main><noscript>Please turn <b>JavaScript</b> on.</noscript>{SCRIPT}"),
        ("loading", f"<p>Loading, please wait.</p>{SCRIPT}"),
        ("script without text", f"<title>A title</title><div class=view></div>{SCRIPT}"),
    ],
)
def test_other_signs(sign: str, html: str) -> None:
    assert page(html).script_sign == sign


@pytest.mark.parametrize(
    "html",
    [
        f'<div id="root">{WORDS}</div>{SCRIPT}',  # rendered on the server
        f"<noscript>JavaScript is disabled.</noscript>{WORDS}{SCRIPT}",
        '<div id="root"></div>',  # no script would fill it
        "<title>Empty</title>",
        f"<p>A short page.</p>{SCRIPT}",
        f"<p>Loading docks of the harbour: a list of all ships that came in this year.</p>{SCRIPT}",
        '<meta http-equiv="refresh" content="0; url=/next"><script>location = "/next"</script>',
        f'<frameset><frame src="/menu"></frameset>{SCRIPT}',
    ],
)
def test_pages_that_need_no_scripts_have_no_sign(html: str) -> None:
    assert page(html).script_sign == ""


def test_other_documents_have_no_sign() -> None:
    assert page(SHELLS["react"], "text/plain").script_sign == ""
    assert parse_page(job(SHELLS["react"], role=Role.CHECK), ParseOptions()).script_sign == ""


@pytest.mark.parametrize("name", SHELLS)
def test_both_readers_find_the_same_sign(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if native is None:
        skip_without_native()
    fast = page(SHELLS[name])

    def read_surely(html: bytes, url: str, max_links: int, *, keep_anchors: bool = True) -> object:
        return read_any_html(html, url, max_links, keep_anchors=keep_anchors, cut=None)

    monkeypatch.setattr(page_parser, "read_html", read_surely)
    sure = page(SHELLS[name])
    assert (fast.script_sign, fast.text_digest) == (sure.script_sign, sure.text_digest)


# -- URLs in scripts ---------------------------------------------------------------------------------------------------


def script_links(html: str) -> list[str]:
    parsed = parse_page(job(html), ParseOptions(script_links=True))
    links = zip(parsed.links.urls, parsed.links.kinds, strict=True)
    return [url.removeprefix("http://example.org") for url, kind in links if kind == Kind.SCRIPT_URL]


@pytest.mark.parametrize(
    ("html", "urls"),
    [
        ('<script type="application/ld+json">{"@context": "https://schema.org", "url": "/a"}</script>', ["/a"]),
        ('<script type="application/ld+json">{"sameAs": ["http://other.test/x", "no URL"]}</script>',
         ["http://other.test/x"]),
        ('<div data-href="item.html?a=1&amp;b=2">Item</div>', ["/dir/item.html?a=1&b=2"]),
        ('<script id="__NEXT_DATA__" type="application/json">{"props": {"path": "/shop/1", "img": "/a.png"}}</script>',
         ["/shop/1"]),
        ('<script>window.__INITIAL_STATE__ = {"items": [{"to": "/shop/2", "t": "}"}]}; start();</script>', ["/shop/2"]),
        ('<script>window.__NUXT__={"routes":["/x","//cdn.test/y","/api/z"]}</script>', ["/x"]),
    ],
)  # fmt: skip
def test_urls_for_scripts_are_found(html: str, urls: list[str]) -> None:
    assert script_links(html) == urls


@pytest.mark.parametrize(
    "html",
    [
        '<script type="application/json">{"path": "/cut</script>',
        "<script>window.__STATE__ = makeState('/x')</script>",
        '<script>var path = "/x"</script>',
        "<script>window.__STATE__ = {" + '"a": {' * 3000 + "</script>",
    ],
)
def test_what_is_no_state_is_left_alone(html: str) -> None:
    assert script_links(html) == []


def test_urls_for_scripts_are_no_links_by_default() -> None:
    assert page('<div data-href="/a">A</div>').links.urls == []
