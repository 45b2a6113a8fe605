"""The settings as typed structs: one per room, each field with its default and the sentence that describes it.

`gossamer config init`, the command line's help and `docs/reference/settings.md` are all made from these fields, so a
setting is described here and nowhere else.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

# The upper bounds keep infinity and numbers no counter can hold out of the code that works with them.
Seconds = Annotated[float, Meta(ge=0, le=31_536_000)]  # a year
Count = Annotated[int, Meta(ge=0, le=10**12)]
Positive = Annotated[int, Meta(ge=1, le=10**12)]


def doc(text: str, flag: str = "") -> Meta:
    """The sentence that describes a setting, and the flag of `gossamer crawl` that sets it: "--max-depth N"."""
    return Meta(description=text, extra={"flag": flag})


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the settings structs: immutable, unknown keys refused."""


DEFAULT_ACCEPT = (
    "text/html",
    "application/xhtml+xml",
    "application/xml",
    "text/xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "text/plain",
    "application/pdf",
)


# What the common servers add to URLs for visitors without cookies: without end, were each one another page.
SESSION_PARAMETERS = (
    "PHPSESSID",
    "phpsessid",
    "JSESSIONID",
    "jsessionid",
    "CFID",
    "CFTOKEN",
    "sessionid",
    "session_id",
)


class CrawlSettings(Section, frozen=True, kw_only=True):
    """What to visit and in which order. Kept with the web: a later `crawl` without flags goes on with these."""

    scope: Annotated[
        Literal["host", "domain", "prefix", "any"],
        doc(
            "How far to go from the seeds: their hosts, their registrable domains, their URL prefixes, or anywhere.",
            "--scope",
        ),
    ] = "host"
    domains: Annotated[
        tuple[str, ...], doc("More domains that are in scope, with all their hosts.", "--domain NAME")
    ] = ()
    include: Annotated[
        tuple[str, ...],
        doc("Visit only URLs in which one of these regular expressions is found.", "--include PATTERN"),
    ] = ()
    exclude: Annotated[
        tuple[str, ...], doc("Visit no URL in which one of these regular expressions is found.", "--exclude PATTERN")
    ] = ()
    accept: Annotated[tuple[str, ...], doc("Media types to fetch and parse.", "--accept TYPE")] = DEFAULT_ACCEPT
    max_depth: Annotated[Count | None, doc("Links to follow from a seed, at most.", "--max-depth N")] = None
    max_pages: Annotated[
        Positive | None, doc("Pages to visit at most, over all crawlers together.", "--max-pages N")
    ] = None
    max_pages_per_host: Annotated[
        Positive | None, doc("Pages to visit on one host, at most.", "--max-pages-per-host N")
    ] = None
    order: Annotated[
        Literal["breadth", "depth", "best"],
        doc("Which queued URL comes first: nearest to the seeds, farthest, or of best expected importance.", "--order"),
    ] = "breadth"
    topic: Annotated[str, doc("URLs near to these words come first: the order is best then.", "--topic WORDS")] = ""
    check: Annotated[
        Literal["none", "embeds", "external", "all"],
        doc(
            "Also ask for the status of images, scripts and styles (embeds), of URLs out of scope (external), or both.",
            "--check",
        ),
    ] = "none"
    query: Annotated[
        Literal["keep", "sort", "strip"],
        doc(
            "The query of a URL tells pages apart as it is (keep), in any order (sort), or not at all (strip); "
            "of URLs that are the same then, the first one found is visited.",
            "--url-query",
        ),
    ] = "keep"
    drop_parameters: Annotated[
        tuple[str, ...],
        doc("Parameters that do not tell pages apart, such as session ids.", "--drop-parameter NAME"),
    ] = SESSION_PARAMETERS
    max_url_length: Annotated[Positive, doc("Longer URLs are recorded and not visited (characters).")] = 2000
    max_path_repeats: Annotated[
        Positive, doc("A URL whose path holds one segment more often than this is taken for a trap.")
    ] = 3
    robots: Annotated[bool, doc("Obey robots.txt, X-Robots-Tag, meta robots and rel=nofollow.", "--robots")] = True
    max_copies: Annotated[
        Positive,
        doc("From pages with the very same content, no links are followed beyond this many on one host: a trap."),
    ] = 50
    sitemaps: Annotated[bool, doc("Read the sitemaps named in robots.txt.", "--sitemaps")] = True
    links: Annotated[bool, doc("Store the links (off: they are followed only).", "--links")] = True
    index: Annotated[bool, doc("Index the pages while they come.", "--index")] = True
    source: Annotated[bool, doc("Store the source of every page, compressed.", "--source")] = True


