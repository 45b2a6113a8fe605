"""Measuring programs from outside, in turn, so that the machine's moods hit all of them alike.

A contestant is a command that does the work once and ends. Wall time is that of the whole process, start to end; CPU
that of it and its children; memory is the proportional set size (PSS) of all its processes together, at its highest.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SAMPLE_SECONDS = 0.5  # looking costs some milliseconds of the cores that are measured


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
    most_runs: int = 1_000_000  # in quick mode: the slow run once


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
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        complaints.seek(0)
        if process.returncode not in contestant.fine:
            sys.exit(f"{contestant.name} ended with code {process.returncode}:\n{complaints.read().decode()[-4000:]}")
        pages = contestant.pages(output.read(), folder)
    return Run(
        contestant=contestant.name,
        pages=pages,
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        megabytes=memory.peak() / 1e6,
    )


def in_turn(contestants: Sequence[Contestant], url: str, runs: int, *, quick: bool = False) -> list[Run]:
    """All of them, one after the other, then all of them again; each in a folder of its own."""
    measured: list[Run] = []
    for number in range(runs):
        for contestant in contestants:
            if quick and number >= contestant.most_runs:
                continue
            with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
                measured.append(measure(contestant, url, Path(folder)))
            tell(f"{number + 1}/{runs} {measured[-1]}")
    return measured


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
