"""The pool of renderer processes, as the coordinator sees it.

Pages go in, requests of pages and rendered pages come out, and nothing here blocks. Browsers start at the first page.
A tab, a browser or a renderer process may crash, hang or send nonsense: that costs the page that caused it. Where
several pages ran in a browser that died, each runs once more, alone.
"""

from __future__ import annotations

import selectors
import socket
import subprocess
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import RendererFault
from gossamer.model import Outcome, PageRequest, PageResponse, RenderedPage, RenderJob
from gossamer.processes.exit_report import describe_exit, last_stderr_line, wait_or_kill
from gossamer.processes.framing import FrameTooLong, append_frame, encode_frame, take_frames
from gossamer.processes.start import environment_without_secrets, start_python
from gossamer.render.browser_search import find_program
from gossamer.render.homes import remove_homes, remove_old_homes
from gossamer.render.isolation import IsolationReport, check_isolation
from gossamer.render.messages import AnswerRequest, AskRequest, FinishPage, FromRenderer, LosePages, RunPage

if TYPE_CHECKING:
    from gossamer.render.options import RenderOptions

_GRACE_SECONDS = 15.0  # beyond the longest time of a page, until the pool kills its renderer process
_START_SECONDS = 120.0  # that a process and its browser may take to start
_MAX_FAILED_STARTS = 3  # processes in a row that exited before they were ready; then the pool gives up
_EXIT_SECONDS = 1.0  # that a process has to exit after its socket is closed
_READ_BYTES = 256 << 10  # read from a process at a time
_MAX_REQUEST_BYTES = 1 << 20  # of URLs, headers and body of one request
_MAX_OUTGOING_BYTES = 16 << 20  # encoded for a process; further answers wait, and equal ones share their body


class _PageJob:
    """A page, and how often a browser died under it."""

    def __init__(self, job: RenderJob, host: int) -> None:
        self.job = job
        self.host = host
        self.losses = 0


class _Renderer:
    """One process, its connection and its pages."""

    def __init__(self, first_messages: bytes) -> None:
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
        self.jobs: dict[int, _PageJob] = {}
        self.busy_since: dict[int, float] = {}  # page -> first `tick` that saw it here
        self.starting_since: float | None = None  # first `tick` that saw it start
        self.is_ready = False
        self.asked: dict[int, int] = {}  # number in the pool of a request without an answer -> its page
        self.answers: deque[tuple[int, PageResponse]] = deque()  # page and answer that waits for room in `outgoing`
        self.outgoing = bytearray(first_messages)
        self.incoming = bytearray()

    def terminate(self, timeout: float | None) -> tuple[int, str]:
        """Close the connection, wait for the exit, and return exit code and last line of stderr."""
        self.connection.close()
        code = wait_or_kill(self.process, timeout)
        assert self.process.stderr is not None
        remove_homes(self.process.pid)
        return code, last_stderr_line(self.process.stderr)


def _start_process(connection: socket.socket) -> subprocess.Popen[bytes]:
    descriptor = connection.fileno()
    return start_python(
        "-m", "gossamer.render.renderer_process", str(descriptor),
        stderr=subprocess.PIPE, pass_fds=(descriptor,), environment=environment_without_secrets(),
    )  # fmt: skip


