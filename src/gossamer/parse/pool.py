"""The pool of capped parser processes, as the coordinator sees it.

Jobs go in, pages come out; nothing here blocks. A parser that dies, hangs or talks nonsense is replaced, the page it
was at is answered as failed with the reason, and the jobs behind it go to another. There may be more or fewer of them
at any time: those that are too many finish what they were given. The processes are plain subprocesses
on socket pairs, not `multiprocessing`: nothing of the caller's program is imported into them, so that it needs no
`__main__` guard.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.basics.cores import available_cores
from gossamer.errors import ParserFault
from gossamer.model import Kind, Outcome, Page, ParseJob, Position

if TYPE_CHECKING:
    from gossamer.parse.options import ParseOptions

_HEADER_BYTES = 4  # bytes of a frame's length
# Jobs given to one parser: one it is at, one in its socket, one to cover our own delay. If its socket has room for all
# of them, more: while the writer holds Python's lock, nobody gets any for 5 ms. With three, 2 % of the cores idled.
_JOBS_AHEAD = 3
_SMALL_JOBS_AHEAD = 8
_GRACE_SECONDS = 5.0  # seconds beyond the limit a parser sets itself, before it is killed from here
_START_SECONDS = 60.0  # seconds a parser may take to start
_MAX_FAILED_STARTS = 3  # parsers in a row that died before they were ready: then none will be
_EXIT_SECONDS = 1.0  # seconds between closing its socket and being dead
_READ_BYTES = 256 << 10  # bytes read from a parser at a time
# glibc gives memory back to the system behind every large page and takes it again for the next: 50 page faults a page
# on average, a third of the time of building its tree. Told to keep up to 128 MiB, it does neither. Harmless with other
# allocators.
ALLOCATOR_VARIABLES = {"MALLOC_TRIM_THRESHOLD_": str(128 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
# A parser reads what strangers wrote, and needs none of these.
SECRET_VARIABLES = frozenset({"PGPASSWORD", "GOSSAMER_STORE", "GOSSAMER_INDEX_PASSWORD"})
_PARSERS_PER_CORE = (
    2  # parsers, at most, when their number is changed while they are at work: more only wait for each other
)
_MAX_ERROR_LENGTH = 200  # characters of a dead parser's last words
_KINDS = frozenset(map(int, Kind))
_POSITIONS = frozenset(map(int, Position))
_DIGEST_LENGTHS = frozenset({16})  # bytes


def most_parsers() -> int:
    """How many parsers a crawler on this machine may be asked to have."""
    return _PARSERS_PER_CORE * available_cores()


def _start_process(connection: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  our own interpreter and module
        # -P: what lies in the working directory, perhaps pages exported from the web, must not be imported
        [sys.executable, "-P", "-m", "gossamer.parse.parser_process", str(connection.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(connection.fileno(),),
        env={name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES} | ALLOCATOR_VARIABLES,
        process_group=0,  # a terminal's Ctrl-C goes to a whole group, and could come before it is ignored
    )


class _Parser:
    """One process, its connection, and the jobs it was given, the oldest of which it is at."""

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
        self.jobs: deque[ParseJob] = deque()
        self.is_ready = False  # has it said so
        self.busy_since: float | None = None  # when it was first seen at its present job, or starting
        self.is_exiting = False  # has said that it will end by itself
        self.outgoing = bytearray()
        self.incoming = bytearray()
        self.write(options)

    def write(self, message: bytes | bytearray) -> None:
        self.outgoing += len(message).to_bytes(_HEADER_BYTES, "big")
        self.outgoing += message

    def terminate(self, timeout: float | None) -> tuple[int, str]:
        """See it dead, and give back its exit code and the last line it said. None: it was killed already."""
        self.connection.close()
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        stderr = self.process.stderr
        assert stderr is not None
        with stderr:
            os.set_blocking(stderr.fileno(), False)
            output = stderr.read(_READ_BYTES) or b""
        last_line = output.decode("utf-8", "replace").strip().rpartition("\n")[2][:_MAX_ERROR_LENGTH]
        return self.process.returncode, "".join(filter(str.isprintable, last_line))


class ParserPool:
    """Parser processes for one crawl. Register it once; the crawl's loop calls `key.data(mask)` for what is ready."""

    def __init__(self, options: ParseOptions, processes: int, selector: selectors.BaseSelector) -> None:
        self.processes = processes
        self.most_parsers = max(processes, most_parsers())
        self._options = options
        self._first_message = msgspec.msgpack.encode(options)
        self._selector = selector
        self._queued_jobs: deque[ParseJob] = deque()
        self._finished_pages: list[Page] = []
        self._failed_starts = 0
        self._max_reply = (64 << 20) + 2 * options.max_bytes
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Page).decode
        self._buffer = memoryview(
            bytearray(_READ_BYTES)
        )  # read into again and again: a new one each time costs page faults
        self._parsers: list[_Parser] = []
        try:
            self._adjust_parsers()
        except ParserFault:
            self.close()
            raise

    @property
    def busy_count(self) -> int:
        """Parsers at work."""
        return sum(1 for parser in self._parsers if parser.jobs)

    @property
    def backlog(self) -> int:
        """Jobs accepted and not finished."""
        return len(self._queued_jobs) + sum(len(parser.jobs) for parser in self._parsers)

    def resize(self, processes: int) -> None:
        """Have so many parsers from now on."""
        self.processes = processes
        self._adjust_parsers()
        self._dispatch_jobs()

    def reset(self, options: ParseOptions) -> None:
        """Work by other options: what is not parsed yet is parsed by them."""
        if options == self._options:
            return
        unfinished = [*(job for parser in self._parsers for job in parser.jobs), *self._queued_jobs]
        self.close()
        self._options, self._first_message = options, msgspec.msgpack.encode(options)
        self._queued_jobs.extend(unfinished)
        self._adjust_parsers()
        self._dispatch_jobs()

    def submit(self, job: ParseJob) -> None:
        """Take a job. Its page comes out of `finished` sooner or later, whatever is in it."""
        self._queued_jobs.append(job)
        self._dispatch_jobs()

    def take_results(self) -> list[Page]:
        """The pages done since this was last asked."""
        pages, self._finished_pages = self._finished_pages, []
        return pages

    def tick(self, now: float) -> None:
        """Kill parsers that overstay. Call it about every second, with a clock of your choice."""
        for parser in list(self._parsers):
            limit = self._options.seconds + _GRACE_SECONDS if parser.is_ready else _START_SECONDS
            if parser.is_ready and not parser.jobs:
                continue
            if parser.busy_since is None:
                parser.busy_since = now
            elif now - parser.busy_since > limit:
                self._replace_parser(parser, (Outcome.PARSER_TIMEOUT, f"hung for more than {limit:g} seconds"))

    def close(self) -> None:
        """End all parsers. Jobs not finished are forgotten."""
        for parser in self._parsers:
            self._selector.unregister(parser.connection)
            parser.process.kill()
        for parser in self._parsers:  # they die side by side
            parser.terminate(timeout=None)
        self._parsers.clear()
        self._queued_jobs.clear()

    def _adjust_parsers(self) -> None:
        """Start the parsers that are lacking; end those that are too many and have nothing left to do."""
        while len(self._parsers) < self.processes:
            self._start_parser()
        for parser in self._parsers[self.processes :]:
            if not parser.jobs:
                self._parsers.remove(parser)
                self._selector.unregister(parser.connection)
                parser.terminate(timeout=0)

    def _start_parser(self) -> None:
        try:
            parser = _Parser(self._first_message)
        except OSError as fault:
            raise ParserFault(f"Parser processes cannot be started: {fault}") from fault
        self._parsers.append(parser)
        self._selector.register(parser.connection, selectors.EVENT_READ, partial(self._on_event, parser))
        self._write(parser)

    def _dispatch_jobs(self) -> None:
        while self._queued_jobs:
            parser = min(self._parsers[: self.processes], key=lambda parser: len(parser.jobs))
            if len(parser.jobs) >= (_JOBS_AHEAD if parser.outgoing else _SMALL_JOBS_AHEAD):
                return
            job = self._queued_jobs.popleft()
            parser.jobs.append(job)
            parser.write(self._encode(job))
            self._write(parser)

    def _on_event(self, parser: _Parser, mask: int) -> None:
        if parser not in self._parsers:
            return  # buried by an event before this one
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
            parser.outgoing.clear()  # it is dead; reading from it will tell
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
        self._adjust_parsers()
        self._dispatch_jobs()

    def _handle_frames(self, parser: _Parser) -> bool:
        """Take the whole messages that have come in; False when they make no sense."""
        incoming = parser.incoming
        while len(incoming) >= _HEADER_BYTES:
            size = int.from_bytes(incoming[:_HEADER_BYTES], "big")
            if size > self._max_reply:
                return False
            if len(incoming) < _HEADER_BYTES + size:
                break
            with memoryview(incoming) as view, view[_HEADER_BYTES : _HEADER_BYTES + size] as message:
                is_valid = self._handle_message(parser, message)
            del incoming[: _HEADER_BYTES + size]
            if not is_valid:
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
        if not parser.jobs or not _is_valid_reply(page, parser.jobs[0]):
            return False
        parser.jobs.popleft()
        parser.busy_since = None
        parser.is_exiting = page.outcome is Outcome.PARSER_MEMORY
        self._finished_pages.append(page)
        return True

    def _replace_parser(self, parser: _Parser, fault: tuple[Outcome, str] | None = None) -> None:
        """A parser is dead, or is at fault and killed. Answer for its page, hand its other jobs on, start another."""
        self._parsers.remove(parser)
        self._selector.unregister(parser.connection)
        code, error = parser.terminate(timeout=0 if fault else _EXIT_SECONDS)
        outcome, reason = fault or _exit_cause(code, error, self._options)
        if not parser.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                raise ParserFault(f"Parser processes cannot be started: {reason}")
        elif parser.jobs and not parser.is_exiting:
            self._finished_pages.append(Page(parser.jobs.popleft().id, outcome, reason))
        self._queued_jobs.extendleft(reversed(parser.jobs))
        self._adjust_parsers()
        self._dispatch_jobs()


def _exit_cause(code: int, error: str, options: ParseOptions) -> tuple[Outcome, str]:
    if code == -signal.SIGALRM:
        return Outcome.PARSER_TIMEOUT, f"took more than {options.seconds:g} seconds"
    if code < 0:
        return Outcome.PARSER_CRASHED, f"the parser was ended by {signal.Signals(-code).name}"
    return Outcome.PARSER_CRASHED, f"the parser ended with code {code}" + (f": {error}" if error else "")


def _is_valid_reply(page: Page, job: ParseJob) -> bool:
    """Whether an answer is one to this job, and such that nobody stumbles over it later: the parser may be captured."""
    links = page.links
    columns: tuple[list[Any], ...] = (
        links.digests, links.urls, links.kinds, links.follows, links.anchors, links.weights, links.rels, links.positions
    )  # fmt: skip
    return (
        page.id == job.id
        and len(set(map(len, columns))) == 1
        and _DIGEST_LENGTHS.issuperset(map(len, links.digests))
        and _KINDS.issuperset(links.kinds)
        and _POSITIONS.issuperset(links.positions)
    )
