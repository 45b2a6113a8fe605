"""The seeds of a crawl: what it starts from, what joins them, what is admitted by them, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl import policy, visits
from gossamer.model import State
from gossamer.urls.canonical import authority, url_digest
from gossamer.urls.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer.crawl.loop import Plan
    from gossamer.crawl.outbox import Outbox
    from gossamer.crawl.round_settings import Terms
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.model import Visit
    from gossamer.store.protocol import Store
    from gossamer.store.values import ResourceRow, Round

SEEDS_TOLD = 10  # in one sentence


class Seeds:
    """The URLs a crawl starts from. Whenever there are more, what is found is judged by all of them."""

    def __init__(self, plan: Plan, terms: Terms, fetcher: Fetcher, outbox: Outbox) -> None:
        self._plan = plan
        self._terms = terms
        self._fetcher = fetcher
        self._outbox = outbox
        self._heard = plan.round  # whose seeds are here already
        self._typed: set[str] = set()  # by users, here or with another crawl
        self._allow(plan.round.seeds)
        self.urls = dict.fromkeys((*plan.round.seeds, *plan.round.joined))  # in their order
        self._judge_anew()

    def _judge_anew(self) -> None:
        self._scope = Scope(self._terms.crawl, self.urls)
        self.admit = policy.Admissions(self._terms.crawl, self._scope)

    def add(self, url: str) -> None:
        """This is a seed too."""
        if url not in self.urls:
            self.urls[url] = None
            self._scope.add(url)

    def join(self, current: Round) -> bool:
        """Another crawl may have brought seeds or other terms; tells whether the terms are others.

        What was judged here before that was heard of is judged anew.
        """
        others = self._terms.take_over(current.settings)
        known, self._heard = self._heard, current
        typed = [] if current.seeds is known.seeds else [url for url in current.seeds if url not in self._typed]
        self._outbox.readmit |= others or any(url not in self.urls for url in typed)
        self._allow(typed)
        for url in (*typed, *(() if current.joined is known.joined else current.joined)):
            self.add(url)
        if others:
            self._judge_anew()
        return others

    def fall_back(self, visit: Visit) -> Visit:
        """A seed typed without a scheme does not answer over https: try http. Nobody named https, so it is no fault."""
        other = self._plan.fallbacks.get(visit.lease.url)
        if other is None:
            return visit
        self._outbox.found.append(visits.seed_candidate(other, self._terms.rules))
        self.add(other)
        reason = f"http is tried instead: {visit.reason or visit.outcome}"
        return msgspec.structs.replace(visit, state=State.KNOWN, reason=reason)

    def unvisited(self, store: Store, waiting: Mapping[str, str], *, empty: bool) -> tuple[dict[str, str], str]:
        """Those typed with this call that could not be visited, and why; if that is all of them, one sentence of it.

        `waiting` tells what hosts wait for, by name. In a web that has pages, it is no fault if a rule refuses a seed,
        a limit leaves it queued, or one that was visited before does not answer for once. In an empty one all of that
        is why there is nothing to show, also of seeds typed before.
        """
        forms = (self._last_form(store, url) for url in self._plan.typed or (self.urls if empty else ()))
        rows = {row.url: row for row in forms if row is not None}
        faults = {url: _why(row, waiting) for url, row in rows.items() if empty or _is_fault(store, row, waiting)}
        return faults, _failure(faults) if faults and len(faults) == len(rows) else ""

    def _last_form(self, store: Store, url: str) -> ResourceRow | None:
        """A seed typed without a scheme stands for its http form once https did not answer."""
        row = store.resource(url_digest(url, self._terms.rules))
        if row is not None and row.state == State.KNOWN and (other := self._plan.fallbacks.get(url)):
            return store.resource(url_digest(other, self._terms.rules)) or row
        return row

    def _allow(self, urls: Iterable[str]) -> None:
        """The user's own word lets loopback and private addresses in, for exactly these hosts.

        What a search service found, or a redirect led to, is not the user's word, and has only joined.
        """
        for url in urls:
            self._typed.add(url)
            for scheme in ("http", "https"):
                self._fetcher.allow_private(f"{scheme}://{authority(url)}/")


def _is_fault(store: Store, row: ResourceRow, waiting: Mapping[str, str]) -> bool:
    if row.state in {State.FAILED, State.GONE} or (row.state == State.QUEUED and row.host in waiting):
        return not any(visit.outcome in policy.SUCCESSES for visit in store.visits(row.id))
    return False


def _why(row: ResourceRow, waiting: Mapping[str, str]) -> str:
    if row.state == State.QUEUED and row.host in waiting:
        return waiting[row.host]
    return ": ".join(filter(None, (row.outcome, row.reason))) or "nothing was heard of it"


def _failure(faults: Mapping[str, str]) -> str:
    """The sentence for seeds of which none could be visited."""
    if len(faults) == 1:
        [(url, why)] = faults.items()
        return f"{url} could not be visited: {why}."
    told = [f"{url}: {why}" for url, why in faults.items()]
    more = [f"and {len(told) - SEEDS_TOLD:,} more"] if len(told) > SEEDS_TOLD else []
    return f"None of {len(told):,} seeds could be visited: {'; '.join([*told[:SEEDS_TOLD], *more])}."
