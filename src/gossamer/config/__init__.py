"""Typed settings: flags > GOSSAMER_* variables > gossamer.toml > the web's last crawl > defaults.

In: a settings file, the environment, flags, and the settings stored with the web. Out: one frozen `Settings`, and the
origin of each value. An unknown key is an error. The file never holds secrets: a host's settings name the environment
variables that hold them.

- `structs`: `Settings` and its sections, each field with its default and description
- `layers`: `load`, which reads the layers and merges them
- `checks`: `find_problem`, checks of values beyond their type
- `describe`: lists the settings for `gossamer config`, the command line and the reference page
- `named`: `NamedSettings`, the keyword arguments of `gossamer.Crawler`
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
