"""The n-th call to the kernel fails: no space, a broken disk, no file handles, no memory, in every command.

Each command ends with a sentence and exit code 2, or does its work all the same. Nothing that was stored is lost, and
the next run works.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
import pytest

from conftest import skip_or_fail
from faults import system_calls
from faults.crashed_web import HOST_PAGES, VISITS, StoredFacts, check_store, check_web, memory_folder
from faults.failing_commands import FAILURES, FailingRun, RunResult
from helpers.cli.commands import environment, gossamer
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).resolve().parents[1]
PAGES = 6
FACTOR = 30  # from one n to the next in `make test` ...
SLOW_NUMBERS = (5, 150)  # ... except in commands that start processes
FULL_FACTOR = 1.3  # in `make test-full`: 1, 2, 3, 4, 6, 8, 11 ...
# Python and NumPy forget some MemoryErrors, and raise a SystemError with one of these texts. The compiler of Python
# crashes after the last one; an installation has compiled modules.
FORGOTTEN_ERRORS = (
    "returned NULL without setting an exception",
    "error return without exception set",
    "Exception ignored on removing the last compiler stack item",
)
FIRST = {"MemoryError": 40}  # the first n; the first allocations only parse the command line
NO_FAILURE = 1 << 40
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a fork loses all other threads


class Case(NamedTuple):
    """A command and how to run it on a web."""

    arguments: tuple[str, ...]
    is_server: bool = False
    writes: bool = False  # changes the web
    is_slow: bool = False  # starts processes


SITE, OTHER, WEB, OUT, ARCHIVE = "{site}", "{other}", "{folder}/web", "{folder}/out{run}", "{archive}"
STORE = ("--store", WEB)
CASES = {
    "crawl": Case(("crawl", SITE, *STORE, "--delay", "0", "--revisit", "--all", "--quiet"), writes=True, is_slow=True),
    "import": Case(("import", ARCHIVE, *STORE), writes=True, is_slow=True),
    "index": Case(("index", *STORE), writes=True),
    "rebuild": Case(("index", "--rebuild", *STORE), writes=True),
    "rank": Case(("rank", *STORE), writes=True),
    "forget": Case(("forget", OTHER, "--yes", *STORE), writes=True),
    "copy": Case(("copy", WEB, OUT)),
    "search": Case(("search", "word1 word2", *STORE)),
    "word": Case(("word", "word1", *STORE)),
    "page": Case(("page", SITE, *STORE)),
    "status": Case(("status", *STORE)),
    "hosts": Case(("hosts", *STORE)),
    "errors": Case(("errors", *STORE)),
    "report": Case(("report", "links", *STORE)),
    "shape": Case(("shape", *STORE)),
    "related": Case(("related", SITE, *STORE)),
    "crawlers": Case(("crawlers", *STORE)),
    "config": Case(("config", "show", *STORE)),
    "export resources": Case(("export", "resources", *STORE, "--out", f"{OUT}.csv")),
    "export links": Case(("export", "links", *STORE, "--out", f"{OUT}.parquet")),
    "export words": Case(("export", "words", *STORE, "--out", f"{OUT}.jsonl")),
    "export graph": Case(("export", "graph", *STORE, "--out", f"{OUT}.gexf")),
    "export picture": Case(("export", "picture", *STORE, "--out", f"{OUT}.svg")),
    "export warc": Case(("export", "warc", *STORE, "--out", f"{OUT}.warc.gz")),
    "export files": Case(("export", "files", *STORE, "--out", OUT)),
    "serve": Case(("serve", *STORE, "--port", "0", "--json"), is_server=True),
}


class Commands:
    """A process with all modules loaded that runs commands in forks of itself."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.failing_commands"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment({"PYTHONPATH": str(TESTS), **ONE_THREAD, "PYTHONHASHSEED": "0"}),
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()  # no command is under way, except after a timeout of the test

    def run(self, run: FailingRun) -> RunResult:
        """Run a command and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(run).decode() + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process with the commands died"
        return msgspec.json.decode(line, type=RunResult)


class World(NamedTuple):
    """A web with two sites, and what its commands need."""

    web: Path
    names: dict[str, str]  # placeholders in arguments
    facts: StoredFacts
    commands: Commands
    scratch: Path


def pages(other: str, version: int = 1) -> dict[str, str | SiteResponse]:
    return {
        f"/{number}"
        if number
        else "/": f"<title>page {number} version {version}</title><p>word{number} word1 word2</p>"
        f'<a href="/{number + 1}">next {number}</a> <a href="{other}{number}">other</a>'
        for number in range(PAGES)
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if not system_calls.supported():
        skip_or_fail("system calls can fail on Linux on x86-64 or ARM only")
    folder = tmp_path_factory.mktemp("sound")
    web, archive = folder / "web", folder / "archive.warc.gz"
    with (
        SiteServer({}) as site,
        SiteServer({}, "127.0.0.2") as other,
        Commands() as commands,
        memory_folder() as scratch,
    ):
        site.pages, other.pages = pages(other.url), pages(site.url)
        for arguments in (
            ("crawl", site.url, other.url, "--delay", 0),
            ("rank",),
            ("export", "warc", "--out", archive),
        ):
            done = gossamer(*arguments, "--store", web)
            assert done.returncode == 0, done.stderr
        with closing(sqlite3.connect(web / "web.db")) as db:
            facts = StoredFacts(visits=frozenset(db.execute(VISITS)))
            assert db.execute(HOST_PAGES, (other.authority,)).fetchone() == (PAGES,)
        site.pages = pages(other.url, 2)
        yield World(
            web, {"site": site.url, "other": other.authority, "archive": str(archive)}, facts, commands, scratch
        )


class Attempt:
    """A copy of the web in a folder of its own, on which a command runs."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._case = world, CASES[name]
        base = Path(tempfile.mkdtemp(dir=world.scratch))
        self._base, self.folder = base, base / "folder"
        self.folder.mkdir()
        shutil.copytree(world.web, self.folder / "web")
        self._runs = 0
        self._facts = world.facts
        if name == "forget":
            self._facts = self._facts._replace(forgetting=frozenset({world.names["other"]}))

    def run(self, failure: str, nth: int) -> RunResult:
        self._runs += 1
        names = {**self._world.names, "folder": str(self.folder), "run": str(self._runs)}
        arguments = [part.format(**names) for part in self._case.arguments]
        run = FailingRun(arguments, str(self.folder), failure, nth, ends_with_output=self._case.is_server)
        return self._world.commands.run(run)

    @property
    def stderr(self) -> str:
        return self._base.joinpath("err").read_text()

    def check_end(self, result: RunResult) -> None:
        """Check that the command worked, or ended with a sentence."""
        if any(text in self.stderr for text in FORGOTTEN_ERRORS):
            return
        assert "Traceback" not in self.stderr, self.stderr
        if result.status:
            assert result.status == 2, (result, self.stderr)
            assert self.stderr.strip().splitlines()[-1].startswith("gossamer: "), self.stderr

    def check_next_run(self, failure: str) -> None:
        """Run the command again without a failure, then compare all parts of the web."""
        again = self.run(failure, NO_FAILURE)
        unknown = "is not a host of this web" in self.stderr  # forgotten before the failure
        assert again.status == 0 or unknown, self.stderr
        check_web(self.folder / "web", self._facts)

    def check_last_run(self, result: RunResult) -> None:
        """Check the run that ended before its n-th call, after all others."""
        assert result.status == 0, self.stderr
        check_store(self.folder / "web", self._facts)

    def close(self) -> None:
        shutil.rmtree(self._base, ignore_errors=True)  # a thread of Tantivy may still write files


