"""The pool of parser processes, as the coordinator sees it.

Jobs go in, pages come out, and nothing here blocks. A parser may crash, hang or send nonsense. The pool then replaces
it, answers for its current page with the reason, and gives its other jobs to another parser.

Hosts share the time of parsers fairly (`fair_queue`). A page that takes over a second while other hosts wait gives up
its place: its parser finishes it beside the others with lower priority, and a new parser takes the place. Meanwhile its
host gets no other parser. A page that ends its parser costs the time to start another one. Its host then waits until
all parsers are ready again, and after the second such page a spare parser stands by.

The number of parsers may change at any time. Surplus parsers finish the jobs that they have.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.cores import available_cores
from gossamer.errors import ParserFault
from gossamer.model import Outcome, Page, ParseJob
from gossamer.parse.fair_queue import FairQueue, HostJob
from gossamer.processes.exit_report import describe_exit, last_stderr_line, wait_or_kill
from gossamer.processes.framing import FrameTooLong, append_frame, encode_frame, take_frames
from gossamer.processes.heap import ALLOCATOR_VARIABLES
from gossamer.processes.start import environment_without_secrets, start_python

if TYPE_CHECKING:
    from gossamer.parse.options import ParseOptions

# Jobs given to one parser: one in work, one in its socket, one to cover the coordinator's delay.
_JOBS_AHEAD = 3
# More, if its socket holds them all: while the writer has Python's lock, the coordinator sends nothing for 5 ms.
_SMALL_JOBS_AHEAD = 8
SLOW_SECONDS = 1.0  # a page that takes longer gives up its place if other hosts wait, and its host backs off
_SLOW_NICENESS = 5  # added for such a page: on a full machine it gets a quarter of the time of another
_GRACE_SECONDS = 5.0  # beyond the limit that a parser sets itself, until the pool kills it
_START_SECONDS = 60.0  # that a parser may take to start
_MAX_FAILED_STARTS = 3  # parsers in a row that exited before they were ready; then the pool gives up
_FAULTS_BEFORE_SPARE = 2  # pages that ended their parser, after which a spare one stands by; it takes some 50 MB
_EXIT_SECONDS = 1.0  # that a parser has to exit after its socket is closed
_READ_BYTES = 256 << 10  # read from a parser at a time
# Limit when the number of parsers is changed during a crawl: more parsers would only wait for each other.
_PARSERS_PER_CORE = 2


def most_parsers() -> int:
    """Return how many parsers a user may ask for on this machine during a crawl."""
    return _PARSERS_PER_CORE * available_cores()


def _start_process(connection: socket.socket) -> subprocess.Popen[bytes]:
    descriptor = connection.fileno()
    return start_python(
        "-m", "gossamer.parse.parser_process", str(descriptor),
        stderr=subprocess.PIPE, pass_fds=(descriptor,),
        environment=environment_without_secrets() | ALLOCATOR_VARIABLES,
    )  # fmt: skip


class _Parser:
    """One process, its connection and its jobs. The oldest job is the one in work."""

    def __init__(self, options: bytes) -> None:
        ours, theirs = socket.socketpair()
        try:
            self.process = _start_process(theirs)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self.connection = ours
        self.jobs: deque[HostJob] = deque()
        self.job_started = 0.0  # `time.perf_counter` at which it could begin its oldest job
        self.is_ready = False  # it has sent an empty frame
        self.busy_since: float | None = None  # first `tick` that saw it at its current job, or starting
        self.exiting_for: int | None = None  # given: it has announced that it will exit, because of a page of this host
        self.held_host: int | None = None  # given: it finishes a slow page of this host, which gets no other parser
        self.outgoing = bytearray(encode_frame(options))
        self.incoming = bytearray()

    def terminate(self, timeout: float | None) -> tuple[int, str]:
        """Close the connection, wait for the exit, and return exit code and last line of stderr.

        The process is killed after `timeout` seconds. None: the caller has killed it already.
        """
        self.connection.close()
        code = wait_or_kill(self.process, timeout)
        assert self.process.stderr is not None
        return code, last_stderr_line(self.process.stderr)


class ParserPool:
    """Parser processes of one crawl.

    The pool registers its sockets in the crawl's selector. The loop calls `key.data(mask)` for those that are ready.
    """

    def __init__(self, options: ParseOptions, processes: int, selector: selectors.BaseSelector) -> None:
        self.processes = processes
        self.most_parsers = max(processes, most_parsers())
        self._options = options
        self._first_message = msgspec.msgpack.encode(options)
        self._selector = selector
        self._queue = FairQueue()
        self._unfinished = 0  # jobs in the queue and in parsers
        self._finished_pages: list[Page] = []
        self._slow_pages: dict[int, float] = {}  # id -> parser time, of finished pages above SLOW_SECONDS
        self._failed_starts = 0
        self._max_reply = (64 << 20) + 2 * options.max_bytes
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._decode = msgspec.msgpack.Decoder(Page).decode
        self._buffer = memoryview(bytearray(_READ_BYTES))  # reused: a new one for each read costs page faults
        self._parsers: list[_Parser] = []
        self._page_faults = 0  # pages that ended their parser
        self._resting_hosts: list[int] = []  # on hold until all parsers are ready
        self._slow_parsers: list[_Parser] = []  # each finishes a page that gave up its place, and exits
        try:
            self._adjust_parsers()
        except ParserFault:
            self.close()
            raise

    @property
    def busy_count(self) -> int:
        """The number of parsers that have jobs."""
        return sum(1 for parser in self._all_parsers() if parser.jobs)

    @property
    def backlog(self) -> int:
        """The number of jobs accepted and not finished."""
        return self._unfinished

    def _all_parsers(self) -> list[_Parser]:
        return self._parsers + self._slow_parsers

    def resize(self, processes: int) -> None:
        """Change the number of parsers."""
        self.processes = processes
        self._adjust_parsers()
        self._dispatch_jobs()

    def reset(self, options: ParseOptions) -> None:
        """Use other options for all jobs that are not finished; this restarts the parsers."""
        if options == self._options:
            return
        unfinished = [*(job for parser in self._all_parsers() for job in parser.jobs), *self._queue]
        self.close()
        self._options, self._first_message = options, msgspec.msgpack.encode(options)
        for job in unfinished:
            self._queue.put(job)
        self._unfinished = len(unfinished)
        self._adjust_parsers()
        self._dispatch_jobs()

    def submit(self, job: ParseJob, host: int = 0) -> None:
        """Accept a job of a host. `take_results` returns a page for it sooner or later, whatever the job holds."""
        self._queue.put(HostJob(job, host))
        self._unfinished += 1
        self._dispatch_jobs()

    def take_results(self) -> list[Page]:
        """Return the pages finished since the last call."""
        pages, self._finished_pages = self._finished_pages, []
        return pages

    def take_slow_seconds(self, page: int) -> float:
        """Return the parser time of a finished page if it exceeds `SLOW_SECONDS`, else 0; only once for each page."""
        return self._slow_pages.pop(page, 0.0) if self._slow_pages else 0.0

    def tick(self, now: float) -> None:
        """Replace parsers that take too long. Call it about every second; `now` is in seconds of any one clock."""
        for parser in self._all_parsers():
            limit = self._options.seconds + _GRACE_SECONDS if parser.is_ready else _START_SECONDS
            if parser.is_ready and not parser.jobs:
                continue
            if parser.busy_since is None:
                parser.busy_since = now
            elif now - parser.busy_since > limit:
                self._replace_parser(parser, (Outcome.PARSER_TIMEOUT, f"hung for more than {limit:g} seconds"))
            elif parser.is_ready and now - parser.busy_since > SLOW_SECONDS:
                self._move_aside(parser)

    def close(self) -> None:
        """End all parsers and drop their jobs."""
        for parser in self._all_parsers():
            self._selector.unregister(parser.connection)
            parser.process.kill()
        for parser in self._all_parsers():  # all are killed before the first wait
            parser.terminate(timeout=None)
        self._parsers.clear()
        self._slow_parsers.clear()
        self._resting_hosts.clear()
        self._queue.clear()
        self._unfinished = 0

    def _move_aside(self, parser: _Parser) -> None:
        """Let a slow page finish beside the others, if other hosts wait; at most as many as there are parsers."""
        if parser.held_host is not None or len(self._slow_parsers) >= self.processes:
            return
        (host, *behind) = [job.host for job in parser.jobs]
        if not self._queue.has_jobs_of_others(host) and all(other == host for other in behind):
            return
        while len(parser.jobs) > 1:
            self._queue.put(parser.jobs.pop(), first=True)
        parser.held_host = host
        self._queue.hold(host)
        self._parsers.remove(parser)
        self._slow_parsers.append(parser)
        pid = parser.process.pid
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid) + _SLOW_NICENESS)
        self._adjust_parsers()
        self._dispatch_jobs()

    def _adjust_parsers(self) -> None:
        """Start missing parsers; end surplus ones that have no jobs."""
        wanted = self.processes + (self._page_faults >= _FAULTS_BEFORE_SPARE)
        while len(self._parsers) < wanted:
            self._start_parser()
        for parser in self._parsers[wanted:]:
            if not parser.jobs:
                self._parsers.remove(parser)
                self._selector.unregister(parser.connection)
                parser.terminate(timeout=0)
        self._end_rests()

    def _start_parser(self) -> None:
        try:
            parser = _Parser(self._first_message)
        except OSError as fault:
            raise ParserFault(f"Parser processes cannot be started: {fault}") from fault
        self._parsers.append(parser)
        self._selector.register(parser.connection, selectors.EVENT_READ, partial(self._on_event, parser))
        self._write(parser)

    def _dispatch_jobs(self) -> None:
        while self._queue:
            parser = min(self._parsers[: self.processes], key=lambda parser: (not parser.is_ready, len(parser.jobs)))
            if len(parser.jobs) >= (_JOBS_AHEAD if parser.outgoing else _SMALL_JOBS_AHEAD):
                return
            job = self._queue.take()
            if job is None:
                return
            if not parser.jobs:
                parser.job_started = time.perf_counter()
            parser.jobs.append(job)
            append_frame(parser.outgoing, job.job, self._encode_into)
            self._write(parser)

    def _on_event(self, parser: _Parser, mask: int) -> None:
        if parser not in self._parsers and parser not in self._slow_parsers:
            return  # an earlier event of the same select removed it
        if mask & selectors.EVENT_WRITE:
            self._write(parser)
        if mask & selectors.EVENT_READ:
            self._read(parser)

    def _write(self, parser: _Parser) -> None:
        try:
            while parser.outgoing:
                sent = parser.connection.send(parser.outgoing)
                del parser.outgoing[:sent]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            parser.outgoing.clear()  # it has exited; the next read finds the end
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if parser.outgoing else 0)
        key = self._selector.get_key(parser.connection)
        if key.events != events:
            self._selector.modify(parser.connection, events, key.data)

    def _read(self, parser: _Parser) -> None:
        try:
            size = parser.connection.recv_into(self._buffer)
        except BlockingIOError:
            return
        except ConnectionResetError:
            size = 0
        parser.incoming += self._buffer[:size]
        if not size:
            self._replace_parser(parser)
        elif not self._handle_frames(parser):
            self._replace_parser(parser, (Outcome.PARSER_CRASHED, "the parser's answer makes no sense"))
        elif parser.held_host is not None and not parser.jobs:
            self._remove_parser(parser)
            parser.terminate(timeout=0)
        self._adjust_parsers()
        self._dispatch_jobs()

    def _handle_frames(self, parser: _Parser) -> bool:
        """Handle the complete messages that arrived; return False when one makes no sense."""
        try:
            for message in take_frames(parser.incoming, self._max_reply):
                if not self._handle_message(parser, message):
                    return False
        except FrameTooLong:
            return False
        return True

    def _handle_message(self, parser: _Parser, message: memoryview) -> bool:
        if not message and not parser.is_ready:
            parser.is_ready, parser.busy_since = True, None
            self._failed_starts = 0
            return True
        try:
            page = self._decode(message)
        except msgspec.DecodeError:
            return False
        if not parser.jobs or not _is_valid_reply(page, parser.jobs[0].job):
            return False
        if page.outcome is Outcome.PARSER_MEMORY:
            parser.exiting_for = parser.jobs[0].host
        self._finish_job(parser, page)
        return True

    def _finish_job(self, parser: _Parser, page: Page) -> None:
        """Take over the page of a parser's oldest job, and charge its host for the time."""
        now = time.perf_counter()
        seconds, parser.job_started = now - parser.job_started, now
        parser.busy_since = None
        self._queue.charge(parser.jobs.popleft().host, seconds)
        self._unfinished -= 1
        if seconds > SLOW_SECONDS:
            self._slow_pages[page.id] = seconds
        self._finished_pages.append(page)

    def _rest(self, host: int) -> None:
        """Give a host no parser until all are ready, because its page ends one."""
        self._page_faults += 1
        self._resting_hosts.append(host)
        self._queue.hold(host)

    def _end_rests(self) -> None:
        if all(parser.is_ready for parser in self._parsers):
            for host in self._resting_hosts:
                self._queue.unhold(host)
            self._resting_hosts.clear()

    def _remove_parser(self, parser: _Parser) -> None:
        if parser.held_host is None:
            self._parsers.remove(parser)
        else:
            self._slow_parsers.remove(parser)
            self._queue.unhold(parser.held_host)
        self._selector.unregister(parser.connection)

    def _replace_parser(self, parser: _Parser, fault: tuple[Outcome, str] | None = None) -> None:
        """Replace a parser that exited, or kill it for `fault`; answer for its page and requeue its other jobs."""
        self._remove_parser(parser)
        code, error = parser.terminate(timeout=0 if fault else _EXIT_SECONDS)
        outcome, reason = fault or _exit_cause(code, error, self._options)
        if not parser.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                raise ParserFault(f"Parser processes cannot be started: {reason}")
        elif parser.exiting_for is not None:
            self._rest(parser.exiting_for)
        elif parser.jobs:
            self._rest(parser.jobs[0].host)
            self._finish_job(parser, Page(parser.jobs[0].job.id, outcome, reason))
        while parser.jobs:
            self._queue.put(parser.jobs.pop(), first=True)
        self._adjust_parsers()
        self._dispatch_jobs()


def _exit_cause(code: int, error: str, options: ParseOptions) -> tuple[Outcome, str]:
    if code == -signal.SIGALRM:
        return Outcome.PARSER_TIMEOUT, f"took more than {options.seconds:g} seconds"
    detail = f": {error}" if error and code >= 0 else ""
    return Outcome.PARSER_CRASHED, f"the parser {describe_exit(code)}{detail}"


def _is_valid_reply(page: Page, job: ParseJob) -> bool:
    """Check that a page answers this job and is well-formed; a hostile page may have taken over the parser."""
    return page.id == job.id and page.links.is_well_formed()
