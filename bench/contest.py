"""Measuring programs from outside, in turn, so that the machine's moods hit all of them alike.

A contestant is a command that does the work once and ends. Wall time is that of the whole process, start to end; CPU
that of it and its children; memory is the proportional set size (PSS) of all its processes together, at its highest.
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

# Looking takes 11 ms of a core for a crawl with parsers, which has no core to spare; who leaves one idle pays nothing.
SAMPLE_SECONDS = 1.0
LONGEST_SECONDS = 1_200.0  # of one run; who takes longer has failed


class Failed(SystemExit):
    """A contestant did not do its work. Who has others to run catches it; else the program ends with its words."""


def told_pages(output: bytes, _folder: Path) -> int:
    """The pages of a program whose last line of output is JSON."""
    return int(json.loads(output.splitlines()[-1])["pages"])


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A program that does the work once."""

    name: str
    command: Callable[[str, Path], list[str]]  # by the URL to begin at and a folder of its own, which is empty
    pages: Callable[[bytes, Path], int] = told_pages  # by its output and that folder
    environment: Mapping[str, str] = field(default_factory=dict)
    fine: frozenset[int] = frozenset({0})  # exit codes of a run that went well
    does: str = ""  # and does not do, for the table
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
    """Some measurements of one thing."""

    median: float
    least: float
    most: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        some = sorted(values)
        return cls(median=statistics.median(some), least=some[0], most=some[-1], runs=len(some))

    def shown(self, form: str = ",.0f") -> str:
        """Median, and from least to most when there are several."""
        if self.runs < 2:
            return f"{self.median:{form}}"
        return f"{self.median:{form}} ({self.least:{form}} to {self.most:{form}})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """How many times theirs ours is, run by run: what ran one after the other met the same machine."""
    together = min(len(ours), len(theirs))
    return Spread.of(one / other for one, other in zip(ours[:together], theirs[:together], strict=True))


def measure(contestant: Contestant, url: str, folder: Path) -> Run:
    """Let a contestant do its work, in an empty folder that is left to be looked at."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        started = time.monotonic()
        process = subprocess.Popen(
            contestant.command(url, folder), stdin=subprocess.DEVNULL, stdout=output, stderr=complaints,
            env={**os.environ, **contestant.environment}, cwd=folder,
        )  # fmt: skip
        memory = PeakMemory(process.pid)
        usage = _waited_for(process)
        seconds = time.monotonic() - started
        output.seek(0)
        complaints.seek(0)
        if process.returncode not in contestant.fine:
            raise Failed(f"{contestant.name} ended with code {process.returncode}:\n{_last_words(complaints.read())}")
        pages = contestant.pages(output.read(), folder)
    if not pages:
        raise Failed(f"{contestant.name} says that it has visited nothing")
    return Run(
        contestant=contestant.name,
        pages=pages,
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        megabytes=memory.peak() / 1e6,
    )


def _waited_for(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for its end, which comes when it has taken too long, or we are interrupted, for all that it has started."""
    too_long = threading.Timer(LONGEST_SECONDS, _end, (process.pid,))
    too_long.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        _end(process.pid)
        process.wait()
        raise
    finally:
        too_long.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _end(pid: int) -> None:
    """End a process and all its descendants, wherever they are."""
    for member in family(pid):
        with suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)


def _last_words(said: bytes) -> str:
    return said.decode("utf-8", "replace")[-4000:]


def in_turn(
    contestants: Sequence[Contestant], url: str, runs: int, patience: float
) -> tuple[list[Run], dict[str, str]]:
    """All of them, one after the other, then all of them again; each in a folder of its own.

    So many times, but for the slow: each has so many seconds for all its runs, and runs once in any case. Gives the
    runs, and why somebody failed; the others go on without them.
    """
    measured: list[Run] = []
    faults: dict[str, str] = {}
    allowed = {each.name: runs for each in contestants}
    for number in range(runs):
        for contestant in contestants:
            if number >= allowed[contestant.name]:
                continue
            tell(f"{number + 1}/{allowed[contestant.name]} {contestant.name} ...")
            with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
                try:
                    run = measure(contestant, url, Path(folder))
                except Failed as fault:
                    faults[contestant.name], allowed[contestant.name] = str(fault), 0
                    tell(str(fault))
                    continue
            measured.append(run)
            allowed[contestant.name] = max(1, min(allowed[contestant.name], int(patience // run.seconds)))
            tell(f"    {run.pages:,} pages in {run.seconds:.1f} s: {run.pages_per_second:,.0f} a second")
    return measured, faults


class PeakMemory:
    """Watches the memory of a process and its descendants until it ends."""

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
        """The highest it was, in bytes."""
        self._thread.join()
        return self._peak


def family(pid: int) -> list[int]:
    """A process and all its descendants; nothing when it has ended."""
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def proportional_set_size(pid: int) -> int:
    """PSS of a process and all its descendants, in bytes; those that end meanwhile count nothing."""
    total = 0
    for member in family(pid):
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def tell(what: str) -> None:
    """Say how far it is."""
    print(what, file=sys.stderr, flush=True)


def end_in_order() -> None:
    """Let SIGTERM be like Ctrl-C, so that servers and files go; `timeout` sends it twice, and once must do."""

    def once(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, once)
