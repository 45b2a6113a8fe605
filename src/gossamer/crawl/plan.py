"""The values that describe a crawl: the plan it follows and the parts it works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import Value

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable, Mapping

    from gossamer.config import Settings
    from gossamer.crawl.log import CrawlLog
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.parse.pool import ParserPool
    from gossamer.render.choice import RendererSource
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.protocol import Store
    from gossamer.store.values import CrawlerRow, Round


class WatchOptions(Value, frozen=True, kw_only=True):
    """How `gossamer watch` keeps a web fresh."""

    schedule: Schedule  # when each resource is due
    budget: VisitBudget  # visits allowed in an hour


class CrawlPlan(Value, frozen=True, kw_only=True):
    """What one crawl is asked to do."""

    settings: Settings
    round: Round
    product: str  # the name that robots.txt rules address
    typed_seeds: tuple[str, ...] = ()  # seeds given with this call, new or already known
    http_fallbacks: Mapping[str, str] = {}  # https form of a seed typed without a scheme -> its http form
    no_browser: str = ""  # why no page can be rendered, for people; "": pages can
    watch: WatchOptions | None = None  # given: never end, visit resources when they are due


class CrawlParts(Value, frozen=True, kw_only=True):
    """The parts that one crawl works with; `start` puts them together and the loop closes them."""

    store: Store
    identity: CrawlerRow
    fetcher: Fetcher
    pool: ParserPool
    renderers: RendererSource | None = None  # None: no page is rendered, and `CrawlPlan.no_browser` says why
    selector: selectors.BaseSelector
    free_space: Callable[[], int | None]  # bytes free on the store's disk; None: not ours to watch
    log: CrawlLog
