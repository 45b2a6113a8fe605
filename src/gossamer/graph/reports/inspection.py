"""Inspects stored pages in processes with limited memory and time, because pages are hostile.

This process reads the store, in order. It sends each page to an idle process (`inspector`), which answers with its
findings or a failure. A process that exits or takes too long is replaced.
"""

from __future__ import annotations

import queue
import signal
import subprocess
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.cores import available_cores
from gossamer.errors import ParserFault
from gossamer.graph.reports.inspector import MAX_SECONDS, MEMORY_MIB, InspectionJob, InspectionResult
from gossamer.processes.exit_report import describe_exit, wait_or_kill
from gossamer.processes.framing import encode_frame, read_frame
from gossamer.processes.start import start_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

JOBS_AHEAD = 4  # pages read ahead for each process
_EXIT_SECONDS = 2.0  # that a process has to exit by itself


def inspect_pages(jobs: Iterable[InspectionJob], processes: int | None = None) -> Iterator[InspectionResult]:
    """Yield the result of each page, in the order of the jobs."""
    process_count = processes or available_cores()
    idle: queue.SimpleQueue[_Inspector] = queue.SimpleQueue()
    inspectors = [_Inspector() for _ in range(process_count)]
    for inspector in inspectors:
        idle.put(inspector)
    try:
        with ThreadPoolExecutor(process_count) as threads:
            yield from _ordered_results(threads, idle, jobs, process_count * JOBS_AHEAD)
    finally:
        for inspector in inspectors:
            inspector.stop()


def _ordered_results(
    threads: ThreadPoolExecutor, idle: queue.SimpleQueue[_Inspector], jobs: Iterable[InspectionJob], max_ahead: int
) -> Iterator[InspectionResult]:
    ahead: deque[Future[InspectionResult]] = deque()
    try:
        for job in jobs:
            ahead.append(threads.submit(_inspect_page, idle, job))
            if len(ahead) > max_ahead:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:  # the caller may stop early; pages in work are still finished, in some milliseconds
        for future in ahead:
            future.cancel()


def _inspect_page(idle: queue.SimpleQueue[_Inspector], job: InspectionJob) -> InspectionResult:
    inspector = idle.get()
    try:
        return inspector.inspect(job)
    finally:
        idle.put(inspector)


class _Inspector:
    """One process, started with its first job."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._decode = msgspec.msgpack.Decoder(InspectionResult).decode

    def inspect(self, job: InspectionJob) -> InspectionResult:
        process = self._process = self._process or _start_process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(encode_frame(msgspec.msgpack.encode(job)))
            process.stdin.flush()
            answer = read_frame(process.stdout)
        except BrokenPipeError:
            answer = None
        if answer is not None:
            return self._decode(answer)
        return InspectionResult(job.page, (), _describe_failure(self.stop()))

    def stop(self) -> int:
        """Let the process exit, kill it when that takes too long, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        with suppress(BrokenPipeError):  # it has exited with bytes left to write
            process.stdin.close()
        return wait_or_kill(process, _EXIT_SECONDS)


def _start_process() -> subprocess.Popen[bytes]:
    try:
        process = start_python(
            "-m", "gossamer.graph.reports.inspector",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        raise ParserFault(f"No process could be started to inspect pages ({error.strerror}).") from error
    assert process.stdout is not None
    if read_frame(process.stdout) is None:  # its first frame says that it is ready
        process.communicate()
        raise ParserFault(
            "Processes that inspect pages do not start; see why with `python -m gossamer.graph.reports.inspector`."
        )
    return process


def _describe_failure(code: int) -> str:
    if code == -signal.SIGALRM:
        return f"it takes longer than {MAX_SECONDS:.0f} s"
    return f"the process that inspected it {describe_exit(code)} (it may use {MEMORY_MIB} MiB)"
