"""`forget` killed at many points: the next command that writes or serves finishes it, in index and store."""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer import wiring
from gossamer.model import VisitBatch
from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.sqlite import open_sqlite_store
from helpers.cli.commands import command, environment, gossamer
from helpers.patience import until
from helpers.store.crawl_steps import admit_all, fetched_visit, lease_all, leases, recount, start
from helpers.store.postgres_server import new_location
from helpers.web.browser import AppServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.store.protocol import Store

KEPT, DROPPED = "kept.test", "dropped.test"
PAGES = 30  # of each host
WORD = "secret"  # on every page of DROPPED


def fill(store: Store) -> None:
    """Store the pages of two hosts; no page of the other links to the host to forget, so nothing of it stays known."""
    urls = [f"http://{host}/{number}" for host in (KEPT, DROPPED) for number in range(PAGES)]
    crawler = start(store, *urls)
    visits = []
    for url, lease in leases(lease_all(store, crawler, urls=PAGES)).items():
        target = f"http://{KEPT}/{(urls.index(url) + 1) % PAGES}"
        visits.append(fetched_visit(lease, target, body="public" if KEPT in url else WORD))
    store.submit(crawler, VisitBatch(visits=visits), admit_all, time.time())
    store.leave(crawler)


def index_documents(location: str) -> int:
    """Return how many documents of the index have the word of the host to forget."""
    with closing(wiring.open_index(location)) as index:
        return index.document_frequency(WORD)


def open_web(location: str) -> Store:
    if location.startswith("postgres"):
        return open_postgres_store(parse_postgres_location(location), create=True)
    from pathlib import Path

    return open_sqlite_store(Path(location), create=True)


def kill_forget_after(location: str, seconds: float) -> bool:
    """Run `gossamer forget` and kill it; return whether it was still running."""
    child = subprocess.Popen(
        command("forget", DROPPED, "--yes", "--store", location), env=environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(seconds)
    child.kill()
    return child.wait() == -9


def finish_by_forget(location: str) -> None:
    done = gossamer("forget", DROPPED, "--yes", "--store", location)
    assert done.returncode == 0 or "is not a host of this web" in done.stderr, done.stderr


def finish_by_index(location: str) -> None:
    assert gossamer("index", "--store", location).returncode == 0


def forget_without_index(location: str) -> None:
    """Leave the web as a kill does between the store's commit and the index."""
    with closing(open_web(location)) as store:
        assert store.forget(host=DROPPED) > 0


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a web of two hosts with an index."""
    monkeypatch.setenv("GOSSAMER_LOCAL", str(tmp_path / "local"))
    web = str(tmp_path / "web")
    if request.param == "postgres":
        web = new_location(request.getfixturevalue("postgres"))
    with closing(open_web(web)) as store:
        fill(store)
    environment_ = {"GOSSAMER_LOCAL": str(tmp_path / "local")}
    done = gossamer("index", "--store", web, env=environment_)
    assert done.returncode == 0, done.stderr
    assert index_documents(web) == PAGES
    return web


def test_a_second_forget_finishes_a_killed_one(location: str, tmp_path: Path) -> None:
    forget_without_index(location)
    assert index_documents(location) == PAGES
    env = {"GOSSAMER_LOCAL": str(tmp_path / "local")}
    done = gossamer("forget", DROPPED, "--yes", "--store", location, env=env)
    assert done.returncode == 0, done.stderr
    assert "An earlier `forget` was not finished" in done.stderr
    assert index_documents(location) == 0
    assert gossamer("forget", DROPPED, "--yes", "--store", location, env=env).returncode == 2, "nothing is left"


def test_a_server_finishes_a_killed_forget_when_it_starts(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with closing(open_sqlite_store(web, create=True)) as store:
        fill(store)
    assert gossamer("index", "--store", web).returncode == 0
    forget_without_index(str(web))
    with AppServer(web):
        until(lambda: index_documents(str(web)) == 0, "the index without the host")


def check_kills(tmp_path: Path, kills: int, finish: Callable[[str], None]) -> None:
    sound = tmp_path / "sound"
    with closing(open_sqlite_store(sound, create=True)) as store:
        fill(store)
    assert gossamer("index", "--store", sound).returncode == 0
    shutil.copytree(sound, tmp_path / "calm")
    started = time.monotonic()
    assert gossamer("forget", DROPPED, "--yes", "--store", tmp_path / "calm").returncode == 0
    span = time.monotonic() - started
    for number in range(kills):
        web = tmp_path / f"web{number}"
        shutil.copytree(sound, web)
        kill_forget_after(str(web), span * (number + 1) / (kills + 1))
        finish(str(web))
        with closing(open_web(str(web))) as store:
            hosts = {host.name: host.pages for host in store.hosts()}
            recount(store)
        if hosts.get(DROPPED):
            assert index_documents(str(web)) == PAGES, "killed before the commit: nothing is forgotten"
        else:
            assert index_documents(str(web)) == 0


def test_a_forget_killed_at_any_point_is_finished_by_the_next_forget(tmp_path: Path) -> None:
    check_kills(tmp_path, 6, finish_by_forget)


@pytest.mark.full
def test_a_forget_killed_at_any_point_is_finished_by_the_next_index(tmp_path: Path) -> None:
    check_kills(tmp_path, 20, finish_by_index)
