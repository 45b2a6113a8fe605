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

    from gossamer.crawl.loop import CrawlPlan
    from gossamer.crawl.outbox import Outbox
    from gossamer.crawl.round_settings import RoundSettings
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.model import Visit
    from gossamer.store.protocol import Store
    from gossamer.store.values import ResourceRow, Round

SEEDS_LISTED = 10  # in one sentence


class Seeds:
    """The URLs a crawl starts from. Whenever there are more, what is found is judged by all of them."""

    def __init__(self, plan: CrawlPlan, round_settings: RoundSettings, fetcher: Fetcher, outbox: Outbox) -> None:
        self._plan = plan
        self._round_settings = round_settings
        self._fetcher = fetcher
        self._outbox = outbox
        self._applied_round = plan.round  # whose seeds are here already
        self._typed_seeds: set[str] = set()  # by users, here or with another crawl
        self._allow_hosts(plan.round.seeds)
        self.urls = dict.fromkeys((*plan.round.seeds, *plan.round.joined))  # in their order
        self._rebuild_admission_policy()

    def _rebuild_admission_policy(self) -> None:
        self._scope = Scope(self._round_settings.crawl, self.urls)
        self.admit = policy.AdmissionPolicy(self._round_settings.crawl, self._scope)

    def add(self, url: str) -> None:
        """This is a seed too."""
        if url not in self.urls:
            self.urls[url] = None
            self._scope.add(url)

    def apply_round(self, current: Round) -> bool:
        """Another crawl may have brought seeds or other terms; tells whether the terms are others.

        What was judged here before that was heard of is judged anew.
        """
        has_new_settings = self._round_settings.update(current.settings)
        previous, self._applied_round = self._applied_round, current
        new_seeds = (
            [] if current.seeds is previous.seeds else [url for url in current.seeds if url not in self._typed_seeds]
        )
        self._outbox.readmit |= has_new_settings or any(url not in self.urls for url in new_seeds)
        self._allow_hosts(new_seeds)
        for url in (*new_seeds, *(() if current.joined is previous.joined else current.joined)):
            self.add(url)
        if has_new_settings:
            self._rebuild_admission_policy()
        return has_new_settings

    def fall_back(self, visit: Visit) -> Visit:
        """A seed typed without a scheme does not answer over https: try http. Nobody named https, so it is no fault."""
        http_url = self._plan.http_fallbacks.get(visit.lease.url)
        if http_url is None:
            return visit
        self._outbox.candidates.append(visits.seed_candidate(http_url, self._round_settings.rules))
        self.add(http_url)
        reason = f"http is tried instead: {visit.reason or visit.outcome}"
        return msgspec.structs.replace(visit, state=State.KNOWN, reason=reason)

    def find_unvisited(
        self, store: Store, waiting: Mapping[str, str], *, is_web_empty: bool
    ) -> tuple[dict[str, str], str]:
        """Those typed with this call that could not be visited, and why; if that is all of them, one sentence of it.

        `waiting` tells what hosts wait for, by name. In a web that has pages, it is no fault if a rule refuses a seed,
        a limit leaves it queued, or one that was visited before does not answer for once. In an empty one all of that
        is why there is nothing to show, also of seeds typed before.
        """
        seed_rows = (
            self._find_seed_row(store, url) for url in self._plan.typed_seeds or (self.urls if is_web_empty else ())
        )
        rows = {row.url: row for row in seed_rows if row is not None}
        faults = {
            url: _describe_fault(row, waiting)
            for url, row in rows.items()
            if is_web_empty or _is_fault(store, row, waiting)
        }
        return faults, _describe_failure(faults) if faults and len(faults) == len(rows) else ""

    def _find_seed_row(self, store: Store, url: str) -> ResourceRow | None:
        """A seed typed without a scheme stands for its http form once https did not answer."""
        row = store.resource(url_digest(url, self._round_settings.rules))
        if row is not None and row.state == State.KNOWN and (other := self._plan.http_fallbacks.get(url)):
            return store.resource(url_digest(other, self._round_settings.rules)) or row
        return row

    def _allow_hosts(self, urls: Iterable[str]) -> None:
        """The user's own word lets loopback and private addresses in, for exactly these hosts.

        What a search service found, or a redirect led to, is not the user's word, and has only joined.
        """
        for url in urls:
            self._typed_seeds.add(url)
            for scheme in ("http", "https"):
                self._fetcher.allow_private(f"{scheme}://{authority(url)}/")


def _is_fault(store: Store, row: ResourceRow, waiting: Mapping[str, str]) -> bool:
    if row.state in {State.FAILED, State.GONE} or (row.state == State.QUEUED and row.host in waiting):
        return not any(visit.outcome in policy.SUCCESSES for visit in store.visits(row.id))
    return False


def _describe_fault(row: ResourceRow, waiting: Mapping[str, str]) -> str:
    if row.state == State.QUEUED and row.host in waiting:
        return waiting[row.host]
    return ": ".join(filter(None, (row.outcome, row.reason))) or "nothing was heard of it"


def _describe_failure(faults: Mapping[str, str]) -> str:
    """The sentence for seeds of which none could be visited."""
    if len(faults) == 1:
        [(url, why)] = faults.items()
        return f"{url} could not be visited: {why}."
    descriptions = [f"{url}: {why}" for url, why in faults.items()]
    more = [f"and {len(descriptions) - SEEDS_LISTED:,} more"] if len(descriptions) > SEEDS_LISTED else []
    return f"None of {len(descriptions):,} seeds could be visited: {'; '.join([*descriptions[:SEEDS_LISTED], *more])}."
