"""Two readings of a page: its source alone, and what a browser made of it.

They are compared, and merged into the page that the store keeps: words and links of the browser, source of the server.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.model import EMBEDS, Links, Page, PageLink, Position, Rendering
from gossamer.store.content import decode_runs
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gossamer.model import Kind, RenderedPage

# What scripts must add to count: so many new words, and a share of the words that were there. Copy buttons, switches
# and cookie notices of documentation stay below it.
MIN_NEW_WORDS = 5
MIN_NEW_SHARE = 0.05
_WORD = re.compile(r"\w+")
_EMBEDS = frozenset(map(int, EMBEDS))


class Reading(NamedTuple):
    """The words and the link targets of one reading of a page."""

    words: list[str]
    targets: frozenset[bytes]  # digests of what a reader can follow

    @classmethod
    def of(cls, page: Page) -> Reading:
        """Return the reading of a parsed page."""
        words = [word for _, run in decode_runs(page.text) for word in _WORD.findall(run.lower())] if page.text else []
        links = zip(page.links.digests, page.links.kinds, strict=True)
        return cls(words, frozenset(digest for digest, kind in links if kind not in _EMBEDS))

    def adds_to(self, plain: Reading) -> bool:
        """Return whether this reading has links or enough words that a plain one lacks."""
        new_words = len({*self.words}.difference(plain.words))
        return not self.targets <= plain.targets or new_words >= MIN_NEW_WORDS + MIN_NEW_SHARE * len({*plain.words})


def merge_readings(plain: Page, rendered: Page, result: RenderedPage, *, reason: str, keep_dom: bool) -> Page:
    """Return the page to store: words and links as a browser shows them, the source as the server sent it."""
    before, after = Reading.of(plain), Reading.of(rendered)
    links = rendered.links
    if plain.nofollow and not rendered.nofollow:  # scripts may not take back what the page asks for
        links = links.without_follow()
    rendering = Rendering(
        dom=rendered.source if keep_dom else b"",
        words=len(after.words),
        links=len(after.targets),
        plain_words=len(before.words),
        plain_links=len(before.targets),
        milliseconds=result.milliseconds,
        cut=result.cut,
        screenshot=result.screenshot,
    )
    return msgspec.structs.replace(
        rendered,
        id=plain.id,
        reason="; ".join(filter(None, dict.fromkeys((plain.reason, rendered.reason)))),
        media_type=plain.media_type,
        charset=plain.charset,
        language=rendered.language or plain.language,
        noindex=plain.noindex or rendered.noindex,
        nofollow=plain.nofollow or rendered.nofollow,
        content_digest=plain.content_digest,
        size=plain.size,
        source=plain.source,
        links=links,
        script_sign=plain.script_sign,
        rendered=reason,
        rendering=rendering,
    )


def with_found_urls(
    page: Page, found: Iterable[tuple[str, Kind]], digest: Callable[[str], bytes], max_links: int
) -> Page:
    """Return a page with more links: the routes and requests of its scripts, each target and kind once."""
    links = page.links
    known = {*zip(links.digests, links.kinds, strict=True)}
    added: dict[tuple[bytes, int], PageLink] = {}
    for written, kind in found:
        url = canonicalize(written, None)
        if url is None or len(links) + len(added) >= max_links:
            continue
        key = digest(url), int(kind)
        if key not in known:
            link = PageLink(key[0], url, key[1], follow=not page.nofollow, position=int(Position.CONTENT))
            added.setdefault(key, link)
    return msgspec.structs.replace(page, links=_with_links(links, added.values())) if added else page


def _with_links(links: Links, added: Iterable[PageLink]) -> Links:
    follows = map(bool, links.follows)
    rows = zip(
        links.digests, links.urls, links.kinds, follows, links.anchors, links.weights, links.rels, links.positions,
        strict=True,
    )  # fmt: skip
    return Links.pack([*map(PageLink._make, rows), *added])
