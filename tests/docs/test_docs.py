"""Documentation pages are tested: their commands run here and must show the output on the page.

`walkthrough` describes how a page is read. Hosts such as docs.example stand for sites served here.
"""

from __future__ import annotations

import contextlib
import html
import inspect
import re
import shlex
import shutil
import sqlite3
import tomllib
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
from gossamer.store.sqlite.opening import current_schema
from helpers.docs.notebook import code_cells
from helpers.docs.walkthrough import Block, Reader, blocks, code_words, looks_like, prose
from hostile.cases import with_table
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WRITTEN_BY_HAND = [page for page in PAGES if page.name not in {"commands.md", "settings.md"}]

# The sites that stand for hosts named in the pages.
SITES: dict[str, dict[str, str | SiteResponse]] = {
    "docs.example": {
        "/robots.txt": SiteResponse("User-agent: *\nDisallow: /drafts/\n", headers={"Content-Type": "text/plain"}),
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
NO_SETTINGS = {"index.html", "store.md", "store.submit"}  # although they begin like one
FLAG_AND_VALUE = r"--(?!limit|out)[a-z-]+ [a-z0-9./]+"  # a flag of crawl with a value; capitals are placeholders
PASSWORD = {"authorization": "Basic " + b64encode(b"me:open sesame").decode()}


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# -- running the pages ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def sites_for(page: Path) -> Iterator[dict[str, SiteServer]]:
    """Serve the sites that a page names; their pages link to each other by their local addresses."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(SiteServer({})) for name in SITES if name in page.read_text()}
        for name, site in servers.items():
            for path, answer in SITES[name].items():
                text = answer if isinstance(answer, str) else str(answer.body)
                for other, server in servers.items():
                    text = text.replace(f"https://{other}/", server.url)
                site.pages[path] = text if isinstance(answer, str) else answer._replace(body=text)
        yield servers


DATABASE = "gossamer@db.example/web"  # in a PostgreSQL URL


def database(request: pytest.FixtureRequest) -> str:
    """Return a database that stands for the one in the pages."""
    from helpers.store.postgres_server import new_location

    return new_location(request.getfixturevalue("postgres")).partition("://")[2].replace(":@", "@")


NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))
RUN = [
    page for page in WRITTEN_BY_HAND if any(block.language in {"console", "python", "sql"} for block in blocks(page))
]


@pytest.mark.parametrize("page", RUN, ids=page_name)
def test_the_commands_of_a_page_show_its_output(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with sites_for(page) as sites:
        names = {name: site.authority for name, site in sites.items()}
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


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=page_name)
def test_a_notebook_runs_and_shows_its_outputs(notebook: Path, tmp_path: Path) -> None:
    with sites_for(notebook) as sites:
        reader = Reader(tmp_path, {name: site.authority for name, site in sites.items()})
        outputs = reader.run_notebook(notebook)
    assert outputs == [cell["outputs"] for cell in code_cells(notebook)]
    assert str(tmp_path) not in notebook.read_text()


# What a test lacks to run a block of commands without output -> which blocks need it.
NEEDS = {
    "a build": "make ", "an installation": "pip install", "the checkout": r"\.venv/bin/python",
    "a shell of its own": "sqlite3 -readonly", "a person who answers": "forget localhost", "no end": "gossamer watch",
    "other networks": r"wiki\.lan|proxy", "other addresses than loopback": r"--host 0\.0\.0\.0",
    "a database server": "createuser|GOSSAMER_SQL_URL", "a cluster": ":9200|GOSSAMER_INDEX_USER",
    "a search service": "--query", "a browser": r"--screenshots|--unsafe-browser",
    "files of others": r"\.warc\.gz|/usr/share", "a crawler at work": "gossamer pause",
}  # fmt: skip
SILENT_BLOCKS = [
    pytest.param(block, id=f"{page_name(page)}: {block.text.partition(chr(10))[0]}")
    for page in WRITTEN_BY_HAND
    for block in blocks(page)
    if block.language == "sh" and not re.search("|".join(NEEDS.values()), block.text)
]
EXAMPLE = {"/": '<title>Example</title><p>Some words. <a href="/more">More</a>', "/more": "<title>More</title>"}


@pytest.fixture(scope="module")
def example_web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """Return a folder with the web that such blocks tell of, and the address that stands for its site."""
    folder = tmp_path_factory.mktemp("example")
    with SiteServer(EXAMPLE) as site:
        names = {"example.org": site.authority}
        reader = Reader(folder, names)
        try:
            reader.run_silently("gossamer crawl https://example.org")
        finally:
            reader.leave()
        yield folder / "web", names


@pytest.mark.parametrize("block", SILENT_BLOCKS)
def test_commands_without_shown_output_run(
    block: Block, tmp_path: Path, example_web: tuple[Path, dict[str, str]]
) -> None:
    web, names = example_web
    shutil.copytree(web, tmp_path / "web")
    reader = Reader(tmp_path, names)
    try:
        for command in block.text.replace("\\\n", " ").splitlines():
            reader.run_silently(command)
    finally:
        reader.leave()


@pytest.mark.parametrize("need", NEEDS)
def test_a_need_is_that_of_a_page(need: str) -> None:
    texts = [block.text for page in WRITTEN_BY_HAND for block in blocks(page) if block.language == "sh"]
    assert any(re.search(NEEDS[need], text) for text in texts)


def test_wrong_output_on_a_page_is_noticed() -> None:
    assert looks_like(["a ... c", "...", "  z"], ["a b  c", "and", "more", "z"])
    assert not looks_like(["a", "z"], ["a", "b", "z"])
    assert not looks_like(["a 1"], ["a 2"])
    assert not looks_like(["a"], ["a", "a line that is not shown"])


# -- checking what they say --------------------------------------------------------------------------------------------


def command_lines(page: Path) -> Iterator[list[str]]:
    """Yield every gossamer command that a page names, as words, up to a pipe or the like."""
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


def parse_command(words: list[str]) -> None:
    """Parse a command line as the program does; raise an error that explains what is wrong."""
    command: click.Command = app
    context = click.Context(app)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, *words = words
        subcommand = command.get_command(context, name)
        assert subcommand is not None, f"there is no command {name}"
        command = subcommand
    if isinstance(command, click.Group) or "--help" in words:
        return
    with command.make_context("gossamer", list(words), resilient_parsing=not words) as parsed:
        flags = {s.key: parsed.params.get(s.key.replace(".", "_")) or None for s in all_settings() if s.flag}
    load(file=None, store_dir=None, environ={}, flags=flags)


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=page_name)
def test_every_command_on_a_page_parses(page: Path) -> None:
    for words in command_lines(page):
        try:
            parse_command(words)
        except (click.ClickException, GossamerError) as fault:
            pytest.fail(f"gossamer {shlex.join(words)}: {fault}")


MODULES = {  # `crawl.py` and `parse.page_parser` look like settings
    name for path in (ROOT / "src/gossamer").rglob("*.py") for name in (path.name, f"{path.parent.name}.{path.stem}")
}


def flags_of(command: click.Command) -> set[str]:
    flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        inner = [command.get_command(context, name) for name in command.list_commands(context)]
        flags = flags.union(*(flags_of(each) for each in inner if each))
    return flags


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=page_name)
def test_every_flag_and_setting_on_a_page_exists(page: Path) -> None:
    named = {re.split(r"[ =]", word)[0] for word in code_words(page) if word.startswith("--")}
    dotted = {
        word for word in code_words(page) if re.fullmatch(r"\w+\.\w+", word) and word.partition(".")[0] in sections()
    } - MODULES
    assert named - flags_of(app) - {"--help"} == set()
    assert dotted - {setting.key for setting in all_settings()} - NO_SETTINGS == set()


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=page_name)
def test_every_settings_file_in_a_page_is_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            (tmp_path / "gossamer.toml").write_text(block.text)
            assert load(file=tmp_path / "gossamer.toml", store_dir=None, environ={}, flags={}).file


def anchors(page: Path) -> set[str]:
    """Return the headings of a page as link anchors."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=page_name)
def test_every_link_of_a_page_has_a_target(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        assert not re.match(r"\w+:", target), f"{target} is not here"
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert ROOT in linked.parents, target
        assert not anchor or anchor in anchors(linked), target


def defines_name(name: str, module: Path) -> bool:
    """Return whether a module defines a name."""
    return (
        re.search(rf"^ *(?:(?:async )?def|class) {name}\b|^{name}\b.* = ", module.read_text(), re.MULTILINE) is not None
    )


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=page_name)
def test_names_that_a_page_places_in_a_module_exist_there(page: Path) -> None:
    named = re.findall(r"((?:`\w+`(?:,| and)?\s+)+)in\s+\[`[\w.]+`\]\(([^)\s]+\.py)\)", prose(page))
    for names, module in named:
        assert [
            name
            for name in re.findall(r"\w+", names.replace(" and", ""))
            if not defines_name(name, page.parent / module)
        ] == []


def test_entry_points_named_in_architecture_exist_in_their_module() -> None:
    rows = re.findall(r"^\| `(\w+\.py)` \|.*\| (.*) \|$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    named = [(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)]
    assert len(rows) > 5
    assert [each for each in named if not defines_name(each[1], ROOT / "src/gossamer" / each[0])] == []


def test_the_import_rule_is_the_one_that_import_linter_checks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = (each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    layers = [line.replace("gossamer.", "") for line in contract["layers"]]
    listings = re.findall(r"^```\n(.*?)^```", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE | re.DOTALL)
    assert "\n".join(layers) + "\n" in listings


def test_every_package_is_in_the_map() -> None:
    source = ROOT / "src/gossamer"
    packages = {path.parent.relative_to(source).as_posix() for path in source.rglob("__init__.py")} - {"."}
    text = (ROOT / "ARCHITECTURE.md").read_text()
    names = {name: re.sub(r"^store/(?:sqlite|postgres)/", "store/*/", name) for name in packages}
    assert [name for name, shown in sorted(names.items()) if f"`{shown}/`" not in text] == []


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs/README.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for target in re.findall(r"\]\(([^)\s]+)\)", index.read_text())
    }
    decisions = set((ROOT / "docs/decisions").glob("*.md"))
    assert {page for page in PAGES if page.parent != ROOT} - linked - {index} - decisions == set()


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_no_page_contains_a_path_of_one_machine(page: Path) -> None:
    assert re.findall(r"(?:/home/|/root/|(?<![\w.*])/work/|/Users/|\w+\.a-seed)\S*", page.read_text()) == []


def first_cells(page: Path, heading: str) -> list[str]:
    """Return the texts between backticks in the first cell of each row of the table below a heading."""
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
        database.executescript(current_schema().script)
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")] for table in tables}
    assert {table: sorted(first_cells(page, f"### {table}")) for table in tables} == {
        table: sorted(names) for table, names in columns.items()
    }


def test_every_link_kind_and_position_is_explained_by_number() -> None:
    rows = (ROOT / "docs/reference/store.md").read_text().partition("## Kinds and positions")[2]
    kinds = {int(number): word for number, word in re.findall(r"^\| (\d+) \| ([^|]+) \|", rows, re.MULTILINE)}
    positions = {int(number): word for number, word in re.findall(r"\| (\d+) \| ([^|]+) \|$", rows, re.MULTILINE)}
    assert list(kinds) == [kind.value for kind in Kind]
    assert all(kind.name.split("_")[0].lower() in kinds[kind] for kind in Kind)
    assert {number: word.split(",")[0] for number, word in positions.items()} == {
        p.value: p.name.lower() for p in Position
    }


@pytest.mark.parametrize("name", ["Crawler", "VisitedPage", "Link", "Web"])
def test_every_public_attribute_of_the_library_is_explained(name: str) -> None:
    page = ROOT / "docs/reference/library.md"
    kind = getattr(gossamer, name)
    attributes = {
        *vars(kind),
        *getattr(kind, "__struct_fields__", ()),
        *re.findall(r"self\.(\w+) =", inspect.getsource(kind)),
    }
    explained = {cell.partition("(")[0] for cell in first_cells(page, f"## {name}")}
    assert {each for each in attributes if not each.startswith("_")} == explained
    assert set(gossamer.__all__) <= set(re.findall(r"\w+", " ".join(code_words(page))))


def test_every_security_promise_names_existing_tests() -> None:
    promised = (ROOT / "SECURITY.md").read_text().partition("## What is promised")[2].partition("\n## ")[0]
    promises = [each for each in promised.split("\n\n") if each.startswith("**")]
    assert len(promises) >= 8
    for promise in promises:
        references = re.findall(r"\]\((tests/[^)]+)\)\s\(([^)]+)\)", promise)
        assert references, promise
        for file, names in references:
            tests = set(re.findall(r"^def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE))
            assert set(re.findall(r"`(\w+)`", names)) <= tests, file


def test_the_hostile_web_table_matches_the_tested_cases() -> None:
    page = (ROOT / "docs/explanation/hostile-web.md").read_text()
    assert page == with_table(page), (
        "write it again: PYTHONPATH=tests python -m hostile.cases docs/explanation/hostile-web.md"
    )


# -- the README --------------------------------------------------------------------------------------------------------


def test_the_readme_opens_with_pictures_and_exactly_two_commands() -> None:
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


def test_every_named_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE)
        assert set(named) <= targets, page


def test_the_picture_loads_nothing_from_other_hosts() -> None:
    picture = (ROOT / "docs/pictures/crawl.svg").read_text()
    assert re.findall(r"(?:href|src|url\()\s*=?\s*[\"'(]?https?:", picture) == []
    assert "Naiad is running" in html.unescape(re.sub(r"<[^>]+>", "", picture)).replace("\xa0", " ")
