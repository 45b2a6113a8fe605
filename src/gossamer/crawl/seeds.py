"""The seeds of a crawl, the scope they define, and the report of seeds that could not be visited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl import policy, visits
from gossamer.model import SUCCESSFUL_OUTCOMES, State
from gossamer.urls.canonical import authority, url_digest
from gossamer.urls.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer.crawl.outbox import Outbox
    from gossamer.crawl.plan import CrawlPlan
    from gossamer.crawl.round_settings import RoundSettings
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.model import Visit
    from gossamer.store.protocol import StoreReader
    from gossamer.store.values import ResourceRow, Round

SEEDS_LISTED = 10  # seeds named in one message


class Seeds:
    """The URLs a crawl starts from, and the admission policy they define together."""

    def __init__(self, plan: CrawlPlan, round_settings: RoundSettings, fetcher: Fetcher, outbox: Outbox) -> None:
        self._plan = plan
        self._round_settings = round_settings
        self._fetcher = fetcher
        self._outbox = outbox
        self._applied_round = plan.round  # the round whose seeds are in `urls`
        self._typed_seeds: set[str] = set()  # seeds that users typed, for this crawl or another one
        self._allow_hosts(plan.round.seeds)
        self.urls = dict.fromkeys((*plan.round.seeds, *plan.round.joined))  # a set that keeps its order
        self._rebuild_admission_policy()

    def _rebuild_admission_policy(self) -> None:
        self._scope = Scope(self._round_settings.crawl, self.urls)
        self.admit = policy.AdmissionPolicy(self._round_settings.crawl, self._scope)

    def add(self, url: str) -> None:
        """Add a seed, and widen the scope by it."""
        if url not in self.urls:
            self.urls[url] = None
            self._scope.add(url)

    def apply_round(self, current: Round) -> bool:
        """Take over seeds and settings that another crawl brought; return whether the settings changed.

        New seeds and new settings ask the store to readmit: this crawler decided about URLs without them.
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
        """Queue the http form of a seed typed without a scheme whose https form failed.

        The https visit becomes `known` instead of `failed`, because nobody asked for https.
        """
        http_url = self._plan.http_fallbacks.get(visit.lease.url)
        if http_url is None:
            return visit
        self._outbox.candidates.append(visits.seed_candidate(http_url, self._round_settings.rules))
        self.add(http_url)
        reason = f"http is tried instead: {visit.reason or visit.outcome}"
        return msgspec.structs.replace(visit, state=State.KNOWN, reason=reason)

    def find_unvisited(
        self, store: StoreReader, waiting: Mapping[str, str], *, is_web_empty: bool
    ) -> tuple[dict[str, str], str]:
        """Return the seeds of this call that could not be visited, with reasons, and a message if none could.

        `waiting` maps the names of waiting hosts to their reasons. In a web with pages, three things are no fault: a
        rule refuses a seed, a limit leaves it queued, or one visited earlier fails once. In an empty web each is a
        fault, also for seeds of earlier calls: it explains why the web is empty.
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

    def _find_seed_row(self, store: StoreReader, url: str) -> ResourceRow | None:
        """Return a seed's row, or the row of its http form if the https form fell back to it."""
        row = store.resource(url_digest(url, self._round_settings.rules))
        if row is not None and row.state == State.KNOWN and (other := self._plan.http_fallbacks.get(url)):
            return store.resource(url_digest(other, self._round_settings.rules)) or row
        return row

    def _allow_hosts(self, urls: Iterable[str]) -> None:
        """Allow loopback and private addresses for exactly the hosts that a user typed.

        Redirect targets and results of a search service are joined seeds, and never get this permission.
        """
        for url in urls:
            self._typed_seeds.add(url)
            for scheme in ("http", "https"):
                self._fetcher.allow_private(f"{scheme}://{authority(url)}/")


def _is_fault(store: StoreReader, row: ResourceRow, waiting: Mapping[str, str]) -> bool:
    if row.state in {State.FAILED, State.GONE} or (row.state == State.QUEUED and row.host in waiting):
        return not any(visit.outcome in SUCCESSFUL_OUTCOMES for visit in store.visits(row.id))
    return False


def _describe_fault(row: ResourceRow, waiting: Mapping[str, str]) -> str:
    if row.state == State.QUEUED and row.host in waiting:
        return waiting[row.host]
    return ": ".join(filter(None, (row.outcome, row.reason))) or "no response is recorded"


def _describe_failure(faults: Mapping[str, str]) -> str:
    """Return the message for a call none of whose seeds could be visited."""
    if len(faults) == 1:
        [(url, why)] = faults.items()
        return f"{url} could not be visited: {why}."
    descriptions = [f"{url}: {why}" for url, why in faults.items()]
    more = [f"and {len(descriptions) - SEEDS_LISTED:,} more"] if len(descriptions) > SEEDS_LISTED else []
    return f"None of {len(descriptions):,} seeds could be visited: {'; '.join([*descriptions[:SEEDS_LISTED], *more])}."
