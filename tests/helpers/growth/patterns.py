"""Hostile inputs of any size: a start, a unit that repeats, an end."""

from __future__ import annotations

from typing import NamedTuple


class Pattern(NamedTuple):
    """An input that grows by repeating a unit."""

    unit: str
    start: str = ""
    end: str = ""

    def make(self, size: int) -> str:
        """Return the input with about `size` characters."""
        return self.start + self.unit * (size // len(self.unit)) + self.end

    def __str__(self) -> str:
        return f"{self.start[:24]!r} {self.unit!r} {self.end[:12]!r}"


# One token without end, repeated separators, open brackets and quotes: bait for every regular expression.
TOKENS = tuple(
    map(
        Pattern,
        (
            "a", " ", "\t", "\n", "\r\n", "\0", "a ", " a", "a\n", "\n\n", "1", "1 ", "1.", "é", "漢", "e\u0301", "\u200d",
            "<", ">", "&", '"', "'", "=", ";", ",", "-", ".", "/", ":", "%", "\\", "(", "[", "{", "#", "*", "|", "_", "@",
            "a=", "a:", "a;", "a,", "a-", "a.", "a/", "a'", 'a"', '="', "='", "%4", "%41", "a b-", "\\\"", "..", "../", "--",
            "<a", "</", "<!", "<?", "&a", "&#", "12:", "1-1-", "a1_", "site:", '-"', "OR ",
        ),
    )
)  # fmt: skip

MARKUP = (
    Pattern("<p>"), Pattern("<br>"), Pattern("<p>a</p>"), Pattern("<a href=x>y</a>"), Pattern("<li><a href=/x>y"),
    Pattern("<a href=", end="x>"), Pattern(" x=y", "<p", ">"), Pattern(" x", "<p", ">"), Pattern(" class='a b'", "<p", ">"),
    Pattern("x", "<a href='", "'>"), Pattern("x", "<a href="), Pattern("&amp;"), Pattern("&amp"), Pattern("&#x41;"),
    Pattern("&notin"), Pattern("&#"), Pattern("<!--"), Pattern("<!-->"), Pattern("-->"), Pattern("<!-- - -- "),
    Pattern("-", "<!--"), Pattern("<![CDATA["), Pattern("]]>", "<svg><![CDATA["), Pattern("]", "<svg><![CDATA["),
    Pattern("<?"), Pattern("<?xml ?>"), Pattern("<!doctype "), Pattern("<script>"), Pattern("<script>a</script>"),
    Pattern("<!--<script>", "<script>"), Pattern("</p"), Pattern("</p>"), Pattern("</x>"), Pattern("<meta charset=x>"),
    Pattern("<base href=x>"), Pattern("<title>a"), Pattern("<title>a</title>"), Pattern("<h1>a</h1>"), Pattern("<img alt=a src=b>"),
    Pattern("a, ", "<img srcset='", "'>"), Pattern("a(", "<img srcset='", "'>"), Pattern("<noscript>"), Pattern("<plaintext>"),
    Pattern("<textarea>"), Pattern("<td>a", "<table>"), Pattern("<frame src=x>", "<frameset>"),
    Pattern("a<b>b</b>"), Pattern("<svg/>"), Pattern("<math><mi>a</mi></math>"), Pattern("<template></template>"),
    Pattern("<meta http-equiv=refresh content='1;url=x'>"), Pattern("<link rel='alternate next' href=x>"),
    Pattern("a ", "<p hidden>", "</p>"), Pattern("a\0b "), Pattern("<nav><a href=x>y</a></nav>"),
)  # fmt: skip

# Lexbor takes quadratic time on these. Enable them (add them to MARKUP) when `parse/readers/html.py` caps the depth and
# the formatting elements of a page before Lexbor reads it.
DEEP_MARKUP = (
    Pattern("<option>a", "<select>"),
    Pattern("<div>"), Pattern("<b>"), Pattern("<a><p>"), Pattern("<b><p>"), Pattern("<font><div>"), Pattern("<table>"),
    Pattern("<table><tr><td>"), Pattern("<ul><li>"), Pattern("<select><option>"), Pattern("<button>"), Pattern("<svg>"),
    Pattern("<math><mi>"), Pattern("<template>"), Pattern("<object>"), Pattern("<nobr>"), Pattern("<b></p>"),
    Pattern("<i><table>"), Pattern("<svg><foreignObject>"), Pattern("<nav>x"), Pattern("<blockquote><p>"),
    Pattern("</b></i></a>", "<b><i><a>" * 50), Pattern("</div>", "<div>" * 400), Pattern("<dl><dt>"), Pattern("<form><div>"),
)  # fmt: skip

ENTRY = "<item><title>a</title><link>http://a.test/</link><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item>"
XML = (
    Pattern("<a>", "<rss><channel>"), Pattern("<a/>", "<rss><channel>"), Pattern(ENTRY, "<rss><channel>", "</channel></rss>"),
    Pattern("<item>", "<rss><channel>"), Pattern("a", "<rss><channel><item><title>"), Pattern("&amp;", "<rss><channel><title>"),
    Pattern("&#65;", "<rss><channel><item><description>"), Pattern("]]", "<rss><channel><title><![CDATA["),
    Pattern("<![CDATA[a]]>", "<rss><channel><item><title>"), Pattern("<!-- -->", "<rss>"), Pattern("-", "<rss><!-"),
    Pattern("<?a b?>", "<rss>"), Pattern(" a", "<rss"), Pattern("a", "<rss a='"), Pattern("a", "<"), Pattern("<link href='x'/>", "<feed><entry>"),
    Pattern("<entry><link href='http://a.test/'/><updated>2024-01-01</updated></entry>", "<feed>", "</feed>"),
    Pattern("&lt;p&gt;", "<rss><channel><item><description>"), Pattern("\n", "<rss>"), Pattern(" ", "<rss"),
    Pattern("<!ENTITY a 'b'>", "<!DOCTYPE rss ["), Pattern("<!ELEMENT a (b)>", "<!DOCTYPE rss ["),
    Pattern("<!ATTLIST a b CDATA #IMPLIED>", "<!DOCTYPE rss ["), Pattern("(", "<!DOCTYPE rss [<!ELEMENT a "),
    Pattern(" xmlns:a='b'", "<rss"),
)  # fmt: skip

SITEMAPS = (
    Pattern("<url><loc>http://a.test/b</loc><lastmod>2024-01-01</lastmod></url>", "<urlset>", "</urlset>"),
    Pattern("<sitemap><loc>http://a.test/b</loc></sitemap>", "<sitemapindex>", "</sitemapindex>"),
    Pattern("<url>", "<urlset>"), Pattern("<url/>", "<urlset>"), Pattern("a", "<urlset><url><loc>http://"),
    Pattern("&amp;", "<urlset><url><loc>"), Pattern("<![CDATA[a]]>", "<urlset><url><loc>"), Pattern("<!-- -->", "<urlset>"),
    Pattern("-", "<urlset><!-"), Pattern(" a", "<urlset"), Pattern("http://a.test/b\n"), Pattern("http://a.test/\r"), Pattern("\n\n"),
    Pattern("a", "http://a.test/"), Pattern("<loc>http://a.test/b</loc>", "<urlset><url>"),
)  # fmt: skip

ROBOTS = (
    Pattern("User-agent: a\n"), Pattern("User-agent: *\nDisallow: /a\n"), Pattern("Disallow: /a\n", "User-agent: *\n"),
    Pattern("Disallow: /*a*b$\n", "User-agent: *\n"), Pattern("*", "User-agent: *\nDisallow: /"), Pattern("*a", "User-agent: *\nDisallow: /"),
    Pattern("a", "User-agent: *\nDisallow: /"), Pattern("%41", "User-agent: *\nDisallow: /"), Pattern("漢", "User-agent: *\nDisallow: /"),
    Pattern("Crawl-delay: 9\n", "User-agent: *\n"), Pattern("9", "User-agent: *\nCrawl-delay: "), Pattern("Sitemap: http://a.test/b\n"),
    Pattern("#"), Pattern("Disallow /a\n"), Pattern("$", "User-agent: *\nDisallow: /"), Pattern("User-agent: *\nUser-agent: b\nAllow: /c\n"),
)  # fmt: skip
