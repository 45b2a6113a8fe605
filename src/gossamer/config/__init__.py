"""Typed settings: flags > GOSSAMER_* variables > gossamer.toml > what the web was crawled with > defaults.

In come a settings file, the environment and flags; out comes one frozen `Settings`, and where each value came from.
`structs` holds the settings themselves, `describe` tells people what they are, `layers` reads and merges them, `checks`
knows what their types do not.
An unknown key is an error. Secrets are never written in the file: a host's settings name the environment variables
that hold them.
"""

from gossamer.config.describe import init_text
from gossamer.config.layers import LoadedSettings, decode_crawl_settings, load
from gossamer.config.structs import (
    DEFAULT_ACCEPT,
    CrawlSettings,
    FetchSettings,
    FreshnessSettings,
    HostSettings,
    IndexSettings,
    ParseSettings,
    PolitenessSettings,
    SearchServiceSettings,
    Settings,
    StoreSettings,
)

__all__ = [
    "DEFAULT_ACCEPT",
    "CrawlSettings",
    "FetchSettings",
    "FreshnessSettings",
    "HostSettings",
    "IndexSettings",
    "LoadedSettings",
    "ParseSettings",
    "PolitenessSettings",
    "SearchServiceSettings",
    "Settings",
    "StoreSettings",
    "decode_crawl_settings",
    "init_text",
    "load",
]
