"""Commands in messages and on pages can be pasted: they name the web that the reader looks at."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import httpx
import pytest

from gossamer.basics.locations import store_flag
from gossamer.urls.canonical import url_digest
from helpers.cli.commands import gossamer
from helpers.cli.terminal import gossamer_on_terminal
from helpers.patience import PATIENCE
from helpers.store.small_web import SEED, build
from helpers.web.browser import TOKEN, AppServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a web whose ranks are stale."""
    directory = tmp_path_factory.mktemp("hints") / "my web"
    with closing(build(directory)) as store:
        assert gossamer("rank", "--store", directory).returncode == 0
        store.forget(url_digest=url_digest(f"{SEED}a"))
    return directory


@pytest.fixture(scope="module")
def reader(web: Path) -> Iterator[httpx.Client]:
    """Yield a client of the server without the token."""
    with AppServer(web) as serving, httpx.Client(base_url=serving.url, timeout=PATIENCE) as client:
        yield client


def on_wide_terminal(*arguments: str) -> str:
    return gossamer_on_terminal(*arguments, columns=400).output


def test_hints_of_reports_name_the_web(web: Path) -> None:
    flag = f" --store '{web}'"
    overview = on_wide_terminal("report", "--store", str(web))
    assert f"gossamer report --explain score{flag}\n" in overview
    assert re.search(rf"What is behind a number: gossamer report \S+{flag}\n", overview)
    assert f"(gossamer report --explain LNK001{flag})" in on_wide_terminal("report", "broken", "--store", str(web))
    explained = gossamer("report", "--explain", "LNK013", "--store", web).stdout
    assert f"`gossamer report inlinks --url URL{flag}`" in explained


def test_pages_name_the_web_to_readers_with_the_token(web: Path, reader: httpx.Client) -> None:
    authorized = {"Authorization": f"Bearer {TOKEN}"}
    command = f"gossamer rank --store &#39;{web}&#39;"
    assert f"<code>{command}</code>" in reader.get("/page", params={"url": SEED}, headers=authorized).text
    assert f'data-rank="{command}"' in reader.get("/graph", headers=authorized).text


def test_pages_keep_the_location_of_the_web_from_other_readers(web: Path, reader: httpx.Client) -> None:
    for path in (f"/page?url={SEED}", "/graph"):
        text = reader.get(path).text
        assert "gossamer rank" in text
        assert str(web) not in text


def test_commands_on_error_pages_are_code(reader: httpx.Client) -> None:
    answer = reader.get("/search", params={"q": "home"})
    assert answer.status_code == 503  # there is no index
    assert "<code>gossamer index</code>" in answer.text
    assert "`" not in answer.text
    missing = reader.get("/graph/nothing", headers={"Accept": "text/html"})
    assert missing.status_code == 404


@pytest.mark.parametrize(
    ("location", "flag"),
    [
        ("web", ""),
        ("a b", " --store 'a b'"),
        ("postgresql://me:secret@host/db?schema=s", " --store 'postgresql://me@host/db?schema=s'"),
    ],
)
def test_a_store_flag_is_quoted_and_has_no_password(location: str, flag: str) -> None:
    assert store_flag(location) == flag
