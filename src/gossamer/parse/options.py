"""The options of parsers, apart from `page_parser`: the coordinator must not import the libraries of that module."""

from __future__ import annotations

import msgspec

from gossamer.urls.canonical import UrlRules


class ParseOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator sends to every parser at its start."""

    keep_source: bool = True
    script_links: bool = False  # report URLs in JSON-LD, `data-href` and inline states
    keep_links: bool = True  # False: one row per target, enough to follow it
    rules: UrlRules = UrlRules()
    product: str = "gossamer"  # the crawler's product token in robots directives
    topic: frozenset[str] = frozenset()  # lower-case words
    max_bytes: int = 32 << 20  # of a page, after decompression
    max_links: int = 50_000  # kept of a page
    memory: int = 1024  # MiB of address space of a parser process
    seconds: float = 20.0  # for a page
