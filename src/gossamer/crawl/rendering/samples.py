"""Pages without a sign of scripts, kept for the end of a crawl: a browser renders a few of each host as samples.

The stock keeps the response of one page for each of the first shapes of a host, in bounded memory. It also notes which
pages have those shapes, because a sample may show that all of them need a browser.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.crawl.rendering.decisions import MAX_SAMPLES
from gossamer.model import Links

if TYPE_CHECKING:
    from gossamer.crawl.rendering.decisions import ShapeKey
    from gossamer.model import FetchResult, Page

MAX_HOSTS = 64  # hosts with samples; a broad crawl would spend hours on more
MAX_SHAPES = 8  # shapes of one host with a sample; those with most pages are rendered
MAX_BODY_BYTES = 256 << 10  # of a kept response, as on the wire
MAX_BYTES = 16 << 20  # of all kept responses and their plain readings
LINK_BYTES = 24  # of memory for each link of a plain reading
MAX_PAGES = 200_000  # pages noted over all shapes; about 20 MB


class Sample(NamedTuple):
    """A page to render."""

    key: ShapeKey
    fetched: FetchResult
    plain: Page
    resource: int


class SampleStock:
    """Samples by host and shape."""

    def __init__(self) -> None:
        self._samples: dict[int, dict[ShapeKey, Sample]] = {}
        self._pages: defaultdict[ShapeKey, list[int]] = defaultdict(list)  # DocIDs
        self._page_counts: Counter[ShapeKey] = Counter()
        self._sampled_hosts: set[int] = set()
        self._bytes = self._noted = 0

    def offer(self, key: ShapeKey, fetched: FetchResult, plain: Page, resource: int) -> None:
        """Note a page, and keep it if it is the first of its shape."""
        if self._noted < MAX_PAGES:
            self._noted += 1
            self._pages[key].append(resource)
            self._page_counts[key] += 1
        samples = self._samples.get(key.host)
        if samples is None:
            if key.host in self._sampled_hosts or len(self._samples) + len(self._sampled_hosts) >= MAX_HOSTS:
                return
            samples = self._samples[key.host] = {}
        size = len(fetched.body) + len(plain.text) + LINK_BYTES * len(plain.links)
        if key in samples or len(samples) >= MAX_SHAPES or size > MAX_BODY_BYTES or self._bytes + size > MAX_BYTES:
            return
        self._bytes += size
        links = Links(plain.links.packed_digests, plain.links.marks)  # enough to compare readings
        samples[key] = Sample(key, fetched, msgspec.structs.replace(plain, links=links, source=b""), resource)

    def has_host(self, host: int) -> bool:
        """Return whether a host gave samples, or will give some at the end."""
        return host in self._samples or host in self._sampled_hosts

    def take_samples(self) -> list[Sample]:
        """Return the samples, at most `MAX_SAMPLES` of each host: of the shapes with most pages.

        A host gives samples once in a crawl.
        """
        taken = []
        for samples in self._samples.values():
            ordered = sorted(samples.values(), key=lambda sample: -self._page_counts[sample.key])
            taken += ordered[:MAX_SAMPLES]
        self._sampled_hosts.update(self._samples)
        self._samples.clear()
        self._bytes = 0
        return taken

    def take_pages(self, key: ShapeKey) -> list[int]:
        """Return the DocIDs of the pages of a shape, and forget them."""
        pages = self._pages.pop(key, [])
        self._noted -= len(pages)
        return pages
