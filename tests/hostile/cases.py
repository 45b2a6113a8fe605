"""THE TABLE: what the hostile web does, and what a crawl must record.

`docs/explanation/hostile-web.md` shows it; `python -m hostile.cases PAGE` (with `tests` on PYTHONPATH) writes it there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

DEPTH = 6  # links that the crawl follows from a seed
SECONDS = 8  # time limit of a parser for a page
MEMORY = 320  # MiB, the memory limit of a parser


class Case(NamedTuple):
    """One misbehaviour."""

    name: str
    does: str  # what happens, for readers
    url: str  # the URL to judge; {names} are those of `world`
    state: str
    outcome: str
    reason: str = ""  # text that the stored reason must contain
    link: str = ""  # target of the link on the front page, if not the URL itself
    seed: bool = False  # the crawl also starts here


def _main_url(path: str) -> str:
    return f"http://{{main}}/{path}"


def _fetched(name: str, does: str, path: str, reason: str = "", link: str = "") -> Case:
    return Case(name, does, _main_url(path), "visited", "fetched", reason, _main_url(link) if link else "")


def _failed(name: str, does: str, path: str, outcome: str, reason: str = "") -> Case:
    return Case(name, does, _main_url(path), "failed", outcome, reason)


def _refused(name: str, does: str, path: str, outcome: str, reason: str = "") -> Case:
    return Case(name, does, _main_url(path), "refused", outcome, reason)


def _refused_address(name: str, url: str, kind: str) -> Case:
    return Case(name, f"A link to {name}", url, "refused", "refused address", f"{kind} address")


def _redirect_to(name: str, url: str, kind: str) -> Case:
    does, link = f"Redirects to {name}", _main_url(f"redirect?to={url}")
    return Case(f"to {name}", does, url, "refused", "refused address", f"{kind} address", link)


def _robots(server: str, does: str, path: str, state: str, outcome: str, reason: str = "") -> Case:
    name = f"{server.replace('_', ' ')} {path}".strip()
    return Case(name, does, f"http://{{{server}}}/{path}", state, outcome, reason, seed=path == "page")


def _sitemap(name: str, does: str, reason: str) -> Case:
    url = f"http://{{sitemaps}}/sitemap-{name}"
    return Case(f"sitemap {name}", does, url, "visited", "fetched", reason, link=_main_url("page"))


def _tls(server: str, does: str, state: str, outcome: str, reason: str = "") -> Case:
    return Case(server.replace("_", " "), does, f"https://{{{server}}}/page", state, outcome, reason, seed=True)


TIME = (
    _failed("silence", "Takes the request and says nothing", "stall", "timeout", "no answer within"),
    _failed("silence in the header", "Stops in the middle of the header", "stall-in-header", "too slow"),
    _failed("silence in the body", "Stops in the middle of the body", "stall-in-body", "too slow"),
    _failed("dripping body", "Sends one byte a second", "drip", "too slow", "less than 100 bytes/s"),
    _failed("dripping header", "Sends its header one byte a second", "drip-header", "too slow"),
    _failed("without end but quick", "Sends at a good pace without end", "steady", "timeout", "not complete within"),
    _fetched("late", "Answers after a while", "slow"),
    Case(
        "deaf", "Listens but never accepts a connection", "http://{deaf}/page", "failed", "timeout",
        "no connection within", seed=True,
    ),
    Case(
        "nobody home", "Nothing listens on the port", "http://{closed}/page", "failed", "connection failure", "refused",
        seed=True,
    ),
)  # fmt: skip

SIZE = (
    _refused("endless body", "Sends without end, as fast as it can", "endless", "too big"),
    _refused("endless chunks", "The same in chunks", "endless-chunked", "too big"),
    Case("endless error page", "Sends a 404 without end", _main_url("endless-missing"), "gone", "not found", "404"),
    _refused("announced giant", "Announces 100 MB", "sized", "too big", "100000000 bytes"),
    _refused("giant header", "Sends one header of 10 MB", "long-header", "headers too big"),
    _refused("header flood", "Sends 100,000 headers", "many-headers", "headers too big"),
    _refused("large headers", "Sends 280 headers of 1 kB", "big-headers?count=280", "headers too big", "more than"),
    _refused("endless interim answers", "Sends early hints without end", "endless-interim", "headers too big"),
    _refused("endless trailers", "Sends trailers after its chunks without end", "endless-trailers", "headers too big"),
)

COMPRESSION = (
    _refused("gzip bomb", "4 GB of nothing as 4 MB of gzip", "gzip-bomb", "too big", "after decompression"),
    _refused("gzip bomb of members", "4 GB as 4,096 gzip members", "gzip-members-bomb", "too big", "decompression"),
    _refused("deflate bomb", "4 GB, deflated", "deflate-bomb", "too big", "after decompression"),
    _refused("raw deflate bomb", "The same without zlib's header", "raw-deflate-bomb", "too big", "decompression"),
    _refused("brotli bomb", "32 MB by brotli", "brotli-bomb", "too big", "after decompression"),
    _refused("zstd bomb", "4 GB by zstd", "zstd-bomb", "too big", "after decompression"),
    _refused("bomb in a bomb", "A gzip bomb, packed by gzip once more", "bomb-in-a-bomb", "too big", "decompression"),
    _failed("six codings", "Claims six content codings", "six-codings", "bad encoding", "6 content codings"),
    _failed("wide zstd", "A zstd frame that wants 128 MB of memory", "wide-zstd", "bad encoding"),
    _failed("empty members", "20,000 gzip members of nothing", "empty-members", "bad encoding", "members"),
    _failed("not gzip", "Claims gzip, sends text", "not-gzip", "bad encoding"),
    _failed(
        "unknown coding", "Packed by compress, which no client unpacks", "unknown-coding", "bad encoding", "supported"
    ),
    _fetched("cut gzip", "A gzip stream cut short: the crawl keeps the received part", "cut-gzip", "cut short"),
    _fetched("invented coding", "Content-Encoding: utf-8", "invented-coding"),
)

BROKEN_HTTP = (
    _failed("cut short", "Hangs up before the length it announced", "cut-short", "bad http"),
    _failed("cut chunks", "Hangs up between two chunks", "cut-chunks", "bad http"),
    _failed("broken chunks", "Chunks with an invalid size", "broken-chunks", "bad http"),
    _failed("overflowing chunk", "A chunk size that overflows an integer", "overflowing-chunk", "bad http"),
    _failed("cut header", "Hangs up in the middle of the header", "cut-header", "bad http"),
    _failed("garbage", "Answers with random bytes", "garbage", "bad http"),
    _failed("bare words", "A body without a header, as in HTTP/0.9", "bare-words", "bad http"),
    Case("another protocol", "Speaks SSH", "http://{ssh}/page", "failed", "bad http", seed=True),
    _failed("switching protocols", "101 Switching Protocols", "switching", "bad http", "101"),
    _failed("two lengths", "Two lengths that differ", "two-lengths", "bad http"),
    _failed("negative length", "A length below zero", "negative-length", "bad http"),
    _refused("astronomic length", "A length of forty digits", "astronomic-length", "too big"),
    _fetched("length and chunks", "A length and chunks that contradict it", "length-and-chunks"),
    _fetched("smuggled answer", "A second response after the first one", "smuggled"),
    _failed("unasked 304", "Not modified, although the request was unconditional", "unasked-304", "bad http", "304"),
    _failed("status 999", "A status that does not exist", "no-such-status?of=999+No", "http error", "999"),
    _failed("status 42", "A status of two digits", "no-such-status?of=42+No", "bad http"),
    _failed("escaping status", "A status line that a terminal would obey", "escapes", "http error", "599"),
    Case("false trailer", "A 404 with a trailer like a 200", _main_url("false-trailer"), "gone", "not found", "404"),
    _failed("nul in a header", "A NUL byte in a header", "nul-in-header", "bad http"),
    _failed("header without colon", "A header line without a colon", "header-without-colon", "bad http"),
    _fetched("controls in headers", "Escape sequences in every stored header", "controls-in-headers"),
    _failed("reset", "Resets the connection", "reset", "connection failure"),
    _failed("reset in the body", "Resets it in the middle of the body", "reset-in-body", "connection failure"),
    _failed("hang up", "Hangs up without a response", "hang-up", "connection failure"),
)

REDIRECTS = (
    _failed("to itself", "Redirects to itself", "loop", "redirect loop", "itself"),
    Case("there and back", "Two redirects to each other", _main_url("there-and-back"), "visited", "redirected"),
    Case(
        "chain", "Twelve redirects in a row", _main_url("hops?left=2&then=page"), "failed", "too many redirects",
        "more than 10", _main_url("hops?left=12&then=page"),
    ),
    _failed("to a file", "Redirects to file:///etc/passwd", "redirect?to=file:///etc/passwd", "bad redirect", "file"),
    _failed("to a script", "Redirects to javascript:", "redirect?to=javascript:alert(1)", "bad redirect", "javascript"),
    _failed("to nowhere", "Redirects without a Location", "redirect", "bad redirect", "without a Location"),
    _failed("to no URL", "Redirects to http://[", "redirect?to=http://[", "bad redirect", "invalid URL"),
    _failed("use proxy", "305 Use Proxy", "redirect?status=305%20Use%20Proxy&to=/page", "bad redirect", "305"),
    Case(
        "to a long URL", "Redirects to a URL of 3,000 characters", _main_url("page?" + "l" * 3000), "out of scope", "",
        "URL too long", _main_url("long-location?length=3000"),
    ),
    _refused("endless location", "A Location of 200 kB", "long-location?length=200000", "headers too big"),
    Case(
        "to https", "Redirects to https on a port without TLS", "https://{main}/page?over=tls", "failed",
        "timeout", "no connection within", _main_url("redirect?to=https://{main}/page?over=tls"),
    ),
    Case(
        "to http", "Redirects from https to http", "http://{main}/page?from=tls", "visited", "fetched",
        link="https://{tls_good}/redirect?to=http://{main}/page?from=tls",
    ),
    Case(
        "to a neighbour port", "Redirects to another port of this machine", "http://{victim}/by-redirect", "refused",
        "refused address", "loopback", _main_url("redirect?to=http://{victim}/by-redirect"),
    ),
    Case(
        "to cloud metadata", "Redirects to 169.254.169.254", "http://169.254.169.254/latest/meta-data/", "refused",
        "refused address", "link-local", _main_url("redirect?to=http://169.254.169.254/latest/meta-data/"),
    ),
    _redirect_to("[::1]", "http://[::1]:{victim_port}/by-v6", "loopback"),
    _redirect_to("an IPv4-mapped address", "http://[::ffff:127.0.0.1]:{victim_port}/by-mapped", "loopback"),
    _redirect_to("NAT64 of loopback", "http://[64:ff9b::7f00:1]:{victim_port}/by-nat64", "loopback"),
    _redirect_to("NAT64 of 10.0.0.1", "http://[64:ff9b::a00:1]/by-nat64", "private"),
    _redirect_to("a decimal address", "http://2130706433:{victim_port}/by-decimal", "loopback"),
    _redirect_to("10.0.0.1 in decimal", "http://167772161/by-decimal", "private"),
    _redirect_to("a hexadecimal address", "http://0x7f000001:{victim_port}/by-hexadecimal", "loopback"),
    _redirect_to("192.168.1.1 in hexadecimal", "http://0xc0a80101/by-hexadecimal", "private"),
)  # fmt: skip

ADDRESSES = (
    _refused_address("127.0.0.1", "http://{victim}/plain", "loopback"),
    _refused_address("localhost", "http://localhost:{victim_port}/localhost", "loopback"),
    _refused_address("a name under localhost", "http://intranet.localhost:{victim_port}/name", "loopback"),
    _refused_address("[::1]", "http://[::1]:{victim_port}/v6", "loopback"),
    _refused_address("an IPv4-mapped address", "http://[::ffff:127.0.0.1]:{victim_port}/mapped", "loopback"),
    _refused_address("an IPv4-compatible address", "http://[::127.0.0.1]:{victim_port}/compatible", "IPv4-compatible"),
    _refused_address("NAT64 of loopback", "http://[64:ff9b::7f00:1]:{victim_port}/nat64", "loopback"),
    _refused_address("6to4 of loopback", "http://[2002:7f00:1::]:{victim_port}/6to4", "6to4"),
    _refused_address("a decimal address", "http://2130706433:{victim_port}/decimal", "loopback"),
    _refused_address("a hexadecimal address", "http://0x7f000001:{victim_port}/hexadecimal", "loopback"),
    _refused_address("an octal address", "http://0177.0.0.1:{victim_port}/octal", "loopback"),
    _refused_address("a short address", "http://127.1:{victim_port}/short", "loopback"),
    _refused_address("full-width digits", "http://\uff11\uff12\uff17.0.0.\uff11:{victim_port}/full-width", "loopback"),
    _refused_address("a percent-encoded address", "http://%31%32%37.0.0.1:{victim_port}/encoded", "loopback"),
    _refused_address("an address with credentials", "http://public@{victim}/credentials", "loopback"),
    _refused_address("0.0.0.0", "http://0.0.0.0:{victim_port}/zero", "unspecified"),
    _refused_address("10.0.0.1", "http://10.0.0.1/", "private"),
    _refused_address("192.168.1.1", "http://192.168.1.1/", "private"),
    _refused_address("a carrier's NAT", "http://100.64.0.1/", "carrier-grade NAT"),
    _refused_address("a link-local address", "http://[fe80::1]/", "link-local"),
    _refused_address("a private IPv6 address", "http://[fd00::1]/", "private"),
    _refused_address("multicast", "http://239.255.255.250:1900/", "multicast"),
    _refused_address("broadcast", "http://255.255.255.255/", "reserved"),
)

TLS = (
    _tls("tls_good", "A certificate that the crawl's authority signed", "visited", "fetched"),
    _tls("tls_self_signed", "A self-signed certificate", "failed", "tls failure", "self-signed"),
    _tls("tls_expired", "A certificate of 2020", "failed", "tls failure", "expired"),
    _tls("tls_early", "A certificate of 2090", "failed", "tls failure", "not yet valid"),
    _tls("tls_other_name", "A certificate of another host", "failed", "tls failure", "127.0.0.1"),
    _tls("tls_plain", "Answers a TLS handshake in plain HTTP", "failed", "tls failure"),
    _tls("tls_cut", "Hangs up in the handshake", "failed", "tls failure"),
    _tls("tls_stall", "Says nothing in the handshake", "failed", "timeout", "no connection within"),
)

ROBOTS = (
    _robots("robots_forbidden", "403 for robots.txt: no rules", "page", "visited", "fetched"),
    _robots(
        "robots_broken", "500 for robots.txt: the crawl waits", "page", "queued", "", "robots.txt unreachable: 500"
    ),
    _robots("robots_busy", "503 with Retry-After of two hours", "page", "queued", "", "robots.txt unreachable: 503"),
    _robots(
        "robots_stall", "Does not answer the request for robots.txt", "page", "failed", "timeout", "no answer within"
    ),
    _robots("robots_garbage", "Random bytes instead of an answer", "page", "failed", "bad http"),
    _robots("robots_huge", "A robots.txt of 100 MB", "page", "visited", "fetched"),
    _robots("robots_huge", "The first rules apply", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_bomb", "A compressed bomb as robots.txt", "page", "visited", "fetched"),
    _robots("robots_bomb", "The first rules apply", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_5_hops", "Rules behind five redirects", "page", "visited", "fetched"),
    _robots("robots_5_hops", "The rules apply", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_6_hops", "Rules behind six redirects: no rules", "page", "visited", "fetched"),
    _robots("robots_loop", "Redirects to itself: no rules", "page", "visited", "fetched"),
    _robots("robots_inward", "Redirects to this machine", "page", "refused", "refused address", "loopback"),
    _robots("robots_stern", "Everything is forbidden", "page", "refused", "refused by robots.txt"),
    _robots("robots_odd", "Odd line ends, blanks, capitals", "page", "visited", "fetched"),
    _robots("robots_odd", "The rules still apply", "private/page", "refused", "refused by robots.txt"),
    _robots("robots_binary", "Binary data as rules", "page", "visited", "fetched"),
    _robots("robots_html", "An HTML page as rules", "page", "visited", "fetched"),
    _robots("robots_slow", "Patterns that would take a backtracking matcher years", "page", "visited", "fetched"),
    _robots("robots_slow", "The same with a long path", "page/" + "a" * 1500 + "b", "visited", "fetched"),
    _robots(
        "robots_patient", "Asks for a delay of 300 years; the crawl uses its maximum", "page", "visited", "fetched"
    ),
)

TRAPS = (
    Case(
        "calendar", "Every month links to the next", _main_url(f"calendar?month={DEPTH + 1}"), "known", "",
        f"deeper than {DEPTH} links", _main_url("calendar?month=1"),
    ),
    Case(
        "maze", "Every page links to two new ones", _main_url(f"maze/{'l' * DEPTH}"), "known", "",
        f"deeper than {DEPTH} links", _main_url("maze/"),
    ),
    Case(
        "echoing path", "A relative link that leads deeper without end", _main_url("echoing/" * 4), "out of scope", "",
        "repeating path segments", _main_url("echoing/"),
    ),
    _fetched("session ids", "A new session id in every link", "shop?PHPSESSID=start"),
    Case(
        "long URL", "A link of 5,000 characters", _main_url("page?" + "u" * 5000), "out of scope", "", "URL too long",
    ),
)  # fmt: skip

PAGES = (
    _fetched("giant text", "9 MB of words in one paragraph", "giant-text"),
    _fetched("nested inline", "100,000 elements in each other", "nested-inline"),
    _fetched("nested blocks", "400,000 <div>, cut where they become expensive", "nested-blocks"),
    _failed("greedy", "Two million elements", "greedy", "parser out of memory", f"{MEMORY} MiB"),
    _fetched("many attributes", "An element of 5,000 attributes", "many-attributes"),
    _fetched("many links", "60,000 links; the crawl keeps 50,000", "many-links", "links"),
    _fetched("one link often", "The same link 100,000 times", "one-link-often"),
    _fetched("giant title", "A title of 3 MB", "giant-title"),
    _fetched("giant link", "A link of 1 MB", "giant-href"),
    _fetched("data link", "A data: URL of 1 MB", "data-link"),
    _fetched("never closed", "Comments, scripts and styles that never end", "never-closed"),
    _fetched("odd schemes", "Links to file:, gopher:, javascript: and to nonsense", "odd-schemes"),
    _fetched("frame of itself", "A frame that shows the page it is in", "frame-of-itself"),
    _fetched("refresh to itself", "Reloads itself at once", "refresh-to-itself"),
    _refused("image", "An image behind a link", "image-as-page", "refused type", "image/png"),
    _fetched("image as HTML", "An image declared as HTML", "image-as-html"),
    _fetched("long type", "A Content-Type of 50 kB", "long-type"),
    _fetched("no PDF", "A file declared as PDF", "no-pdf", "PDF"),
    _fetched("PDF bomb", "A PDF whose page is 32 MB, packed", "pdf-bomb"),
    _fetched("nested XML", "200,000 elements in each other, none of them closed", "nested-xml", "broken XML"),
)

CHARACTERS = (
    _fetched("control characters", "Escape sequences, NUL and direction marks everywhere", "controls"),
    _fetched("nothing but NUL", "1 MB of NUL", "nothing-but-nul"),
    _fetched("wrong charset", "Claims UTF-16 in the header, Shift_JIS in the page, and is neither", "wrong-charset"),
    _fetched("UTF-7", "Script in UTF-7", "utf-7"),
    _fetched("unknown charset", "charset=../../etc/passwd", "unknown-charset"),
    _fetched("odd UTF-16", "UTF-16 that ends in half a character", "odd-utf-16"),
    _fetched("escaping charset", "ISO-2022-JP that never switches back", "escaping-charset"),
    _fetched("unknown entities", "Entities that do not exist, are too big, or never end", "unknown-entities"),
    _fetched("laughing XHTML", "Entities in entities: 10^12 times ha", "laughing-xhtml"),
    _fetched("laughing feed", "The same in a feed", "laughing-feed", "entit"),
    _fetched("outside entity", "An entity that is /etc/passwd", "outside-entity", "entit"),
    _fetched("cut feed", "A feed cut short: the crawl keeps the received part", "cut-feed"),
    _fetched("entry of a cut feed", "The entry in the received part", "page?from=the-feed", link="cut-feed"),
)

SITEMAPS = (
    Case("sitemaps", "Lists all of these in its robots.txt", "http://{sitemaps}/page", "visited", "fetched", seed=True),
    _sitemap("cut", "Cut short", "malformed XML"),
    _sitemap("laughing", "Entities in entities", "declares an entity"),
    _sitemap("bomb", "64 MB, packed by gzip", "larger than"),
    _sitemap("many-entries", "60,000 entries; the crawl reads 50,000", "more than 50000 entries"),
    _sitemap("html", "A page instead", "not a sitemap"),
    _sitemap("foreign", "Lists file:, javascript: and an empty entry", "without a URL to visit: 3"),
    _sitemap("deep", "10,000 elements in each other", "nested deeper"),
    _sitemap("binary", "Binary data", ""),
    Case(
        "sitemap nested", "An index that names another, without end", "http://{sitemaps}/sitemap-nested?level=4",
        "known", "", "sitemaps nested deeper", _main_url("page"),
    ),
    Case(
        "sitemap inward", "A sitemap on this machine", "http://{victim}/sitemap", "refused", "refused address",
        "loopback", _main_url("page"),
    ),
)  # fmt: skip


def _parser_fault(name: str, does: str, outcome: str, reason: str) -> Case:
    return _failed(f"parser: {name}", does, f"fault?of={name}", outcome, reason)


PARSERS = (
    _parser_fault("segfault", "Makes the parser fault", "parser crashed", "SIGSEGV"),
    _parser_fault("abort", "Makes it abort", "parser crashed", "SIGABRT"),
    _parser_fault("exit", "Makes it exit", "parser crashed", "code 3"),
    _parser_fault("raise", "Raises an exception in it", "parser crashed", "RuntimeError: a bug"),
    _parser_fault("hang", "Makes it hang", "parser timeout", f"{SECONDS} seconds"),
    _parser_fault("hang-deaf", "Makes it hang and ignore its own alarm", "parser timeout", "hung for more than"),
    _parser_fault("hoard", "Makes it exceed its memory limit", "parser out of memory", f"{MEMORY} MiB"),
    _parser_fault("lie", "Makes it reply for another page", "parser crashed", "makes no sense"),
)


def _resolving_name(name: str, does: str, state: str, outcome: str, reason: str = "") -> Case:
    return Case(name, does, f"http://{name.replace(' ', '-')}.test:{{port}}/page", state, outcome, reason)


# Crawled in a separate network (`network.py`) with its own name server.
NAMES = (
    _resolving_name("public", "Resolves to a public address", "visited", "fetched"),
    _resolving_name("private", "Resolves to 10.0.0.1", "refused", "refused address", "private"),
    _resolving_name("loopback", "Resolves to 127.0.0.1", "refused", "refused address", "loopback"),
    _resolving_name("six", "Resolves to ::1", "refused", "refused address", "loopback"),
    _resolving_name("mapped", "Resolves to ::ffff:10.0.0.1", "refused", "refused address", "private"),
    _resolving_name("nat64", "Resolves to 64:ff9b::a00:1", "refused", "refused address", "private"),
    _resolving_name(
        "alias", "Is an alias of a name that resolves to 127.0.0.1", "refused", "refused address", "loopback"
    ),
    _resolving_name(
        "both", "Resolves to 10.0.0.1 and to a public address; the crawl uses the latter", "visited", "fetched"
    ),
    _resolving_name("nobody", "Does not resolve", "failed", "dns failure"),
    _resolving_name("silent", "Its name server does not answer", "failed", "dns failure"),
)

GROUPS = {
    "Slow and silent": TIME,
    "Too much": SIZE,
    "Compression": COMPRESSION,
    "Broken HTTP": BROKEN_HTTP,
    "Redirects": REDIRECTS,
    "Addresses that a crawl must not reach": ADDRESSES,
    "Names": NAMES,
    "TLS": TLS,
    "robots.txt": ROBOTS,
    "Traps": TRAPS,
    "Pages and documents": PAGES,
    "Characters and entities": CHARACTERS,
    "Sitemaps": SITEMAPS,
    "Pages that crash a parser (through a hook of the tests)": PARSERS,
}
CASES = tuple(case for group in GROUPS.values() if group is not NAMES for case in group)


# -- the table in the documentation ----------------------------------------------------------------------------------

BEGIN, END = "<!-- the table: begin -->\n", "<!-- the table: end -->\n"


def table() -> str:
    """Return all cases as Markdown tables."""
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
    """Return a page with the current table."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_table(page.read_text()))