class RendererPool:
    """Renderer processes of one crawl.

    The pool registers its sockets in the crawl's selector. The loop calls `key.data(mask)` for those that are ready.
    `renderers` is the number of pages that run at once; browsers have up to `RenderOptions.tabs` of them.
    """

    def __init__(
        self,
        options: RenderOptions,
        renderers: int,
        selector: selectors.BaseSelector,
        isolation: IsolationReport | None = None,
    ) -> None:
        isolation = isolation or check_isolation()
        if not isolation.is_complete and not options.unsafe:
            raise RendererFault(f"The browser would not be isolated: {isolation.reason}.")
        # Behind a shell script, the browser would outlive a kill of the script.
        options = msgspec.structs.replace(options, browser=str(find_program(Path(options.browser))))
        self.renderers = renderers
        self._options = options
        self._first_messages = b"".join(map(encode_frame, map(msgspec.msgpack.encode, (options, isolation))))
        self._selector = selector
        self._queue: deque[_PageJob] = deque()
        self._suspects: deque[_PageJob] = deque()  # each runs alone, because its browser died
        self._processes: list[_Renderer] = []
        self._requests: list[PageRequest] = []
        self._results: list[RenderedPage] = []
        self._asked: dict[int, tuple[_Renderer, int]] = {}  # number in the pool -> process, its number
        self._last_number = 0
        self._failed_starts = 0
        self._max_message = 8 * options.max_bytes + _MAX_REQUEST_BYTES
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._decode = msgspec.msgpack.Decoder(FromRenderer).decode

    @property
    def busy_count(self) -> int:
        """The number of pages in browsers."""
        return sum(len(process.jobs) for process in self._processes)

    @property
    def backlog(self) -> int:
        """The number of pages accepted and not finished."""
        return self.busy_count + len(self._queue) + len(self._suspects)

    def submit(self, job: RenderJob, host: int) -> None:
        """Accept a page of a host. `take_results` returns it sooner or later, whatever it does."""
        self._queue.append(_PageJob(job, host))
        self._dispatch_jobs()

    def take_requests(self) -> list[PageRequest]:
        """Return the requests of pages since the last call. Each needs an `answer`, unless its page finishes first."""
        requests, self._requests = self._requests, []
        return requests

    def answer(self, response: PageResponse) -> None:
        """Give a page the answer to its request; without effect when the page has finished."""
        process, number = self._asked.pop(response.id, (None, 0))
        if process is not None:
            page = process.asked.pop(response.id)
            process.answers.append((page, msgspec.structs.replace(response, id=number)))
            self._write(process)

    def take_results(self) -> list[RenderedPage]:
        """Return the pages finished since the last call."""
        results, self._results = self._results, []
        return results

    def tick(self, now: float) -> None:
        """Replace processes that hang. Call it about every second; `now` is in seconds of any one clock."""
        longest = self._options.max_seconds + _GRACE_SECONDS
        for process in list(self._processes):
            if not process.is_ready:
                process.starting_since = process.starting_since or now
                if now - process.starting_since > _START_SECONDS:
                    self._replace(process, "the renderer process did not start")
                continue
            process.busy_since = {job: process.busy_since.get(job, now) for job in process.jobs}
            if any(now - since > longest for since in process.busy_since.values()):
                self._replace(process, f"the renderer process hung for more than {longest:g} seconds")

    def cancel_all(self) -> None:
        """Drop all pages that are not finished; the browsers that run some are replaced."""
        self._queue.clear()
        self._suspects.clear()
        for process in [process for process in self._processes if process.jobs]:
            self._remove(process)
            process.process.kill()
            process.terminate(timeout=None)
        self._requests.clear()

    def close(self) -> None:
        """End all processes and drop their pages."""
        self._queue.clear()
        self._suspects.clear()
        processes = list(self._processes)
        for process in processes:
            self._remove(process)
            process.connection.close()  # it ends its browser and exits
        for process in processes:
            process.terminate(_EXIT_SECONDS)

    # Pages to processes

    def _dispatch_jobs(self) -> None:
        while (job := self._next_job()) is not None:
            process = self._free_process()
            if process is None:
                self._put_back(job)
                return
            process.jobs[job.job.id] = job
            self._send(process, RunPage(job.job, job.host))

    def _next_job(self) -> _PageJob | None:
        """Take the next page; suspects go first, each when nothing else runs."""
        if self._suspects:
            return None if self.busy_count else self._suspects.popleft()
        if not self._queue or self.busy_count >= self.renderers:
            return None
        if any(job.losses for process in self._processes for job in process.jobs.values()):
            return None  # a suspect runs alone
        return self._queue.popleft()

    def _put_back(self, job: _PageJob) -> None:
        (self._suspects if job.losses else self._queue).appendleft(job)

    def _free_process(self) -> _Renderer | None:
        """Return the process with the fewest pages that has a free tab; start one when all are full."""
        most = self._options.tabs
        free = [process for process in self._processes if len(process.jobs) < most]
        if free:
            return min(free, key=lambda process: (not process.is_ready, len(process.jobs)))
        if len(self._processes) * most < self.renderers:
            return self._start()
        return None

    def _start(self) -> _Renderer:
        remove_old_homes()
        try:
            process = _Renderer(self._first_messages)
        except OSError as fault:
            raise RendererFault(f"Renderer processes cannot be started: {fault}") from fault
        self._processes.append(process)
        self._selector.register(process.connection, selectors.EVENT_READ, partial(self._on_event, process))
        self._write(process)
        return process

    # The sockets

    def _on_event(self, process: _Renderer, mask: int) -> None:
        if process not in self._processes:
            return  # an earlier event of the same select removed it
        if mask & selectors.EVENT_WRITE:
            self._write(process)
        if mask & selectors.EVENT_READ:
            self._read(process)

    def _send(self, process: _Renderer, message: RunPage) -> None:
        append_frame(process.outgoing, message, self._encode_into)
        self._write(process)

    def _write(self, process: _Renderer) -> None:
        try:
            while process.outgoing or process.answers:
                self._encode_answers(process)
                del process.outgoing[: process.connection.send(process.outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            process.outgoing.clear()  # it has exited; the next read finds the end
            process.answers.clear()
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.outgoing else 0)
        key = self._selector.get_key(process.connection)
        if key.events != events:
            self._selector.modify(process.connection, events, key.data)

    def _encode_answers(self, process: _Renderer) -> None:
        while process.answers and len(process.outgoing) < _MAX_OUTGOING_BYTES:
            _, response = process.answers.popleft()
            append_frame(process.outgoing, AnswerRequest(response), self._encode_into)

    def _read(self, process: _Renderer) -> None:
        try:
            data = process.connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            self._replace(process)
            return
        process.incoming += data
        try:
            for message in take_frames(process.incoming, self._max_message):
                self._handle_message(process, message)
        except (FrameTooLong, msgspec.DecodeError, KeyError):
            self._replace(process, "the renderer process sends what makes no sense")
        self._dispatch_jobs()

    def _handle_message(self, process: _Renderer, message: memoryview) -> None:
        """Handle one message. Raises KeyError for one about a page that the process does not have."""
        if not message:
            process.is_ready, self._failed_starts = True, 0
            return
        match self._decode(message):
            case AskRequest(request):
                self._take_request(process, request)
            case FinishPage(page):
                del process.jobs[page.id]
                self._forget_requests(process, page.id)
                self._results.append(page)
            case LosePages(jobs, reason, is_suspicious, is_tainted):
                lost = [process.jobs.pop(number) for number in jobs]
                for number in jobs:
                    self._forget_requests(process, number)
                if is_suspicious:
                    self._lose(lost, reason, is_tainted=is_tainted)
                else:
                    for job in reversed(lost):
                        self._put_back(job)

    def _take_request(self, process: _Renderer, request: PageRequest) -> None:
        if request.job not in process.jobs:
            raise KeyError(request.job)
        self._last_number += 1
        self._asked[self._last_number] = process, request.id
        process.asked[self._last_number] = request.job
        self._requests.append(msgspec.structs.replace(request, id=self._last_number))

    def _forget_requests(self, process: _Renderer, page: int) -> None:
        """Drop the requests and answers of a page that needs none any more."""
        for number in [number for number, job in process.asked.items() if job == page]:
            del self._asked[number], process.asked[number]
        process.answers = deque(answer for answer in process.answers if answer[0] != page)

    # Deaths

    def _lose(self, jobs: list[_PageJob], reason: str, *, is_tainted: bool = False) -> None:
        """Answer for a page that was alone in a browser that died, or give each of several another try, alone.

        Where a page before them may have damaged the browser, a page that was alone gets another try too.
        """
        for job in jobs:
            job.losses += 1
            if job.losses > 1 or (len(jobs) == 1 and not is_tainted):
                self._results.append(RenderedPage(job.job.id, Outcome.RENDERER_CRASHED, reason))
            else:
                self._suspects.append(job)

    def _remove(self, process: _Renderer) -> None:
        self._processes.remove(process)
        self._selector.unregister(process.connection)
        for number in process.asked:
            del self._asked[number]
        process.asked.clear()

    def _replace(self, process: _Renderer, fault: str = "") -> None:
        """Answer for the pages of a process that exited, or kill it for `fault`. The next page starts another."""
        self._remove(process)
        code, error = process.terminate(timeout=0 if fault else _EXIT_SECONDS)
        detail = f": {error}" if error and code >= 0 else ""
        reason = fault or f"the renderer process {describe_exit(code)}{detail}"
        if process.is_ready:
            self._lose(list(process.jobs.values()), reason)
        else:
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                raise RendererFault(f"Browsers cannot be started: {reason}")
            self._queue.extendleft(reversed(process.jobs.values()))
        self._dispatch_jobs()
