"""The documentation holds: what its pages tell the reader to type is typed here, and must show what they show.

`walkthrough` tells how a page is read. Hosts such as docs.example stand for sites that are served here.
"""

from __future__ import annotations

import contextlib
import html
import inspect
import re
import shlex
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

import gossamer
from gossamer.cli.main import app
from gossamer.config import load
from gossamer.config.describe import all_settings, sections
from gossamer.errors import GossamerError
from gossamer.model import Kind, Outcome, Position, State
from helpers.docs.walkthrough import Reader, blocks, code_words, looks_like, prose
from hostile.cases import with_table
from webs.served import Answer, Served

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WRITTEN_BY_HAND = [page for page in PAGES if page.name not in {"commands.md", "settings.md"}]
SCHEMA = ROOT / "src/gossamer/store/sqlite/schema.sql"

# The sites that stand for the hosts named in the pages.
SITES: dict[str, dict[str, str | Answer]] = {
    "docs.example": {
        "/robots.txt": Answer("User-agent: *\nDisallow: /drafts/\n", headers={"Content-Type": "text/plain"}),
        "/": '<html lang="en"><title>Docs</title><h1>Docs</h1><p>Read <a href="/guide">the guide</a> or '
        '<a href="/news">the news</a>.</p><p>See <a href="/drafts/next">drafts</a> and '
        '<a href="https://elsewhere.example/">elsewhere</a>. <img src="/logo.png" alt="Our logo">',
        "/guide": '<title>The guide</title><h1>The guide</h1><p>How to spin silk. <a href="/">Home</a>, '
        '<a href="/spiders">spiders</a>.</p>',
        "/spiders": '<title>Spiders</title><p>Spiders spin silk. <a href="/moths?page=1">Moths</a> do, too.</p>',
        "/moths?page=1": "<title>Moths</title><p>As caterpillars.</p>",
    },
    "silk.example": {
        "/": '<title>Silk</title><a href="/weather">Weather</a> <a href="/spider">About a spider</a>',
        "/weather": "<title>Weather</title>",
        "/spider": '<title>A spider</title>Spiders spin silk: <a href="/spider/silk">how</a>',
        "/spider/silk": "<title>Silk</title>",
    },
    "intranet.example": {
        "/": '<title>Intranet</title><a href="/staff">staff</a>',
        "/staff": "<title>Staff</title>",
    },
    "search.example": {"/?q=spider+silk": '<a href="/settings">settings</a> <a href="https://docs.example/">Docs</a>'},
}
NO_SETTINGS = {"index.html", "store.md", "store.submit"}  # though they begin like one
FLAG_AND_VALUE = r"--(?!limit|out)[a-z-]+ [a-z0-9./]+"  # of crawl; in capitals it is a word for the value
PASSWORD = {"authorization": "Basic " + b64encode(b"me:open sesame").decode()}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# -- doing what they say ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def sites_for(page: Path) -> Iterator[dict[str, Served]]:
    """The sites a page names, served; their pages link to each other by the names they have here."""
    with contextlib.ExitStack() as stack:
        served = {name: stack.enter_context(Served({})) for name in SITES if name in page.read_text()}
        for name, site in served.items():
            for path, answer in SITES[name].items():
                text = answer if isinstance(answer, str) else str(answer.body)
                for other, at in served.items():
                    text = text.replace(f"https://{other}/", at.url)
                site.pages[path] = text if isinstance(answer, str) else answer._replace(body=text)
        yield served


DATABASE = "gossamer@db.example/web"  # of a PostgreSQL URL


def database(request: pytest.FixtureRequest) -> str:
    """A database that stands for the one of the pages."""
    from helpers.store.postgres_server import new_place

    return new_place(request.getfixturevalue("postgres")).partition("://")[2].replace(":@", "@")


