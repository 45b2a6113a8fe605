"""The simulated parts of a crawler: selector, transfers, parsers, and its connection to the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.crawl.loop import MAX_WAIT_SECONDS
from gossamer.errors import StoreFull, StoreUnreachable
from gossamer.model import Outcome, Page, Role
from simulation.scheduler import START, Killed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.model import FetchResult, ParseJob, Request
    from gossamer.parse.options import ParseOptions
    from gossamer.store.sql_store import SqlStore
    from simulation.checker import Checker
    from simulation.scheduler import Process, Scheduler, SimulatedSocket, Task
    from simulation.site import Web

TURN_SECONDS = 0.002  # simulated time that a turn of the loop takes
MAX_SPINS = 50  # turns of the loop without a wait; more would keep a core busy
PARSER_CRASHES = 0.003  # share of pages whose parser crashes
WRITING_CALLS = frozenset(
    {"join", "heartbeat", "leave", "begin_round", "keep_fresh", "finish_round", "readmit", "add", "lease", "submit"}
)


class Key(NamedTuple):
    """A registered socket, as a selector returns it."""

    data: Callable[[int], None]


class World:
    """What all crawlers of a simulation share: web, disk, checker."""

    def __init__(self, scheduler: Scheduler, web: Web, checker: Checker) -> None:
        self.scheduler, self.web, self.checker = scheduler, web, checker
        self.random = scheduler.random
        self.is_disk_full = False
        self.slowest_wake = MAX_WAIT_SECONDS  # seconds until an idle loop wakes


class SimulatedSelector:
    """A selector whose only real file is the wake-up socket of the writer."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._files: dict[SimulatedSocket, Callable[[int], None]] = {}
        self._waiting: Task | None = None
        self._is_ready = False
        self._spins = 0  # turns in a row without a wait

    def register(self, file: SimulatedSocket, _mask: int, data: Callable[[int], None]) -> None:
        """Watch a socket."""
        self._files[file] = data
        file.on_readable = self.wake

    def unregister(self, file: SimulatedSocket) -> None:
        """Stop watching a socket."""
        del self._files[file]

    def wake(self) -> None:
        """End the wait of the loop."""
        self._is_ready = True
        if self._waiting is not None:
            self._waiting.wake_at(self._world.scheduler.now + TURN_SECONDS)

    def select(self, timeout: float) -> list[tuple[Any, int]]:
        """Wait; return the readable sockets."""
        scheduler = self._world.scheduler
        self._waiting = scheduler.current_task()
        self._spins = 0 if timeout or self._is_ready else self._spins + 1
        self._world.checker.require(self._spins <= MAX_SPINS, "the loop spins: it waits for nothing and does nothing")
        if self._is_ready:
            timeout = 0.0
        elif timeout > MAX_WAIT_SECONDS - 1e-3:  # no deadline of its own: a busy machine may wake it late
            timeout = self._world.slowest_wake
        scheduler.sleep(max(TURN_SECONDS, timeout))
        self._waiting, self._is_ready = None, False
        return [(Key(data), 1) for file, data in self._files.items() if file.is_readable]


