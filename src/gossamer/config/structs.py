"""The settings as typed structs: one per section, each field with its default and its description.

`gossamer config init`, the command line's help and `docs/reference/settings.md` are generated from these fields. Only
this module describes a setting.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

# The upper bounds exclude infinity and numbers that no counter can hold.
Seconds = Annotated[float, Meta(ge=0, le=31_536_000)]  # a year
Count = Annotated[int, Meta(ge=0, le=10**12)]
Positive = Annotated[int, Meta(ge=1, le=10**12)]


def doc(text: str, flag: str = "") -> Meta:
    """Attach a description to a setting, and the flag of `gossamer crawl` that sets it: "--max-depth N"."""
    return Meta(description=text, extra={"flag": flag})


# What a flag does, for the one line that it has in the help of a command.
BRIEFS = {
    "--scope": "host, domain, prefix or any; default: host",
    "--domain": "another domain in scope, with all its hosts",
    "--include": "visit only URLs that match",
    "--exclude": "visit no URL that matches",
    "--accept": "media type to fetch and parse",
    "--max-depth": "greatest distance from a seed, in links",
    "--max-pages": "stop after N pages visited in this round",
    "--max-pages-per-host": "the same for each host",
    "--order": "breadth, depth or best; default: breadth",
    "--topic": "visit URLs near to these words first",
    "--check": "none, embeds, external or all: ask for status",
    "--url-query": "keep, sort or strip: which queries are one page",
    "--drop-parameter": "query parameter that distinguishes no pages",
    "--robots": "ignore robots.txt, meta robots and nofollow",
    "--sitemaps": "do not read sitemaps",
    "--links": "follow links without storing them",
    "--index": "do not index the pages",
    "--rank": "do not rank pages or count reports at the end",
    "--source": "do not store the source of pages",
    "--render": "auto, always or never: pages in a browser",
    "--render-scroll": "scroll rendered pages to their end",
    "--rendered": "do not store the DOM of rendered pages",
    "--screenshots": "store a small picture of rendered pages",
    "--script-links": "without a browser, follow URLs in scripts",
    "--renderers": "pages rendered at a time; default: by cores",
    "--browser": "program that renders; default: Chromium",
    "--unsafe-browser": "render without every layer of isolation",
    "--delay": "between two requests to a host",
    "--connections": "to one host at a time; default: 1",
    "--transfers": "at a time, over all hosts; default: 128",
    "--patience": "end if no host becomes ready; default: 60",
    "--max-hosts": "that one crawler holds; default: 512",
    "--product": "user agent, also for robots.txt",
    "--contact": "URL or mail address in the user agent",
    "--timeout": "of one transfer; default: 60",
    "--max-bytes": "largest body; default: 33554432",
    "--allow-private": "private address range that may be visited",
    "--proxy": "http, https, socks5 or socks5h",
    "--trust-proxy": "let the proxy resolve and check addresses",
    "--parsers": "parser processes; default: one per core",
    "--index-url": "OpenSearch cluster and name of the index",
    "--pages-per-hour": "that watch visits; default: 1000",
    "--host-pages-per-hour": "the same for each host; default: 500",
}


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the settings structs: immutable, without unknown keys."""


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


