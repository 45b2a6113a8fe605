"""Change hints that sitemaps and feeds give about pages."""

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


def hints_by_path(change_hints: Hints) -> dict[str, tuple[float, float]]:
    names = {url_digest(f"{SITE}/{name}"): name for name in "abcdefghijklm"}
    columns = zip(change_hints.digests, change_hints.modified, change_hints.periods, strict=True)
    return {names[digest]: (modified, period) for digest, modified, period in columns}


def urlset(*entries: str) -> str:
    return f"<urlset>{''.join(f'<url>{entry}</url>' for entry in entries)}</urlset>"


def test_a_sitemaps_dates_and_frequencies_are_hints() -> None:
    change_hints = hints(
        urlset(
            f"<loc>{SITE}/a</loc><lastmod>1994-11-06T08:49:37Z</lastmod>",
            f"<loc>{SITE}/b</loc><changefreq>daily</changefreq>",
            f"<loc>{SITE}/c</loc><lastmod>soon</lastmod>",
        ),
        role=Role.SITEMAP,
    )
    assert hints_by_path(change_hints) == {"a": (MOMENT, 0.0), "b": (0.0, 86_400.0), "c": (0.0, 0.0)}


def test_nearly_equal_dates_on_all_entries_are_ignored() -> None:
    entries = [
        f"<loc>{SITE}/{name}</loc><lastmod>1994-11-06T08:49:{n:02}Z</lastmod>" for n, name in enumerate("abcdefghijk")
    ]
    assert {modified for modified, _ in hints_by_path(hints(urlset(*entries), role=Role.SITEMAP)).values()} == {0.0}
    entries[0] = entries[0].replace("1994", "1993")
    assert hints_by_path(hints(urlset(*entries), role=Role.SITEMAP))["k"] == (MOMENT - 27, 0.0)


def test_dated_entries_of_a_feed_are_hints() -> None:
    rss = (
        "<rss><channel><title>News</title>"
        f"<item><link>{SITE}/a</link><pubDate>Sun, 06 Nov 1994 08:49:37 GMT</pubDate></item>"
        f"<item><link>{SITE}/b</link></item></channel></rss>"
    )
    assert hints_by_path(hints(rss, content_type="application/rss+xml")) == {"a": (MOMENT, 0.0)}
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/c"/>'
        "<published>1990-01-01T00:00:00Z</published><updated>1994-11-06T08:49:37Z</updated></entry></feed>"
    )
    assert hints_by_path(hints(atom, content_type="application/atom+xml")) == {"c": (MOMENT, 0.0)}


def test_a_page_gives_no_hints() -> None:
    assert hints("<title>A</title><a href=b>b</a>", content_type="text/html") == Hints()
