"""The search process behind a server: deadline, a bounded queue, deaths, and a web that is replaced or damaged."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import psutil
import pytest

from gossamer.errors import IndexFault, IndexMissing, StoreMissing
from gossamer.index.build import update_index
from gossamer.store.sqlite import open_sqlite_store
from gossamer.web.http.sessions import TooBusy
from gossamer.web.search import facets, search_client
from gossamer.web.search.search_client import SearchClient, SearchProcessEnded, SearchTimeout
from gossamer.web.search.search_session import SearchSession
from gossamer.wiring import open_index_writer
from helpers.patience import PATIENCE, slowness, until
from helpers.store.small_web import build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def location(tmp_path: Path) -> Path:
    make_web(tmp_path / "web")
    return tmp_path / "web"


def make_web(location: Path) -> None:
    with closing(build(location)) as store:
        update_index(store, lambda: open_index_writer(str(location)))


def complete(client: SearchClient) -> asyncio.Future[object]:
    return asyncio.ensure_future(client.ask("complete", "ho", 5, False))


async def is_answering(client: SearchClient) -> bool:
    return bool(await client.ask("languages", type=dict[str, int]))


def test_a_question_over_its_deadline_is_stopped_and_others_go_on(
    location: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        with closing(SearchClient(str(location), question_seconds=slowness())) as client:
            assert await is_answering(client)
            assert client.pid
            os.kill(client.pid, signal.SIGSTOP)  # a question that takes long
            monkeypatch.setattr(search_client, "WAIT_SECONDS", PATIENCE)
            first, second, third = complete(client), complete(client), complete(client)
            with pytest.raises(SearchTimeout, match="took longer than"):
                await first
            assert await second == await third
            assert client.starts == 2

    asyncio.run(scenario())


def test_the_kernel_ends_a_question_over_its_deadline(location: Path) -> None:
    async def scenario() -> None:
        with closing(SearchClient(str(location), question_seconds=0.000_001)) as client, pytest.raises(SearchTimeout):
            await complete(client)

    asyncio.run(scenario())


def test_a_full_queue_refuses_at_once(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_client, "MAX_WAITING", 3)

    async def scenario() -> None:
        with closing(SearchClient(str(location))) as client:
            waiting = [complete(client) for _ in range(3)]
            await asyncio.sleep(0)
            with pytest.raises(TooBusy):
                await client.ask("complete", "ho", 5, False)
            assert len(await asyncio.gather(*waiting)) == 3

    asyncio.run(scenario())


def test_nobody_waits_without_end(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_client, "WAIT_SECONDS", 0.3)

    async def scenario() -> None:
        with closing(SearchClient(str(location), question_seconds=PATIENCE)) as client:
            assert await is_answering(client)
            assert client.pid
            os.kill(client.pid, signal.SIGSTOP)
            waiting = await asyncio.gather(*(complete(client) for _ in range(4)), return_exceptions=True)
            assert {type(end) for end in waiting} == {TooBusy}
            assert len(client.waiting) == search_client.SENT_AHEAD  # the others are forgotten

    asyncio.run(scenario())


def test_clients_of_a_killed_process_get_an_error_and_the_next_ones_an_answer(location: Path) -> None:
    async def scenario() -> None:
        with closing(SearchClient(str(location))) as client:
            assert await is_answering(client)
            assert client.pid
            os.kill(client.pid, signal.SIGSTOP)
            waiting = [complete(client) for _ in range(5)]
            await asyncio.sleep(0.1)
            os.kill(client.pid, signal.SIGKILL)
            ends = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(end) for end in ends} == {SearchProcessEnded}
            assert "SIGKILL" in client.fault
            assert await is_answering(client)
            assert not client.fault

    asyncio.run(scenario())


def test_a_question_that_needs_too_much_memory_ends_alone(location: Path) -> None:
    async def scenario() -> None:
        with closing(SearchClient(str(location), max_data_bytes=1 << 20)) as client:
            ends = await asyncio.gather(complete(client), return_exceptions=True)
            assert isinstance(ends[0], Exception)

    asyncio.run(scenario())


def test_truncated_index_files_end_only_the_search_process(location: Path) -> None:
    async def scenario() -> None:
        with closing(SearchClient(str(location))) as client:
            assert await is_answering(client)
            for file in (location / "index").glob("*/pages/*.*"):
                if file.suffix not in {".lock", ".json"}:
                    os.truncate(file, 0)
            for word in ("home", "elsewhere"):
                with pytest.raises((SearchProcessEnded, IndexFault)):
                    await client.ask("word", word, "frequency", 1, 20)
                assert client.fault

    asyncio.run(scenario())


def test_a_web_made_again_is_read_again_with_its_own_index(location: Path) -> None:
    async def scenario() -> None:
        with closing(SearchClient(str(location), check_seconds=-1.0)) as client:
            before = await client.reply("languages")
            shutil.rmtree(location)
            with pytest.raises(StoreMissing):
                await client.ask("languages")
            build(location).close()
            with pytest.raises(IndexMissing):
                await client.ask("languages")
            shutil.rmtree(location)
            make_web(location)
            assert (await client.reply("languages")).generation > before.generation

    asyncio.run(scenario())


def test_an_index_of_another_web_is_refused(location: Path, tmp_path: Path) -> None:
    open_sqlite_store(tmp_path / "other", create=True).close()
    shutil.copytree(location / "index", tmp_path / "other" / "index")

    async def scenario() -> None:
        client = SearchClient(str(tmp_path / "other"))
        with closing(client), pytest.raises(IndexFault, match="ahead of the web"):
            await client.ask("languages")

    asyncio.run(scenario())


def test_facets_stop_counting_when_their_time_is_over(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SearchSession(str(location))) as session:
        counted = facets.facets(session, "home", facets.Filters(), [])
        assert counted.host
        monkeypatch.setattr(facets, "MAX_SECONDS", -1.0)
        assert facets.facets(session, "home", facets.Filters(), []).host == []


SERVER = """
import asyncio, sys
from gossamer.web.search.search_client import SearchClient

async def main():
    client = SearchClient(sys.argv[1])
    await client.ask("languages")
    print(client.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def server(location: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SERVER, str(location)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_the_search_process_ends_with_a_killed_server(server: subprocess.Popen[str]) -> None:
    assert server.stdout
    pid = int(server.stdout.readline())
    assert psutil.pid_exists(pid)
    server.kill()
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
