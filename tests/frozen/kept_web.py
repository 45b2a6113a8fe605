"""A web that Gossamer 0.1 wrote, and the answers that 0.1 gave about it.

`web_of_0_1.tar.xz` holds the same crawl twice: `web/` is a directory, `postgres.sql` a database in a text that any
PostgreSQL reads. `make_web.py` made both. The archive stands for webs that exist, so it never changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from frozen.small_site import GARDEN, MUSEUM
from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

ARCHIVE = Path(__file__).with_name("web_of_0_1.tar.xz")
WEB, DUMP = "web", "postgres.sql"
ANSWERS = {"sqlite": "answers.json", "postgres": "postgres_answers.json"}  # back-end -> member of the archive
SCHEMA = "gossamer_web_of_0_1"  # the name of the schema in the dump

# Name -> the command that is asked. A command without --json prints JSON lines.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "status": ("status", "--json"),
    "hosts": ("hosts", "--json"),
    "errors": ("errors", "--json"),
    "page": ("page", f"{GARDEN}orchids", "--json"),
    "page that redirects": ("page", f"{GARDEN}old-roses", "--json"),
    "page that robots.txt forbids": ("page", f"{GARDEN}private/notes", "--json"),
    "page in flight when the crawler was killed": ("page", f"{MUSEUM}hall/4", "--json"),
    "text of a page": ("page", f"{GARDEN}roses", "--text", "--json"),
    "word": ("word", "roses", "--json"),
    "search": ("search", "roses", "orchids", "--json"),
    "search in the garden": ("search", "site:garden.example", "lilies", "roses", "--json"),
    "search in the museum": ("search", "site:museum.example", "hall", "--json"),
    "reports": ("report", "all", "--json"),
    "report of inlinks": ("report", "inlinks", "--url", f"{GARDEN}roses", "--json"),
    "report of changes": ("report", "changes", "--since", "2025-01-01", "--json"),
    **{f"export {table}": ("export", table, "--format", "jsonl")
       for table in ("links", "resources", "hosts", "visits", "ranks", "words")},
}  # fmt: skip
SECRETS = {"EXAMPLE_PASSWORD": "p", "EXAMPLE_TOKEN": "t", "EXAMPLE_SESSION": "s"}  # variables of the kept gossamer.toml
# Keys whose values depend on the moment of the question, on the machine, or on a ranking that may improve.
UNSTABLE = frozenset({"took_ms", "freshness", "rate", "crawlers", "score", "snippet", "next_visit_at", "suggestion"})


def unpack(directory: Path) -> Path:
    """A copy of the web in a directory."""
    with tarfile.open(ARCHIVE) as archive:
        members = [member for member in archive.getmembers() if Path(member.name).parts[0] == WEB]
        archive.extractall(directory, members, filter="data")
    return directory / WEB


def restore(uri: str, schema: str) -> str:
    """A copy of the web in a new schema of a database; its location."""
    with psycopg.connect(uri, autocommit=True) as database:
        database.execute(_member(DUMP).decode().replace(SCHEMA, schema).encode())
    return f"{uri}&schema={schema}"


def answers_of_0_1(back_end: str) -> dict[str, Any]:
    """What 0.1 answered, by the names of the questions."""
    answers: dict[str, Any] = json.loads(_member(ANSWERS[back_end]))
    return answers


def _member(name: str) -> bytes:
    with tarfile.open(ARCHIVE) as archive:
        file = archive.extractfile(name)
        assert file is not None, f"{ARCHIVE} has no {name}"
        return file.read()


def ask(location: str, name: str, env: Mapping[str, str] | None = None) -> Any:
    """The answer of the Gossamer at hand to a question."""
    text = output(*QUESTIONS[name], "--store", location, env=env)
    return json.loads(text) if "--json" in QUESTIONS[name] else [json.loads(line) for line in text.splitlines()]


def output(*arguments: object, env: Mapping[str, str] | None = None) -> str:
    """What a command writes to stdout; it must succeed."""
    done = run(*arguments, env=env)
    assert done.returncode == 0, f"gossamer {' '.join(map(str, arguments))}: {done.stderr}"
    return done.stdout


def run(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        env=environment(env),
    )  # fmt: skip


def command(*arguments: object) -> list[str]:
    """The command line of `gossamer`."""
    return [sys.executable, "-m", "gossamer", *map(str, arguments)]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without variables that change what Gossamer does."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return {**clean, **SECRETS, **(more or {})}


def stable(answer: Any) -> Any:
    """An answer without the keys whose values may differ from one question to the next."""
    if isinstance(answer, dict):
        return {key: stable(value) for key, value in answer.items() if key not in UNSTABLE}
    return [stable(value) for value in answer] if isinstance(answer, list) else answer
