"""Starting a crawl: what was asked, what the web knows already, and the parts that will do it."""

from __future__ import annotations

import os
import resource
import selectors
import shutil
import socket
import time
from collections.abc import Mapping  # noqa: TC003 - msgspec looks at annotations
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gossamer import config
from gossamer.basics.cores import available_cores
from gossamer.basics.locations import is_shared, local_directory
from gossamer.crawl.log import CrawlLog
from gossamer.crawl.policy import UNREACHABLE
from gossamer.crawl.round_settings import admissions, parse_options, url_rules
from gossamer.crawl.seed_search import result_links
from gossamer.crawl.visits import seed_candidate
from gossamer.crawl.writer import Watch
from gossamer.errors import StoreMissing, UsageError
from gossamer.model import State, Value
from gossamer.parse.pool import ParserPool
from gossamer.revisit.pace import Schedule, VisitBudget, limits_from_settings, schedule_from_settings
from gossamer.urls.canonical import UrlRules, url_digest, urls_from_input
from gossamer.urls.scope import Scope
from gossamer.wiring import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.config import CrawlSettings, LoadedSettings, Settings
    from gossamer.crawl.loop import CrawlLoop
    from gossamer.store.protocol import Store
    from gossamer.store.values import Round


OTHER_HANDLES = 40  # of the store, the parsers, the index and the log
HANDLES_PER_TRANSFER = 3  # its connection, and those of a look-up


class Ask(Value, frozen=True, kw_only=True):
    """What a person or a program asks of a crawl."""

    store: str = "web"
    urls: tuple[str, ...] = ()  # as typed
    query: str = ""  # words to get seeds by
    revisit: Literal["", "due", "all"] = ""  # visit again what is due, or everything
    watch: bool = False  # keep the web fresh, for ever
    flags: Mapping[str, object] = {}  # settings given directly, by dotted key
    config_file: Path | None = None
    log_file: Path | None = None
    environ: Mapping[str, str] = {}


class Complete(Value, frozen=True, kw_only=True):
    """There is nothing to do: the web is as it was asked for."""

    pages: int
    known: int
    next_at: float | None = None  # when the next visit is due
    index: config.IndexSettings | None = None  # where to index what is there; None: nowhere


def prepare(ask: Ask) -> CrawlLoop | Complete:
    """Make everything ready for a crawl, or find that there is nothing to do."""
    typed = [urls_from_input(text) for text in ask.urls]
    loaded = _load(ask, None)
    # Checked before the directory is made, so that a slip of the pen leaves nothing behind.
    Scope(loaded.settings.crawl, tuple(urls[0] for urls in typed))
    if not typed and not ask.query and not _exists(ask.store):
        raise UsageError(f"There is no web in {ask.store} yet: give a URL to start from.")
    store = open_store(ask.store, create=True, settings=loaded.settings.store)
    local_directory(ask.store).mkdir(parents=True, exist_ok=True)
    try:
        return _prepare_in(store, ask, typed)
    except BaseException:
        store.close()
        raise


class Seeds(Value, frozen=True, kw_only=True):
    """Where a crawl is to start from."""

    typed: tuple[str, ...]  # by the user, whose word they are
    found: tuple[str, ...] = ()  # by a search service
    fallbacks: Mapping[str, str] = {}  # https forms of what was typed without a scheme -> their http forms


def _fallbacks(typed: Sequence[tuple[str, ...]], before: Round | None, store: Store) -> dict[str, str]:
    """Those of now, and those that were needed before: there the http form of an unreachable https seed has joined."""
    others = {urls[0]: urls[1] for urls in typed if len(urls) > 1}
    if before is None:
        return others
    rules = msgspec.json.decode(before.settings, type=UrlRules)
    joined = {*before.joined}
    for url in before.seeds:
        http = url.replace("https://", "http://", 1)
        if http != url and http in joined:
            row = store.resource(url_digest(url, rules))
            if row is not None and row.outcome in UNREACHABLE:
                others[url] = http
    return others


def _exists(place: str) -> bool:
    """Whether there is a web at a place."""
    if not is_shared(place):
        return (Path(place) / "web.db").exists()
    try:
        open_store(place, read_only=True).close()
    except StoreMissing:
        return False
    return True


def _load(ask: Ask, stored: Round | None) -> LoadedSettings:
    return config.load(
        file=ask.config_file,
        store_dir=local_directory(ask.store),
        environ=ask.environ,
        flags=ask.flags,
        stored=msgspec.json.decode(stored.settings, type=dict[str, object]) if stored else None,
    )