# Common servers add these parameters to URLs for visitors without cookies. Each visit would make another set of URLs.
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
    """What to visit and in which order. The web keeps these: a later `crawl` without flags uses them again."""

    scope: Annotated[
        Literal["host", "domain", "prefix", "any"],
        doc(
            "How far the crawl goes from the seeds: their hosts, their registrable domains, their URL prefixes, or "
            "anywhere.",
            "--scope",
        ),
    ] = "host"
    domains: Annotated[tuple[str, ...], doc("Further domains in scope, with all their hosts.", "--domain NAME")] = ()
    include: Annotated[
        tuple[str, ...],
        doc("Visit only URLs that contain a match of one of these regular expressions.", "--include PATTERN"),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        doc("Visit no URL that contains a match of one of these regular expressions.", "--exclude PATTERN"),
    ] = ()
    accept: Annotated[tuple[str, ...], doc("Media types to fetch and parse.", "--accept TYPE")] = DEFAULT_ACCEPT
    max_depth: Annotated[Count | None, doc("Greatest distance from a seed, in links.", "--max-depth N")] = None
    max_pages: Annotated[
        Positive | None,
        doc(
            "Most pages to visit in this round, over all crawlers together. Redirects, sitemaps, failures and pages of "
            "earlier rounds do not count.",
            "--max-pages N",
        ),
    ] = None
    max_pages_per_host: Annotated[
        Positive | None, doc("Most pages to visit on one host.", "--max-pages-per-host N")
    ] = None
    order: Annotated[
        Literal["breadth", "depth", "best"],
        doc(
            "Which queued URL comes first: the nearest to the seeds, the farthest, or the one expected to matter most.",
            "--order",
        ),
    ] = "breadth"
    topic: Annotated[str, doc("Visit URLs near to these words first; sets the order to best.", "--topic WORDS")] = ""
    check: Annotated[
        Literal["none", "embeds", "external", "all"],
        doc(
            "Also check the status of images, scripts and styles (embeds), of URLs out of scope (external), or of "
            "both (all).",
            "--check",
        ),
    ] = "none"
    query: Annotated[
        Literal["keep", "sort", "strip"],
        doc(
            "How the query of a URL distinguishes pages: as it is (keep), in any order (sort), or not at all (strip). "
            "The crawl visits the first one found of URLs that count as the same.",
            "--url-query",
        ),
    ] = "keep"
    drop_parameters: Annotated[
        tuple[str, ...],
        doc("Query parameters that do not distinguish pages, such as session ids.", "--drop-parameter NAME"),
    ] = SESSION_PARAMETERS
    max_url_length: Annotated[Positive, doc("Record longer URLs without visiting them (characters).")] = 2000
    max_path_repeats: Annotated[
        Positive, doc("Treat a URL as a trap if its path repeats one segment more often than this.")
    ] = 3
    robots: Annotated[bool, doc("Obey robots.txt, X-Robots-Tag, meta robots and rel=nofollow.", "--robots")] = True
    max_copies: Annotated[
        Positive,
        doc("Follow no more links from pages of identical content after this many on one host: they may be a trap."),
    ] = 50
    sitemaps: Annotated[bool, doc("Read the sitemaps named in robots.txt.", "--sitemaps")] = True
    links: Annotated[bool, doc("Store the links; if off, the crawl only follows them.", "--links")] = True
    index: Annotated[bool, doc("Index the pages during the crawl.", "--index")] = True
    rank: Annotated[bool, doc("Rank pages and count reports when the last crawler of a round ends.", "--rank")] = True
    source: Annotated[bool, doc("Store the source of every page, compressed.", "--source")] = True
    render: Annotated[
        Literal["auto", "always", "never"],
        doc(
            "Whether a browser renders pages: those that need it (auto), all, or none. auto means never on a machine "
            "without a browser and the layers that keep it off the network.",
            "--render",
        ),
    ] = "auto"
    render_scroll: Annotated[
        bool, doc("Scroll rendered pages to their end, for those that load more then.", "--render-scroll")
    ] = False
    rendered: Annotated[bool, doc("Store the DOM of rendered pages beside their source, compressed.", "--rendered")] = (
        True
    )
    screenshots: Annotated[bool, doc("Store a small picture of every rendered page.", "--screenshots")] = False
    script_links: Annotated[
        bool,
        doc(
            "Without a browser, also visit URLs in JSON-LD, data-href and inline states such as __NEXT_DATA__. Some of "
            "them lead to no page.",
            "--script-links",
        ),
    ] = False


class PolitenessSettings(Section, frozen=True, kw_only=True):
    """Limits that protect the hosts."""

    delay: Annotated[
        Seconds | None,
        doc("Seconds between two requests to a host; none: as long as the last response took.", "--delay SECONDS"),
    ] = None
    min_delay: Annotated[Seconds, doc("Shortest pause if delay is none; hosts on loopback get no pause (seconds).")] = (
        0.25
    )
    connections: Annotated[Positive, doc("Connections to one host at a time.", "--connections N")] = 1
    connections_per_address: Annotated[
        Positive, doc("Connections to one IP address at a time; matters for hosts that share a server.")
    ] = 64
    transfers: Annotated[Positive, doc("Transfers at a time, over all hosts.", "--transfers N")] = 128
    max_crawl_delay: Annotated[
        Seconds,
        doc("Longest Crawl-delay of a robots.txt that the crawl obeys; it cuts longer ones and says so (seconds)."),
    ] = 30.0
    max_delay: Annotated[Seconds, doc("Longest pause after failures; Retry-After may ask for more (seconds).")] = 300.0
    retries: Annotated[Positive, doc("Tries per URL and round before the crawl gives it up.")] = 3
    patience: Annotated[
        Seconds, doc("End the crawl if no host can become ready within this time (seconds).", "--patience SECONDS")
    ] = 60.0
    max_hosts: Annotated[Positive, doc("Most hosts that one crawler holds at a time.", "--max-hosts N")] = 512


