"""Typed settings: flags > GOSSAMER_* variables > gossamer.toml > what the web was crawled with > defaults.

One struct per room; each field carries the sentence that `gossamer config init` writes above it. An unknown key is an
error. Secrets are never written in the file: a host's settings name the environment variables that hold them.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gossamer.errors import SettingsError

Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


def says(text: str) -> Meta:
    """The sentence that describes a setting."""
    return Meta(description=text)


class Settings_(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class CrawlSettings(Settings_):
    """What to visit and in which order. Kept with the web: a later `crawl` without flags goes on with these."""

    scope: Annotated[
        Literal["host", "domain", "prefix", "any"],
        says("How far to go from the seeds: their hosts, their registrable domains, their URL prefixes, or anywhere."),
    ] = "host"
    domains: Annotated[tuple[str, ...], says("More domains that are in scope, with all their hosts.")] = ()
    include: Annotated[tuple[str, ...], says("Only URLs that match one of these regular expressions (search, not full match).")] = ()
    exclude: Annotated[tuple[str, ...], says("No URL that matches one of these regular expressions.")] = ()
    accept: Annotated[tuple[str, ...], says("Media types worth parsing.")] = DEFAULT_ACCEPT
    max_depth: Annotated[int | None, says("Links from a seed to follow at most.")] = None
    max_pages: Annotated[int | None, says("Pages to visit at most, over all crawlers together.")] = None
    max_pages_per_host: Annotated[int | None, says("Pages to visit at most on one host.")] = None
    order: Annotated[
        Literal["breadth", "depth", "best"], says("Which queued URL comes first; best: expected importance.")
    ] = "breadth"
    topic: Annotated[str, says("Words: with order best, URLs near to them come first.")] = ""
    check: Annotated[
        Literal["none", "embeds", "external", "all"],
        says("Ask for the status of images, scripts and styles (embeds), of pages out of scope (external), or both."),
    ] = "none"
    query: Annotated[
        Literal["keep", "sort", "strip"], says("What to do with the query part of URLs.")
    ] = "keep"
    drop_parameters: Annotated[tuple[str, ...], says("Query parameters to remove from URLs, such as session ids.")] = ()
    max_url_length: Annotated[Positive, says("Longer URLs are recorded and not visited (characters).")] = 2000
    max_path_repeats: Annotated[
        Positive, says("A URL whose path holds one segment more often than this is taken for a trap.")
    ] = 3
    robots: Annotated[bool, says("Obey robots.txt, X-Robots-Tag, meta robots and rel=nofollow.")] = True
    sitemaps: Annotated[bool, says("Read the sitemaps named in robots.txt.")] = True
    links: Annotated[bool, says("Store the links (off: they are followed only).")] = True
    source: Annotated[bool, says("Store the source of every page, compressed.")] = True


class PolitenessSettings(Settings_):
    """How gently to treat hosts."""

    delay: Annotated[
        float | None,
        says("Seconds between two requests to a host. Unset: as long as the last answer took, at least min_delay."),
    ] = None
    min_delay: Annotated[Seconds, says("Least adaptive pause on public addresses; none on loopback (seconds).")] = 0.25
    connections: Annotated[Positive, says("Connections to one host at a time.")] = 1
    connections_per_address: Annotated[
        Positive, says("Connections to one IP address at a time, for hosts that share a server.")
    ] = 64
    transfers: Annotated[Positive, says("Transfers at a time, in all.")] = 128
    max_crawl_delay: Annotated[
        Seconds, says("A Crawl-delay in robots.txt is obeyed up to this; a longer one is cut, and that is shown.")
    ] = 30.0
    max_delay: Annotated[Seconds, says("Longest pause that failures can lead to, Retry-After aside (seconds).")] = 300.0
    retries: Annotated[Positive, says("Tries before a URL is given up for the round.")] = 3
    patience: Annotated[
        Seconds, says("The crawl ends when nothing can become ready within this time (seconds).")
    ] = 60.0
    max_hosts: Annotated[Positive, says("Hosts one crawler holds at a time.")] = 512


class FetchSettings(Settings_):
    """Limits of one transfer."""

    contact: Annotated[str, says("A URL or address put into the User-Agent so that site owners can reach you.")] = ""
    connect_timeout: Annotated[Seconds, says("Longest time to connect (seconds).")] = 10.0
    timeout: Annotated[Seconds, says("Longest time for one transfer (seconds).")] = 60.0
    min_rate: Annotated[Count, says("Slowest rate borne (bytes per second) ...")] = 100
    min_rate_seconds: Annotated[Positive, says("... for this long (seconds).")] = 15
    max_bytes: Annotated[Positive, says("Largest body, on the wire and after decompression (bytes).")] = 32 << 20
    max_header_bytes: Annotated[Positive, says("Largest answer header (bytes).")] = 256 << 10
    max_redirects: Annotated[Count, says("Redirects in a row before giving up.")] = 10
    allow_private: Annotated[
        tuple[str, ...], says("Address ranges (CIDR) that may be visited though they are not public.")
    ] = ()
    proxy: Annotated[str, says("Proxy URL (http, https, socks5h). The environment's proxy variables are not used.")] = ""
    trust_proxy: Annotated[bool, says("Leave name resolution and address checks to the proxy.")] = False
    ca_file: Annotated[str, says("Certificate authorities to trust, instead of the system's (PEM file).")] = ""


class ParseSettings(Settings_):
    """Limits of the parser processes."""

    processes: Annotated[Count, says("Parser processes; 0: one per core.")] = 0
    memory: Annotated[Positive, says("Most memory of one parser process (MiB).")] = 1024
    seconds: Annotated[Seconds, says("Most time for one page.")] = 20.0
    max_links: Annotated[Positive, says("Most links kept of one page; more are counted in its reason.")] = 50_000


class StoreSettings(Settings_):
    """How the store is written."""

    batch_visits: Annotated[Positive, says("Visits in a transaction at most.")] = 256
    batch_seconds: Annotated[Seconds, says("Longest time a finished visit waits for its transaction.")] = 0.5
    min_free: Annotated[Count, says("Pause the crawl when less disk space is free (MiB).")] = 256
    cache: Annotated[Positive, says("Page cache of the database (MiB).")] = 64


class SearchServiceSettings(Settings_):
    """Where `crawl --query` gets its seeds from."""

    url: Annotated[str, says("A search service's result page; {query} stands for the words.")] = ""


class HostSettings(Settings_):
    """Settings of one host (authority), in `[hosts."example.org"]`."""

    delay: Annotated[float | None, says("Seconds between two requests to this host.")] = None
    connections: Annotated[int | None, says("Connections to this host at a time.")] = None
    username: Annotated[str, says("User name for HTTP basic authentication.")] = ""
    password_env: Annotated[str, says("Environment variable that holds the password.")] = ""
    headers: Annotated[dict[str, str], says("Request headers to send to this host only.")] = {}
    headers_env: Annotated[dict[str, str], says("Request headers whose values are in environment variables.")] = {}
    cookies_env: Annotated[dict[str, str], says("Cookies whose values are in environment variables.")] = {}


class Settings(Settings_):
    """All settings."""

    crawl: CrawlSettings = CrawlSettings()
    politeness: PolitenessSettings = PolitenessSettings()
    fetch: FetchSettings = FetchSettings()
    parse: ParseSettings = ParseSettings()
    store: StoreSettings = StoreSettings()
    search_service: SearchServiceSettings = SearchServiceSettings()
    hosts: dict[str, HostSettings] = {}
