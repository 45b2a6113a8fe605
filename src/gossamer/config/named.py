"""The settings as keyword arguments: `Crawler(max_pages=100, index_url="https://search.example:9200/name")`.

A keyword is the bare name of a setting, which is unique. Some sections prefix their names, because "url" alone is not
clear: `index_url`, `render_browser`, `search_service_url`, `serve_origins`. `NamedSettings` serves type checkers; a
test compares it with the structs.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, TypedDict

from gossamer.config.describe import all_settings
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.config.describe import Setting

PREFIXED_SECTIONS = frozenset({"index", "render", "search_service", "serve"})
SPECIAL_KEYWORDS = {"crawl.query": "url_query"}  # like its flag, because `query` gives words to start from


class NamedSettings(TypedDict, total=False):
    """Every setting by its name; docs/reference/settings.md describes them. "none" removes a value."""

    scope: Literal["host", "domain", "prefix", "any"]
    domains: Sequence[str]
    include: Sequence[str]
    exclude: Sequence[str]
    accept: Sequence[str]
    max_depth: int | Literal["none"] | None
    max_pages: int | Literal["none"] | None
    max_pages_per_host: int | Literal["none"] | None
    order: Literal["breadth", "depth", "best"]
    topic: str
    check: Literal["none", "embeds", "external", "all"]
    url_query: Literal["keep", "sort", "strip"]
    drop_parameters: Sequence[str]
    max_url_length: int
    max_path_repeats: int
    robots: bool
    max_copies: int
    sitemaps: bool
    links: bool
    index: bool
    rank: bool
    source: bool
    render: Literal["auto", "always", "never"]
    render_scroll: bool
    rendered: bool
    screenshots: bool
    script_links: bool
    delay: float | Literal["none"] | None
    min_delay: float
    connections: int
    connections_per_address: int
    transfers: int
    max_crawl_delay: float
    max_delay: float
    retries: int
    patience: float
    max_hosts: int
    product: str
    contact: str
    connect_timeout: float
    timeout: float
    min_rate: int
    min_rate_seconds: int
    max_bytes: int
    max_header_bytes: int
    max_redirects: int
    allow_private: Sequence[str]
    proxy: str
    trust_proxy: bool
    ca_file: str
    processes: int
    memory: int
    seconds: float
    max_links: int
    render_renderers: int
    render_browser: str
    render_unsafe_browser: bool
    render_seconds: float
    render_memory: int
    batch_visits: int
    batch_seconds: float
    min_free: int
    cache: int
    old_sources: int
    index_url: str
    index_shards: int
    index_replicas: int
    index_ca_file: str
    pages_per_hour: int
    host_pages_per_hour: int | Literal["none"] | None
    shortest_wait: float
    longest_wait: int
    sitemap_wait: float
    confirm_gone: float
    search_service_url: str
    serve_origins: Sequence[str]
    hosts: Mapping[str, Mapping[str, object]]  # as in the file: {"example.org": {"delay": 1.0}}


def keywords_to_keys(keywords: Mapping[str, object]) -> dict[str, object]:
    """Return settings given by keyword as settings by dotted key, which `load` takes as flags."""
    keys = {**_keys_by_keyword(), "hosts": "hosts"}
    unknown = sorted(set(keywords) - set(keys))
    if unknown:
        raise UsageError(f"There is no setting {unknown[0]}; docs/reference/settings.md lists them all.")
    return {keys[name]: value for name, value in keywords.items()}


@functools.cache
def _keys_by_keyword() -> dict[str, str]:
    return {setting_keyword(setting): setting.key for setting in all_settings()}


def setting_keyword(setting: Setting) -> str:
    """Return the keyword of a setting."""
    bare = f"{setting.section}_{setting.name}" if setting.section in PREFIXED_SECTIONS else setting.name
    return SPECIAL_KEYWORDS.get(setting.key, bare)