class SimulatedFetcher:
    """Transfers over the simulated network."""

    def __init__(self, world: World, process: Process, selector: SimulatedSelector) -> None:
        self._world, self._process, self._selector = world, process, selector
        self._active: dict[int, Request] = {}
        self._results: list[FetchResult] = []

    @property
    def active_count(self) -> int:
        """The number of transfers under way."""
        return len(self._active)

    def start(self, request: Request) -> None:
        """Send a request."""
        scheduler = self._world.scheduler
        self._world.checker.on_request(self._process.name, request)
        self._active[request.id] = request
        answer = self._world.web.answer(request, scheduler.now - START)
        scheduler.call_at(scheduler.now + answer.seconds, lambda: self._end(answer.result))

    def _end(self, result: FetchResult) -> None:
        """End a transfer on the wire; the process sees it when it runs."""
        if self._process.is_alive and result.request.id in self._active:
            self._world.checker.on_response(self._process.name, result)
            self._process.deliver(lambda: self._receive(result))

    def _receive(self, result: FetchResult) -> None:
        if self._active.pop(result.request.id, None) is not None:
            self._results.append(result)
            self._selector.wake()

    def take_results(self) -> list[FetchResult]:
        """Return the finished transfers."""
        results, self._results = self._results, []
        return results

    def cancel_all(self) -> None:
        """Close all connections."""
        for request in self._active.values():
            self._world.checker.on_cancel(self._process.name, request)
        self._active.clear()

    def close(self) -> None:
        """Close all connections."""
        self.cancel_all()

    def next_timeout(self, _now: float) -> float | None:
        """Return None: the network has no timers."""
        return None

    def tick(self, _now: float) -> None:
        """Do nothing."""

    def accept_types(self, _types: Sequence[str]) -> None:
        """Do nothing."""

    def allow_private(self, _url: str) -> None:
        """Do nothing."""


class SimulatedPool:
    """Parsers that take a moment for a page."""

    most_parsers = 2

    def __init__(self, world: World, process: Process, selector: SimulatedSelector) -> None:
        self._world, self._process, self._selector = world, process, selector
        self.processes = 1
        self.backlog = 0
        self._pages: list[Page] = []

    def submit(self, job: ParseJob, host: int = 0) -> None:
        """Parse a body."""
        self.backlog += 1
        seconds = self._world.random.choice((0.003, 0.02, 0.3))
        scheduler = self._world.scheduler
        scheduler.call_at(scheduler.now + seconds, lambda: self._process.deliver(lambda: self._finish(job)))

    def _finish(self, job: ParseJob) -> None:
        self.backlog -= 1
        is_crash = job.role is not Role.ROBOTS and self._world.random.random() < PARSER_CRASHES
        crash = Page(job.id, Outcome.PARSER_CRASHED, "the parser crashed")
        self._pages.append(crash if is_crash else self._world.web.parse(job))
        self._selector.wake()

    def take_results(self) -> list[Page]:
        """Return the parsed pages."""
        pages, self._pages = self._pages, []
        return pages

    def take_slow_seconds(self, page: int) -> float:
        """Return 0: no page takes long."""
        return 0.0

    def resize(self, processes: int) -> None:
        """Change the number of parsers."""
        self.processes = processes

    def reset(self, options: ParseOptions) -> None:
        """Do nothing: the pages do not depend on options."""

    def tick(self, _now: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class StoreConnection:
    """A store as one process reaches it: each call takes time, and can meet a partition or a full disk."""

    def __init__(self, world: World, process: Process, store: SqlStore) -> None:
        self._world, self._process, self._store = world, process, store
        self.partition_ends_at = 0.0  # Unix time
        self.is_partition_fatal = False  # whether the call fails during a partition, or waits

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def call(*values: object, **named: object) -> Any:
            return self._call(name, method, values, named)

        self.__dict__[name] = call
        return call

    def close(self) -> None:
        """Close the file and free the lock, also when the process was killed."""
        self._store.close()

    def _call(self, name: str, method: Callable[..., Any], values: tuple[object, ...], named: dict[str, object]) -> Any:
        world, scheduler = self._world, self._world.scheduler
        if not self._process.is_alive:
            raise Killed
        scheduler.sleep(world.random.choice((0.001, 0.002, 0.005, 0.05)))
        while scheduler.now < self.partition_ends_at:
            if self.is_partition_fatal:
                raise StoreUnreachable("the store cannot be reached: simulated partition")
            scheduler.sleep(self.partition_ends_at - scheduler.now)
        if name in WRITING_CALLS and world.is_disk_full and world.random.random() < 0.5:
            raise StoreFull("no space: simulated full disk")
        result = method(*values, **named)
        if name in WRITING_CALLS:
            world.checker.on_commit(self._process.name, name, values, result)
            scheduler.sleep(0.001)  # a kill can come between the commit and its result
        return result