def _prepare_in(store: Store, ask: Ask, typed: Sequence[tuple[str, ...]]) -> CrawlLoop | Complete:
    before = store.current_round()
    settings, waiting = _within_handles(_load(ask, before).settings)
    selector = selectors.DefaultSelector()
    with ExitStack() as opened:
        pool = ParserPool(parse_options(settings), settings.parse.processes or available_cores(), selector)
        opened.callback(pool.close)
        # While the parsers start, on other cores: it takes as long.
        from gossamer.crawl.loop import CrawlLoop, Parts, Plan  # noqa: PLC0415
        from gossamer.fetch.fetcher import Fetcher  # noqa: PLC0415

        fetcher = Fetcher(
            settings.fetch, settings.hosts, accept=settings.crawl.accept, selector=selector,
            transfers=settings.politeness.transfers, idle_connections=waiting,
        )  # fmt: skip
        opened.callback(fetcher.close)
        seeds = Seeds(typed=tuple(urls[0] for urls in typed), fallbacks=_fallbacks(typed, before, store))
        if ask.query:
            found = result_links(settings.search_service.url, ask.query, fetcher, pool, selector)
            seeds = msgspec.structs.replace(seeds, found=tuple(found))
        again = _again(ask, store, settings)
        current = _open_round(store, before, settings.crawl, seeds, again=again, watch=ask.watch)
        if current is None:
            return _complete(store, settings)
        identity = store.join(socket.gethostname(), os.getpid())
        logs = local_directory(ask.store) / "logs"
        log = CrawlLog(ask.log_file or logs / f"{identity.name.lower()}.jsonl", identity.name)
        log.write("start", seeds=current.seeds, settings=msgspec.to_builtins(settings.crawl))
        plan = Plan(
            settings=settings,
            round=current,
            product=settings.fetch.product,
            typed=seeds.typed,
            fallbacks=seeds.fallbacks,
            watch=_watch(settings) if ask.watch else None,
        )
        free = partial(_free_space, local_directory(ask.store))
        parts = Parts(
            store=store, identity=identity, fetcher=fetcher, pool=pool, selector=selector, free_space=free, log=log
        )
        loop = CrawlLoop(plan, parts)
        opened.pop_all()  # the loop closes them
        return loop


def _within_handles(settings: Settings) -> tuple[Settings, int]:
    """As many transfers as there are file handles for, and how many connections may wait for the next request.

    One for every host held, if it can be: to connect anew after each pause takes longer than to ask. If handles are
    few, as many as we may have.
    """
    politeness = settings.politeness
    waiting = max(politeness.transfers, politeness.max_hosts)
    wanted = OTHER_HANDLES + politeness.transfers * HANDLES_PER_TRANSFER + waiting
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = (wanted if soft == resource.RLIM_INFINITY else soft) - OTHER_HANDLES
    transfers = max(1, min(politeness.transfers, room // (HANDLES_PER_TRANSFER + 1)))
    waiting = max(1, min(waiting, room - transfers * HANDLES_PER_TRANSFER))
    settled = msgspec.structs.replace(settings, politeness=msgspec.structs.replace(politeness, transfers=transfers))
    return settled, waiting


def _again(ask: Ask, store: Store, settings: Settings) -> Schedule | Literal["all"] | None:
    """What is to be visited again."""
    if ask.revisit == "all":
        return "all"
    return schedule_from_settings(settings.freshness, store.pace_counts()) if ask.revisit else None


def _watch(settings: Settings) -> Watch:
    freshness = settings.freshness
    budget = VisitBudget(
        pages=freshness.pages_per_hour,
        per_host=freshness.host_pages_per_hour,
    )
    return Watch(schedule=Schedule(limits=limits_from_settings(freshness)), budget=budget)


def _open_round(
    store: Store,
    before: Round | None,
    crawl: CrawlSettings,
    seeds: Seeds,
    *,
    again: Schedule | Literal["all"] | None,
    watch: bool,
) -> Round | None:
    """Join the round under way, or begin one if something new is asked for; None when there is nothing to do."""
    asked = msgspec.json.encode(crawl).decode()
    earlier = before.seeds if before else ()
    joined = before.joined if before else ()
    new = {*seeds.typed} - {*earlier} or {*seeds.found} - {*earlier, *joined}
    if before is None and not new:
        raise UsageError("There is nothing to crawl in this web yet: give a URL to start from.")
    every = tuple(dict.fromkeys((*earlier, *seeds.typed)))
    admit = admissions(crawl, (*every, *joined, *seeds.found))
    other = before is None or bool(new) or asked != before.settings
    if other or again is not None or (not watch and not _has_limits(before, crawl)):
        begun = store.begin_round(asked, every, crawl.max_pages, crawl.max_pages_per_host, again)
        overtaken = begun.seeds != every  # by another crawl that began since `before`: its seeds are this round's too
        if overtaken:
            admit = admissions(crawl, (*begun.seeds, *begun.joined, *seeds.found))
        if overtaken or (before is not None and other):
            store.readmit(admit)  # after that: what is queued again may be out of a narrower scope
    # An http form that stood in for its https form before is tried again like one that was typed.
    others = [http for url in seeds.typed if (http := seeds.fallbacks.get(url, "")) in joined]
    start = (*seeds.typed, *seeds.found, *others)
    store.add([seed_candidate(url, url_rules(crawl)) for url in start], admit)
    resources = store.counts().resources
    if not resources.get(State.QUEUED) and not resources.get(State.LEASED) and not watch:
        return None
    return store.current_round()  # what was just added has joined it


def _has_limits(current: Round | None, crawl: CrawlSettings) -> bool:
    """Whether a round has the limits asked for; those of `watch` are its own."""
    limits = (crawl.max_pages, crawl.max_pages_per_host)
    return current is None or (current.max_pages, current.max_pages_per_host) == limits


def _complete(store: Store, settings: Settings) -> Complete:
    known = sum(store.counts().resources.values())
    pages = sum(host.pages for host in store.hosts())
    next_at = store.freshness(schedule_from_settings(settings.freshness, store.pace_counts()), time.time()).next_at
    store.close()
    return Complete(pages=pages, known=known, next_at=next_at, index=settings.index if settings.crawl.index else None)


def _free_space(directory: Path) -> int:
    return shutil.disk_usage(directory).free
