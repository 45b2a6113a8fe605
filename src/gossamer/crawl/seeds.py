"""The seeds of a crawl: what it starts from, what joins them while it runs, and what is admitted by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl import visits
from gossamer.crawl.urls import authority
from gossamer.model import State

if TYPE_CHECKING:
    from gossamer.crawl.crawler import Plan
    from gossamer.crawl.fetch import Fetcher
    from gossamer.crawl.outbox import Outbox
    from gossamer.crawl.terms import Terms
    from gossamer.model import Visit
    from gossamer.store.values import Round


class Seeds:
    """The URLs a crawl starts from. Whenever there are more, what is found is judged by all of them."""

    def __init__(self, plan: Plan, terms: Terms, fetcher: Fetcher, outbox: Outbox) -> None:
        self._plan = plan
        self._terms = terms
        self._fetcher = fetcher
        self._outbox = outbox
        self._allow(plan.round.seeds)
        self.urls = (*plan.round.seeds, *plan.round.joined)
        self.admit = terms.admissions(self.urls)

    def add(self, urls: tuple[str, ...]) -> None:
        """These are seeds too."""
        if set(urls) - set(self.urls):
            self.urls = tuple(dict.fromkeys((*self.urls, *urls)))
            self.admit = self._terms.admissions(self.urls)

    def join(self, current: Round) -> bool:
        """Another crawl may have brought seeds or other terms; tells whether the terms are others.

        What was judged here before that was heard of is judged anew.
        """
        others = self._terms.take_over(current.settings)
        self._outbox.readmit |= others or bool(set(current.seeds) - set(self.urls))
        self._allow(current.seeds)
        self.add((*current.seeds, *current.joined))
        if others:
            self.admit = self._terms.admissions(self.urls)
        return others

    def fall_back(self, visit: Visit) -> Visit:
        """A seed typed without a scheme does not answer over https: try http. Nobody named https, so it is no fault."""
        other = self._plan.fallbacks.get(visit.lease.url)
        if other is None:
            return visit
        self._outbox.found.append(visits.seed_candidate(other, self._terms.rules))
        self.add((other,))
        reason = f"http is tried instead: {visit.reason or visit.outcome}"
        return msgspec.structs.replace(visit, state=State.KNOWN, reason=reason)

    def _allow(self, urls: tuple[str, ...]) -> None:
        """The user's own word lets loopback and private addresses in, for exactly these hosts.

        What a search service found, or a redirect led to, is not the user's word, and has only joined.
        """
        for url in urls:
            for scheme in ("http", "https"):
                self._fetcher.allow(f"{scheme}://{authority(url)}/")
