"""Lookup of a resource by the URL that a person typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import UsageError
from gossamer.urls.canonical import UrlRules, url_digest, urls_from_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gossamer.store.protocol import StoreReader
    from gossamer.store.values import ResourceRow


def stored_crawl_settings(store: StoreReader) -> dict[str, object]:
    """Return the [crawl] settings of the current round, by name."""
    current = store.current_round()
    return msgspec.json.decode(current.settings, type=dict[str, object]) if current else {}


def stored_url_rules(store: StoreReader) -> UrlRules:
    """Return the rules by which this web treats URLs as duplicates; digests of its resources depend on them."""
    stored = {name: value for name, value in stored_crawl_settings(store).items() if name in UrlRules.__struct_fields__}
    return msgspec.convert(stored, UrlRules)


def find_resource(store: StoreReader, text: str) -> ResourceRow:
    """Return the resource of a URL typed with or without a scheme, or raise `UsageError`."""
    rules = stored_url_rules(store)
    urls = urls_from_input(text)
    for url in urls:
        if row := store.resource(url_digest(url, rules)):
            return row
    variant = next(
        (row.url for url in _spelling_variants(urls) if (row := store.resource(url_digest(url, rules)))), None
    )
    hint = f" Did you mean {variant}?" if variant else ""
    raise UsageError(f"{urls[0]} is not known in this web.{hint}")


def _spelling_variants(urls: Iterable[str]) -> Iterator[str]:
    """Yield the likely misspellings: the other scheme, with or without www. and the last slash."""
    for url in urls:
        rest = url.partition("://")[2]
        hosts = (rest, rest.removeprefix("www.") if rest.startswith("www.") else f"www.{rest}")
        for other in ("https", "http"):
            for spelled in hosts:
                path, mark, query = spelled.partition("?")
                yield f"{other}://{spelled}"
                slashed = path.rstrip("/") if path.endswith("/") and path.count("/") > 1 else f"{path}/"
                yield f"{other}://{slashed}{mark}{query}"
