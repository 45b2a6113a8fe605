"""THE TABLE: what the hostile web does, and what a crawl must have recorded of it afterwards.

`docs/explanation/hostile-web.md` shows it; `python -m hostile.cases PAGE` (with `tests` on PYTHONPATH) writes it there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

DEPTH = 6  # links that the crawl follows from a seed
SECONDS = 8  # that a parser has for a page
MEMORY = 320  # MiB that it has


class Case(NamedTuple):
    """One misbehaviour."""

    name: str
    does: str  # what happens there, for people
    url: str  # judged; {places} are those of `world`
    state: str
    outcome: str
    reason: str = ""  # what the stored reason must say
    link: str = ""  # what the front page links to, when it is not the URL itself
    seed: bool = False  # the crawl starts here too


def _at(path: str) -> str:
    return f"http://{{main}}/{path}"


def _well(name: str, does: str, path: str, reason: str = "", link: str = "") -> Case:
    return Case(name, does, _at(path), "visited", "fetched", reason, _at(link) if link else "")


def _failed(name: str, does: str, path: str, outcome: str, reason: str = "") -> Case:
    return Case(name, does, _at(path), "failed", outcome, reason)


def _refused(name: str, does: str, path: str, outcome: str, reason: str = "") -> Case:
    return Case(name, does, _at(path), "refused", outcome, reason)


def _address(name: str, url: str, kind: str) -> Case:
    return Case(name, f"A link to {name}", url, "refused", "refused address", f"{kind} address")


def _inward(name: str, url: str, kind: str) -> Case:
    does, link = f"Redirects to {name}", _at(f"redirect?to={url}")
    return Case(f"to {name}", does, url, "refused", "refused address", f"{kind} address", link)


def _robots(place: str, does: str, path: str, state: str, outcome: str, reason: str = "") -> Case:
    name = f"{place.replace('_', ' ')} {path}".strip()
    return Case(name, does, f"http://{{{place}}}/{path}", state, outcome, reason, seed=path == "page")


def _sitemap(name: str, does: str, reason: str) -> Case:
    url = f"http://{{sitemaps}}/sitemap-{name}"
    return Case(f"sitemap {name}", does, url, "visited", "fetched", reason, link=_at("page"))


def _tls(place: str, does: str, state: str, outcome: str, reason: str = "") -> Case:
    return Case(place.replace("_", " "), does, f"https://{{{place}}}/page", state, outcome, reason, seed=True)


TIME = (
    _failed("silence", "Takes the request and says nothing", "stall", "timeout", "no answer within"),
    _failed("silence in the header", "Stops in the middle of the header", "stall-in-header", "too slow"),
    _failed("silence in the body", "Stops in the middle of the body", "stall-in-body", "too slow"),
    _failed("dripping body", "Sends one byte a second", "drip", "too slow", "less than 100 bytes/s"),
    _failed("dripping header", "Sends its header one byte a second", "drip-header", "too slow"),
    _failed("without end but quick", "Sends at a good pace, for ever", "steady", "timeout", "not complete within"),
    _well("late", "Answers after a while", "slow"),
    Case(
        "deaf", "Listens, and never takes a connection", "http://{deaf}/page", "failed", "timeout",
        "no connection within", seed=True,
    ),
    Case(
        "nobody home", "Nobody listens", "http://{closed}/page", "failed", "connection failure", "refused", seed=True,
    ),
)  # fmt: skip

SIZE = (
    _refused("endless body", "Sends for ever, as fast as it can", "endless", "too big"),
    _refused("endless chunks", "The same in chunks", "endless-chunked", "too big"),
    Case("endless error page", "Sends a 404 without end", _at("endless-missing"), "gone", "not found", "404"),
    _refused("announced giant", "Announces 100 MB", "sized", "too big", "100000000 bytes"),
    _refused("giant header", "Sends one header of 10 MB", "long-header", "headers too big"),
    _refused("header flood", "Sends 100,000 headers", "many-headers", "headers too big"),
    _refused("large headers", "Sends 280 headers of 1 kB", "big-headers?count=280", "headers too big", "more than"),
    _refused("endless interim answers", "Sends early hints for ever", "endless-interim", "headers too big"),
    _refused("endless trailers", "Sends trailers behind its chunks for ever", "endless-trailers", "headers too big"),
)

COMPRESSION = (
    _refused("gzip bomb", "4 GB of nothing as 4 MB of gzip", "gzip-bomb", "too big", "after decompression"),
    _refused("gzip bomb of members", "4 GB as 4,096 gzip members", "gzip-members-bomb", "too big", "decompression"),
    _refused("deflate bomb", "4 GB, deflated", "deflate-bomb", "too big", "after decompression"),
    _refused("raw deflate bomb", "The same without zlib's header", "raw-deflate-bomb", "too big", "decompression"),
    _refused("brotli bomb", "32 MB by brotli", "brotli-bomb", "too big", "after decompression"),
    _refused("zstd bomb", "4 GB by zstd", "zstd-bomb", "too big", "after decompression"),
    _refused("bomb in a bomb", "A gzip bomb, packed by gzip once more", "bomb-in-a-bomb", "too big", "decompression"),
    _failed("six codings", "Says that it is packed six times over", "six-codings", "bad encoding", "6 content codings"),
    _failed("wide zstd", "A zstd frame that wants 128 MB of memory", "wide-zstd", "bad encoding"),
    _failed("empty members", "20,000 gzip members of nothing", "empty-members", "bad encoding", "members"),
    _failed("not gzip", "Says gzip, sends text", "not-gzip", "bad encoding"),
    _failed(
        "unknown coding", "Packed by compress, which nobody unpacks", "unknown-coding", "bad encoding", "supported"
    ),
    _well("cut gzip", "A gzip stream cut short: what is there is taken", "cut-gzip", "cut short"),
    _well("invented coding", "Content-Encoding: utf-8", "invented-coding"),
)

BROKEN_HTTP = (
    _failed("cut short", "Hangs up before the length it announced", "cut-short", "bad http"),
    _failed("cut chunks", "Hangs up between two chunks", "cut-chunks", "bad http"),
    _failed("broken chunks", "Chunks whose size is no number", "broken-chunks", "bad http"),
    _failed("overflowing chunk", "A chunk whose size no integer holds", "overflowing-chunk", "bad http"),
    _failed("cut header", "Hangs up in the middle of the header", "cut-header", "bad http"),
    _failed("garbage", "Answers with random bytes", "garbage", "bad http"),
    _failed("bare words", "A body without a header, as in HTTP/0.9", "bare-words", "bad http"),
    Case("another protocol", "Speaks SSH", "http://{ssh}/page", "failed", "bad http", seed=True),
    _failed("switching protocols", "101 Switching Protocols", "switching", "bad http", "101"),
    _failed("two lengths", "Two lengths that differ", "two-lengths", "bad http"),
    _failed("negative length", "A length below zero", "negative-length", "bad http"),
    _refused("astronomic length", "A length of forty digits", "astronomic-length", "too big"),
    _well("length and chunks", "A length and chunks that contradict it", "length-and-chunks"),
    _well("smuggled answer", "A second answer behind the first one", "smuggled"),
    _failed("unasked 304", "Not modified, though nobody asked", "unasked-304", "bad http", "304"),
    _failed("status 999", "A status that does not exist", "no-such-status?of=999+No", "http error", "999"),
    _failed("status 42", "A status of two digits", "no-such-status?of=42+No", "bad http"),
    _failed("escaping status", "A status line that a terminal would obey", "escapes", "http error", "599"),
    Case("false trailer", "A 404 with a trailer like a 200", _at("false-trailer"), "gone", "not found", "404"),
    _failed("nul in a header", "A NUL byte in a header", "nul-in-header", "bad http"),
    _failed("header without colon", "A header line that is none", "header-without-colon", "bad http"),
    _well("controls in headers", "Escape sequences in every header that is kept", "controls-in-headers"),
    _failed("reset", "Resets the connection", "reset", "connection failure"),
    _failed("reset in the body", "Resets it in the middle of the body", "reset-in-body", "connection failure"),
    _failed("hang up", "Hangs up without a word", "hang-up", "connection failure"),
)

REDIRECTS = (
    _failed("to itself", "Redirects to itself", "loop", "redirect loop", "itself"),
    Case("there and back", "Two redirects to each other", _at("there-and-back"), "visited", "redirected"),
    Case(
        "chain", "Twelve redirects in a row", _at("hops?left=2&then=page"), "failed", "too many redirects",
        "more than 10", _at("hops?left=12&then=page"),
    ),
    _failed("to a file", "Redirects to file:///etc/passwd", "redirect?to=file:///etc/passwd", "bad redirect", "file"),
    _failed("to a script", "Redirects to javascript:", "redirect?to=javascript:alert(1)", "bad redirect", "javascript"),
    _failed("to nowhere", "Redirects without saying where", "redirect", "bad redirect", "without a Location"),
    _failed("to no URL", "Redirects to http://[", "redirect?to=http://[", "bad redirect", "not a URL"),
    _failed("use proxy", "305 Use Proxy", "redirect?status=305%20Use%20Proxy&to=/page", "bad redirect", "305"),
    Case(
        "to a long URL", "Redirects to a URL of 3,000 characters", _at("page?" + "l" * 3000), "out of scope", "",
        "URL too long", _at("long-location?length=3000"),
    ),
    _refused("endless location", "A Location of 200 kB", "long-location?length=200000", "headers too big"),
    Case(
        "to https", "Redirects to https, where no TLS is spoken", "https://{main}/page?over=tls", "failed",
        "timeout", "no connection within", _at("redirect?to=https://{main}/page?over=tls"),
    ),
    Case(
        "to http", "Redirects from https to http", "http://{main}/page?from=tls", "visited", "fetched",
        link="https://{tls_good}/redirect?to=http://{main}/page?from=tls",
    ),
    Case(
        "to a neighbour port", "Redirects to another port of this machine", "http://{victim}/by-redirect", "refused",
        "refused address", "loopback", _at("redirect?to=http://{victim}/by-redirect"),
    ),
    Case(
        "to cloud metadata", "Redirects to 169.254.169.254", "http://169.254.169.254/latest/meta-data/", "refused",
        "refused address", "link-local", _at("redirect?to=http://169.254.169.254/latest/meta-data/"),
    ),
    _inward("[::1]", "http://[::1]:{victim_port}/by-v6", "loopback"),
    _inward("an IPv4-mapped address", "http://[::ffff:127.0.0.1]:{victim_port}/by-mapped", "loopback"),
    _inward("NAT64 of loopback", "http://[64:ff9b::7f00:1]:{victim_port}/by-nat64", "loopback"),
    _inward("NAT64 of 10.0.0.1", "http://[64:ff9b::a00:1]/by-nat64", "private"),
    _inward("a decimal address", "http://2130706433:{victim_port}/by-decimal", "loopback"),
    _inward("10.0.0.1 in decimal", "http://167772161/by-decimal", "private"),
    _inward("a hexadecimal address", "http://0x7f000001:{victim_port}/by-hexadecimal", "loopback"),
    _inward("192.168.1.1 in hexadecimal", "http://0xc0a80101/by-hexadecimal", "private"),
)  # fmt: skip

ADDRESSES = (
    _address("127.0.0.1", "http://{victim}/plain", "loopback"),
    _address("localhost", "http://localhost:{victim_port}/localhost", "loopback"),
    _address("a name under localhost", "http://intranet.localhost:{victim_port}/name", "loopback"),
    _address("[::1]", "http://[::1]:{victim_port}/v6", "loopback"),
    _address("an IPv4-mapped address", "http://[::ffff:127.0.0.1]:{victim_port}/mapped", "loopback"),
    _address("an IPv4-compatible address", "http://[::127.0.0.1]:{victim_port}/compatible", "IPv4-compatible"),
    _address("NAT64 of loopback", "http://[64:ff9b::7f00:1]:{victim_port}/nat64", "loopback"),
    _address("6to4 of loopback", "http://[2002:7f00:1::]:{victim_port}/6to4", "6to4"),
    _address("a decimal address", "http://2130706433:{victim_port}/decimal", "loopback"),
    _address("a hexadecimal address", "http://0x7f000001:{victim_port}/hexadecimal", "loopback"),
    _address("an octal address", "http://0177.0.0.1:{victim_port}/octal", "loopback"),
    _address("a short address", "http://127.1:{victim_port}/short", "loopback"),
    _address("full-width digits", "http://\uff11\uff12\uff17.0.0.\uff11:{victim_port}/full-width", "loopback"),
    _address("a percent-encoded address", "http://%31%32%37.0.0.1:{victim_port}/encoded", "loopback"),
    _address("an address with credentials", "http://public@{victim}/credentials", "loopback"),
    _address("0.0.0.0", "http://0.0.0.0:{victim_port}/zero", "unspecified"),
    _address("10.0.0.1", "http://10.0.0.1/", "private"),
    _address("192.168.1.1", "http://192.168.1.1/", "private"),
    _address("a carrier's NAT", "http://100.64.0.1/", "carrier-grade NAT"),
    _address("a link-local address", "http://[fe80::1]/", "link-local"),
    _address("a private IPv6 address", "http://[fd00::1]/", "private"),
    _address("multicast", "http://239.255.255.250:1900/", "multicast"),
    _address("broadcast", "http://255.255.255.255/", "reserved"),
)

TLS = (
    _tls("tls_good", "A certificate that the crawl's authority signed", "visited", "fetched"),
    _tls("tls_self_signed", "A certificate that nobody vouches for", "failed", "tls failure", "self-signed"),
    _tls("tls_expired", "A certificate of 2020", "failed", "tls failure", "expired"),
    _tls("tls_early", "A certificate of 2090", "failed", "tls failure", "not yet valid"),
    _tls("tls_other_name", "A certificate of another host", "failed", "tls failure", "127.0.0.1"),
    _tls("tls_plain", "Answers a TLS handshake in plain HTTP", "failed", "tls failure"),
    _tls("tls_cut", "Hangs up in the handshake", "failed", "tls failure"),
    _tls("tls_stall", "Says nothing in the handshake", "failed", "timeout", "no connection within"),
)

ROBOTS = (
    _robots("robots_forbidden", "403 for robots.txt: there are no rules", "page", "visited", "fetched"),
    _robots("robots_broken", "500 for robots.txt: wait", "page", "queued", "", "robots.txt unreachable: 500"),
    _robots("robots_busy", "503, come back in two hours", "page", "queued", "", "robots.txt unreachable: 503"),
    _robots("robots_stall", "Says nothing when asked for robots.txt", "page", "failed", "timeout", "no answer within"),
    _robots("robots_garbage", "Random bytes instead of an answer", "page", "failed", "bad http"),
    _robots("robots_huge", "100 MB of rules", "page", "visited", "fetched"),
    _robots("robots_huge", "The first of them counts", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_bomb", "A compressed bomb of rules", "page", "visited", "fetched"),
    _robots("robots_bomb", "The first of them counts", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_5_hops", "Rules behind five redirects", "page", "visited", "fetched"),
    _robots("robots_5_hops", "They count", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_6_hops", "Rules behind six redirects: there are none", "page", "visited", "fetched"),
    _robots("robots_loop", "Redirects to itself: there are none", "page", "visited", "fetched"),
    _robots("robots_inward", "Redirects to this machine", "page", "refused", "refused address", "loopback"),
    _robots("robots_stern", "Everything is forbidden", "page", "refused", "refused by robots.txt"),
    _robots("robots_odd", "Odd line ends, blanks, capitals", "page", "visited", "fetched"),
    _robots("robots_odd", "They are read all the same", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_binary", "Binary data as rules", "page", "visited", "fetched"),
    _robots("robots_html", "An HTML page as rules", "page", "visited", "fetched"),
    _robots("robots_slow", "Patterns that would take a backtracking matcher years", "page", "visited", "fetched"),
    _robots("robots_slow", "The same, asked with a long path", "page/" + "a" * 1500 + "b", "visited", "fetched"),
    _robots("robots_patient", "Asks for a pause of 300 years, cut to what is bearable", "page", "visited", "fetched"),
)

TRAPS = (
    Case(
        "calendar", "Every month links to the next", _at(f"calendar?month={DEPTH + 1}"), "known", "",
        f"deeper than {DEPTH} links", _at("calendar?month=1"),
    ),
    Case(
        "maze", "Every page links to two new ones", _at(f"maze/{'l' * DEPTH}"), "known", "",
        f"deeper than {DEPTH} links", _at("maze/"),
    ),
    Case(
        "echoing path", "A relative link that leads deeper, for ever", _at("echoing/" * 4), "out of scope", "",
        "repeating path segments", _at("echoing/"),
    ),
    _well("session ids", "A new session id in every link", "shop?PHPSESSID=start"),
    Case(
        "long URL", "A link of 5,000 characters", _at("page?" + "u" * 5000), "out of scope", "", "URL too long",
    ),
)  # fmt: skip

PAGES = (
    _well("giant text", "9 MB of words in one paragraph", "giant-text"),
    _well("nested inline", "100,000 elements in each other", "nested-inline"),
    _failed(
        "nested blocks", "400,000 <div>, which takes minutes", "nested-blocks", "parser timeout", f"{SECONDS} seconds"
    ),
    _failed("greedy", "Two million elements", "greedy", "parser out of memory", f"{MEMORY} MiB"),
    _well("many attributes", "An element of 5,000 attributes", "many-attributes"),
    _well("many links", "60,000 links, 50,000 of which are kept", "many-links", "links"),
    _well("one link often", "100,000 times the same link", "one-link-often"),
    _well("giant title", "A title of 3 MB", "giant-title"),
    _well("giant link", "A link of 1 MB", "giant-href"),
    _well("data link", "A data: URL of 1 MB", "data-link"),
    _well("never closed", "Comments, scripts and styles that never end", "never-closed"),
    _well("odd schemes", "Links to file:, gopher:, javascript: and to nonsense", "odd-schemes"),
    _well("frame of itself", "A frame that shows the page it is in", "frame-of-itself"),
    _well("refresh to itself", "Reloads itself at once", "refresh-to-itself"),
    _refused("image", "An image behind a link", "image-as-page", "refused type", "image/png"),
    _well("image as HTML", "An image that says it is HTML", "image-as-html"),
    _well("long type", "A Content-Type of 50 kB", "long-type"),
    _well("no PDF", "A PDF that is none", "no-pdf", "PDF"),
    _well("PDF bomb", "A PDF whose page is 32 MB, packed", "pdf-bomb"),
    _well("nested XML", "200,000 elements in each other, none of them closed", "nested-xml", "broken XML"),
)

CHARACTERS = (
    _well("control characters", "Escape sequences, NUL and direction marks everywhere", "controls"),
    _well("nothing but NUL", "1 MB of NUL", "nothing-but-nul"),
    _well("wrong charset", "Says UTF-16 in the header, Shift_JIS in the page, and is neither", "wrong-charset"),
    _well("UTF-7", "Script in UTF-7", "utf-7"),
    _well("unknown charset", "charset=../../etc/passwd", "unknown-charset"),
    _well("odd UTF-16", "UTF-16 that ends in half a character", "odd-utf-16"),
    _well("escaping charset", "ISO-2022-JP that never switches back", "escaping-charset"),
    _well("unknown entities", "Entities that are none, too big, or never end", "unknown-entities"),
    _well("laughing XHTML", "Entities in entities: 10^12 times ha", "laughing-xhtml"),
    _well("laughing feed", "The same in a feed", "laughing-feed", "entit"),
    _well("outside entity", "An entity that is /etc/passwd", "outside-entity", "entit"),
    _well("cut feed", "A feed cut short: what is there is taken", "cut-feed"),
    _well("entry of a cut feed", "The entry that was there", "page?from=the-feed", link="cut-feed"),
)

SITEMAPS = (
    Case("sitemaps", "Names all of these in its robots.txt", "http://{sitemaps}/page", "visited", "fetched", seed=True),
    _sitemap("cut", "Cut short", "malformed XML"),
    _sitemap("laughing", "Entities in entities", "declares an entity"),
    _sitemap("bomb", "64 MB, packed by gzip", "larger than"),
    _sitemap("many-entries", "60,000 entries, 50,000 of which are read", "more than 50000 entries"),
    _sitemap("html", "A page instead", "not a sitemap"),
    _sitemap("foreign", "Names file:, javascript: and nothing", "without a URL to visit: 3"),
    _sitemap("deep", "10,000 elements in each other", "nested deeper"),
    _sitemap("binary", "Binary data", ""),
    Case(
        "sitemap nested", "An index that names another, for ever", "http://{sitemaps}/sitemap-nested?level=4", "known",
        "", "sitemaps nested deeper", _at("page"),
    ),
    Case(
        "sitemap inward", "A sitemap on this machine", "http://{victim}/sitemap", "refused", "refused address",
        "loopback", _at("page"),
    ),
)  # fmt: skip


def _crashing(name: str, does: str, outcome: str, reason: str) -> Case:
    return _failed(f"parser: {name}", does, f"fault?of={name}", outcome, reason)


PARSERS = (
    _crashing("segfault", "Makes the parser fault", "parser crashed", "SIGSEGV"),
    _crashing("abort", "Makes it abort", "parser crashed", "SIGABRT"),
    _crashing("exit", "Makes it exit", "parser crashed", "code 3"),
    _crashing("raise", "Finds a bug in it", "parser crashed", "RuntimeError: a bug"),
    _crashing("hang", "Makes it hang", "parser timeout", f"{SECONDS} seconds"),
    _crashing("hang-deaf", "Makes it hang, deaf to its own alarm", "parser timeout", "hung for more than"),
    _crashing("hoard", "Makes it want more memory than it gets", "parser out of memory", f"{MEMORY} MiB"),
    _crashing("lie", "Makes it answer for another page", "parser crashed", "makes no sense"),
)


def _name(name: str, does: str, state: str, outcome: str, reason: str = "") -> Case:
    return Case(name, does, f"http://{name.replace(' ', '-')}.test:{{port}}/page", state, outcome, reason)


# Crawled in a network of their own (`network.py`), with a name server of their own.
NAMES = (
    _name("public", "Resolves to a public address", "visited", "fetched"),
    _name("private", "Resolves to 10.0.0.1", "refused", "refused address", "private"),
    _name("loopback", "Resolves to 127.0.0.1", "refused", "refused address", "loopback"),
    _name("six", "Resolves to ::1", "refused", "refused address", "loopback"),
    _name("mapped", "Resolves to ::ffff:10.0.0.1", "refused", "refused address", "private"),
    _name("nat64", "Resolves to 64:ff9b::a00:1", "refused", "refused address", "private"),
    _name("alias", "Is an alias of a name that resolves to 127.0.0.1", "refused", "refused address", "loopback"),
    _name("both", "Resolves to 10.0.0.1 and to a public address, which is used", "visited", "fetched"),
    _name("nobody", "Does not resolve", "failed", "dns failure"),
    _name("silent", "Its name server says nothing", "failed", "dns failure"),
)

GROUPS = {
    "Slow and silent": TIME,
    "Too much": SIZE,
    "Compression": COMPRESSION,
    "Broken HTTP": BROKEN_HTTP,
    "Redirects": REDIRECTS,
    "Addresses that are nobody's business": ADDRESSES,
    "Names": NAMES,
    "TLS": TLS,
    "robots.txt": ROBOTS,
    "Traps": TRAPS,
    "Pages and documents": PAGES,
    "Characters and entities": CHARACTERS,
    "Sitemaps": SITEMAPS,
    "Pages that bring a parser down (by a hook that only the tests have)": PARSERS,
}
CASES = tuple(case for group in GROUPS.values() if group is not NAMES for case in group)


# -- the page that shows it ------------------------------------------------------------------------------------------

BEGIN, END = "<!-- the table: begin -->\n", "<!-- the table: end -->\n"


def table() -> str:
    """All cases in Markdown."""
    parts = [f"\n{sum(map(len, GROUPS.values()))} cases.\n"]
    for title, cases in GROUPS.items():
        parts.append(
            f"\n### {title}\n\n| case | what happens there | state | outcome | reason |\n|---|---|---|---|---|\n"
        )
        parts += [f"| {' | '.join(map(_cell, _row(case)))} |\n" for case in cases]
    return "".join(parts) + "\n"


def _row(case: Case) -> tuple[str, ...]:
    return case.name, case.does, case.state, case.outcome, f"… {case.reason} …" if case.reason else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def with_table(page: str) -> str:
    """A page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(with_table(place.read_text()))
