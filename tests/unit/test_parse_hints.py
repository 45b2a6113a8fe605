"""What sitemaps and feeds say about when pages change."""

from __future__ import annotations

from gossamer.model import Hints, ParseJob, Role
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page
from gossamer.urls.canonical import url_digest

SITE = "http://site.test"
MOMENT = 784111777.0  # 1994-11-06T08:49:37Z


def hints(body: str, *, role: Role = Role.PAGE, content_type: str = "application/xml") -> Hints:
    job = ParseJob(1, role, f"{SITE}/list.xml", body.encode(), content_type, "", "", "", "", "")
    return parse_page(job, ParseOptions()).hints


def by_path(found: Hints) -> dict[str, tuple[float, float]]:
    known = {url_digest(f"{SITE}/{name}"): name for name in "abcdefghijklm"}
    columns = zip(found.digests, found.modified, found.periods, strict=True)
    return {known[each]: (modified, period) for each, modified, period in columns}


def urlset(*entries: str) -> str:
    return f"<urlset>{''.join(f'<url>{entry}</url>' for entry in entries)}</urlset>"


def test_a_sitemaps_dates_and_frequencies_are_hints() -> None:
    found = hints(
        urlset(
            f"<loc>{SITE}/a</loc><lastmod>1994-11-06T08:49:37Z</lastmod>",
            f"<loc>{SITE}/b</loc><changefreq>daily</changefreq>",
            f"<loc>{SITE}/c</loc><lastmod>soon</lastmod>",
        ),
        role=Role.SITEMAP,
    )
    assert by_path(found) == {"a": (MOMENT, 0.0), "b": (0.0, 86_400.0), "c": (0.0, 0.0)}


def test_dates_that_are_all_the_same_are_those_of_the_list_and_say_nothing() -> None:
    entries = [
        f"<loc>{SITE}/{name}</loc><lastmod>1994-11-06T08:49:{n:02}Z</lastmod>" for n, name in enumerate("abcdefghijk")
    ]
    assert {at for at, _ in by_path(hints(urlset(*entries), role=Role.SITEMAP)).values()} == {0.0}
    entries[0] = entries[0].replace("1994", "1993")
    assert by_path(hints(urlset(*entries), role=Role.SITEMAP))["k"] == (MOMENT - 27, 0.0)


def test_the_entries_of_a_feed_are_hints() -> None:
    rss = (
        "<rss><channel><title>News</title>"
        f"<item><link>{SITE}/a</link><pubDate>Sun, 06 Nov 1994 08:49:37 GMT</pubDate></item>"
        f"<item><link>{SITE}/b</link></item></channel></rss>"
    )
    assert by_path(hints(rss, content_type="application/rss+xml")) == {"a": (MOMENT, 0.0)}
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/c"/>'
        "<published>1990-01-01T00:00:00Z</published><updated>1994-11-06T08:49:37Z</updated></entry></feed>"
    )
    assert by_path(hints(atom, content_type="application/atom+xml")) == {"c": (MOMENT, 0.0)}


def test_a_page_gives_no_hints() -> None:
    assert hints("<title>A</title><a href=b>b</a>", content_type="text/html") == Hints()
