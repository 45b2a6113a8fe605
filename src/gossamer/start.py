"""Start of a crawl: loads settings, opens or joins a round, and builds the `CrawlLoop` with its parts."""

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
from shlex import quote
from typing import TYPE_CHECKING, Literal

import msgspec

from gossamer import config
from gossamer.basics.cores import available_cores
from gossamer.basics.durable import make_directory
from gossamer.basics.locations import is_shared, local_directory
from gossamer.crawl.log import CrawlLog
from gossamer.crawl.plan import CrawlParts, CrawlPlan, WatchOptions
from gossamer.crawl.policy import UNREACHABLE
from gossamer.crawl.round_settings import admission_policy, parse_options, url_rules
from gossamer.crawl.seed_search import search_result_links
from gossamer.crawl.visits import seed_candidate
from gossamer.errors import StoreMissing, UsageError
from gossamer.model import State, Value
from gossamer.parse.pool import ParserPool
from gossamer.render.options import RenderOptions
from gossamer.revisit.pace import Schedule, VisitBudget, limits_from_settings, schedule_from_settings
from gossamer.urls.canonical import UrlRules, url_digest, urls_from_input
from gossamer.urls.scope import Scope
from gossamer.wiring import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.config import CrawlSettings, LoadedSettings, Settings
    from gossamer.crawl.loop import CrawlLoop
    from gossamer.render.choice import RendererSource
    from gossamer.store.protocol import Store
    from gossamer.store.values import Round


RESERVED_HANDLES = 40  # file handles for the store, the parsers, the index and the log
HANDLES_PER_TRANSFER = 3  # file handles for its connection and its name resolution


class CrawlRequest(Value, frozen=True, kw_only=True):
    """A crawl as a person or a program asks for it."""

    store: str = "web"  # location of the web
    urls: tuple[str, ...] = ()  # as typed
    query: str = ""  # words for the search service that gives seeds
    revisit: Literal["", "due", "all"] = ""  # visit known resources again: those that are due, or all
    watch: bool = False  # keep the web fresh without end
    flags: Mapping[str, object] = {}  # settings by dotted key
    config_file: Path | None = None
    log_file: Path | None = None
    environ: Mapping[str, str] = {}


class AlreadyComplete(Value, frozen=True, kw_only=True):
    """The answer if there is nothing to visit."""

    pages: int  # pages in the web
    known: int  # resources in the web
    next_at: float | None = None  # Unix time at which the next visit is due
    rank: bool = True  # setting `crawl.rank`
    index: config.IndexSettings | None = None  # settings of the index to bring up to date; None: `crawl.index` is off


def prepare_crawl(request: CrawlRequest) -> CrawlLoop | AlreadyComplete:
    """Prepare a crawl, or return that there is nothing to visit."""
    typed = [urls_from_input(text) for text in request.urls]
    loaded = _load_settings(request, None)
    # Validate the scope before creating the directory, so that a typing error leaves nothing behind.
    Scope(loaded.settings.crawl, tuple(urls[0] for urls in typed))
    if not typed and not request.query and not _web_exists(request.store):
        raise UsageError(f"There is no web in {quote(request.store)} yet: give a URL to start from.")
    store = open_store(request.store, create=True, settings=loaded.settings.store)
    make_directory(local_directory(request.store))
    try:
        return _prepare_in_store(store, request, typed)
    except BaseException:
        store.close()
        raise


class StartSeeds(Value, frozen=True, kw_only=True):
    """The URLs that a crawl starts from."""

    typed: tuple[str, ...]  # by the user; only these may have private addresses
    searched: tuple[str, ...] = ()  # from a search service
    fallbacks: Mapping[str, str] = {}  # https form of a seed typed without a scheme -> its http form


def _http_fallbacks(typed: Sequence[tuple[str, ...]], previous: Round | None, store: Store) -> dict[str, str]:
    """Return the fallbacks of the typed seeds, and those that earlier crawls of this web used.

    An earlier fallback shows as a joined http form of a seed whose https form was unreachable.
    """
    fallbacks = {urls[0]: urls[1] for urls in typed if len(urls) > 1}
    if previous is None:
        return fallbacks
    rules = msgspec.json.decode(previous.settings, type=UrlRules)
    joined = {*previous.joined}
    for url in previous.seeds:
        http = url.replace("https://", "http://", 1)
        if http != url and http in joined:
            row = store.resource(url_digest(url, rules))
            if row is not None and row.outcome in UNREACHABLE:
                fallbacks[url] = http
    return fallbacks


