"""The stage between two readings of a page: plain page → decision → browser → reading of what the browser made.

The loop shows every parsed page to `examine`. A page that no browser has to render goes on at once. The others stay
here and come back by `take_pages`, with one reading. The stage decides nothing itself: `decisions` decides, and
`subresources` answers the requests of pages. Without a browser it does nothing.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.crawl.rendering import decisions, readings
from gossamer.crawl.rendering.decisions import Decision, ShapeKey, ShapeState, Step
from gossamer.crawl.rendering.page_limits import REST
from gossamer.crawl.rendering.samples import SampleStock
from gossamer.crawl.rendering.subresources import Subresources
from gossamer.errors import RendererFault
from gossamer.model import Kind, Outcome, ParseJob, RenderJob, Role
from gossamer.parse.content_encoding import decode_body
from gossamer.urls.canonical import canonicalize, url_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gossamer.crawl.frontier import Frontier
    from gossamer.crawl.outbox import Outbox
    from gossamer.crawl.plan import CrawlParts, CrawlPlan
    from gossamer.crawl.round_settings import RoundSettings
    from gossamer.model import FetchResult, Lease, Page, RenderedPage, ShapeEvidence
    from gossamer.render.choice import RendererSource
    from gossamer.render.pool import RendererPool

MAX_BODY_BYTES = 8 << 20  # of a page for a browser, decoded; a shell made by scripts has some kB


class RenderTask(NamedTuple):
    """A page that was read plainly, on its way through a browser."""

    fetched: FetchResult
    plain: Page
    host: int
    resource: int
    key: ShapeKey
    reason: str = ""
    is_sample: bool = False  # a copy of a page that is stored already: only its lesson counts


class UnreadPage(NamedTuple):
    """A rendered page that a parser reads."""

    task: RenderTask
    result: RenderedPage  # without its HTML, which the parser has
    size: int  # of the HTML


class RenderStage:
    """Pages that wait for a browser, are in one, or are read again after it."""

    def __init__(
        self,
        plan: CrawlPlan,
        parts: CrawlParts,
        round_settings: RoundSettings,
        frontier: Frontier,
        outbox: Outbox,
        ids: Iterator[int],
    ) -> None:
        self._settings, self._round_settings, self._outbox = plan.settings, round_settings, outbox
        self._parsers, self._log, self._ids = parts.pool, parts.log, ids
        self._source = parts.renderers
        self._pool: RendererPool | None = None  # from the first page that needs a browser
        self._subresources = Subresources(
            plan.settings, round_settings, frontier, parts.fetcher, parts.pool, parts.log, ids
        )
        self._evidence: dict[int, dict[ShapeKey, ShapeEvidence]] = {}  # by host
        self._trials: Counter[ShapeKey] = Counter()  # pages of a shape in browsers, or in their queue
        self._kept: Counter[ShapeKey] = Counter()  # pages of a shape that were not rendered since the last look
        self._failures: Counter[ShapeKey] = Counter()  # last pages of a shape in a row that no browser could render
        self._waiting: defaultdict[ShapeKey, deque[RenderTask]] = defaultdict(deque)  # for the trials of their shape
        self._queues: OrderedDict[int, deque[RenderTask]] = OrderedDict()  # by host, the next host first
        self._in_browser: dict[int, RenderTask] = {}
        self._in_parser: dict[int, UnreadPage] = {}
        self._unread_bytes = 0  # of HTML in `_in_parser`
        self._done: list[tuple[FetchResult, Page]] = []
        self._samples = SampleStock()
        self.sample_count = 0  # samples on their way
        self.samples = Counter[bool]()  # rendered samples, by whether scripts added anything to them
        self.failed_samples = 0  # samples that no browser could render

    # -- from plain page to browser ----------------------------------------------------------------------------------

    def examine(self, fetched: FetchResult, page: Page, lease: Lease, now: float) -> Page | None:
        """Return a page that needs no browser; None if the stage keeps it until `take_pages`."""
        if not self._is_on or not decisions.is_renderable(fetched, page):
            return page
        key = self._shape_key(lease.host, fetched.request.url, is_signed=bool(page.script_sign))
        task = RenderTask(fetched, page, lease.host, lease.resource, key)
        return self._follow(task, self._decide(key, page.script_sign, now))

    @property
    def _is_on(self) -> bool:
        return self._source is not None and not self._source.refusal and self._round_settings.crawl.render != "never"

    def _follow(self, task: RenderTask, decision: Decision) -> Page | None:
        """Carry a decision out; return the page if it keeps its plain reading."""
        if decision.step is Step.RENDER and self._has_renderers():
            self._enqueue(task._replace(reason=decision.reason))
        elif decision.step is Step.WAIT:
            self._waiting[task.key].append(task)
        elif decision.step is Step.RENDER:
            return task.plain
        else:
            return self._keep_plain(task)
        return None

    def _has_renderers(self) -> bool:
        """Open the renderers if no page needed one before; return False where a layer is missing."""
        if self._pool is None and self._source is not None:
            self._pool = self._source.open()
            if self._pool is None:
                self._log.write("no rendering", reason=self._source.refusal)
        return self._pool is not None

    def _keep_plain(self, task: RenderTask) -> Page:
        """Return the page as it was read; it loses its sign if browsers found that scripts add nothing there."""
        key = task.key
        state = self._state(key)
        if state.failures >= decisions.MAX_FAILURES:
            self._kept[key] += 1
            return _with_note(task.plain, "browsers fail at pages like it")
        if not key.signed:
            self._samples.offer(key, task.fetched, task.plain, task.resource)
            return task.plain
        self._kept[key] += 1
        if not decisions.is_sign_wrong(state.evidence):
            return task.plain
        return msgspec.structs.replace(task.plain, script_sign="")

    def _decide(self, key: ShapeKey, sign: str, now: float) -> Decision:
        if self._round_settings.crawl.render == "always":
            return Decision(Step.RENDER, decisions.ALWAYS)
        return decisions.decide(sign, self._state(key), now)

    def _shape_key(self, host: int, url: str, *, is_signed: bool) -> ShapeKey:
        """Return the shape of a page; beyond `MAX_SHAPES` the pages of a host share one."""
        key = ShapeKey(host, decisions.path_shape(url), is_signed)
        known = self._evidence.get(host)
        if known is None or key in known or len(known) < decisions.MAX_SHAPES:
            return key
        return key._replace(shape="")

    def _state(self, key: ShapeKey) -> ShapeState:
        return ShapeState(
            evidence=self._evidence.get(key.host, {}).get(key),
            trials=self._trials[key],
            kept=self._kept[key],
            failures=self._failures[key],
        )

    def _enqueue(self, task: RenderTask) -> None:
        self._trials[task.key] += 1
        self._queues.setdefault(task.host, deque()).append(task)

    # -- each turn of the loop ---------------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Pass on what arrived: requests of pages, their answers, pages out of browsers, pages into them."""
        if self._pool is not None and self._source is not None:
            try:
                self._advance(self._pool, self._source, now)
            except RendererFault as fault:
                self.give_up(fault)

    def _advance(self, pool: RendererPool, source: RendererSource, now: float) -> None:
        pool.tick(now)
        for result in pool.take_results():
            self._handle_result(result, now)
        for asked in pool.take_requests():
            if (task := self._in_browser.get(asked.job)) is not None:
                self._subresources.request(asked, task.fetched.request.url, now)
        self._subresources.start_transfers(now)
        for answer in self._subresources.take_answers():
            pool.answer(answer)
        while self._queues and decisions.has_room(
            in_renderers=pool.backlog, most_pages=source.most_pages, unread_bytes=self._unread_bytes
        ):
            self._submit_next(pool, now)

    def _submit_next(self, pool: RendererPool, now: float) -> None:
        """Give the next page of the next host to the renderers."""
        host, queue = self._queues.popitem(last=False)
        task = queue.popleft()
        if queue:
            self._queues[host] = queue  # behind the other hosts
        fetched = task.fetched
        decoded = decode_body(fetched.body, fetched.headers.get("content-encoding", ""), MAX_BODY_BYTES)
        if decoded.outcome is not Outcome.FETCHED:
            self._fail(task, f"too big for a browser: {decoded.reason}", now)
            return
        headers = {name: value for name, value in fetched.headers.items() if name != "content-encoding"}
        job = RenderJob(
            next(self._ids), fetched.request.url, fetched.status, headers, decoded.body,
            screenshot=self._round_settings.crawl.screenshots and not task.is_sample,
        )  # fmt: skip
        self._in_browser[job.id] = task
        pool.submit(job, task.host)

    def handle_response(self, fetched: FetchResult, now: float) -> bool:
        """Take a result of the fetcher; return whether it belongs to a rendered page."""
        return self._subresources.handle_response(fetched, now)

    def _handle_result(self, result: RenderedPage, now: float) -> None:
        task = self._in_browser.pop(result.id, None)
        if task is None:
            return  # `cancel` dropped it
        limits = self._subresources.forget_job(result.id)
        if result.outcome is not Outcome.FETCHED:
            self._fail(task, f"{result.outcome}: {result.reason}", now)
            return
        headers = task.fetched.headers.get
        job = ParseJob(
            result.id, Role.PAGE, task.fetched.request.url, result.html, "text/html; charset=utf-8", "",
            headers("link", ""), headers("x-robots-tag", ""), headers("refresh", ""), headers("content-language", ""),
        )  # fmt: skip
        cut = ", ".join(filter(None, (result.cut, limits)))
        self._in_parser[result.id] = UnreadPage(
            task, msgspec.structs.replace(result, html=b"", cut=cut), len(result.html)
        )
        self._unread_bytes += len(result.html)
        self._parsers.submit(job, task.host)

    def give_up(self, fault: RendererFault) -> None:
        """Go on with plain readings, because browsers cannot be started; `always` ends the crawl instead."""
        if self._source is None or self._round_settings.crawl.render == "always":
            raise fault
        self._source.refuse(str(fault).rstrip("."))
        self._pool = None
        self._log.write("no rendering", reason=self._source.refusal)
        tasks = [*self._in_browser.values(), *(unread.task for unread in self._in_parser.values())]
        for queue in (*self._queues.values(), *self._waiting.values()):
            tasks += queue
        self._done += ((task.fetched, task.plain) for task in tasks if not task.is_sample)
        self._forget_tasks()

    def _forget_tasks(self) -> None:
        for pages in (self._trials, self._waiting, self._queues, self._in_browser, self._in_parser):
            pages.clear()
        self.sample_count = self._unread_bytes = 0
        self._subresources.forget_waiters()

    # -- from the second reading to the visit --------------------------------------------------------------------------

    def handle_page(self, page: Page, now: float) -> bool:
        """Take a parsed page; return whether it belongs here: a page after its browser, or a robots.txt."""
        if page.id not in self._in_parser:
            return self._subresources.handle_page(page, now)
        task, result, size = self._in_parser.pop(page.id)
        self._unread_bytes -= size
        self._parsers.take_slow_seconds(page.id)
        if page.outcome is not Outcome.FETCHED:
            self._fail(task, f"what its scripts made cannot be read: {page.outcome}", now)
            return True
        gained = readings.Reading.of(page).adds_to(readings.Reading.of(task.plain))
        if not task.is_sample:
            merged = readings.merge_readings(
                task.plain, page, result, reason=task.reason, keep_dom=self._round_settings.crawl.rendered
            )
            self._done.append((task.fetched, self._with_found_urls(merged, result, task.fetched.request.url)))
        if not gained and REST in result.cut.split(", "):
            self._learn_nothing(task, now)
        else:
            self._learn(task, now, gained=gained)
        return True

    def _with_found_urls(self, page: Page, result: RenderedPage, page_url: str) -> Page:
        """Add routes and requests as links. Most routers begin with a route to the page itself, which leads nowhere."""
        routes = ((url, Kind.ROUTE) for url in result.routes if canonicalize(url) != page_url)
        found = [*routes, *result.requests]
        digest = partial(url_digest, rules=self._round_settings.rules)
        return readings.with_found_urls(page, found, digest, self._settings.parse.max_links)

    def _fail(self, task: RenderTask, reason: str, now: float) -> None:
        """Keep the plain reading of a page that no browser could render."""
        self._log.write("not rendered", url=task.fetched.request.url, reason=reason)
        if not task.is_sample:
            self._done.append((task.fetched, _with_note(task.plain, reason)))
        self._learn_nothing(task, now)

    def _learn_nothing(self, task: RenderTask, now: float) -> None:
        """Count a page that taught nothing about its shape: its browser failed, or its host rested."""
        self._failures[task.key] += 1
        if task.is_sample:
            self.sample_count -= 1
            self.failed_samples += 1
        self._end_trial(task.key, now)

    def _learn(self, task: RenderTask, now: float, *, gained: bool) -> None:
        """Add what a page taught about its shape."""
        key = task.key
        self._failures.pop(key, None)
        known = self._evidence.setdefault(key.host, {})
        known[key] = decisions.with_outcome(key, known.get(key), now, gained=gained)
        self._outbox.shapes[key] = known[key]
        if task.is_sample:
            self.sample_count -= 1
            self.samples[gained] += 1
            if gained:
                self._outbox.requeued += self._samples.take_pages(key)
        self._end_trial(key, now)

    def _end_trial(self, key: ShapeKey, now: float) -> None:
        """Count a page as out of its browser, and decide again about the pages that waited for it."""
        self._trials[key] -= 1
        self._trials += Counter()  # drops zeros
        self._kept.pop(key, None)
        for each in self._waiting.pop(key, ()):
            page = self._follow(each, self._decide(key, each.plain.script_sign, now))
            if page is not None:
                self._done.append((each.fetched, page))

    def take_pages(self) -> list[tuple[FetchResult, Page]]:
        """Return the pages that are done since the last call."""
        done, self._done = self._done, []
        return done

    # -- what the store knows ------------------------------------------------------------------------------------------

    def add_evidence(self, evidence: Iterable[ShapeEvidence]) -> None:
        """Add what earlier crawls and other crawlers found about hosts that this crawler now holds."""
        for each in evidence:
            key = ShapeKey(each.host, each.shape, each.signed)
            known = self._evidence.setdefault(each.host, {})
            if key not in known or known[key].looked_at < each.looked_at:
                known[key] = each

    def forget_host(self, host: int) -> None:
        """Forget a host that was given back; its evidence is in the store.

        That of a host with samples stays until the end, because it says which of them are due.
        """
        if self._samples.has_host(host):
            return
        for key in self._evidence.pop(host, {}):
            self._kept.pop(key, None)
        for key in [key for key in self._failures if key.host == host]:
            del self._failures[key]

    # -- samples and the end -------------------------------------------------------------------------------------------

    def start_samples(self, now: float) -> bool:
        """Render some pages without a sign, now that the queue is empty; return whether there are any."""
        if not self._is_on or self._round_settings.crawl.render != "auto":
            return False
        for key, fetched, plain, resource in self._samples.take_samples():
            if decisions.is_sample_due(self._state(key), now) and self._has_renderers():
                task = RenderTask(fetched, plain, key.host, resource, key, decisions.SAMPLE, is_sample=True)
                self.sample_count += 1
                self._enqueue(task)
        return bool(self.sample_count)

    @property
    def refusal(self) -> str:
        """Why no page could be rendered; "" if none had to be, or all could."""
        return self._source.refusal if self._source is not None else ""

    @property
    def is_busy(self) -> bool:
        """Whether pages wait for a browser or are in one."""
        return bool(self._queues or self._in_browser)

    def cancel(self, now: float) -> None:
        """Drop all pages, because the crawl ends at once; their URLs stay queued."""
        if self._pool is not None:
            self._pool.cancel_all()
        self._forget_tasks()
        self._done.clear()
        self._subresources.clear(now)

    def close(self) -> None:
        """End the renderers."""
        if self._source is not None:
            self._source.close()


def _with_note(plain: Page, reason: str) -> Page:
    """Return a page that keeps its plain reading, with the reason why no browser rendered it."""
    note = "; ".join(filter(None, (plain.reason, f"not rendered: {reason}")))
    return msgspec.structs.replace(plain, reason=note)
