"""Faults of the machine: damaged files, a read-only disk, few file handles, a clock that jumps, killed processes.

Other files test a killed crawl (`test_kill`), index (`test_index_kill`, `test_indexing`) and parser (`test_parsers`), a
full disk (`test_sqlite_full`, `test_control`), a failing network (`test_hostile_network`), parsers out of memory
(`test_hostile_crawl`), and a damaged database (`test_error_messages`).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

from helpers.cli.commands import FAST, command, crawl, environment, gossamer, query
from helpers.patience import PATIENCE, until
from webs.generated import GeneratedWeb, Shape
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGES = 60
MANY_PAGES = 10_000  # more than a crawl visits in the second before its kill
CLOCK = Path(__file__).resolve().parents[1] / "faults"


@pytest.fixture(scope="module")
def site() -> Iterator[GeneratedWeb]:
    with GeneratedWeb(Shape(pages=PAGES)) as web:
        yield web


@pytest.fixture(scope="module")
def sound(site: GeneratedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crawl an intact web; tests damage copies of it."""
    store = tmp_path_factory.mktemp("sound") / "web"
    crawl(site.url, store, *FAST)
    return store


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """Check that a command failed with one sentence, and return it."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("gossamer: "), done.stderr
    assert "Traceback" not in done.stderr
    return line


# -- a damaged index ---------------------------------------------------------------------------------------------------


def garble(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(file.stat().st_size))


def halve(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def first(index: Path, pattern: str) -> Path:
    return min(index.glob(pattern))


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "garbage in the words": ("1/pages/*.term", garble),
    "half of the postings": ("1/pages/*.idx", halve),
    "no positions": ("1/pages/*.pos", Path.unlink),
    "garbage in the documents": ("1/pages/*.store", garble),
    "no list of segments": ("1/pages/meta.json", Path.unlink),
    "a garbled list of segments": ("1/pages/meta.json", garble),
    "anchors without positions": ("1/anchors/*.pos", Path.unlink),
    "half of the word table": ("1/words.db", halve),
    "garbage in the word table": ("1/words.db", garble),
    "no pointer to the current index": ("current", Path.unlink),
}
IN_EVERY_RUN = {"garbage in the words", "no positions", "garbage in the word table", "no list of segments"}


@pytest.mark.parametrize(
    "damage", [pytest.param(name, marks=() if name in IN_EVERY_RUN else pytest.mark.full) for name in DAMAGES]
)
def test_a_damaged_index_is_reported_and_a_rebuild_repairs_it(sound: Path, tmp_path: Path, damage: str) -> None:
    store = tmp_path / "web"
    shutil.copytree(sound, store)
    pattern, damage_file = DAMAGES[damage]
    damage_file(first(store / "index", pattern))
    search = ("search", "amber basin", "--json", "--store", store)
    assert "gossamer index" in sentence(gossamer(*search))
    healed = gossamer("index", "--rebuild", "--store", store)
    assert healed.returncode == 0, healed.stderr
    assert hits(store) == hits(sound)


def hits(store: Path) -> list[str]:
    done = gossamer("search", "amber basin", "--json", "--store", store)
    assert done.returncode == 0, done.stderr
    return [hit["url"] for hit in json.loads(done.stdout)["hits"]]


@pytest.mark.parametrize(
    "damage", ["half of the postings", pytest.param("garbage in the word table", marks=pytest.mark.full)]
)
def test_a_crawl_continues_with_a_damaged_index(site: GeneratedWeb, sound: Path, tmp_path: Path, damage: str) -> None:
    store = tmp_path / "web"
    shutil.copytree(sound, store)
    pattern, damage_file = DAMAGES[damage]
    damage_file(first(store / "index", pattern))
    done = gossamer("crawl", site.url, "--store", store, "--revisit", "--all", *FAST)
    assert done.returncode == 0, done.stderr
    assert "The index could not follow" in done.stderr
    assert "gossamer index --rebuild" in done.stderr
    assert "Traceback" not in done.stderr


# -- a disk that cannot be written -------------------------------------------------------------------------------------


def test_a_web_on_a_read_only_disk_can_be_read_but_not_written(site: GeneratedWeb, sound: Path, tmp_path: Path) -> None:
    from conftest import skip_or_fail  # not above, because this file also runs as a script, without conftest

    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", sys.executable, __file__, str(sound), site.url],
        check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    if "unshare" in done.stderr or "mount: " in done.stderr:
        skip_or_fail(f"nothing can be mounted: {done.stderr}")
    assert done.returncode == 0, done.stdout + done.stderr


def on_a_read_only_disk(store: Path, url: str) -> None:
    """Check that reading works and that writing is refused with one sentence."""
    for mount in (["--bind", store, store], ["-o", "remount,ro,bind", store]):
        subprocess.run(["mount", *map(str, mount)], check=True)
    for reading in (("status",), ("page", url), ("search", "amber"), ("report", "broken")):
        done = gossamer(*reading, "--store", store)
        assert done.returncode in {0, 1}, (reading, done.stderr)
        assert done.stdout, reading
    for writing in (("crawl", url), ("rank",), ("index", "--rebuild"), ("forget", url, "--yes")):
        sentence(gossamer(*writing, "--store", store))


# -- no file handles left ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("handles", [30, 64])
def test_a_crawl_with_few_file_handles_visits_everything(site: GeneratedWeb, tmp_path: Path, handles: int) -> None:
    store = tmp_path / "web"
    process = start_crawl(site.url, store, "--delay", 0, "--connections", 100, handles=handles)
    stderr = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 0, stderr
    assert query(store, "SELECT state, count(*) FROM resources GROUP BY 1") == [("visited", PAGES)], stderr


@pytest.mark.parametrize("handles", [12, 20])
def test_a_crawl_with_too_few_file_handles_reports_it(site: GeneratedWeb, tmp_path: Path, handles: int) -> None:
    process = start_crawl(site.url, tmp_path / "web", *FAST, handles=handles)
    stderr = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 2, stderr
    assert "Too many open files" in stderr
    assert "Traceback" not in stderr


def start_crawl(url: str, store: Path, *arguments: object, handles: int = 1024, **env: str) -> subprocess.Popen[str]:
    line = command("crawl", url, "--store", store, *arguments)
    return subprocess.Popen(
        ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(handles), *line], env=environment(env),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


# -- a clock that jumps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [86_400, -86_400], ids=["a day forward", "a day back"])
def test_a_clock_change_during_a_crawl_has_no_effect(tmp_path: Path, jump: int) -> None:
    store, log, clock_set = tmp_path / "web", tmp_path / "log", tmp_path / "clock set"
    links = "".join(f'<a href="/{number}">x</a>' for number in range(1, PAGES))
    gate = threading.Event()  # so that the clock jumps during the crawl
    pages = {
        f"/{number}": SiteResponse(f"<p>{number}", gate=gate if number > PAGES // 2 else None)
        for number in range(1, PAGES)
    }
    with SiteServer({"/": links, **pages}) as site:
        started = time.time()
        process = start_crawl(
            site.url, store, "--delay", "0.03", "--no-index", "--log-file", log, PYTHONPATH=str(CLOCK),
            CLOCK_JUMP=str(jump), CLOCK_SET=str(clock_set),
        )  # fmt: skip
        until(lambda: len(site.paths()) >= PAGES // 4, "a quarter of the pages")
        jumped = time.time()
        clock_set.touch()
        gate.set()
        stderr = process.communicate(timeout=PATIENCE)[1]
        ended = time.time()
    assert process.returncode == 0, stderr
    assert query(store, "SELECT state, count(*) FROM resources GROUP BY 1") == [("visited", PAGES)]
    assert max(times for (times,) in query(store, "SELECT count(*) FROM visits GROUP BY resource")) == 1
    # A crawl keeps the clock of its start, so its visits do not jump; the last line of its log has the changed clock.
    [(first, last)] = query(store, "SELECT min(visited_at), max(visited_at) FROM visits")
    assert started < first < jumped < last < ended
    end = json.loads(log.read_text().splitlines()[-1])
    assert (end["event"], end["at"] - jump) == ("end", pytest.approx(ended, abs=3_600))


def test_a_crawl_continues_after_one_with_a_clock_a_month_ahead(site: GeneratedWeb, tmp_path: Path) -> None:
    month, store, clock_set = 30 * 86_400, tmp_path / "web", tmp_path / "clock set"
    clock_set.touch()
    ahead = start_crawl(
        site.url, store, *FAST, "--no-index", "--max-pages", 10, PYTHONPATH=str(CLOCK), CLOCK_JUMP=str(month),
        CLOCK_SET=str(clock_set),
    )  # fmt: skip
    stderr = ahead.communicate(timeout=PATIENCE)[1]
    assert ahead.returncode == 0, stderr
    summary = crawl(site.url, store, *FAST, "--max-pages", "none", "--no-index")
    assert (summary["pages"], summary["queued"]) == (PAGES - 10, 0)
    visits = query(store, "SELECT visited_at FROM visits ORDER BY id")
    assert [round((at - time.time()) / 86_400) for (at,) in visits] == [30] * 10 + [0] * (PAGES - 10)


# -- killed processes --------------------------------------------------------------------------------------------------


def test_a_web_is_served_again_after_its_server_was_killed(sound: Path) -> None:
    for _ in range(2):
        with subprocess.Popen(
            command("serve", "--store", sound, "--port", 0, "--json"), env=environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as server:  # fmt: skip
            try:
                assert server.stdout is not None
                ready = json.loads(server.stdout.readline())
                assert ready["control"] is True
                response = httpx.get(f"{ready['url']}api/search", params={"q": "amber basin"}, timeout=PATIENCE).json()
                assert [hit["url"] for hit in response["hits"]] == hits(sound)
            finally:
                server.kill()


@pytest.mark.full
@pytest.mark.timeout(900)
def test_killed_processes_of_a_crawl_lose_no_page(tmp_path: Path) -> None:
    """Kill parser, index and coordinator in turn, each at a random instant."""
    chance, store = random.Random(8), tmp_path / "web"
    with GeneratedWeb(Shape(pages=MANY_PAGES)) as web:
        for kind in ("parser", "index", "crawl") * 4:
            with start_crawl(web.url, store, *FAST, "--revisit", "--all") as process:
                victim = wait_for_process(process, kind)
                time.sleep(chance.uniform(0.0, 1.0))
                assert is_alive(victim), f"the {kind} exited before the kill"
                victim.kill()
                process.terminate()
                process.communicate(timeout=PATIENCE)
        crawl(web.url, store, *FAST)
    assert gossamer("index", "--store", store).returncode == 0
    states = dict(query(store, "SELECT state || ': ' || outcome, count(*) FROM resources GROUP BY 1"))
    assert states.keys() <= {"visited: fetched", "failed: parser crashed"}, states
    assert sum(states.values()) == MANY_PAGES
    assert states.get("failed: parser crashed", 0) <= 4
    counted = json.loads(gossamer("status", "--store", store, "--json").stdout)
    assert counted["documents"] == states["visited: fetched"]


def is_alive(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def wait_for_process(crawl_: subprocess.Popen[str], kind: str) -> psutil.Process:
    """Wait for a process of a crawl and return it: the coordinator, the index or a parser."""
    coordinator = psutil.Process(crawl_.pid)
    if kind == "crawl":
        return coordinator
    module = {"parser": "gossamer.parse.parser_process", "index": "gossamer.indexing"}[kind]
    while crawl_.poll() is None:
        for child in coordinator.children():
            if module in child.cmdline():
                return child
        time.sleep(0.01)
    raise AssertionError(f"the crawl ended before its {kind} started")


if __name__ == "__main__":
    on_a_read_only_disk(Path(sys.argv[1]), sys.argv[2])