RUN = [
    page for page in WRITTEN_BY_HAND if any(block.language in {"console", "python", "sql"} for block in blocks(page))
]


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_doing_what_a_page_says_shows_what_it_shows(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with sites_for(page) as sites:
        names = {name: site.place for name, site in sites.items()}
        if DATABASE in page.read_text():
            names[DATABASE] = database(request)
        reader = Reader(tmp_path, names)
        try:
            reader.follow(page)
        finally:
            reader.leave()
        if site := sites.get("intranet.example"):
            assert site.paths()
            assert all(request.headers.items() >= PASSWORD.items() for request in site.requests)


def test_what_a_page_shows_wrongly_is_noticed() -> None:
    assert looks_like(["a ... c", "...", "  z"], ["a b  c", "and", "more", "z"])
    assert not looks_like(["a", "z"], ["a", "b", "z"])
    assert not looks_like(["a 1"], ["a 2"])
    assert not looks_like(["a"], ["a", "a line that is not shown"])


# -- what they say -----------------------------------------------------------------------------------------------------


def command_lines(page: Path) -> Iterator[list[str]]:
    """Every gossamer command that a page names, as words, up to a pipe or the like."""
    texts = [word for word in code_words(page) if word.startswith("gossamer ")]
    texts += [f"gossamer crawl {word}" for word in code_words(page) if re.fullmatch(FLAG_AND_VALUE, word)]
    for block in blocks(page):
        if block.language in {"sh", "console"}:
            texts += re.findall(
                r"(?:^|[$|;(] *|\b\w+=\S+ )(gossamer .*)", block.text.replace("\\\n", " "), re.MULTILINE
            )
    for text in texts:
        words = shlex.split(re.split(r" [|>&;]|\)", text)[0], comments=True)
        yield words[1:]


def understood(words: list[str]) -> None:
    """Parse a command line as the program does; an error says what is wrong with it."""
    command: click.Command = app
    context = click.Context(app)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        command = found
    if isinstance(command, click.Group) or "--help" in words:
        return
    with command.make_context("gossamer", list(words), resilient_parsing=not words) as parsed:
        flags = {s.key: parsed.params.get(s.key.replace(".", "_")) or None for s in all_settings() if s.flag}
    load(file=None, store_dir=None, environ={}, flags=flags)


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=name_of)
def test_every_command_a_page_names_is_understood(page: Path) -> None:
    for words in command_lines(page):
        try:
            understood(words)
        except (click.ClickException, GossamerError) as fault:
            pytest.fail(f"gossamer {shlex.join(words)}: {fault}")


def flags_of(command: click.Command) -> set[str]:
    flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        inner = [command.get_command(context, name) for name in command.list_commands(context)]
        flags = flags.union(*(flags_of(each) for each in inner if each))
    return flags


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=name_of)
def test_every_flag_and_setting_a_page_names_is_there(page: Path) -> None:
    named = {re.split(r"[ =]", word)[0] for word in code_words(page) if word.startswith("--")}
    dotted = {
        word for word in code_words(page) if re.fullmatch(r"\w+\.\w+", word) and word.partition(".")[0] in sections()
    }
    assert named - flags_of(app) - {"--help"} == set()
    assert dotted - {setting.key for setting in all_settings()} - NO_SETTINGS == set()


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=name_of)
def test_every_settings_file_in_a_page_is_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            (tmp_path / "gossamer.toml").write_text(block.text)
            assert load(file=tmp_path / "gossamer.toml", store_dir=None, environ={}, flags={}).file