class PolitenessSettings(Section, frozen=True, kw_only=True):
    """How gently to treat hosts."""

    delay: Annotated[
        Seconds | None,
        doc("Seconds between two requests to a host; none: as long as the last answer took.", "--delay SECONDS"),
    ] = None
    min_delay: Annotated[
        Seconds, doc("The least pause when delay is none; hosts on loopback need no pause (seconds).")
    ] = 0.25
    connections: Annotated[Positive, doc("Connections to one host at a time.", "--connections N")] = 1
    connections_per_address: Annotated[
        Positive, doc("Connections to one IP address at a time, for hosts that share a server.")
    ] = 64
    transfers: Annotated[Positive, doc("Transfers at a time, in all.", "--transfers N")] = 128
    max_crawl_delay: Annotated[
        Seconds,
        doc("A Crawl-delay in robots.txt is obeyed up to this; a longer one is cut, and that is shown (seconds)."),
    ] = 30.0
    max_delay: Annotated[Seconds, doc("Longest pause that failures can lead to, Retry-After aside (seconds).")] = 300.0
    retries: Annotated[Positive, doc("Tries before a URL is given up for the round.")] = 3
    patience: Annotated[
        Seconds, doc("The crawl ends when nothing can become ready within this time (seconds).", "--patience SECONDS")
    ] = 60.0
    max_hosts: Annotated[Positive, doc("Hosts one crawler holds at a time.", "--max-hosts N")] = 512


class FetchSettings(Section, frozen=True, kw_only=True):
    """Limits of one transfer, and the way to the network."""

    product: Annotated[str, doc("The name sent as User-Agent, and looked for in robots.txt.", "--product NAME")] = (
        "Gossamer"
    )
    contact: Annotated[
        str, doc("A URL or address put into the User-Agent so that site owners can reach you.", "--contact TEXT")
    ] = ""
    connect_timeout: Annotated[Seconds, doc("Longest time to connect (seconds).")] = 10.0
    timeout: Annotated[Seconds, doc("Longest time for one transfer (seconds).", "--timeout SECONDS")] = 60.0
    min_rate: Annotated[
        Count, doc("A transfer slower than this for min_rate_seconds is given up (bytes per second).")
    ] = 100
    min_rate_seconds: Annotated[Positive, doc("How long a transfer may be slower than min_rate (seconds).")] = 15
    max_bytes: Annotated[
        Positive, doc("Largest body, on the wire and after decompression (bytes).", "--max-bytes N")
    ] = 32 << 20
    max_header_bytes: Annotated[Positive, doc("Largest answer header (bytes).")] = 256 << 10
    max_redirects: Annotated[Count, doc("Redirects in a row before giving up.")] = 10
    allow_private: Annotated[
        tuple[str, ...],
        doc("Address ranges (CIDR) that may be visited though they are not public.", "--allow-private CIDR"),
    ] = ()
    proxy: Annotated[
        str, doc("Proxy URL (http, https, socks5, socks5h). The usual proxy variables are not used.", "--proxy URL")
    ] = ""
    trust_proxy: Annotated[bool, doc("Leave name resolution and address checks to the proxy.", "--trust-proxy")] = False
    ca_file: Annotated[str, doc("Certificate authorities to trust instead of the system's (a PEM file).")] = ""


class ParseSettings(Section, frozen=True, kw_only=True):
    """Limits of the parser processes."""

    processes: Annotated[Count, doc("Parser processes; 0: one per core.", "--parsers N")] = 0
    memory: Annotated[Positive, doc("Most memory of one parser process (MiB).")] = 1024
    seconds: Annotated[Seconds, doc("Most time for one page (seconds).")] = 20.0
    max_links: Annotated[Positive, doc("Most links kept of one page; more are counted in its reason.")] = 50_000


