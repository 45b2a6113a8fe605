"""Sites with exactly one fault each, and the rows that reports must list for them.

Every site starts clean (home, `/one`, `/two`, all linked, all in its sitemap) and gets one change. One crawl visits all
sites, each on a port of its own; a report row belongs to the site whose address it contains.
"""

from __future__ import annotations

import random
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Row = dict[str, Any]  # columns to compare; a text that begins with "/" stands for a URL of the site
XML = {"Content-Type": "application/xml"}
TEXT = {"Content-Type": "text/plain"}
HOME = "{home}"  # in a body: the site's own address


def words(seed: str, number: int = 60) -> list[str]:
    """Return words that no other page has."""
    chance = random.Random(seed)
    return ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(number)]


def page(
    name: str,
    more: str = "",
    *,
    title: str | None = None,
    description: str | None = None,
    heading: str | None = None,
    head: str = "",
    text: str | None = None,
) -> str:
    """Return a page without faults, or with the requested one; an empty text omits the element."""
    title = f"Title of {name}" if title is None else title
    description = f"Description of {name}" if description is None else description
    heading = f"Heading of {name}" if heading is None else heading
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f"<title>{title}</title>" if title else "",
            f'<meta name="description" content="{description}">' if description else "",
            f"{head}</head><body>",
            f"<h1>{heading}</h1>" if heading else "",
            f"<p>{' '.join(words(name)) if text is None else text}</p>",
            f"{more}</body></html>",
        ]
    )


class Site(NamedTuple):
    """A change to the clean site, and the report rows it must cause."""

    pages: Mapping[str, str | SiteResponse] = {}  # replace or extend those of the clean site
    links: str = ""  # on the home page, after those of the clean site
    expected: Mapping[str, list[Row]] = {}  # report code -> rows
    in_sitemap: tuple[str, ...] = ()  # besides home, /one and /two
    robots: str = ""

    def pages_to_serve(self, name: str) -> dict[str, str | SiteResponse]:
        """Return the site's pages by path."""
        home = f'<p><a href="/one">First page</a> and <a href="/two">second page</a></p>{self.links}'
        listed = ("/", "/one", "/two", *self.in_sitemap)
        urls = "".join(f"<url><loc>{path if '://' in path else HOME + path[1:]}</loc></url>" for path in listed)
        sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        return {
            "/robots.txt": SiteResponse(f"User-agent: *\n{self.robots}\nSitemap: {HOME}sitemap.xml\n", headers=TEXT),
            "/sitemap.xml": SiteResponse(sitemap, headers=XML),
            "/": page(f"{name} home", home),
            "/one": page(f"{name} one", '<p><a href="/">Start</a></p>'),
            "/two": page(f"{name} two", '<p><a href="/">Start</a></p>'),
            **self.pages,
        }


def redirect(to: str) -> SiteResponse:
    return SiteResponse("", 301, {"Location": to})


def alternates(**languages: str) -> str:
    return "".join(f'<link rel="alternate" hreflang="{name}" href="{href}">' for name, href in languages.items())


def canonical(href: str) -> str:
    return f'<link rel="canonical" href="{href}">'


NOINDEX = '<meta name="robots" content="noindex">'
EXTRA = '<a href="/extra">Another page</a>'
LONG_TEXT = words("near", 1000)

