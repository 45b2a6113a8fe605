"""What the requests of one rendered page may take of the crawl, and which of these limits each page met."""

from __future__ import annotations

from collections import defaultdict

PAGE_BYTES = 64 << 20  # of all answers that a page gets; large applications load some 10 MB
PAGE_HOSTS = 30  # that a page may ask beside its own, each with a robots.txt to fetch
REST = "rest"  # the cut of a page that lacks answers of a host at rest


class _PageUse:
    """What one page has taken."""

    def __init__(self) -> None:
        self.bytes = 0
        self.hosts: set[str] = set()
        self.cuts: dict[str, None] = {}  # names of the limits that it met, in order


class PageLimits:
    """The use of all pages in browsers, by the number of their job."""

    def __init__(self) -> None:
        self._pages: defaultdict[int, _PageUse] = defaultdict(_PageUse)

    def take_host(self, job: int, host: str) -> bool:
        """Count a host that a page asks; False: it asks too many."""
        page = self._pages[job]
        if host not in page.hosts and len(page.hosts) >= PAGE_HOSTS:
            page.cuts["hosts"] = None
            return False
        page.hosts.add(host)
        return True

    def take_bytes(self, job: int, size: int) -> bool:
        """Count an answer; False: the page has used up its bytes, and gets no more."""
        page = self._pages[job]
        page.bytes += size
        if page.bytes > PAGE_BYTES:
            page.cuts["traffic"] = None
            return False
        return True

    def note_rest(self, job: int) -> None:
        """Remember that a page lacks an answer because its host rests."""
        self._pages[job].cuts[REST] = None

    def has_bytes(self, job: int) -> bool:
        """Return whether a page may get more answers."""
        return job not in self._pages or self._pages[job].bytes <= PAGE_BYTES

    def forget(self, job: int) -> str:
        """Forget a page that is done; return the names of the limits that it met, as in `RenderedPage.cut`."""
        page = self._pages.pop(job, None)
        return ", ".join(page.cuts) if page is not None else ""

    def clear(self) -> None:
        """Forget all pages."""
        self._pages.clear()