def _web_exists(location: str) -> bool:
    """Return whether a web exists at a location."""
    if not is_shared(location):
        return (Path(location) / "web.db").exists()
    try:
        open_store(location, read_only=True).close()
    except StoreMissing:
        return False
    return True


def _load_settings(request: CrawlRequest, stored: Round | None) -> LoadedSettings:
    return config.load(
        file=request.config_file,
        store_dir=local_directory(request.store),
        environ=request.environ,
        flags=request.flags,
        stored=msgspec.json.decode(stored.settings, type=dict[str, object]) if stored else None,
    )


def _prepare_in_store(
    store: Store, request: CrawlRequest, typed: Sequence[tuple[str, ...]]
) -> CrawlLoop | AlreadyComplete:
    previous = store.current_round()
    settings, idle_connections = _fit_to_handles(_load_settings(request, previous).settings)
    selector = selectors.DefaultSelector()
    with ExitStack() as cleanup:
        pool = ParserPool(parse_options(settings), settings.parse.processes or available_cores(), selector)
        cleanup.callback(pool.close)
        # Imported here, while the parser processes start on other cores: both take equally long.
        from gossamer.crawl.loop import CrawlLoop  # noqa: PLC0415
        from gossamer.fetch.fetcher import Fetcher  # noqa: PLC0415

        fetcher = Fetcher(
            settings.fetch, settings.hosts, accept=settings.crawl.accept, selector=selector,
            transfers=settings.politeness.transfers, idle_connections=idle_connections,
        )  # fmt: skip
        cleanup.callback(fetcher.close)
        seeds = StartSeeds(typed=tuple(urls[0] for urls in typed), fallbacks=_http_fallbacks(typed, previous, store))
        if request.query:
            links = search_result_links(settings.search_service.url, request.query, fetcher, pool, selector)
            seeds = msgspec.structs.replace(seeds, searched=tuple(links))
        revisit = _revisit_schedule(request, store, settings)
        current = _open_round(store, previous, settings.crawl, seeds, revisit=revisit, watch=request.watch)
        if current is None:
            return _summarize_complete(store, settings)
        identity = store.join(socket.gethostname(), os.getpid())
        logs = local_directory(request.store) / "logs"
        log = CrawlLog(request.log_file or logs / f"{identity.name.lower()}.jsonl", identity.name)
        log.write("start", seeds=current.seeds, settings=msgspec.to_builtins(settings.crawl))
        source, no_browser = _renderer_source(settings, selector)
        plan = CrawlPlan(
            settings=settings,
            round=current,
            product=settings.fetch.product,
            typed_seeds=seeds.typed,
            http_fallbacks=seeds.fallbacks,
            no_browser=no_browser,
            watch=_watch_options(settings) if request.watch else None,
        )
        free_space = partial(_free_space, local_directory(request.store))
        parts = CrawlParts(
            store=store,
            identity=identity,
            fetcher=fetcher,
            pool=pool,
            renderers=source,
            selector=selector,
            free_space=free_space,
            log=log,
        )
        loop = CrawlLoop(plan, parts)
        cleanup.pop_all()  # the loop closes pool and fetcher
        return loop


def _renderer_source(settings: Settings, selector: selectors.BaseSelector) -> tuple[RendererSource | None, str]:
    """Return the renderers, or why no page can be rendered."""
    if settings.crawl.render == "never":
        return None, "crawl.render is never"
    from gossamer.fetch.transfer import user_agent  # noqa: PLC0415 - as above
    from gossamer.render import choice  # noqa: PLC0415 - crawls without rendering do not need it

    own = settings.render
    found = choice.look_for_browser(settings.crawl.render, named=own.browser)
    if found.mode == "always":  # a missing layer is an error, and its time is before the first page
        found = choice.try_layers(found, unsafe=own.unsafe_browser)
    if found.mode == "never":
        return None, found.reason
    options = RenderOptions(
        browser=found.browser,
        unsafe=own.unsafe_browser,
        user_agent=user_agent(settings.fetch),
        write_hosts=frozenset(
            name.rpartition("://")[2] for name, host in settings.hosts.items() if host.render_methods
        ),
        scroll=settings.crawl.render_scroll,
        max_url_length=settings.crawl.max_url_length,
        seconds=own.seconds,
        memory=own.memory,
    )
    return choice.RendererSource(found, options, own.renderers or choice.default_renderers(), selector), ""