SITES: dict[str, Site] = {
    "clean": Site(),
    "tricky": Site(
        {
            "/one": page("tricky one", '<a href="#there">There</a> <a href="/">Start</a>', head=canonical("/one#top")),
            "/copy": page("tricky one", head=canonical("/one")),
            "/hidden": page("", "<h1>A</h1><h1>B</h1>", title="", description="", heading="", head=NOINDEX),
            "/plain": SiteResponse("Neither title nor heading", headers=TEXT),
            "/short": page("tricky short", "<ul><li>An item<li>Another<p>A paragraph</ul>", text="A few words"),
            "/brief": page("tricky brief", "<table><tr><td>A cell</table>&copy;", text="A few words"),
        },
        '<a href="/copy">A copy</a> <a href="/hidden">Hidden</a> <a href="/plain">Plain</a> <a href="/short">Short</a>'
        '<a href="/brief">Brief</a> <a href="/one"><img src="/logo.png" alt="Our logo"></a>'
        '<a href="https://elsewhere.example/">Elsewhere</a> <a href="mailto:me@example.org">Mail</a>',
        in_sitemap=("/short", "/brief"),
    ),
    "broken": Site(
        {
            "/one": page("broken one", '<nav><a href="/missing">lost</a></nav><p><a href="/">Start</a></p>'),
            "/gone": SiteResponse("", 410),
            "/bad": SiteResponse("", 400),
        },
        '<p><a href="/missing">the lost page</a> <a href="/gone">an old page</a> <a href="/bad">a bad one</a></p>',
        {
            "LNK001": [
                {"source": "/", "url": "/missing", "status": 404, "anchor": "the lost page", "position": "content"},
                {"source": "/one", "url": "/missing", "status": 404, "anchor": "lost", "position": "nav"},
                {"source": "/", "url": "/gone", "status": 410, "outcome": "not found", "anchor": "an old page"},
                {"source": "/", "url": "/bad", "status": 400, "outcome": "http error", "anchor": "a bad one"},
            ]
        },
    ),
    "cut": Site(
        {"/one": page("cut one", f'<a href="/{"x" * (1 << 17)}">A link that no server accepts</a>')},
        EXTRA.replace("/extra", "/one"),
        {"WEB008": [{"url": "/one", "cut": "links", "media_type": "text/html"}]},
    ),
    "scripts": Site(
        {"/one": page("scripts one", '<div id="root"></div><script src="/app.js"></script>', text="")},
        "",
        {"WEB009": [{"url": "/one", "sign": "app shell", "rendered": "", "words": 0}]},
    ),
    "closed": Site(
        {"/staff": SiteResponse("", 403)},
        '<a href="/staff">For staff</a>',
        {"LNK002": [{"source": "/", "url": "/staff", "status": 403, "anchor": "For staff"}]},
    ),
    "nofollow": Site(
        {},
        '<a rel="nofollow" href="/two">the second, unloved</a>',
        {"LNK003": [{"source": "/", "url": "/two", "anchor": "the second, unloved", "why": "rel=nofollow"}]},
    ),
    "nofollow-page": Site(
        {"/two": page("nofollow page", '<a href="/">Start</a>', head='<meta name="robots" content="nofollow">')},
        "",
        {"LNK003": [{"source": "/two", "url": "/", "anchor": "Start", "why": "the page says so"}]},
    ),
    "anchors-empty": Site(
        {},
        '<a href="/one"></a> <a href="/two"><img src="data:," alt=""></a>'
        '<a href="/two"><img src="data:," alt="Two"></a>',
        {"LNK010": [{"source": "/", "url": "/one", "weight": 1}, {"source": "/", "url": "/two", "weight": 1}]},
    ),
    "anchors-generic": Site(
        {},
        '<a href="/one">Click here</a> <a href="/two">Read more…</a>',
        {"LNK011": [{"url": "/one", "anchor": "Click here"}, {"url": "/two", "anchor": "Read more…"}]},
    ),
    "anchors-ambiguous": Site(
        {},
        '<a href="/one">A chapter</a> <a href="/two">a chapter</a> <nav><a href="/two">First page</a></nav>',
        {"LNK012": [{"source": "/", "anchor": "a chapter", "targets": 2, "url": "/one", "other": "/two"}]},
    ),
    "redirect-links": Site(
        {"/old": redirect("/two")},
        '<a href="/old">The old address</a>',
        {"RED005": [{"url": "/old", "status": 301, "final": "/two", "final_status": 200, "inlinks": 1}]},
    ),
    "redirect-chains": Site(
        {"/old": redirect("/older"), "/older": redirect("/two")},
        '<a href="/old">The old address</a>',
        {"RED002": [{"url": "/old", "hops": 2, "final": "/two", "final_status": 200, "inlinks": 1}]},
    ),
    "redirect-loops": Site(
        {"/a": redirect("/b"), "/b": redirect("/a")},
        '<a href="/a">In circles</a>',
        {"RED003": [{"url": "/a", "inlinks": 1}, {"url": "/b", "inlinks": 0}]},
    ),
    "redirect-errors": Site(
        {"/old": redirect("/missing")},
        '<a href="/old">The old address</a>',
        {"RED004": [{"url": "/old", "hops": 1, "final": "/missing", "final_status": 404, "inlinks": 1}]},
    ),
    "titles-missing": Site({"/one": page("no title", title="")}, expected={"TTL001": [{"url": "/one"}]}),
    "titles-duplicate": Site(
        {"/one": page("title 1", title="The same"), "/two": page("title 2", title="The same")},
        expected={"TTL002": [{"title": "The same", "copies": 2, "url": "/one"}, {"title": "The same", "url": "/two"}]},
    ),
    "titles-long": Site(
        {"/one": page("long title", title="x" * 61), "/two": page("not too long", title="x" * 60)},
        expected={"TTL003": [{"url": "/one", "characters": 61}]},
    ),
    "descriptions-missing": Site({"/one": page("no text", description="")}, expected={"DSC001": [{"url": "/one"}]}),
    "descriptions-duplicate": Site(
        {"/one": page("text 1", description="Same"), "/two": page("text 2", description="Same")},
        expected={
            "DSC002": [{"description": "Same", "copies": 2, "url": "/one"}, {"description": "Same", "url": "/two"}]
        },
    ),
    "descriptions-long": Site(
        {"/one": page("long text", description="x" * 156), "/two": page("short text", description="x" * 155)},
        expected={"DSC003": [{"url": "/one", "characters": 156}]},
    ),
    "headings-missing": Site({"/one": page("no heading", heading="")}, expected={"HDG001": [{"url": "/one"}]}),
    "headings-duplicate": Site(
        {"/one": page("head 1", heading="Same"), "/two": page("head 2", heading="Same")},
        expected={"HDG002": [{"heading": "Same", "copies": 2, "url": "/one"}, {"heading": "Same", "url": "/two"}]},
    ),
    "headings-long": Site(
        {"/one": page("long heading", heading="x" * 71), "/two": page("short heading", heading="x" * 70)},
        expected={"HDG003": [{"url": "/one", "characters": 71}]},
    ),
    "headings-several": Site(
        {"/one": page("headings", "<h1>Another one</h1>")},
        expected={"HDG004": [{"url": "/one", "count": 2, "headings": "Heading of headings | Another one"}]},
    ),
    "duplicates": Site(
        {"/extra": page("duplicates one", '<p><a href="/">Start</a></p>')},
        EXTRA,
        {"DUP001": [{"url": "/extra", "same_as": "/one", "copies": 2}]},
        ("/extra",),
    ),
    "near-duplicates": Site(
        {
            "/one": page("near 1", text=" ".join(LONG_TEXT)),
            "/two": page("near 2", text=" ".join([*LONG_TEXT[:200], "other", *LONG_TEXT[201:]])),
        },
        expected={"DUP002": [{"url": "/two", "similar_to": "/one"}]},
    ),
    "canonical-conflicts": Site(
        {"/extra": page("two canonicals", head=canonical("/one") + canonical("/two"))},
        EXTRA,
        {"CAN001": [{"url": "/extra", "canonicals": 2}]},
    ),
    "canonical-errors": Site(
        {
            "/one": page("canonical 1", head=canonical("/missing")),
            "/two": page("canonical 2", head=canonical("/moved")),
            "/extra": page("canonical 3", head=canonical("/hidden")),
            "/moved": redirect("/"),
            "/hidden": page("canonical 4", head=NOINDEX),
        },
        EXTRA,
        {
            "CAN002": [
                {"url": "/one", "canonical": "/missing", "status": 404, "why": "not found"},
                {"url": "/two", "canonical": "/moved", "status": 301, "why": "redirected"},
                {"url": "/extra", "canonical": "/hidden", "status": 200, "why": "noindex"},
            ]
        },
        ("/extra",),
    ),
    "canonical-chains": Site(
        {"/a": page("chain a", head=canonical("/b")), "/b": page("chain b", head=canonical("/one"))},
        '<a href="/a">A</a> <a href="/b">B</a>',
        {"CAN003": [{"url": "/a", "canonical": "/b", "next": "/one"}]},
    ),
    "robots-blocked": Site(
        links='<a href="/private/1">Not for robots</a> <a href="/private/2" rel="nofollow external">this neither</a>',
        expected={
            "ROB001": [{"url": "/private/1", "inlinks": 1, "source": "/", "anchor": "Not for robots"}],
            "LNK003": [{"url": "/private/2", "anchor": "this neither"}],
        },
        robots="Disallow: /private/",
    ),
    "sitemap-errors": Site(
        {"/moved": redirect("/one"), "/hidden": page("hidden", head=NOINDEX)},
        '<a href="/hidden">Hidden</a>',
        {
            "MAP001": [
                {"url": "/missing", "status": 404, "reason": "not found"},
                {"url": "/moved", "status": 301, "reason": "redirects"},
                {"url": "/hidden", "status": 200, "reason": "noindex"},
            ]
        },
        ("/missing", "/moved", "/hidden"),
    ),
    "sitemap-unvisited": Site(
        expected={"MAP002": [{"url": "https://elsewhere.example/", "state": "out of scope"}]},
        in_sitemap=("https://elsewhere.example/",),
    ),
    "sitemap-unreadable": Site(
        {"/sitemap2.xml": SiteResponse("<urlset><url>", headers=XML)},
        expected={"MAP004": [{"url": "/sitemap2.xml", "status": 200}, {"url": "/sitemap3.xml", "status": 404}]},
        robots=f"Sitemap: {HOME}sitemap2.xml\nSitemap: {HOME}sitemap3.xml",
    ),
    "sitemap-missing": Site(
        {"/extra": page("unlisted")}, EXTRA, {"MAP003": [{"url": "/extra", "backlinks": 1, "depth": 1}]}
    ),
    "orphans": Site(
        {"/extra": page("orphan", '<a href="/extra">Myself</a>')},
        expected={"WEB004": [{"url": "/extra", "known_from": "sitemap", "status": 200}]},
        in_sitemap=("/extra",),
    ),
    "hreflang": Site(
        {
            "/one": page("hreflang one", head=alternates(en="/one", de="/two")),
            "/two": page("hreflang two", head=alternates(en="/one", de="/two")),
        },
    ),
    "hreflang-invalid": Site(
        {"/one": page("hreflang 1", head='<link rel="alternate" hreflang="en-UK" href="/one">')},
        expected={"HRL001": [{"url": "/one", "hreflang": "en-UK", "target": "/one"}]},
    ),
    "hreflang-one-way": Site(
        {"/one": page("hreflang 2", head=alternates(en="/one", de="/two"))},
        expected={"HRL002": [{"url": "/one", "hreflang": "de", "target": "/two"}]},
    ),
    "hreflang-unfit": Site(
        {"/one": page("hreflang 3", head=alternates(en="/one", de="/moved")), "/moved": redirect("/two")},
        expected={"HRL003": [{"url": "/one", "hreflang": "de", "target": "/moved", "fault": "redirects"}]},
    ),
    "hreflang-no-self": Site(
        {
            "/one": page("hreflang 4", head=alternates(de="/two")),
            "/two": page("hreflang 5", head=alternates(en="/one", de="/two")),
        },
        expected={"HRL004": [{"url": "/one", "targets": 1}]},
    ),
    "html": Site(
        {
            "/one": page("html 1").replace("<!DOCTYPE html>\n", ""),
            "/two": page("html 2", '<div id="x">\n<b><i>x</b></i>\n<p id="x" class="a" class="b">&nosuch;\n</span>'),
        },
        expected={
            "HTM001": [
                {"url": "/one", "fault": "no doctype, or an outdated one", "line": 1},
                {"url": "/two", "fault": "elements not nested", "line": 9},
                {"url": "/two", "fault": "attribute given twice", "line": 10},
                {"url": "/two", "fault": "faulty character reference", "line": 10},
                {"url": "/two", "fault": "end tag without a start", "line": 11},
                {"url": "/two", "fault": "element not closed", "line": 11, "detail": "<div>"},
                {"url": "/two", "fault": "id used twice", "detail": "x"},
            ]
        },
    ),
}
MIRROR = Site()  # two servers have these same pages


@contextmanager
def serve_sites() -> Iterator[dict[str, SiteServer]]:
    """Serve all sites by name; "mirror" and "mirrored" have the same pages."""
    with ExitStack() as stack:
        servers: dict[str, SiteServer] = {}
        for name, site in {**SITES, "mirror": MIRROR, "mirrored": MIRROR}.items():
            server = servers[name] = stack.enter_context(SiteServer({}))
            for path, page_or_response in site.pages_to_serve(
                name.removesuffix("ed") if name == "mirrored" else name
            ).items():
                response = SiteResponse(page_or_response) if isinstance(page_or_response, str) else page_or_response
                server.pages[path] = response._replace(body=str(response.body).replace(HOME, server.url))
        yield servers
