"""The kernel that reads HTML agrees with the reader over Lexbor's tree wherever it is sure."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import package, skip_without_native
from gossamer.kernels import native
from gossamer.model import Role
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page
from gossamer.parse.readers import fast_html, tag_limits
from gossamer.urls.canonical import UrlRules
from helpers.growth.patterns import DEEP_MARKUP, MARKUP
from helpers.parse.agreement import PIECES, find_differences, mutate_page, random_page, random_tag
from helpers.parse.jobs import URL, job
from webs import debian

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.model import Page, ParseJob

SAMPLE = 40  # pages of a real web; tests/fuzz/agreement.py reads more
MAX_NOT_SURE = 0.02  # share of real pages
ORDINARY = [
    "<!doctype html><title>t</title><p>a<p>b<div>c</div>d",
    "<ul><li>a<li><a href=x>b</a></ul><dl><dt>c<dd>d</dl>",
    "<table><caption>a</caption><tr><th>b<td>c<tr><td><table><tr><td>d</table>e</table>f",
    "<a href=x><svg viewBox='0 0 1 1'><title>icon</title><path d='M0'/></svg></a>",
    "<h1>a<h2>b</h1>c<span>d</p>e</span>",
    "<form><select><option>a<option selected>b</select><textarea> c </textarea><button>d</button></form>",
    "<html lang=de><head><base href=/x/><link rel=canonical href=y></head><body background=z><a href=v>w</a>",
    "<nav role=banner><a href=a>b</a></nav><div role=main><a href=c>d</a></div><a href=e>f</a>",
    "a &amp; b &lt; c &nbsp; d &copy e < f",
    "<p>a</body></html> b <!-- c --> d",
    "<img src=a srcset='b 1x, c 2x' alt=d><video src=e poster=f><source src=g></video><area href alt=h>",
    "<a href='../x?y=1&amp;z=2#f' rel='nofollow  UGC'>a</a><a href='ä b'>c</a><a href=mailto:x>d</a>",
]
ODD = [
    "<b><p>a</b>b</p>", "<a href=x>a<a href=y>b</a>", "<table>a<tr><td>b</table>", "<table><a href=x>b</a></table>",
    "<p><b>a<p>b", "<frameset><frame src=x></frameset>", "<template><a href=x>a</a></template>",
    "<math><mi>a</mi></math>", "<svg><a href=x>a</a></svg>", "<svg><foreignObject><p>a</p></foreignObject></svg>",
    "<p><svg><p>a", "<plaintext>a</p>", "<select><div>a</div></select>", "<select><input>a", "<xmp><b></xmp>",
    "<noframes><a href=x>a</a></noframes>", "a</br>b", "<html lang=a><html lang=b>", "<body><body background=x>",
    "<nobr>a<nobr>b", "<ruby>a<rt>b<rt>c</ruby>", "<table><form><tr>", "<script><!--<script></script>--></script>a",
    "<form><div></form>a", "<title>a", "<a href=x", "<!-- a", "&#128;&#0;&bogus;",
    "<meta http-equiv=refresh content='0;url=x'>", "<datalist><option>a</datalist>",
    "<head></head><link rel=next href=x>", "<td><marquee><a href=x><table><td></table>a",
    "<table><td><a href=x><object></table>a", "<image src=x>", "<button><button>",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _built() -> None:
    if native is None:
        skip_without_native()


def parse_both_ways(parsed: ParseJob, options: ParseOptions, monkeypatch: pytest.MonkeyPatch) -> tuple[Page, Page]:
    """Return a page as the kernel reads it, and as Python does."""
    fast = parse_page(parsed, options)
    monkeypatch.setattr(fast_html, "native", None)
    monkeypatch.setattr(tag_limits, "native", None)
    return fast, parse_page(parsed, options)


@pytest.mark.parametrize("html", ORDINARY)
def test_the_kernel_is_sure_of_ordinary_markup(html: str) -> None:
    assert find_differences(html.encode(), URL) == {}
    assert find_differences(html.encode(), URL, keep_anchors=False) == {}


@pytest.mark.parametrize("html", ODD)
def test_odd_markup_is_the_same_or_left_to_the_tree(html: str) -> None:
    for page in (html, f"<!doctype html><body>{html}", f"<div>{html}</div>a", f"<table><td>{html}</table>a"):
        assert not find_differences(page.encode(), URL), page


@pytest.mark.parametrize("name", debian.DOCUMENTATION)
def test_real_pages_are_the_same(name: str) -> None:
    root = package(name)
    pages = sample(root)
    differences = [find_differences(page, URL) for page in pages]
    assert [found for found in differences if found] == []
    assert differences.count(None) <= MAX_NOT_SURE * len(pages)


def sample(root: Path) -> list[bytes]:
    return [file.read_bytes() for file in Random(1).sample(sorted(root.rglob("*.html")), SAMPLE)]


@pytest.mark.parametrize("name", debian.DOCUMENTATION)
def test_mutated_pages_are_the_same(name: str) -> None:
    rng = Random(2)
    for page in sample(package(name)):
        for _ in range(8):
            mutated = mutate_page(page[:10_000], rng)
            assert not find_differences(mutated, URL), mutated


def test_generated_pages_are_the_same() -> None:
    rng = Random(3)
    for _ in range(3000):
        page = random_page(rng, rng.choice((6, 12, 30)))
        assert not find_differences(page, URL), page


@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.integers(0, 9999).map(lambda n: random_tag(Random(n))), st.text()))
)
def test_any_markup_is_the_same(pieces: list[str]) -> None:
    page = "".join(pieces).encode("utf-8", "replace")
    assert not find_differences(page, URL)


@given(
    st.text(alphabet="abAB01./:?#&=%@!~;,+-_\\ \t'\"<|[]ä", max_size=12), st.sampled_from([URL, "http://h.org:81/?a"])
)
def test_any_href_has_the_same_url(href: str, base: str) -> None:
    escaped = href.replace("&", "&amp;").replace('"', "&quot;")
    page = f'<body><a href="{escaped}">a</a><a href="http://{escaped}">a</a><a href="http://h/{escaped}">a</a>'
    assert not find_differences(page.encode(), base)


@pytest.mark.parametrize("pattern", [*MARKUP, *DEEP_MARKUP], ids=str)
def test_expensive_markup_is_cut_at_the_same_place(pattern: object) -> None:
    for size in (20_000, 200_000):
        page = pattern.make(size).encode()  # type: ignore[attr-defined]
        assert tag_limits.find_cut(page) == tag_limits.find_cut_in_python(page)


@pytest.mark.parametrize(
    "options",
    [
        ParseOptions(),
        ParseOptions(keep_links=False, topic=frozenset({"one", "other"})),
        ParseOptions(rules=UrlRules(query="sort", drop_parameters=frozenset({"sid"}))),
        ParseOptions(max_links=3),
    ],
)
def test_whole_pages_are_the_same(options: ParseOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    html = (
        "<meta name=robots content=nofollow><title>One</title><a href='p?b=1&a=2'>x</a><a href='p?sid=1'>x</a>"
        "<a href=q;sid=2 rel=nofollow>y</a><a href=q>y</a><img src=q>"
    )
    parsed = job(html, link="<r>; rel=next, <p?a=2&b=1>; rel=canonical", refresh="5; url=s")
    fast, sure = parse_both_ways(parsed, options, monkeypatch)
    assert fast == sure


def test_a_kernel_that_fails_leaves_the_page_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native is not None
    html = b"<p>text <a href=x>link</a>"
    with pytest.raises(native.KernelFault):
        native.read_page(html, URL, 10, True, 0)
    monkeypatch.setattr(fast_html, "_STEPS_PER_BYTE", 0)
    assert fast_html.read_ordinary_html(html, URL, 10, keep_anchors=True) is None
    page = parse_page(job(html, role=Role.PAGE), ParseOptions())
    assert page.links.anchors == ["link"]