class FetchSettings(Section, frozen=True, kw_only=True):
    """Limits of one transfer, identity of the crawler, and access to the network."""

    product: Annotated[str, doc("Name sent as User-Agent and matched against robots.txt.", "--product NAME")] = (
        "Gossamer"
    )
    contact: Annotated[
        str, doc("URL or mail address in the User-Agent, so that site owners can reach you.", "--contact TEXT")
    ] = ""
    connect_timeout: Annotated[Seconds, doc("Longest time to open a connection (seconds).")] = 10.0
    timeout: Annotated[Seconds, doc("Longest time for one transfer (seconds).", "--timeout SECONDS")] = 60.0
    min_rate: Annotated[
        Count, doc("Give up a transfer that stays slower than this for min_rate_seconds (bytes per second).")
    ] = 100
    min_rate_seconds: Annotated[Positive, doc("How long a transfer may be slower than min_rate (seconds).")] = 15
    max_bytes: Annotated[
        Positive, doc("Largest body, on the wire and after decompression (bytes).", "--max-bytes N")
    ] = 32 << 20
    max_header_bytes: Annotated[Positive, doc("Largest response header (bytes).")] = 256 << 10
    max_redirects: Annotated[Count, doc("Redirects in a row before the crawl gives up.")] = 10
    allow_private: Annotated[
        tuple[str, ...],
        doc("Address ranges (CIDR) that the crawl may visit although they are not public.", "--allow-private CIDR"),
    ] = ()
    proxy: Annotated[
        str, doc("Proxy URL (http, https, socks5, socks5h). Variables such as HTTPS_PROXY are ignored.", "--proxy URL")
    ] = ""
    trust_proxy: Annotated[bool, doc("Leave name resolution and address checks to the proxy.", "--trust-proxy")] = False
    ca_file: Annotated[str, doc("PEM file of certificate authorities to trust instead of the system's.")] = ""


class ParseSettings(Section, frozen=True, kw_only=True):
    """Limits of the parser processes."""

    processes: Annotated[Count, doc("Parser processes; 0: one per core.", "--parsers N")] = 0
    memory: Annotated[Positive, doc("Most memory of one parser process (MiB).")] = 1024
    seconds: Annotated[Seconds, doc("Most time for one page (seconds).")] = 20.0
    max_links: Annotated[Positive, doc("Most links kept per page; its reason says how many are left out.")] = 50_000


class RenderSettings(Section, frozen=True, kw_only=True):
    """The browsers of this machine that render pages made by scripts."""

    renderers: Annotated[
        Count, doc("Pages to render at a time; 0: two for each core, up to eight.", "--renderers N")
    ] = 0
    browser: Annotated[
        str,
        doc(
            "Program to use; empty: the first of chromium-headless-shell, chromium and google-chrome on the path.",
            "--browser PATH",
        ),
    ] = ""
    unsafe_browser: Annotated[
        bool,
        doc(
            "With --render always, go on where a layer is missing that keeps the browser off the network.",
            "--unsafe-browser",
        ),
    ] = False
    seconds: Annotated[Seconds, doc("Most time to render one page (seconds).")] = 15.0
    memory: Annotated[Positive, doc("Most memory of each process of a browser (MiB).")] = 768


class StoreSettings(Section, frozen=True, kw_only=True):
    """How the store writes, and how much disk space it uses."""

    batch_visits: Annotated[Positive, doc("Most visits in one transaction.")] = 256
    batch_seconds: Annotated[Seconds, doc("Longest time a finished visit waits for its transaction (seconds).")] = 0.5
    min_free: Annotated[Count, doc("Pause the crawl if less disk space is free (MiB).")] = 256
    cache: Annotated[Positive, doc("Page cache of the database (MiB).")] = 64
    old_sources: Annotated[
        Count, doc("Space for earlier sources of changed pages; the store deletes the oldest first (MiB).")
    ] = 0


