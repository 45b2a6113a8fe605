"""Looking into stored pages, in processes with limited memory and time: pages are hostile, whenever they are parsed.

The store is read here, in order; each page goes to a process (`inspector`) that is free, and comes back as what was
found in it or as why nothing could be. A process that dies or takes too long is replaced.
"""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.cores import available_cores
from gossamer.errors import ParserFault
from gossamer.graph.reports.inspector import LENGTH_BYTES, MAX_SECONDS, MEMORY_MIB, InspectionJob, InspectionResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

JOBS_AHEAD = 4  # pages read ahead for each process
_EXIT_SECONDS = 2.0  # seconds a process has to end by itself


def inspect_pages(jobs: Iterable[InspectionJob], processes: int | None = None) -> Iterator[InspectionResult]:
    """What was found in each page, in the order of the jobs."""
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
    finally:  # when nobody wants the rest, what is being looked into still is, for some milliseconds
        for future in ahead:
            future.cancel()


def _inspect_page(idle: queue.SimpleQueue[_Inspector], job: InspectionJob) -> InspectionResult:
    inspector = idle.get()
    try:
        return inspector.inspect(job)
    finally:
        idle.put(inspector)


class _Inspector:
    """One process, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._decode = msgspec.msgpack.Decoder(InspectionResult).decode

    def inspect(self, job: InspectionJob) -> InspectionResult:
        process = self._process = self._process or _start_process()
        assert process.stdin is not None
        assert process.stdout is not None
        message = msgspec.msgpack.encode(job)
        try:
            process.stdin.write(len(message).to_bytes(LENGTH_BYTES, "big") + message)
            process.stdin.flush()
            size = process.stdout.read(LENGTH_BYTES)
            answer = process.stdout.read(int.from_bytes(size, "big"))
        except BrokenPipeError:
            size = answer = b""
        if len(size) == LENGTH_BYTES and len(answer) == int.from_bytes(size, "big"):
            return self._decode(answer)
        return InspectionResult(job.page, (), _describe_exit(self.stop()))

    def stop(self) -> int:
        """Let the process end, or make it; gives its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        with suppress(BrokenPipeError):  # it is dead, and what was left to write with it
            process.stdin.close()
        try:
            return process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _start_process() -> subprocess.Popen[bytes]:
    try:
        process = subprocess.Popen(
            # -P: what lies in the working directory must not be imported
            [sys.executable, "-P", "-m", "gossamer.graph.reports.inspector"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is for the command
        )
    except OSError as error:
        raise ParserFault(f"No process could be started to look into pages ({error.strerror}).") from error
    assert process.stdout is not None
    if len(process.stdout.read(LENGTH_BYTES)) < LENGTH_BYTES:  # it says so when it is ready
        process.communicate()
        raise ParserFault(
            "Processes to look into pages do not start: try `python -m gossamer.graph.reports.inspector`."
        )
    return process


def _describe_exit(code: int) -> str:
    if code == -signal.SIGALRM:
        return f"it takes longer than {MAX_SECONDS:.0f} s"
    return f"the process that looked into it ended with {code} (it may use {MEMORY_MIB} MiB)"
