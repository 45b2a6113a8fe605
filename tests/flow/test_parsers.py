"""The pool of parser processes, with real processes that are killed, stopped, starved or send garbage."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from gossamer.errors import ParserFault
from gossamer.model import Outcome, Page, ParseJob
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page
from gossamer.parse.pool import ParserPool
from helpers.parse.jobs import job
from helpers.patience import PATIENCE, slowness, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    OpenPool = Callable[..., ParserPool]

# Takes Lexbor many minutes: at each <div> it searches all open elements for a paragraph to close.
HOOK = Path(__file__).resolve().parents[1] / "hostile" / "hook"
SLOW = b"<!--fault:spin-->"  # the hook makes a parser work on it without end


class Loop:
    """The part of a crawl's loop that the pool needs."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.pages: list[Page] = []
        self.now = 0.0  # a clock that stands still, because no test may depend on the time that a parser needs

    def run(self, pool: ParserPool, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "waited too long"
            for key, mask in self.selector.select(0.05):
                key.data(mask)
            pool.tick(self.now)
            self.pages += pool.take_results()

    def run_until_parsing(self, pool: ParserPool) -> psutil.Process:
        """Wait until the pool's only process has begun its first page; return the process."""
        (parser,) = pool._parsers
        process = psutil.Process(parser.process.pid)
        self.run(pool, lambda: parser.is_ready)
        before = process.cpu_times().user
        self.run(pool, lambda: process.cpu_times().user > before + 0.1)
        return process

    def pages_of(self, pool: ParserPool, *jobs: ParseJob) -> list[Page]:
        """Submit jobs, wait, and return the pages in the order of the jobs."""
        for one in jobs:
            pool.submit(one)
        self.run(pool, lambda: len(self.pages) >= len(jobs))
        pages, self.pages = sorted(self.pages, key=lambda page: page.id), []
        return pages


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.selector.close()


@pytest.fixture
def open_pool(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenPool]:
    """Return a function that opens pools on the loop's selector; all are closed after the test."""
    monkeypatch.setenv("PYTHONPATH", str(HOOK))
    pools: list[ParserPool] = []

    def start_pool(processes: int = 1, options: ParseOptions | None = None) -> ParserPool:
        pools.append(ParserPool(options or ParseOptions(seconds=PATIENCE), processes, loop.selector))
        return pools[-1]

    yield start_pool
    for pool in pools:
        pool.close()


def html(number: int) -> ParseJob:
    return job(f"<title>{number}</title><a href=/{number}>x</a>", number=number)


def slow(number: int) -> ParseJob:
    return job(SLOW, number=number)


def child(pool: ParserPool) -> psutil.Process:
    """Return the only process of the pool."""
    (parser,) = pool._parsers
    return psutil.Process(parser.process.pid)


# Work


def test_the_pool_returns_the_same_pages_as_a_parser_in_this_process(open_pool: OpenPool, loop: Loop) -> None:
    jobs = [html(number) for number in range(50)]
    assert loop.pages_of(open_pool(2), *jobs) == [parse_page(one, ParseOptions()) for one in jobs]


def test_jobs_wait_when_all_parsers_are_full(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(2)
    for number in range(20):
        pool.submit(html(number))
    assert (pool.backlog, pool.busy_count) == (20, 2)
    loop.run(pool, lambda: len(loop.pages) == 20)
    assert (pool.backlog, pool.busy_count) == (0, 0)


def test_waiting_jobs_are_parsed_by_new_options_after_a_reset(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(2)
    jobs = [html(number) for number in range(20)]
    for one in jobs:
        pool.submit(one)
    other = ParseOptions(keep_source=False)
    pool.reset(other)
    loop.run(pool, lambda: len(loop.pages) == 20)
    assert sorted(loop.pages, key=lambda page: page.id) == [parse_page(one, other) for one in jobs]


def test_pages_bigger_than_a_socket_buffer_pass_in_both_directions(open_pool: OpenPool, loop: Loop) -> None:
    body = os.urandom(5 << 20).hex().encode()  # 10 MB that hardly compress
    (page, other) = loop.pages_of(open_pool(), job(body, "text/plain", number=1), html(2))
    assert (page.size, len(page.source) > 4 << 20, other.title) == (len(body), True, "2")


def test_a_script_without_a_main_guard_can_use_the_pool(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import selectors, sys
        from gossamer.parse.options import ParseOptions
        from gossamer.parse.pool import ParserPool
        from gossamer.model import ParseJob, Role
        selector = selectors.DefaultSelector()
        pool = ParserPool(ParseOptions(), 1, selector)
        pool.submit(ParseJob(1, Role.PAGE, "http://example.org/", b"<title>fine", "text/html", "", "", "", "", ""))
        while not (pages := pool.take_results()):
            for key, mask in selector.select(1):
                key.data(mask)
        pool.close()
        print(pages[0].title)
        """)
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("fine\n", "", 0)


def test_nothing_is_imported_from_the_working_directory(
    open_pool: OpenPool, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("msgspec", "gossamer", "socket", "resource"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('taken from the working directory')")
    monkeypatch.chdir(tmp_path)
    assert loop.pages_of(open_pool(), html(1))[0].title == "1"


# More and fewer


def test_added_parsers_take_waiting_jobs(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(1)
    for number in range(20):
        pool.submit(html(number))
    pool.resize(3)
    assert (pool.busy_count, pool.backlog) == (3, 20)
    loop.run(pool, lambda: len(loop.pages) == 20)
    assert len(pool._parsers) == 3


def test_surplus_parsers_finish_their_jobs_and_exit(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(3)
    for number in range(30):
        pool.submit(html(number))
    processes = [psutil.Process(parser.process.pid) for parser in pool._parsers]
    pool.resize(1)
    assert pool.busy_count == 3, "they keep the jobs they have"
    loop.run(pool, lambda: len(loop.pages) == 30)
    assert [page.outcome for page in loop.pages] == [Outcome.FETCHED] * 30
    assert [process.is_running() for process in processes] == [True, False, False]


def test_idle_surplus_parsers_exit_at_once_and_leave_no_descriptor(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(1)
    loop.pages_of(pool, html(1))
    descriptors = psutil.Process().num_fds()
    pool.resize(3)
    pool.resize(1)
    assert (len(pool._parsers), psutil.Process().num_fds()) == (1, descriptors)
    assert loop.pages_of(pool, html(2))[0].outcome is Outcome.FETCHED


def test_a_surplus_parser_that_dies_is_not_replaced(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(2)
    for one in (slow(1), slow(2)):
        pool.submit(one)
    loop.run(pool, lambda: all(parser.is_ready for parser in pool._parsers))
    pool.resize(1)
    first, second = pool._parsers
    first.process.kill()
    loop.run(pool, lambda: bool(loop.pages))
    assert pool._parsers == [second]


# Shares of hosts


def stop_parser(pool: ParserPool, loop: Loop) -> psutil.Process:
    """Stop the pool's only process: its next page takes until the test continues it."""
    (parser,) = pool._parsers
    loop.run(pool, lambda: parser.is_ready)
    process = psutil.Process(parser.process.pid)
    process.send_signal(signal.SIGSTOP)
    return process


def test_pages_of_other_hosts_do_not_wait_for_a_slow_page(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(1, ParseOptions(seconds=PATIENCE))
    stopped = stop_parser(pool, loop)
    for number in (1, 2):
        pool.submit(html(number), host=1)
    for number in range(3, 20):
        pool.submit(html(number), host=2)
    pool.tick(loop.now)
    loop.now += 1.5
    loop.run(pool, lambda: len(loop.pages) == 17)
    assert [page.id for page in loop.pages] == [*range(3, 20)]
    assert pool.backlog == 2, "the host of the slow page gets no other parser meanwhile"
    stopped.send_signal(signal.SIGCONT)
    loop.run(pool, lambda: len(loop.pages) == 19)
    assert {page.outcome for page in loop.pages} == {Outcome.FETCHED}
    assert (len(pool._parsers), pool._slow_parsers) == (1, [])


def test_a_slow_page_of_the_only_host_keeps_its_parser(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(1, ParseOptions(seconds=PATIENCE))
    stopped = stop_parser(pool, loop)
    for number in (1, 2):
        pool.submit(html(number), host=1)
    pool.tick(loop.now)
    pool.tick(loop.now + 1.5)
    assert child(pool) == stopped
    stopped.send_signal(signal.SIGCONT)
    loop.run(pool, lambda: len(loop.pages) == 2)


def test_a_slow_page_that_crashes_beside_the_others_is_reported(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(1, ParseOptions(seconds=PATIENCE))
    stopped = stop_parser(pool, loop)
    pool.submit(html(1), host=1)
    pool.submit(html(2), host=2)
    pool.tick(loop.now)
    loop.now += 1.5
    loop.run(pool, lambda: len(loop.pages) == 1)
    stopped.kill()
    loop.run(pool, lambda: len(loop.pages) == 2)
    assert [(page.id, page.outcome) for page in loop.pages] == [(2, Outcome.FETCHED), (1, Outcome.PARSER_CRASHED)]
    pool.submit(html(3), host=1)
    loop.run(pool, lambda: len(loop.pages) == 3)


def test_a_host_whose_pages_end_parsers_leaves_the_others_one(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(1)
    for number in (1, 2):
        stopped = stop_parser(pool, loop)
        pool.submit(html(number), host=1)
        stopped.kill()
        loop.run(pool, lambda: not pool.backlog and all(parser.is_ready for parser in pool._parsers))
    assert len(pool._parsers) == 2, "a spare one stands by"
    first, spare = (psutil.Process(parser.process.pid) for parser in pool._parsers)
    first.send_signal(signal.SIGSTOP)
    pool.submit(html(3), host=1)
    first.kill()
    pool.submit(html(4), host=1)
    pool.submit(html(5), host=2)
    loop.run(pool, lambda: len(loop.pages) == 5)
    assert [page.id for page in loop.pages[-3:]] == [3, 5, 4], "the host waits until all parsers are ready"
    assert spare.is_running()


def test_the_time_of_a_slow_page_is_known_once(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(1, ParseOptions(seconds=PATIENCE))
    stopped = stop_parser(pool, loop)
    pool.submit(html(1))
    time.sleep(1.1)  # more than SLOW_SECONDS
    stopped.send_signal(signal.SIGCONT)
    loop.run(pool, lambda: len(loop.pages) == 1)
    assert pool.take_slow_seconds(1) > 1.0
    assert pool.take_slow_seconds(1) == 0.0


# Faults of a page


def test_a_page_that_takes_too_long_is_reported_and_the_next_are_parsed(open_pool: OpenPool, loop: Loop) -> None:
    seconds = 0.5 * slowness()  # the other pages take less than a millisecond
    pool = open_pool(options=ParseOptions(seconds=seconds))
    pages = loop.pages_of(pool, html(1), slow(2), html(3), html(4))
    assert [page.outcome for page in pages] == [
        Outcome.FETCHED,
        Outcome.PARSER_TIMEOUT,
        Outcome.FETCHED,
        Outcome.FETCHED,
    ]
    assert pages[1].reason == f"took more than {seconds:g} seconds"


def test_a_page_that_needs_too_much_memory_is_reported_and_the_next_are_parsed(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(options=ParseOptions(memory=300, seconds=PATIENCE))
    greedy = job(b"<p>w " * 2_000_000, number=1)
    pages = loop.pages_of(pool, greedy, html(2), html(3), html(4), html(5))
    assert [page.outcome for page in pages] == [Outcome.PARSER_MEMORY] + [Outcome.FETCHED] * 4
    assert pages[0].reason == "needs more than 300 MiB"


@pytest.mark.parametrize("killer", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGBUS])
def test_a_crash_is_reported_by_its_signal_and_costs_one_page(
    open_pool: OpenPool, loop: Loop, killer: signal.Signals
) -> None:
    pool = open_pool()
    for one in (slow(1), html(2), html(3), html(4), html(5)):
        pool.submit(one)
    loop.run_until_parsing(pool).send_signal(killer)
    loop.run(pool, lambda: len(loop.pages) == 5)
    first, *others = sorted(loop.pages, key=lambda page: page.id)
    assert (first.outcome, first.reason) == (Outcome.PARSER_CRASHED, f"the parser was ended by {killer.name}")
    assert [page.outcome for page in others] == [Outcome.FETCHED] * 4


def test_a_hung_parser_is_killed_after_its_time_limit(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool(options=ParseOptions(seconds=PATIENCE))
    for one in (slow(1), html(2)):
        pool.submit(one)
    hung = loop.run_until_parsing(pool)
    hung.send_signal(signal.SIGSTOP)  # so that its own timer cannot end the parser
    pool.tick(loop.now + PATIENCE)
    assert hung.is_running()
    pool.tick(loop.now + PATIENCE + 6)
    assert not hung.is_running()
    loop.run(pool, lambda: len(loop.pages) == 2)
    assert [page.outcome for page in loop.pages] == [Outcome.PARSER_TIMEOUT, Outcome.FETCHED]
    assert loop.pages[0].reason == f"hung for more than {PATIENCE + 5:g} seconds"


def test_an_idle_parser_that_dies_is_replaced(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool()
    assert loop.pages_of(pool, html(1))[0].outcome is Outcome.FETCHED
    dead = child(pool)
    dead.kill()
    loop.run(pool, lambda: child(pool) != dead)
    assert loop.pages_of(pool, html(2))[0].outcome is Outcome.FETCHED


# Faults of a parser


def stand_in(folder: Path, code: str) -> str:
    """Write an executable that replaces the interpreter: it reports ready, reads a job, and runs `code`."""
    program = folder / "parser"
    program.write_text(
        f"#!{sys.executable}\n"
        + textwrap.dedent("""
        import socket, sys, time
        import msgspec
        from gossamer.model import PageLink, Links, Outcome, Page
        connection = socket.socket(fileno=int(sys.argv[-1]))
        def frame(message): return len(message).to_bytes(4, "big") + message
        def page(id=7, **fields): return frame(msgspec.msgpack.encode(Page(id, Outcome.FETCHED, "", **fields)))
        connection.sendall(frame(b""))
        connection.recv(1 << 20)
        """)
        + code
        + f"\ntime.sleep({PATIENCE})\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.mark.parametrize(
    "reply",
    [
        "frame(b'no msgpack')",
        "frame(msgspec.msgpack.encode(['no', 'page']))",
        "b'\\xff\\xff\\xff\\xff'",
        "frame(b'')",
        "page(id=8)",
        "page(links=Links(packed_urls='http://example.org/'))",
        "page(links=Links.pack([PageLink(b'short', 'http://example.org/', 1)]))",
        "page(links=Links.pack([PageLink(bytes(16), 'http://example.org/', 99)]))",
        "page(links=Links(bytes(16), bytes([1, 1, 0, 0, 1, 0, 0, 0]), '\\nhttp://example.org/', '\\n', ''))",
    ],
)
def test_an_invalid_reply_of_a_parser_counts_as_a_crash(
    open_pool: OpenPool, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: str
) -> None:
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path, f"connection.sendall({reply})"))
    pool = open_pool()
    pool.submit(html(7))
    loop.run(pool, lambda: bool(loop.pages))
    assert [(page.id, page.outcome, page.reason) for page in loop.pages] == [
        (7, Outcome.PARSER_CRASHED, "the parser's answer makes no sense")
    ]


def test_an_exception_in_a_parser_is_reported_by_its_last_line(
    open_pool: OpenPool, loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path, "raise ValueError('what \\x1b[31m happened')"))
    pool = open_pool()
    pool.submit(html(7))
    loop.run(pool, lambda: bool(loop.pages))
    assert loop.pages[0].outcome is Outcome.PARSER_CRASHED
    assert loop.pages[0].reason == "the parser ended with code 1: ValueError: what [31m happened"


def test_parsers_that_never_start_raise_a_fault(
    open_pool: OpenPool, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    pool = open_pool(2)
    pool.submit(html(1))
    with pytest.raises(ParserFault, match="cannot be started: the parser ended with code 1"):
        loop.run(pool, lambda: bool(loop.pages))


def test_a_missing_interpreter_raises_a_fault(
    open_pool: OpenPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    with pytest.raises(ParserFault, match="cannot be started"):
        open_pool()


# Start and end


def test_parsers_ignore_an_interrupt(open_pool: OpenPool, loop: Loop) -> None:
    pool = open_pool()
    loop.pages_of(pool, html(1))
    before = child(pool)
    before.send_signal(signal.SIGINT)
    assert loop.pages_of(pool, html(2))[0].outcome is Outcome.FETCHED
    assert child(pool) == before
    assert os.getpgid(before.pid) != os.getpgid(0)  # so a terminal's Ctrl-C does not reach it


def test_closing_leaves_no_process_and_no_descriptor(open_pool: OpenPool, loop: Loop) -> None:
    descriptors = psutil.Process().num_fds()
    pool = open_pool(2)
    pool.submit(slow(1))
    processes = [psutil.Process(parser.process.pid) for parser in pool._parsers]
    pool.close()
    assert not any(process.is_running() for process in processes)
    assert not loop.selector.get_map()
    assert psutil.Process().num_fds() == descriptors


def test_parsers_exit_when_their_coordinator_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "coordinator.py"
    script.write_text(
        textwrap.dedent("""
        import select, selectors, sys
        from gossamer.parse.options import ParseOptions
        from gossamer.parse.pool import ParserPool
        from gossamer.model import ParseJob, Role
        pool = ParserPool(ParseOptions(seconds=float(sys.argv[1])), 2, selectors.DefaultSelector())
        body = b"<!--fault:announced-spin-->"
        pool.submit(ParseJob(1, Role.PAGE, "http://example.org/", body, "text/html", "", "", "", "", ""))
        print(*(parser.process.pid for parser in pool._parsers), flush=True)
        announcements = [parser.process.stderr for parser in pool._parsers]
        while not select.select(announcements, [], [], 0)[0]:
            for key, mask in pool._selector.select(0.1):
                key.data(mask)
        print("spinning", flush=True)
        sys.stdin.read()
        """)
    )
    seconds = 4 * slowness()  # so that its timer ends a parser that is still at the slow page
    with subprocess.Popen(
        [sys.executable, script, str(seconds)], env={**os.environ, "PYTHONPATH": str(HOOK)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as coordinator:  # fmt: skip
        try:
            assert coordinator.stdout is not None
            parsers = [psutil.Process(int(pid)) for pid in coordinator.stdout.readline().split()]
            assert len(parsers) == 2
            assert coordinator.stdout.readline() == "spinning\n"
        finally:
            coordinator.kill()
    gone, alive = psutil.wait_procs(parsers, timeout=PATIENCE)
    assert (len(gone), alive) == (2, [])


def test_a_parser_has_no_password_in_its_environment(
    loop: Loop, open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "GOSSAMER_STORE", "GOSSAMER_INDEX_PASSWORD"):
        monkeypatch.setenv(name, "s3cret")
    pool = open_pool()
    loop.pages_of(pool, job("<p>small"))  # because a process that is just starting shows no environment
    environment = child(pool).environ()
    assert "s3cret" not in environment.values()
    assert environment["PATH"] == os.environ["PATH"]


def test_few_large_pages_are_buffered_for_a_busy_parser(loop: Loop, open_pool: OpenPool) -> None:
    pool = open_pool()
    loop.pages_of(pool, job("<p>small"))
    child(pool).send_signal(signal.SIGSTOP)
    large = b"x" * (16 << 20)
    tracemalloc.start()
    for number in range(8):
        pool.submit(job(large, "text/plain", number=number))
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    child(pool).send_signal(signal.SIGCONT)
    assert grown < 7 * len(large)  # five pages are held; without a limit it would be ten


def peak_memory(process: psutil.Process) -> int:
    """Return the largest resident memory that a process has had, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.findall(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)[0]) << 10


def test_an_idle_parser_releases_the_memory_of_a_large_page(loop: Loop, open_pool: OpenPool) -> None:
    pool = open_pool()
    loop.pages_of(pool, job("<p>small"))
    process = child(pool)
    before = process.memory_info().rss
    loop.pages_of(pool, job("<p>large <b>page</b>" * 200_000))
    large = peak_memory(process)  # not the present memory, because the parser may have released it already
    assert large > before + (40 << 20)
    loop.run(pool, lambda: process.memory_info().rss < before + (large - before) / 4)
    assert loop.pages_of(pool, job("<p>small")) == [parse_page(job("<p>small"), ParseOptions())]


def test_a_busy_parser_releases_the_memory_of_a_large_page(loop: Loop, open_pool: OpenPool) -> None:
    pool = open_pool()
    loop.pages_of(pool, job("<p>small"))
    process = child(pool)
    before = process.memory_info().rss
    for _ in range(2):  # the second soon after the parser released the memory of the first
        loop.pages_of(pool, job("<p>large <b>page</b>" * 200_000), job("<p>small", number=2))

    def has_released_memory() -> bool:
        loop.pages_of(pool, job("<p>small"))
        return bool(process.memory_info().rss < before + (20 << 20))

    until(has_released_memory, "a parser that releases memory", pause=0.01)
