"""Run commands of which the n-th call to the kernel fails, each in a fork of this process, which has all modules.

It reads one `FailingRun` in JSON from each line of standard input, and answers each with a line: `RunResult`.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import NamedTuple

import msgspec

from faults.system_calls import SystemCall, run_watched
from gossamer.cli import main
from helpers.patience import PATIENCE

FIRST_ALLOCATIONS = 20  # of Python until the command catches errors
MOST_ALLOCATIONS = 200_000  # of Python that may fail; most commands need more
WRITES = ["write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate"]
SYNCS = ["fsync", "fdatasync"]
READS = ["read", "pread64"]
SERVER_SECONDS = 60.0  # until a server without output is stopped
NAMES = ["open", "openat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "unlink", "unlinkat"]
NAME_ARGUMENTS = {"open": (0, None), "rename": (0, None), "mkdir": (0, None), "unlink": (0, None)}
NEED_SPACE = ["open", "openat", "mkdir", "mkdirat", "rename", "renameat", "renameat2"]
PRELOADED = ("tantivy", "numpy", "scipy.sparse", "rich.console", "gossamer.index.tantivy", "gossamer.search.service",
             "gossamer.graph.ranking.rank_web", "gossamer.graph.pictures.draw", "gossamer.web.app", "gossamer.start",
             "gossamer.files.import_pages", "gossamer.files.export_tables", "gossamer.files.export_warc",
             "gossamer.graph.reports.registry", "gossamer.library", "gossamer.indexing", "matplotlib.figure",
             "uvicorn", "pyarrow.parquet", "networkit")  # fmt: skip


class Failure(NamedTuple):
    """A kind of failure: the calls that fail, with which error, and where."""

    calls: list[str]
    error: int
    in_folder: bool  # only calls on files below the folder of the run
    lasts: bool  # later calls fail too


FAILURES = {
    "ENOSPC": Failure([*WRITES, *NEED_SPACE], errno.ENOSPC, in_folder=True, lasts=True),
    "ENOSPC once": Failure([*WRITES, *NEED_SPACE], errno.ENOSPC, in_folder=True, lasts=False),
    "EIO": Failure([*WRITES, *SYNCS, *READS, *NAMES], errno.EIO, in_folder=True, lasts=False),
    "EMFILE": Failure(["open", "openat", "socket", "pipe2"], errno.EMFILE, in_folder=False, lasts=True),
    "MemoryError": Failure([], errno.ENOMEM, in_folder=False, lasts=False),  # an allocation of Python, not a call
}


class FailingRun(msgspec.Struct):
    """A command and the call that fails in it."""

    arguments: list[str]
    folder: str  # the run changes files here only; its output goes to the files `out` and `err` beside it
    failure: str  # a name in FAILURES
    nth: int
    ends_with_output: bool = False  # a server: its first output stops it


class RunResult(msgspec.Struct):
    """How a run ended."""

    status: int  # exit code; negative: the signal that ended it
    calls: int  # that could have failed
    failed: str  # the first call that failed; empty if there were too few


class FailingCalls:
    """Counts the calls that may fail, and fails those from the n-th on."""

    def __init__(self, run: FailingRun) -> None:
        self._run, self._failure = run, FAILURES[run.failure]
        self._folder = Path(run.folder)
        self._output = self._folder.with_name("out")
        self._process = 0  # of the command
        self.calls, self.failed = 0, ""

    def decide(self, call: SystemCall) -> int:
        if self._run.ends_with_output and call.name == "write" and call.file() == self._output:
            os.kill(call.thread, signal.SIGTERM)
        if not self._may_fail(call):
            return 0
        self.calls += 1
        if self.calls < self._run.nth or (self.calls > self._run.nth and not self._failure.lasts):
            return 0
        self.failed = self.failed or f"{call.name} {self._target(call) or ''}"
        return self._failure.error

    def _may_fail(self, call: SystemCall) -> bool:
        if call.name not in self._failure.calls:
            return False
        if not self._failure.in_folder:  # each process has file handles of its own
            self._process = self._process or call.process()
            return call.process() == self._process
        path = self._target(call)
        if path is None or not path.is_relative_to(self._folder):
            return False
        return self._failure.error != errno.ENOSPC or not call.name.startswith("open") or not path.exists()

    @staticmethod
    def _target(call: SystemCall) -> Path | None:
        if call.name in {"socket", "pipe2", "mmap", "brk"}:
            return None
        if call.name in NAMES:
            return call.path(*NAME_ARGUMENTS.get(call.name, (1, 0)))
        return call.file()


def redirect_output(run: FailingRun) -> None:
    """Send the output of this process to the files beside the folder of the run."""
    folder = Path(run.folder)
    for name, handle in (("out", 1), ("err", 2)):
        os.dup2(os.open(folder.with_name(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), handle)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def run_command(run: FailingRun) -> int:
    """Run the command in this process."""
    if run.ends_with_output:  # uvloop loses a task at a MemoryError in it, so that there may be no output
        ender = threading.Timer(SERVER_SECONDS, os.kill, (os.getpid(), signal.SIGTERM))
        ender.daemon = True
        ender.start()
    if run.failure == "MemoryError" and run.nth <= MOST_ALLOCATIONS:
        import _testcapi  # type: ignore[import-not-found]  # some systems package it apart from Python

        nth = FIRST_ALLOCATIONS + run.nth
        _testcapi.set_nomemory(nth, nth + 1)
    try:
        main.run(run.arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 70
    except BaseException as fault:  # noqa: BLE001 - printed, as the interpreter does
        if isinstance(fault.__context__, SystemExit):  # the command had ended already
            return int(fault.__context__.code or 0)
        traceback.print_exc()
        return 1
    finally:
        sys.stderr.flush()


def answer(run: FailingRun) -> RunResult:
    calls = FailingCalls(run)
    watched = [*FAILURES[run.failure].calls, "write"]
    status = run_watched(watched, lambda: run_command(run), calls.decide, PATIENCE, lambda: redirect_output(run))
    if run.failure == "MemoryError" and run.nth <= MOST_ALLOCATIONS:
        calls.failed = f"allocation {run.nth}"
    return RunResult(status, calls.calls, calls.failed)


if __name__ == "__main__":
    for module in (*PRELOADED, *{module for group in main.COMMANDS.values() for _, module, _ in group}):
        importlib.import_module(module)
    for line in sys.stdin:
        result = answer(msgspec.json.decode(line, type=FailingRun))
        print(msgspec.json.encode(result).decode(), flush=True)
