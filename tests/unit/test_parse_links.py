"""Links of HTML pages and headers: their sources, attributes and counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import Kind, Position
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page
from gossamer.parse.readers.elements import LINK_BATCH
from gossamer.parse.readers.links import LinkCollector, parse_link_header, refresh_target, rel_kind, srcset_urls
from gossamer.urls.canonical import canonicalize, url_digest
from helpers.parse.jobs import URL, job, links, page, rows

HERE = "http://example.org/dir/"


def hyperlinks(html: str) -> list[tuple[str, str]]:
    return [(row.url, row.anchor) for row in rows(page(html)) if row.kind is Kind.HYPERLINK]


# Anchors


@pytest.mark.parametrize(
    ("html", "anchor"),
    [
        ("<a href=x>\n  two   words\t</a>", "two words"),
        ("<a href=x>ex<b>am</b>ple</a>", "example"),
        ("<a href=x>one<br>two</a>", "one two"),
        ("<a href=x><div>one</div><div>two</div></a>", "one two"),
        ("<a href=x><h2>Title</h2><p>and text</p></a>", "Title and text"),
        ("<a href=x><img src=i alt='a picture'></a>", "a picture"),
        ("<a href=x>&nbsp;<img src=i alt=one><img src=j alt=two></a>", "one two"),
        ("<a href=x>text<img src=i alt=picture></a>", "text"),
        ("<a href=x><script>no</script>yes<style>no</style></a>", "yes"),
        ("<a href=x><svg><title>an icon</title></svg></a>", "an icon"),
        ("<a href=x></a>", ""),
        ("<map><area href=x alt='a region'></map>", "a region"),
        ("<svg><a xlink:href=x><text>drawn</text></a></svg>", "drawn"),
        ("<a href=x>日本\u3000語</a>", "日本\u3000語"),
        ("<a href=y>\2</a><a href=x>two  words</a>", "two words"),
        ("<a href=x>\u3000wide </a><a href=y></a>", "\u3000wide"),
    ],
)
def test_the_anchor_is_the_text_of_the_link(html: str, anchor: str) -> None:
    assert (HERE + "x", anchor) in links(html)


def test_a_long_anchor_is_cut_to_500_characters() -> None:
    assert links(f"<a href=x>{'é' * 600}</a>") == [(HERE + "x", "é" * 500)]


def test_links_come_in_document_order() -> None:
    assert links("<a href=1>a<img src=2><object><a href=3>b</a></object></a><a href=4>c</a>") == [
        (HERE + "1", "ab"),
        (HERE + "2", ""),
        (HERE + "3", "b"),
        (HERE + "4", "c"),
    ]


def test_a_bond_keeps_the_position_of_its_first_occurrence() -> None:
    assert links("<a href=1><img src=2><object><a href=1>b</a></object></a>") == [(HERE + "1", "b"), (HERE + "2", "")]


def test_link_counts_do_not_depend_on_batches() -> None:
    numbers = range(LINK_BATCH + 10)
    link_rows = rows(page("".join(f"<a href={number}>x <b>y</b></a><img src={number}>" for number in numbers) * 2))
    hrefs = [HERE + str(number) for number in numbers for _ in ("anchor", "image")]
    assert [(row.url, row.weight) for row in link_rows] == [(href, 2) for href in hrefs]
    assert {(row.kind, row.anchor) for row in link_rows} == {(Kind.HYPERLINK, "x y"), (Kind.IMAGE, "")}


# Sources of links


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ("<a href=x>", Kind.HYPERLINK),
        ("<area href=x>", Kind.HYPERLINK),
        ("<noscript><a href=x></a></noscript>", Kind.HYPERLINK),
        ("<head><noscript><link rel=stylesheet href=x></noscript></head>", Kind.STYLE),
        ("<frameset><frame src=x></frameset>", Kind.FRAME),
        ("<frameset><noframes><body><a href=x></a></noframes></frameset>", Kind.HYPERLINK),
        ("<iframe src=x></iframe>", Kind.FRAME),
        ("<meta http-equiv=Refresh content='0;url=x'>", Kind.REFRESH),
        ("<link rel=canonical href=x>", Kind.CANONICAL),
        ("<link rel=alternate href=x>", Kind.ALTERNATE),
        ("<link rel='alternate stylesheet' href=x>", Kind.STYLE),
        ("<link rel=Next href=x>", Kind.RELATED),
        ("<link rel='shortcut icon' href=x>", Kind.OTHER),
        ("<link rel=manifest href=x>", Kind.OTHER),
        ("<img src=x>", Kind.IMAGE),
        ("<img srcset='x 2x'>", Kind.IMAGE),
        ("<picture><source srcset='x 1x'></picture>", Kind.IMAGE),
        ("<input type=IMAGE src=x>", Kind.IMAGE),
        ("<video poster=x></video>", Kind.IMAGE),
        ("<script src=x></script>", Kind.SCRIPT),
        ("<video src=x></video>", Kind.MEDIA),
        ("<video><source src=x></video>", Kind.MEDIA),
        ("<audio src=x></audio>", Kind.MEDIA),
        ("<video><track src=x></video>", Kind.MEDIA),
        ("<embed src=x>", Kind.MEDIA),
        ("<object data=x></object>", Kind.MEDIA),
        ("<body background=x>", Kind.OTHER),
        ("<table background=x></table>", Kind.OTHER),
    ],
)
def test_every_linking_element_gives_its_link(html: str, kind: Kind) -> None:
    assert [(row.url, row.kind) for row in rows(page(html))] == [(HERE + "x", kind)]


@pytest.mark.parametrize(
    "html",
    [
        "<!-- <a href=x>no</a> -->",
        "<template><a href=x>no</a></template>",
        "<script>'<a href=x>'</script>",
        "<textarea><a href=x></textarea>",
        "<a name=x>no href</a>",
        "<img src=''>",
        "<input type=text src=x>",
        "<link rel=preconnect href=//cdn.example.org>",
        "<link href=x>",
        "<meta http-equiv=refresh content=5>",
        "<a href='mailto:a@example.org'>",
        "<a href='javascript:void(0)'>",
        "<a href='data:text/html,x'>",
        "<a href='ftp://example.org/'>",
        "<a href='tel:+123'>",
        "<a href='http://[bad'>",
    ],
)
def test_markup_without_a_crawlable_target_gives_no_link(html: str) -> None:
    assert links(html) == []


@pytest.mark.parametrize("href", ["", "#", "#part", " #part ", "page.html", "page.html#part", "./page.html"])
def test_links_to_the_page_itself_are_links(href: str) -> None:
    assert links(f'<a href="{href}">self</a>') == [(URL, "self")]


def test_a_link_header_resolves_against_the_page_and_not_its_base() -> None:
    parsed = page("<base href=/other/>", link='<next.html>; rel="next"; title="On", </c>; rel=canonical')
    assert [(row.url, row.anchor, row.kind, row.position) for row in rows(parsed)] == [
        ("http://example.org/other/", "", Kind.RELATED, Position.HEAD),
        (HERE + "next.html", "On", Kind.RELATED, Position.HEAD),
        ("http://example.org/c", "", Kind.CANONICAL, Position.HEAD),
    ]
    assert parsed.canonical == "http://example.org/c"


def test_a_canonical_named_by_page_and_header_counts_once() -> None:
    link_rows = rows(page("<link rel=canonical href=/c>", link="</c>; rel=canonical"))
    assert [(row.url, row.kind, row.weight) for row in link_rows] == [("http://example.org/c", Kind.CANONICAL, 1)]


def test_a_refresh_header_is_a_link() -> None:
    assert [(row.url, row.kind) for row in rows(page("", refresh="3; url=x"))] == [(HERE + "x", Kind.REFRESH)]


# Base


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("http://other.example/a/", "http://other.example/a/x"),
        ("/root/file", "http://example.org/root/x"),
        ("//other.example", "http://other.example/x"),
        ("", HERE + "x"),
        ("http://[bad/", HERE + "x"),
        ("ftp://example.org/", HERE + "x"),
        ("javascript:0", HERE + "x"),
    ],
)
def test_links_are_relative_to_the_base_unless_it_is_broken(base: str, target: str) -> None:
    assert hyperlinks(f"<base href='{base}'><a href=x>y</a>") == [(target, "y")]


def test_only_the_first_base_counts() -> None:
    html = "<base target=_top><base href=/a/><base href=/b/><a href=x>y</a>"
    assert hyperlinks(html) == [("http://example.org/a/x", "y")]


def test_a_base_applies_to_links_before_it() -> None:
    html = "<link rel=next href=n><body><a href=x>y</a><base href=sub/>"
    assert links(html) == [(HERE + "sub/n", ""), (HERE + "sub/x", "y"), (HERE + "sub/", "")]


def test_a_base_is_a_related_link_itself() -> None:
    (row,) = rows(page("<base href=/top/>"))
    assert (row.url, row.kind, row.rel, row.position) == (
        "http://example.org/top/",
        Kind.RELATED,
        "base",
        Position.HEAD,
    )


# Rel, follow, position


@pytest.mark.parametrize(
    ("rel", "follow"),
    [("nofollow", False), ("External NOFOLLOW", False), ("ugc", True), ("nofollower", True), ("", True)],
)
def test_only_nofollow_forbids_following(rel: str, follow: bool) -> None:
    (row,) = rows(page(f"<a href=x rel='{rel}'>y</a>"))
    assert (row.follow, row.rel) == (follow, rel.lower())


@pytest.mark.parametrize(
    ("html", "robots"), [("<meta name=ROBOTS content='Index, NoFollow'>", ""), ("", "nofollow"), ("", "gossamer: none")]
)
def test_a_page_can_forbid_following_all_its_links(html: str, robots: str) -> None:
    parsed = page(f"<a href=x>y</a><a href=x rel=nofollow>y</a>{html}", robots=robots)
    assert parsed.nofollow
    assert [(row.follow, row.weight) for row in rows(parsed)] == [(False, 2)]


@pytest.mark.parametrize(
    ("html", "position"),
    [
        ("<a href=x>", Position.CONTENT),
        ("<nav><ul><li><a href=x>", Position.NAV),
        ("<header><a href=x>", Position.HEADER),
        ("<footer><a href=x>", Position.FOOTER),
        ("<aside><a href=x>", Position.ASIDE),
        ("<header><nav><a href=x>", Position.NAV),
        ("<header><nav></nav><a href=x>", Position.HEADER),
        ("<header></header><a href=x>", Position.CONTENT),
        ("<div role=navigation><a href=x>", Position.NAV),
        ("<section role='contentinfo'><p><a href=x>", Position.FOOTER),
        ("<div role=complementary></div><a href=x>", Position.CONTENT),
        ("<nav role=tablist><a href=x>", Position.NAV),
        ("<head><link rel=next href=x></head>", Position.HEAD),
    ],
)
def test_a_link_takes_the_position_of_its_nearest_landmark(html: str, position: Position) -> None:
    assert [row.position for row in rows(page(html))] == [position]


# Bonds


def test_repeated_bonds_are_counted() -> None:
    html = (
        "<nav><a href=x rel=a>y</a></nav><a href=x rel=b>y</a><a href='x#part'>y</a>"
        "<a href=x>z</a><a href=x rel=nofollow>y</a>"
    )
    assert [(row.anchor, row.follow, row.weight, row.rel, row.position) for row in rows(page(html))] == [
        ("y", True, 3, "a", Position.NAV),
        ("z", True, 1, "", Position.CONTENT),
        ("y", False, 1, "nofollow", Position.CONTENT),
    ]


def test_links_beyond_the_limit_are_left_out_and_counted() -> None:
    html = "".join(f"<a href={number}>x</a>" for number in range(10)) + "<a href=0>x</a>"
    parsed = parse_page(job(html), ParseOptions(max_links=4))
    assert [(row.url[-1], row.weight) for row in rows(parsed)] == [("0", 2), ("1", 1), ("2", 1), ("3", 1)]
    assert parsed.reason == "6 more links left out"


def test_without_kept_links_each_target_comes_once_as_its_strongest_link() -> None:
    html = "<img src=x><a href=x rel=nofollow>a</a><a href=x>b</a><nav><a href=y>c</a></nav><a href=y>d</a>"
    parsed = parse_page(job(html), ParseOptions(keep_links=False))
    assert [(row.url[-1], row.kind, row.follow, row.anchor, row.weight) for row in rows(parsed)] == [
        ("x", Kind.HYPERLINK, True, "", 3),
        ("y", Kind.HYPERLINK, True, "", 2),
    ]


def test_link_digests_match_their_urls() -> None:
    columns = page("<a href=x>1</a><a href='http://other.example/'>2</a>").links
    assert columns.digests == [url_digest(url) for url in columns.urls]


def test_a_url_of_a_megabyte_is_left_out_and_counted() -> None:
    assert page(f"<a href=/{'x' * (1 << 20)}>y</a>").reason == "1 more link left out"


def test_a_long_base_cannot_inflate_the_links() -> None:
    html = f"<base href=/{'x' * 60_000}/>" + "".join(f"<a href={number}>" for number in range(5000))
    parsed = page(html)
    assert sum(map(len, parsed.links.urls)) < 17 << 20
    assert parsed.reason.endswith("more links left out")


SEGMENT = st.text("abcXYZ019._-~%:;?#@ \t\\é", max_size=6)


@given(st.lists(SEGMENT | st.sampled_from(["..", "."]), max_size=6).map("/".join))
def test_fast_href_resolution_agrees_with_the_url_parser(href: str) -> None:
    for base in (URL, "https://example.org/", "http://example.org:81/a/b/c/d?q=/x/y", "http://example.org/a//b/"):
        assert LinkCollector(base, 10).resolve_href(href) == canonicalize(href, base)


@pytest.mark.parametrize("hrefs", [("x ", "x #part"), ("x #part", "x "), ("x", "x #part", "x#part", "x ")])
def test_a_space_before_a_fragment_is_kept_and_a_trailing_space_is_not(hrefs: tuple[str, ...]) -> None:
    collector = LinkCollector(URL, 10)
    assert [collector.resolve_href(href) for href in hrefs * 2] == [canonicalize(href, URL) for href in hrefs * 2]


# Attribute and header syntax


@pytest.mark.parametrize(
    ("value", "urls"),
    [
        ("a 1x, b 2x", ["a", "b"]),
        ("a,b", ["a,b"]),
        ("a, b", ["a", "b"]),
        (" , a 100w ,, b", ["a", "b"]),
        ("data:image/png;base64,xyz 1x, b 2x", ["data:image/png;base64,xyz", "b"]),
        ("a calc(1, 2), b", ["a", "b"]),
        ("a (", ["a"]),
        ("", []),
        (",,,", []),
    ],
)
def test_srcset_urls_are_parsed(value: str, urls: list[str]) -> None:
    assert list(srcset_urls(value)) == urls


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("5; url=x", "x"),
        ("5;URL='x y'", "x y"),
        ('0.5 , url = "x"; more', "x"),
        (".5;x", "x"),
        ("5 x", "x"),
        ("5", None),
        ("5;", None),
        ("5; url=", None),
        ("url=x", None),
        ("\u0665; url=x", None),  # an Arabic five
        ("", None),
    ],
)
def test_refresh_targets_are_parsed(value: str, target: str | None) -> None:
    assert refresh_target(value) == target


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            '<a>; rel="Next  x"; title="a, \\"b\\"; c", <b>;rel=prev',
            [("a", "next x", 'a, \\"b\\"; c'), ("b", "prev", "")],
        ),
        ("<a>", [("a", "", "")]),
        ('<a>; rel=next; rel=prev, <b>; anchor="#x"; rel=next', [("a", "next", "")]),
        ('<a>; rel="open', [("a", "", "")]),
        ("nonsense", []),
        ("", []),
    ],
)
def test_link_headers_are_parsed(value: str, expected: list[tuple[str, str, str]]) -> None:
    assert list(parse_link_header(value)) == expected


def test_the_most_specific_rel_decides_the_kind() -> None:
    assert rel_kind("nofollow alternate") is Kind.ALTERNATE
    assert rel_kind("icon next") is Kind.RELATED
    assert rel_kind("dns-prefetch preconnect") is None
