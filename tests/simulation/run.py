"""Run a simulated crawl from a seed: crawlers start, meet faults and end, and the checker watches."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from gossamer import start
from gossamer.config import CrawlSettings, PolitenessSettings, Settings, StoreSettings
from gossamer.crawl import policy
from gossamer.crawl.log import CrawlLog
from gossamer.crawl.loop import CrawlLoop
from gossamer.crawl.plan import CrawlParts, CrawlPlan
from gossamer.errors import GossamerError
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import recount
from simulation.checker import Checker, Violation
from simulation.parts import SimulatedFetcher, SimulatedPool, SimulatedSelector, StoreConnection, World
from simulation.scheduler import START, Endless, Process, Scheduler, simulated_system
from simulation.site import Web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.crawl.writer import WriteResult
    from gossamer.model import Visit

SLOWEST_WAKE = 1.0  # seconds after which a busy machine wakes an idle loop; fewer wakes make a faster simulation
REVISITS = 0.05  # share of crawls that visit all pages again
RESTARTS = 30  # crawls of the last phase; each ends or waits for a host, so a few are enough
TRACE_LINES = 60  # lines of the trace that a failure shows
REPLAY = "PYTHONPATH=tests .venv/bin/python -m simulation {seed}"
MEMORY_DISK = Path("/dev/shm")


class Summary(NamedTuple):
    """What a simulation did."""

    seed: int
    crawlers: int
    requests: int
    seconds: float  # simulated
    events: int
    reasons: tuple[str, ...]  # why crawlers ended
    trace_digest: str  # of all events with their times


@cache
def _empty_web() -> bytes:
    """Return the file of an empty web, because creating its tables takes longer than many a simulation."""
    with tempfile.TemporaryDirectory() as directory:
        open_sqlite_store(Path(directory), create=True).close()
        return (Path(directory) / "web.db").read_bytes()


@contextmanager
def _own_web() -> Iterator[Path]:
    base = MEMORY_DISK if os.access(MEMORY_DISK, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=base, prefix="gossamer-simulation-") as directory:
        (Path(directory) / "web.db").write_bytes(_empty_web())
        yield Path(directory)


class Crawler:
    """One crawler process from its start to its end."""

    def __init__(self, simulation: Simulation, number: int, crawl: CrawlSettings, seeds: list[str]) -> None:
        self._simulation, self._world = simulation, simulation.world
        self.process = Process(simulation.scheduler, f"crawler{number}")
        self._crawl, self._seeds = crawl, seeds
        self.machine = simulation.scheduler.random.choice(("one", "two"))
        self.loop: ObservedLoop | None = None
        self.connection: StoreConnection | None = None
        self.name = ""
        self.is_over = False
        self._log = CrawlLog(Path(os.devnull), self.process.name)
        self._task = simulation.scheduler.start(self.process, self._run)

    @property
    def is_alive(self) -> bool:
        """Whether the process exists."""
        return self.process.is_alive and not self.is_over

    def kill(self) -> None:
        """Kill the process (`kill -9`)."""
        self._simulation.scheduler.log("kill", self.process.name)
        self._world.checker.on_death(self.process.name)
        self.process.kill()
        if self.connection is not None:
            self.connection.close()

    def _run(self) -> None:
        try:
            self._crawl_web()
        except GossamerError as error:
            self._simulation.scheduler.log("fault", self.process.name, repr(error))
            self._simulation.reasons.append(type(error).__name__)
            self._world.checker.on_death(self.process.name)
            if self.connection is not None:
                self.connection.close()
        finally:
            self.is_over = True
            self._log.close()

    def _crawl_web(self) -> None:
        world, process = self._world, self.process
        store = open_sqlite_store(self._simulation.directory, create=False, cache_mib=1)
        self.connection = StoreConnection(world, process, store)
        seeds = start.StartSeeds(typed=tuple(self._seeds))
        previous = self.connection.current_round()
        revisit: Literal["all"] | None = "all" if self._simulation.random.random() < REVISITS and previous else None
        current = start._open_round(self.connection, previous, self._crawl, seeds, revisit=revisit, watch=False)
        if current is None:
            self.connection.close()
            self._simulation.reasons.append("already complete")
            return
        identity = self.connection.join(self.machine, 1)
        self.name = identity.name
        world.checker.ids[process.name] = identity.id
        world.scheduler.log("join", process.name, identity.name, identity.id)
        selector = SimulatedSelector(world)
        parts: dict[str, Any] = {
            "store": self.connection,
            "identity": identity,
            "fetcher": SimulatedFetcher(world, process, selector),
            "pool": SimulatedPool(world, process, selector),
            "selector": selector,
            "free_space": lambda: 0 if world.is_disk_full else None,
            "log": self._log,
        }
        settings = msgspec.structs.replace(self._simulation.settings, crawl=self._crawl)
        plan = CrawlPlan(settings=settings, round=current, product="Gossamer", typed_seeds=tuple(self._seeds))
        self.loop = ObservedLoop(plan, CrawlParts(**parts))
        for _ in self.loop.run():
            pass
        world.checker.on_end(process.name, self.name, self.loop.end_reason, self.loop.decided_at)
        self._simulation.reasons.append(self.loop.end_reason)


class ObservedLoop(CrawlLoop):
    """The crawl loop. It also keeps the time of the order whose result it handled last."""

    decided_at = 0.0

    def _handle_write_result(self, result: WriteResult, now: float) -> Iterator[Visit]:
        if not self._has_ended:
            self.decided_at = result.order.now
        yield from super()._handle_write_result(result, now)


class Simulation:
    """One seed: web, crawlers, faults."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.seed, self.directory = seed, directory
        self.scheduler = Scheduler(seed)
        random = self.random = self.scheduler.random
        self.duration = random.choice((5.0, 20.0, 60.0))  # seconds in which faults happen
        self.web = Web(random, self.duration)
        self.settings = self._random_settings()
        self.checker = Checker(self.scheduler, self.web, self.settings.politeness)
        self.checker.open(directory)
        self.world = World(self.scheduler, self.web, self.checker)
        self.world.slowest_wake = random.choice((0.25, SLOWEST_WAKE, SLOWEST_WAKE, SLOWEST_WAKE, SLOWEST_WAKE))
        self.crawl = CrawlSettings(
            max_pages=random.choice((None, None, None, 3, 12)),
            max_pages_per_host=random.choice((None, None, None, 2)),
            order=random.choice(("breadth", "breadth", "depth", "best")),
        )
        self.crawlers: list[Crawler] = []
        self.reasons: list[str] = []

    def _random_settings(self) -> Settings:
        random = self.random
        politeness = PolitenessSettings(
            delay=random.choice((None, None, 0.5, 4.0, 4.0)),
            connections=random.choice((1, 1, 1, 2)),
            transfers=random.choice((2, 16)),
            max_hosts=random.choice((1, 2, 512)),
            max_delay=20.0,
            patience=random.choice((5.0, 60.0)),
        )
        store = StoreSettings(batch_visits=random.choice((2, 8, 256)), batch_seconds=random.choice((0.0, 0.5)))
        return Settings(politeness=politeness, store=store)

    def run(self) -> Summary:
        """Run all phases; raise `Violation` if a rule is broken."""
        self._schedule_crawlers()
        self._schedule_faults()
        end = START + self.duration
        self.scheduler.run(lambda: self.scheduler.now >= end)
        self._finish()
        self._check_end()
        seconds = self.scheduler.now - START
        trace = "\n".join(describe_trace(self.scheduler))
        return Summary(
            self.seed, len(self.crawlers), self.checker.requests, seconds, self.scheduler.events, tuple(self.reasons),
            hashlib.sha256(trace.encode()).hexdigest(),
        )  # fmt: skip

    # -- crawlers and faults -------------------------------------------------------------------------------------------

    def _schedule_crawlers(self) -> None:
        random = self.random
        for number in range(random.randint(2, 5)):
            at = START + (0 if number == 0 else random.uniform(0, self.duration * 0.8))
            changed = number and random.random() < 0.15
            self.scheduler.call_at(at, partial(self._start_crawler, is_changed=bool(changed)))

    def _start_crawler(self, *, is_changed: bool = False) -> Crawler:
        if is_changed:
            exclude = self.random.choice(((), ("/page3",)))
            self.crawl = msgspec.structs.replace(self.crawl, exclude=exclude, max_pages=self.random.choice((None, 20)))
        seeds = self.web.seeds if not self.crawlers or self.random.random() < 0.3 else []
        if self.random.random() < 0.3:
            seeds = seeds[:1]
        crawler = Crawler(self, len(self.crawlers), self.crawl, seeds)
        self.scheduler.log("start", crawler.process.name, crawler.machine)
        self.crawlers.append(crawler)
        return crawler

    def _schedule_faults(self) -> None:
        faults = [
            self._kill, self._kill, self._kill, self._hang, self._hang, self._partition, self._order, self._order,
            self._stop, self._fill_disk,
        ]  # fmt: skip
        for _ in range(self.random.randint(0, 6)):
            at = START + self.random.uniform(0, self.duration)
            self.scheduler.call_at(at, self.random.choice(faults))

    def _any_crawler(self) -> Crawler | None:
        alive = [crawler for crawler in self.crawlers if crawler.is_alive]
        return self.random.choice(alive) if alive else None

    def _kill(self) -> None:
        if crawler := self._any_crawler():
            crawler.kill()
            if self.random.random() < 0.7:
                self.scheduler.call_at(self.scheduler.now + self.random.uniform(0, 2), self._start_crawler)

    def _hang(self) -> None:
        crawler = self._any_crawler()
        if crawler and not crawler.process.is_stopped:
            seconds = self.random.choice((3.0, 12.0, 45.0))
            self.scheduler.log("hang", crawler.process.name, seconds)
            crawler.process.stop()
            self.scheduler.call_at(self.scheduler.now + seconds, crawler.process.go_on)

    def _partition(self) -> None:
        crawler = self._any_crawler()
        if crawler and crawler.connection:
            seconds = self.random.choice((1.0, 10.0, 40.0))
            crawler.connection.partition_ends_at = self.scheduler.now + seconds
            crawler.connection.is_partition_fatal = self.random.random() < 0.2
            self.scheduler.log("partition", crawler.process.name, seconds, crawler.connection.is_partition_fatal)

    def _order(self) -> None:
        """Ask a crawler to pause and later to go on, or to stop, as `gossamer pause` and `stop` do."""
        crawler = self._any_crawler()
        if crawler and crawler.name:
            wanted = self.random.choice(("pause", "pause", "stop"))
            self._set_wanted(crawler.name, wanted)
            if wanted == "pause":
                later = self.scheduler.now + self.random.uniform(1, 20)
                self.scheduler.call_at(later, lambda: self._set_wanted(crawler.name, "run"))

    def _set_wanted(self, name: str, wanted: str) -> None:
        self.scheduler.log("order", name, wanted)
        if wanted == "stop":
            self.checker.stop_ordered.add(name)
        store = open_sqlite_store(self.directory, create=False, cache_mib=1)
        store.set_wanted_state(name, wanted)
        store.close()

    def _stop(self) -> None:
        """Send SIGTERM."""
        if (crawler := self._any_crawler()) and crawler.loop:
            at_once = self.random.random() < 0.3
            self.scheduler.log("stop", crawler.process.name, at_once)
            crawler.loop.stop(at_once=at_once)

    def _fill_disk(self) -> None:
        self.scheduler.log("disk full")
        self.world.is_disk_full = True
        self.scheduler.call_at(self.scheduler.now + self.random.choice((2.0, 15.0)), self._free_disk)

    def _free_disk(self) -> None:
        self.scheduler.log("disk free")
        self.world.is_disk_full = False

    # -- the last phase ------------------------------------------------------------------------------------------------

    def _is_everybody_over(self) -> bool:
        return not any(crawler.is_alive for crawler in self.crawlers)

    def _finish(self) -> None:
        """End all faults, and repeat the crawl until nothing is left, as a user would."""
        self._free_disk()
        self.web.heal()
        self.world.slowest_wake = SLOWEST_WAKE
        self.scheduler.run(self._is_everybody_over)
        for _ in range(RESTARTS):
            if self._open_work() == 0 or self._is_limited():
                return
            self.scheduler.now += 400.0  # hosts rest for a while
            self._start_crawler()
            self.scheduler.run(self._is_everybody_over)
        raise Violation(f"after {RESTARTS} crawls without faults {self._open_work()} URLs are left")

    def _open_work(self) -> int:
        counts = self.checker.db.execute("SELECT state, count(*) FROM resources GROUP BY state").fetchall()
        by_state = dict(counts)
        return int(by_state.get("queued", 0) + by_state.get("leased", 0)) if by_state else 1

    def _is_limited(self) -> bool:
        return bool(self.reasons) and self.reasons[-1] == policy.PAGE_LIMIT

    def _check_end(self) -> None:
        self.checker.check_visits(self.settings.politeness.retries, set(self.web.seeds))
        self.checker.check_resources(is_complete=self._open_work() == 0)
        store = open_sqlite_store(self.directory, create=False, cache_mib=1)
        try:
            recount(store)
        except AssertionError as error:
            raise Violation(f"counters differ from the rows: {error}") from error
        finally:
            store.close()


def run_seed(seed: int, trace_lines: int = TRACE_LINES) -> Summary:
    """Run one seed; a violation names the seed, the command that replays it, and the last events."""
    with _own_web() as directory:
        simulation = Simulation(seed, directory)
        try:
            with simulated_system(simulation.scheduler):
                return simulation.run()
        except Exception as error:
            trace = "\n".join(describe_trace(simulation.scheduler)[-trace_lines:]) if trace_lines else ""
            rule = error if isinstance(error, Violation | Endless) else f"a crawler crashed: {error!r}"
            raise Violation(f"seed {seed}: {rule}\nreplay: {REPLAY.format(seed=seed)}\n{trace}") from error
        finally:
            for crawler in simulation.crawlers:
                if crawler.is_alive:
                    crawler.kill()
            simulation.checker.db.close()


def describe_trace(scheduler: Scheduler) -> list[str]:
    """Return the events as text."""
    return [f"{at - START:9.3f}  {what}  {' '.join(map(str, details))}" for at, what, details in scheduler.trace]
