"""Measure programs from outside and in turn, so that changes of the machine's speed affect all of them.

A contestant is a command that does the work once and exits. Wall time covers the whole process, CPU time also its
children. Memory is the peak proportional set size (PSS) of all its processes together.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    import resource
    from collections.abc import Callable, Iterable, Mapping, Sequence

# A sample takes 11 ms of a core for a crawl with parsers, which uses all cores. Programs that leave a core idle lose
# nothing.
SAMPLE_SECONDS = 1.0
LONGEST_SECONDS = 1_200.0  # of one run; a slower contestant has failed


class ContestantFailed(SystemExit):
    """A contestant did not do its work. Without a handler the program exits with this message."""


def pages_from_json(output: bytes, _folder: Path) -> int:
    """Return the page count of a program whose last line of output is JSON."""
    return int(json.loads(output.splitlines()[-1])["pages"])


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A program that does the work once."""

    name: str
    command: Callable[[str, Path], list[str]]  # from the start URL and an empty folder of its own
    pages: Callable[[bytes, Path], int] = pages_from_json  # from its output and that folder
    environment: Mapping[str, str] = field(default_factory=dict)
    accepted_codes: frozenset[int] = frozenset({0})  # exit codes of a successful run
    does: str = ""  # what it does and omits, for the table
    version: str = ""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run, measured from outside."""

    contestant: str
    pages: int
    seconds: float
    cpu_seconds: float  # of its processes, without the server's
    megabytes: float  # peak PSS of all its processes together

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Several measurements of one quantity."""

    median: float
    least: float
    most: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        some = sorted(values)
        return cls(median=statistics.median(some), least=some[0], most=some[-1], runs=len(some))

    def describe(self, form: str = ",.0f") -> str:
        """Format the median, and the range if there are several."""
        if self.runs < 2:
            return f"{self.median:{form}}"
        return f"{self.median:{form}} ({self.least:{form}} to {self.most:{form}})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return our values divided by theirs, run by run, because consecutive runs met the same machine."""
    together = min(len(ours), len(theirs))
    return Spread.of(one / other for one, other in zip(ours[:together], theirs[:together], strict=True))


def measure(contestant: Contestant, url: str, folder: Path) -> Run:
    """Run a contestant in an empty folder, which stays for inspection."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.monotonic()
        process = subprocess.Popen(
            contestant.command(url, folder), stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
            env={**os.environ, **contestant.environment}, cwd=folder,
        )  # fmt: skip
        memory = PeakMemory(process.pid)
        usage = _wait(process)
        seconds = time.monotonic() - started
        output.seek(0)
        errors.seek(0)
        if process.returncode not in contestant.accepted_codes:
            raise ContestantFailed(f"{contestant.name} ended with code {process.returncode}:\n{_tail(errors.read())}")
        pages = contestant.pages(output.read(), folder)
    if not pages:
        raise ContestantFailed(f"{contestant.name} reports no visited pages")
    return Run(
        contestant=contestant.name,
        pages=pages,
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        megabytes=memory.peak() / 1e6,
    )


def _wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for the process to exit; kill it and its descendants after the time limit or on an interruption."""
    timer = threading.Timer(LONGEST_SECONDS, _kill, (process.pid,))
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        _kill(process.pid)
        process.wait()
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _kill(pid: int) -> None:
    """Kill a process and all its descendants."""
    for member in family(pid):
        with suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)


def _tail(output: bytes) -> str:
    return output.decode("utf-8", "replace")[-4000:]


def in_turn(
    contestants: Sequence[Contestant], url: str, runs: int, patience: float
) -> tuple[list[Run], dict[str, str]]:
    """Run all contestants one after the other, several times, each run in its own folder.

    Each has `patience` seconds for all its runs and gets at least one, so slow ones run less often. Return the runs,
    and the reasons of failures; a failed contestant does not stop the others.
    """
    measured: list[Run] = []
    faults: dict[str, str] = {}
    runs_left = {each.name: runs for each in contestants}
    for number in range(runs):
        for contestant in contestants:
            if number >= runs_left[contestant.name]:
                continue
            print_progress(f"{number + 1}/{runs_left[contestant.name]} {contestant.name} ...")
            with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
                try:
                    run = measure(contestant, url, Path(folder))
                except ContestantFailed as fault:
                    faults[contestant.name], runs_left[contestant.name] = str(fault), 0
                    print_progress(str(fault))
                    continue
            measured.append(run)
            runs_left[contestant.name] = max(1, min(runs_left[contestant.name], int(patience // run.seconds)))
            print_progress(f"    {run.pages:,} pages in {run.seconds:.1f} s: {run.pages_per_second:,.0f} a second")
    return measured, faults


class PeakMemory:
    """Records the peak memory of a process and its descendants until it ends."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while size := proportional_set_size(self._pid):
            self._peak = max(self._peak, size)
            time.sleep(SAMPLE_SECONDS)

    def peak(self) -> int:
        """Return the peak in bytes."""
        self._thread.join()
        return self._peak


def family(pid: int) -> list[int]:
    """Return a process and all its descendants; empty when it has ended."""
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def proportional_set_size(pid: int) -> int:
    """Return the PSS of a process and all its descendants in bytes; those that end meanwhile count 0."""
    total = 0
    for member in family(pid):
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def print_progress(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def exit_cleanly_on_sigterm() -> None:
    """Treat SIGTERM like Ctrl-C once, so that servers and files are removed; `timeout` sends it twice."""

    def once(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, once)
