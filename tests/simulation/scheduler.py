"""The scheduler: a heap of events on a simulated clock. Tasks are greenlets, so real code can wait inside any call."""

from __future__ import annotations

import heapq
import random
import time
from collections import deque
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from greenlet import getcurrent, greenlet

from gossamer.crawl import writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START = 1_800_000_000.0  # Unix time at which every simulation begins
MAX_EVENTS = 60_000  # a crawl takes a few thousand; more mean that it never ends


class Killed(BaseException):
    """Raised inside the tasks of a killed process, so that Python drops their frames."""


class Endless(Exception):
    """The simulation does not end."""


class Process:
    """A process of the simulated machines. While it is stopped (SIGSTOP), its tasks do not wake."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler = scheduler
        self.name = name
        self.is_alive = True
        self.is_stopped = False
        self.tasks: list[Task] = []
        self._missed: list[Callable[[], None]] = []

    def deliver(self, event: Callable[[], None]) -> None:
        """Run an event of this process now, or when it continues."""
        if not self.is_alive:
            return
        if self.is_stopped:
            self._missed.append(event)
        else:
            event()

    def stop(self) -> None:
        """Freeze all tasks."""
        self.is_stopped = True

    def go_on(self) -> None:
        """Continue after `stop`."""
        self.is_stopped = False
        missed, self._missed = self._missed, []
        for event in missed:
            self.scheduler.call_at(self.scheduler.now, partial(self.deliver, event))

    def kill(self) -> None:
        """End all tasks at once; nothing of them is written any more."""
        self.is_alive = False
        for task in reversed(self.tasks):
            task.kill()


class Task:
    """A thread of a process. It runs until it waits."""

    def __init__(self, process: Process, run: Callable[[], None]) -> None:
        self.process = process
        self.error: BaseException | None = None
        self._greenlet = greenlet(lambda: self._run(run), process.scheduler.main)
        self._greenlet.task = self
        self._ticket = 0
        process.tasks.append(self)

    def _run(self, run: Callable[[], None]) -> None:
        try:
            run()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - the scheduler reports it
            self.error = error

    @property
    def is_done(self) -> bool:
        """Whether the task has ended."""
        return bool(self._greenlet.dead)

    def switch(self) -> None:
        """Run the task until it waits again."""
        self._ticket += 1
        self._greenlet.switch()
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def wake_at(self, when: float) -> None:
        """Wake the task at a time, unless it wakes earlier for another reason."""
        ticket = self._ticket
        self.process.scheduler.call_at(when, lambda: self.process.deliver(lambda: self._wake(ticket)))

    def _wake(self, ticket: int) -> None:
        if ticket == self._ticket and not self.is_done:
            self.switch()

    def kill(self) -> None:
        """Raise `Killed` inside the task."""
        while not self.is_done and self._greenlet is not getcurrent() and self._ticket:
            self._ticket += 1
            self._greenlet.throw(Killed())


class Scheduler:
    """The owner of time and chance."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = START
        self.events = 0
        self.fault: Exception | None = None  # a broken rule; ends the simulation
        self.trace: deque[tuple[float, str, tuple[object, ...]]] = deque(maxlen=100_000)
        self._heap: list[tuple[float, float, int, Callable[[], object]]] = []
        self._ticket = count()
        self.main = getcurrent()

    def log(self, what: str, *details: object) -> None:
        """Add an event to the trace."""
        self.trace.append((self.now, what, details))

    def call_at(self, when: float, event: Callable[[], object]) -> None:
        """Run an event at a time. Events of the same time run in random order."""
        heapq.heappush(self._heap, (max(when, self.now), self.random.random(), next(self._ticket), event))

    def start(self, process: Process, run: Callable[[], None]) -> Task:
        """Start a task of a process."""
        task = Task(process, run)
        task.wake_at(self.now)
        return task

    def current_task(self) -> Task:
        """Return the running task."""
        task = getcurrent().task
        assert isinstance(task, Task)
        return task

    def pause(self) -> None:
        """Let other tasks run until somebody wakes this one."""
        task = self.current_task()
        if not task.process.is_alive:
            raise Killed
        self.main.switch()

    def sleep(self, seconds: float) -> None:
        """Let simulated time pass in this task."""
        task = self.current_task()
        if not task.process.is_alive:
            raise Killed
        task.wake_at(self.now + seconds)
        self.main.switch()

    def run(self, until: Callable[[], bool]) -> None:
        """Run events in the order of time until a condition holds or no event is left."""
        while self._heap and not until():
            self.events += 1
            if self.events > MAX_EVENTS:
                raise Endless(f"the crawl does not end: {MAX_EVENTS:,} events until {self.now - START:.0f} s")
            when, _, _, event = heapq.heappop(self._heap)
            self.now = when
            event()
            if self.fault is not None:
                raise self.fault


# -- what real code calls ----------------------------------------------------------------------------------------------


class SimulatedThread:
    """`threading.Thread` as a task."""

    def __init__(self, scheduler: Scheduler, target: Callable[[], None]) -> None:
        self._scheduler, self._target = scheduler, target

    def start(self) -> None:
        """Start the task in the process of the caller."""
        self._task = self._scheduler.start(self._scheduler.current_task().process, self._target)

    def join(self) -> None:
        """Wait until the task has ended."""
        while not self._task.is_done and self._task.process.is_alive:
            self._scheduler.sleep(0.01)


class SimulatedQueue:
    """`queue.SimpleQueue` between tasks."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._items: deque[Any] = deque()
        self._reader: Task | None = None

    def put(self, item: object) -> None:
        """Add an item and wake the reader."""
        self._items.append(item)
        if self._reader is not None:
            self._reader.wake_at(self._scheduler.now)

    def get(self) -> Any:
        """Return the next item; wait for it."""
        self._reader = self._scheduler.current_task()
        while not self._items:
            self._scheduler.pause()
        self._reader = None
        return self._items.popleft()


class SimulatedSocket:
    """One end of a socket pair."""

    def __init__(self) -> None:
        self.peer: SimulatedSocket
        self.is_readable = False
        self.on_readable: Callable[[], None] = lambda: None

    def send(self, data: bytes) -> None:
        """Make the other end readable."""
        self.peer.is_readable = True
        self.peer.on_readable()

    def recv(self, _size: int) -> bytes:
        """Empty the buffer."""
        self.is_readable = False
        return b"\0"

    def setblocking(self, _flag: bool) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def socket_pair() -> tuple[SimulatedSocket, SimulatedSocket]:
    """Return two connected ends."""
    one, other = SimulatedSocket(), SimulatedSocket()
    one.peer, other.peer = other, one
    return one, other


def _refuse_sleep(seconds: float) -> None:
    raise AssertionError(f"simulated code called time.sleep({seconds})")


@contextmanager
def simulated_system(scheduler: Scheduler) -> Iterator[None]:
    """Give all code the simulated clock, and the writer simulated threads, queues and sockets."""
    with ExitStack() as patches:
        for name in ("time", "monotonic", "perf_counter"):
            patches.enter_context(patch.object(time, name, lambda: scheduler.now))
        patches.enter_context(patch.object(time, "sleep", _refuse_sleep))
        threads = SimpleNamespace(Thread=lambda target, **_: SimulatedThread(scheduler, target))
        queues = SimpleNamespace(SimpleQueue=lambda: SimulatedQueue(scheduler))
        patches.enter_context(patch.object(writer, "threading", threads))
        patches.enter_context(patch.object(writer, "queue", queues))
        patches.enter_context(patch.object(writer, "socket", SimpleNamespace(socketpair=socket_pair)))
        yield