def anchors(page: Path) -> set[str]:
    """The headings of a page as they are linked to."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        assert not re.match(r"\w+:", target), f"{target} is not here"
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert ROOT in there.parents, target
        assert not anchor or anchor in anchors(there), target


def is_in(name: str, module: Path) -> bool:
    """Whether a module defines a name."""
    return (
        re.search(rf"^ *(?:(?:async )?def|class) {name}\b|^{name}\b.* = ", module.read_text(), re.MULTILINE) is not None
    )


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=name_of)
def test_what_a_page_says_is_in_a_module_is_there(page: Path) -> None:
    named = re.findall(r"((?:`\w+`(?:,| and)?\s+)+)in\s+\[`[\w.]+`\]\(([^)\s]+\.py)\)", prose(page))
    for names, module in named:
        assert [
            name for name in re.findall(r"\w+", names.replace(" and", "")) if not is_in(name, page.parent / module)
        ] == []


def test_where_to_start_reading_a_module_is_in_it() -> None:
    rows = re.findall(r"^\| `(\w+\.py)` \|.*\| (.*) \|$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    named = [(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)]
    assert len(rows) > 5
    assert [each for each in named if not is_in(each[1], ROOT / "src/gossamer" / each[0])] == []


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs/README.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for target in re.findall(r"\]\(([^)\s]+)\)", index.read_text())
    }
    decisions = set((ROOT / "docs/decisions").glob("*.md"))
    assert {page for page in PAGES if page.parent != ROOT} - linked - {index} - decisions == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_names_a_place_of_one_machine(page: Path) -> None:
    assert re.findall(r"(?:/home/|/root/|/work/|/Users/|\w+\.a-seed)\S*", page.read_text()) == []


def first_cells(page: Path, heading: str) -> list[str]:
    """What stands between backticks in the first cell of each row of the table below a heading."""
    part = page.read_text().partition(f"\n{heading}\n")[2]
    part = re.split(rf"^#{{1,{heading.count('#')}}} ", part, maxsplit=1, flags=re.MULTILINE)[0]
    return [name for row in re.findall(r"^\|([^|]+)\|", part, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)]


def test_every_state_and_outcome_is_explained_once() -> None:
    page = ROOT / "docs/reference/outcomes.md"
    assert sorted(first_cells(page, "## States")) == sorted(state.value for state in State)
    assert sorted(first_cells(page, "## Outcomes")) == sorted(outcome.value for outcome in Outcome)


def test_every_table_and_column_of_the_store_is_explained_once() -> None:
    page = ROOT / "docs/reference/store.md"
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA.read_text())
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")] for table in tables}
    assert {table: sorted(first_cells(page, f"### {table}")) for table in tables} == {
        table: sorted(names) for table, names in columns.items()
    }


def test_every_kind_and_position_of_a_link_is_explained_by_its_number() -> None:
    rows = (ROOT / "docs/reference/store.md").read_text().partition("## Kinds and positions")[2]
    kinds = {int(number): word for number, word in re.findall(r"^\| (\d+) \| ([^|]+) \|", rows, re.MULTILINE)}
    positions = {int(number): word for number, word in re.findall(r"\| (\d+) \| ([^|]+) \|$", rows, re.MULTILINE)}
    assert list(kinds) == [kind.value for kind in Kind]
    assert all(kind.name.split("_")[0].lower() in kinds[kind] for kind in Kind)
    assert {number: word.split(",")[0] for number, word in positions.items()} == {
        p.value: p.name.lower() for p in Position
    }


@pytest.mark.parametrize("name", ["Crawler", "VisitedPage", "Link", "Web"])
def test_everything_public_of_the_library_is_explained(name: str) -> None:
    page = ROOT / "docs/reference/library.md"
    kind = getattr(gossamer, name)
    attributes = {
        *vars(kind),
        *getattr(kind, "__struct_fields__", ()),
        *re.findall(r"self\.(\w+) =", inspect.getsource(kind)),
    }
    told = {cell.partition("(")[0] for cell in first_cells(page, f"## {name}")}
    assert {each for each in attributes if not each.startswith("_")} == told
    assert set(gossamer.__all__) <= set(re.findall(r"\w+", " ".join(code_words(page))))


def test_every_promise_of_security_names_tests_that_are_there() -> None:
    promised = (ROOT / "SECURITY.md").read_text().partition("## What is promised")[2].partition("\n## ")[0]
    promises = [each for each in promised.split("\n\n") if each.startswith("**")]
    assert len(promises) >= 8
    for promise in promises:
        held = re.findall(r"\]\((tests/[^)]+)\)\s\(([^)]+)\)", promise)
        assert held, promise
        for file, names in held:
            tests = set(re.findall(r"^def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE))
            assert set(re.findall(r"`(\w+)`", names)) <= tests, file


def test_the_hostile_web_is_shown_as_it_is_tested() -> None:
    page = (ROOT / "docs/explanation/hostile-web.md").read_text()
    assert page == with_table(page), (
        "write it anew: PYTHONPATH=tests python -m hostile.cases docs/explanation/hostile-web.md"
    )


# -- the README --------------------------------------------------------------------------------------------------------


def test_the_readme_opens_with_a_picture_and_exactly_two_commands() -> None:
    opening = (ROOT / "README.md").read_text().partition("\n## ")[0]
    assert re.findall(r"^!\[.+\]\((.+)\)$", opening, re.MULTILINE) == [
        "docs/pictures/crawl.svg",
        "docs/pictures/search.png",
    ]
    commands = [
        line.partition("#")[0].strip()
        for text in re.findall(r"```sh\n(.*?)```", opening, re.DOTALL)
        for line in text.splitlines()
    ]
    assert commands == ["make go", "make test"]


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE)
        assert set(named) <= targets, page


def test_the_picture_fetches_nothing_from_elsewhere() -> None:
    picture = (ROOT / "docs/pictures/crawl.svg").read_text()
    assert re.findall(r"(?:href|src|url\()\s*=?\s*[\"'(]?https?:", picture) == []
    assert "Naiad is running" in html.unescape(re.sub(r"<[^>]+>", "", picture)).replace("\xa0", " ")
