"""Extract the hreflang annotations from the head of a page. An inspection process runs this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from gossamer.parse.charset import convert_to_utf8
from gossamer.store.content import decode_source
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.inspector import InspectionJob


MAX_ANNOTATIONS = 1_000  # per page; more than the languages and regions in use


def hreflang_annotations(job: InspectionJob) -> Iterator[tuple[str, str]]:
    """Yield each annotation: language as written, canonical URL."""
    html, _ = convert_to_utf8(decode_source(job.source), f"text/html; charset={job.charset}")
    tree = LexborHTMLParser(html)
    base_element = tree.css_first("base[href]")
    base = canonicalize((base_element.attributes["href"] if base_element else "") or "", job.url) or job.url
    for link in tree.css("link[hreflang][href]")[:MAX_ANNOTATIONS]:
        attributes = link.attributes
        rel = (attributes.get("rel") or "").lower().split()
        url = canonicalize(attributes.get("href") or "", base) if "alternate" in rel else None
        if url:
            yield attributes.get("hreflang") or "", url