class IndexSettings(Section, frozen=True, kw_only=True):
    """Where the index is. GOSSAMER_INDEX_USER and GOSSAMER_INDEX_PASSWORD hold its user name and password."""

    url: Annotated[
        str,
        doc(
            "OpenSearch cluster and name of the index there: https://search.example:9200/name. Separate several nodes "
            "with commas. Empty: the index is on this machine, with the web.",
            "--index-url URL",
        ),
    ] = ""
    shards: Annotated[Positive, doc("Shards of a new index, spread over the nodes.")] = 1
    replicas: Annotated[Count, doc("Further copies of each shard of a new index, on other nodes.")] = 1
    ca_file: Annotated[
        str, doc("PEM file of certificate authorities to trust for the index instead of the usual ones.")
    ] = ""


class FreshnessSettings(Section, frozen=True, kw_only=True):
    """When `gossamer watch` and `gossamer crawl --revisit` visit pages again."""

    pages_per_hour: Annotated[
        Positive, doc("Most pages to visit in an hour, over all crawlers together.", "--pages-per-hour N")
    ] = 1000
    host_pages_per_hour: Annotated[
        Positive | None,
        doc("Most pages that watch visits in an hour on one host.", "--host-pages-per-hour N"),
    ] = 500
    shortest_wait: Annotated[Seconds, doc("Shortest time between two visits of a page (seconds).")] = 3600.0
    longest_wait: Annotated[
        Positive, doc("Longest time between two visits of a page, if pages_per_hour allows it (seconds).")
    ] = 30 * 86_400
    sitemap_wait: Annotated[Seconds, doc("Time between two visits of a sitemap or feed (seconds).")] = 6 * 3600.0
    confirm_gone: Annotated[
        Seconds,
        doc(
            "Time after which watch requests a page that answered 404 or 410 once more, before it counts as gone "
            "(seconds). crawl requests it again after the rest of its host."
        ),
    ] = 86_400.0


class SearchServiceSettings(Section, frozen=True, kw_only=True):
    """The search service that `crawl --query` gets its seeds from."""

    url: Annotated[str, doc("URL of the service's result page, with {query} in place of the words.")] = ""


class ServeSettings(Section, frozen=True, kw_only=True):
    """What `gossamer serve` allows to pages of other sites."""

    origins: Annotated[
        tuple[str, ...],
        doc("Origins whose pages may search from the browser, such as https://docs.example; others may not."),
    ] = ()


class HostSettings(Section, frozen=True, kw_only=True):
    """Settings of one host, named as in its URLs. They name the environment variables that hold its secrets."""

    delay: Annotated[Seconds | None, doc("Seconds between two requests to this host.")] = None
    connections: Annotated[Positive | None, doc("Connections to this host at a time.")] = None
    username: Annotated[str, doc("User name for HTTP basic authentication.")] = ""
    password_env: Annotated[str, doc("Environment variable that holds the password.")] = ""
    headers: Annotated[dict[str, str], doc("Request headers for this host only.")] = {}
    headers_env: Annotated[
        dict[str, str], doc("Request headers with values from environment variables (header = variable).")
    ] = {}
    cookies_env: Annotated[
        dict[str, str], doc("Cookies with values from environment variables (cookie = variable).")
    ] = {}
    render_methods: Annotated[
        tuple[str, ...],
        doc(
            "HTTP methods beside GET and HEAD, such as POST, that rendered pages may use on this host. They must be "
            "pages of the same site."
        ),
    ] = ()


class Settings(Section, frozen=True, kw_only=True):
    """All settings, by section."""

    crawl: CrawlSettings = CrawlSettings()
    politeness: PolitenessSettings = PolitenessSettings()
    fetch: FetchSettings = FetchSettings()
    parse: ParseSettings = ParseSettings()
    render: RenderSettings = RenderSettings()
    store: StoreSettings = StoreSettings()
    index: IndexSettings = IndexSettings()
    freshness: FreshnessSettings = FreshnessSettings()
    search_service: SearchServiceSettings = SearchServiceSettings()
    serve: ServeSettings = ServeSettings()
    hosts: dict[str, HostSettings] = {}