def check_failures(world: World, name: str, failure: str, numbers: Iterator[int]) -> int:
    """Let the n-th call fail for these n, until the command ends before; return how often it failed.

    A command that changes the web gets a new copy for each n. The others share one, and the last run must still work.
    """
    faults, runs, attempt = [], 0, Attempt(world, name)
    for nth in numbers:
        result = attempt.run(failure, nth)
        if not result.failed:
            attempt.check_last_run(result)
            break
        runs += 1
        try:
            attempt.check_end(result)
            if CASES[name].writes:
                attempt.check_next_run(failure)
        except Exception as fault:  # noqa: BLE001 - reported below with its call
            faults.append(f"{name}, {failure}, call {nth} ({result.failed}): {type(fault).__name__}: {fault}")
        if CASES[name].writes:
            attempt.close()
            attempt = Attempt(world, name)
    attempt.close()
    assert not faults, f"{len(faults)} of {runs}:\n" + "\n".join(faults)
    return runs


def growing(first: int, factor: float) -> Iterator[int]:
    number = first
    while True:
        yield number
        number = max(number + 1, int(number * factor))


def require(failure: str) -> None:
    """Skip the test if this failure cannot be made here."""
    if failure == "MemoryError" and find_spec("_testcapi") is None:
        skip_or_fail("Python lacks its module _testcapi, which lets allocations fail")


def failures_of(name: str) -> list[str]:
    """Return the failures for a command; a crawl waits on a full disk, so its disk is full only once."""
    return [one for one in FAILURES if one != ("ENOSPC" if name == "crawl" else "ENOSPC once")]


EVERY = [(name, failure) for name in CASES for failure in failures_of(name)]
# `make test` fails the disk in every command, file handles and memory in these.
WITH_ALL_FAILURES = {"index", "rank", "forget", "search", "status", "export resources", "serve"}
SAMPLE = [pair for pair in EVERY if pair[0] in WITH_ALL_FAILURES or pair[1] not in {"EMFILE", "MemoryError"}]


@pytest.mark.parametrize(("name", "failure"), SAMPLE)
def test_a_command_whose_nth_call_fails_ends_with_a_sentence(world: World, name: str, failure: str) -> None:
    require(failure)
    numbers = iter(SLOW_NUMBERS) if CASES[name].is_slow else growing(FIRST.get(failure, 1), FACTOR)
    check_failures(world, name, failure, numbers)


@pytest.mark.full
@pytest.mark.parametrize(("name", "failure"), EVERY)
def test_a_command_ends_with_a_sentence_whichever_call_fails(world: World, name: str, failure: str) -> None:
    require(failure)
    assert check_failures(world, name, failure, growing(1, FULL_FACTOR))