class StoreSettings(Section, frozen=True, kw_only=True):
    """How the store is written."""

    batch_visits: Annotated[Positive, doc("Visits in a transaction, at most.")] = 256
    batch_seconds: Annotated[Seconds, doc("Longest time a finished visit waits for its transaction (seconds).")] = 0.5
    min_free: Annotated[Count, doc("Pause the crawl when less disk space is free (MiB).")] = 256
    cache: Annotated[Positive, doc("Page cache of the database (MiB).")] = 64
    old_sources: Annotated[
        Count, doc("Room for the sources of pages as they were before they changed (MiB); the oldest go first.")
    ] = 0


class IndexSettings(Section, frozen=True, kw_only=True):
    """Where the index is. User name and password are in GOSSAMER_INDEX_USER and GOSSAMER_INDEX_PASSWORD."""

    url: Annotated[
        str,
        doc(
            "An OpenSearch cluster that holds the index, with the name it has there: https://search.example:9200/name. "
            "Several nodes with commas between. Empty: the index is with the web, on this machine.",
            "--index-url URL",
        ),
    ] = ""
    shards: Annotated[Positive, doc("Parts that a new index of pages is divided into, over the nodes.")] = 1
    replicas: Annotated[Count, doc("Further copies of each part of a new index, on other nodes.")] = 1
    ca_file: Annotated[
        str, doc("Certificate authorities to trust with the index instead of the usual ones (a PEM file).")
    ] = ""


class FreshnessSettings(Section, frozen=True, kw_only=True):
    """When pages are visited again: `gossamer watch` and `gossamer crawl --revisit`."""

    pages_per_hour: Annotated[
        Positive, doc("Pages to visit in an hour, at most, over all crawlers together.", "--pages-per-hour N")
    ] = 1000
    host_pages_per_hour: Annotated[
        Positive | None,
        doc("Pages to visit in an hour on one host, at most (watch).", "--host-pages-per-hour N"),
    ] = 500
    shortest_wait: Annotated[Seconds, doc("No page is visited again sooner (seconds).")] = 3600.0
    longest_wait: Annotated[
        Positive, doc("Every page is visited again after this time, if pages_per_hour allow (seconds).")
    ] = 30 * 86_400
    sitemap_wait: Annotated[Seconds, doc("Between two visits of a sitemap or feed (seconds).")] = 6 * 3600.0
    confirm_gone: Annotated[
        Seconds,
        doc(
            "watch: a page that answers 404 or 410 is asked again after this time before it leaves (seconds). "
            "crawl asks again when the rest of its host is done."
        ),
    ] = 86_400.0


class SearchServiceSettings(Section, frozen=True, kw_only=True):
    """Where `crawl --query` gets its seeds from."""

    url: Annotated[str, doc("A search service's result page; {query} stands for the words.")] = ""


class HostSettings(Section, frozen=True, kw_only=True):
    """One host, named as in its URLs. Secrets are in environment variables, which are named here."""

    delay: Annotated[Seconds | None, doc("Seconds between two requests to this host.")] = None
    connections: Annotated[Positive | None, doc("Connections to this host at a time.")] = None
    username: Annotated[str, doc("User name for HTTP basic authentication.")] = ""
    password_env: Annotated[str, doc("The environment variable that holds the password.")] = ""
    headers: Annotated[dict[str, str], doc("Request headers to send to this host only.")] = {}
    headers_env: Annotated[
        dict[str, str], doc("Request headers whose values are in environment variables (header = variable).")
    ] = {}
    cookies_env: Annotated[
        dict[str, str], doc("Cookies whose values are in environment variables (cookie = variable).")
    ] = {}


class Settings(Section, frozen=True, kw_only=True):
    """All settings."""

    crawl: CrawlSettings = CrawlSettings()
    politeness: PolitenessSettings = PolitenessSettings()
    fetch: FetchSettings = FetchSettings()
    parse: ParseSettings = ParseSettings()
    store: StoreSettings = StoreSettings()
    index: IndexSettings = IndexSettings()
    freshness: FreshnessSettings = FreshnessSettings()
    search_service: SearchServiceSettings = SearchServiceSettings()
    hosts: dict[str, HostSettings] = {}