def _fit_to_handles(settings: Settings) -> tuple[Settings, int]:
    """Fit the number of transfers to the file handles; return the settings and the number of idle connections.

    Raises the soft limit of file handles if necessary. Ideally every held host keeps an idle connection, because a
    new connection after each pause takes longer than the request.
    """
    politeness = settings.politeness
    idle_connections = max(politeness.transfers, politeness.max_hosts)
    wanted = RESERVED_HANDLES + politeness.transfers * HANDLES_PER_TRANSFER + idle_connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    available = (wanted if soft == resource.RLIM_INFINITY else soft) - RESERVED_HANDLES
    transfers = max(1, min(politeness.transfers, available // (HANDLES_PER_TRANSFER + 1)))
    idle_connections = max(1, min(idle_connections, available - transfers * HANDLES_PER_TRANSFER))
    fitted = msgspec.structs.replace(settings, politeness=msgspec.structs.replace(politeness, transfers=transfers))
    return fitted, idle_connections


def _revisit_schedule(request: CrawlRequest, store: Store, settings: Settings) -> Schedule | Literal["all"] | None:
    """Return the schedule of resources to visit again, "all", or None for none."""
    if request.revisit == "all":
        return "all"
    return schedule_from_settings(settings.freshness, store.pace_counts()) if request.revisit else None


def _watch_options(settings: Settings) -> WatchOptions:
    freshness = settings.freshness
    budget = VisitBudget(
        pages=freshness.pages_per_hour,
        per_host=freshness.host_pages_per_hour,
    )
    return WatchOptions(schedule=Schedule(limits=limits_from_settings(freshness)), budget=budget)


def _open_round(
    store: Store,
    previous: Round | None,
    crawl: CrawlSettings,
    seeds: StartSeeds,
    *,
    revisit: Schedule | Literal["all"] | None,
    watch: bool,
) -> Round | None:
    """Join the current round, or begin one for new seeds, settings or revisits; None if nothing is queued."""
    settings_json = msgspec.json.encode(crawl).decode()
    earlier = previous.seeds if previous else ()
    joined = previous.joined if previous else ()
    new_seeds = {*seeds.typed} - {*earlier} or {*seeds.searched} - {*earlier, *joined}
    if previous is None and not new_seeds:
        raise UsageError("There is nothing to crawl in this web yet: give a URL to start from.")
    all_seeds = tuple(dict.fromkeys((*earlier, *seeds.typed)))
    admit = admission_policy(crawl, (*all_seeds, *joined, *seeds.searched))
    is_different = previous is None or bool(new_seeds) or settings_json != previous.settings
    if is_different or revisit is not None or (not watch and not _has_same_limits(previous, crawl)):
        new_round = store.begin_round(settings_json, all_seeds, crawl.max_pages, crawl.max_pages_per_host, revisit)
        # Another crawl may have begun a round since `previous` was read; its seeds belong to this round too.
        is_overtaken = new_round.seeds != all_seeds
        if is_overtaken:
            admit = admission_policy(crawl, (*new_round.seeds, *new_round.joined, *seeds.searched))
        if is_overtaken or (previous is not None and is_different):
            store.readmit(admit)  # after `begin_round`, which may queue resources that the new scope excludes
    # The http form that replaced a typed https form in an earlier crawl is a start URL too.
    http_seeds = [http for url in seeds.typed if (http := seeds.fallbacks.get(url, "")) in joined]
    start_urls = (*seeds.typed, *seeds.searched, *http_seeds)
    store.add([seed_candidate(url, url_rules(crawl)) for url in start_urls], admit)
    resources = store.counts().resources
    if not resources.get(State.QUEUED) and not resources.get(State.LEASED) and not watch:
        return None
    return store.current_round()  # read again: `add` may have joined seeds to it


def _has_same_limits(current: Round | None, crawl: CrawlSettings) -> bool:
    """Return whether a round has the page limits of these settings."""
    limits = (crawl.max_pages, crawl.max_pages_per_host)
    return current is None or (current.max_pages, current.max_pages_per_host) == limits


def _summarize_complete(store: Store, settings: Settings) -> AlreadyComplete:
    known = sum(store.counts().resources.values())
    pages = sum(host.pages for host in store.hosts())
    next_at = store.freshness(schedule_from_settings(settings.freshness, store.pace_counts()), time.time()).next_at
    store.close()
    return AlreadyComplete(
        pages=pages,
        known=known,
        next_at=next_at,
        rank=settings.crawl.rank,
        index=settings.index if settings.crawl.index else None,
    )


def _free_space(directory: Path) -> int:
    return shutil.disk_usage(directory).free
