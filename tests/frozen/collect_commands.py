"""The commands: their flags, settings and variables, and what they print and write."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow.parquet as pq
from click.testing import CliRunner

import gossamer
from frozen.kept_web import QUESTIONS, command, environment, run
from frozen.small_site import GARDEN
from gossamer.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GROUP = next(value for value in vars(main).values() if isinstance(value, click.Group))
TABLES = ("links", "resources", "hosts", "visits", "ranks", "words")
# Objects whose keys are data: a code, a reason, a number of clicks.
MAPS = frozenset({"skipped", "unavailable", "depths", "ages"})
# Questions about the kept web whose keys count; the others have the same ones.
TELLING = ("status", "hosts", "errors", "page", "text of a page", "word", "search", "report of inlinks",
           "report of changes")  # fmt: skip
# Commands that print a table of tab-separated values into a pipe.
PIPED = (
    ("search", "roses"),
    ("hosts",),
    ("errors",),
    ("rank",),
    ("rank", "--hosts"),
    ("related", f"{GARDEN}roses"),
    ("crawlers",),
    ("report", "--list"),
    ("config", "show"),
)


def invoke(*arguments: object, env: dict[str, str | None] | None = None) -> str:
    """What a command prints; it runs in this process, which is faster than one of its own."""
    unset: dict[str, str | None] = {name: None for name in os.environ if name.startswith("GOSSAMER_")}
    done = CliRunner().invoke(GROUP, [str(one) for one in arguments], env=unset | (env or {}), catch_exceptions=False)
    assert done.exit_code == 0, f"gossamer {' '.join(map(str, arguments))}: {done.stderr}"
    return done.stdout


def key_paths(value: object) -> list[str]:
    """The keys of a JSON value with those around them: `hits[].url`; keys that are data are `*`."""
    return sorted({*_paths(value, "")} - {""})


def _paths(value: object, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        is_map = where.rpartition(".")[2] in MAPS
        for key, inner in value.items():
            below = f"{where}.{'*' if is_map else key}".removeprefix(".")
            yield below
            yield from _paths(inner, below)
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, f"{where}[]")


# -- flags and settings ------------------------------------------------------------------------------------------------


def commands() -> dict[str, Any]:
    """Every command with its arguments and flags."""
    return {name: _parameters(found) for name, found in all_commands(GROUP)}


def all_commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command of a group, and those of the groups in it."""
    context = click.Context(group)
    yield before or "gossamer", group
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from all_commands(found, f"{before} {name}".strip())
        else:
            yield f"{before} {name}".strip(), found


def _parameters(found: click.Command) -> dict[str, Any]:
    arguments = [each for each in found.params if isinstance(each, click.Argument)]
    options = [each for each in found.params if isinstance(each, click.Option) and not each.hidden]
    return {
        "arguments": [f"{'required' if each.required else 'optional'}, number {each.nargs}" for each in arguments],
        "flags": {each.opts[0]: _flag(each) for each in options},
    }


def _flag(option: click.Option) -> dict[str, Any]:
    facts = option.to_info_dict()
    written = (option.metavar or "").split("|")  # flags of settings name their choices here
    default = facts["default"]
    found = {
        "takes": "no value" if option.is_flag else "several values" if option.multiple else "a value",
        "other names": [*option.opts[1:], *option.secondary_opts],
        "choices": list(facts["type"].get("choices", written if len(written) > 1 else ())),
        "default": default if isinstance(default, str | int | float) else None,
        "variable": option.envvar,
    }
    return {name: value for name, value in found.items() if value not in (None, [], False)}


def settings() -> dict[str, Any]:
    """Every setting with its default and type, as a gossamer.toml has them."""
    sections = settings_file()
    hosts = sections.pop("hosts")
    plain = {
        section: {key: {"default": value, "type": _type(section, key, value)} for key, value in values.items()}
        for section, values in sections.items()
    }
    (example,) = hosts.values()
    return {**plain, 'hosts."NAME"': {key: {"type": type(value).__name__} for key, value in example.items()}}


def settings_file() -> dict[str, Any]:
    """The file that `config init` writes, with the comment marks removed from its settings."""
    return tomllib.loads(re.sub(r"^#(?! )", "", invoke("config", "init", "--out", "-"), flags=re.MULTILINE))


def _type(section: str, key: str, default: object) -> str:
    if default != "none" or (section, key) == ("crawl", "check"):  # the word "none" is one of its choices
        return type(default).__name__
    shown = _settings_shown({f"GOSSAMER_{section}_{key}".upper(): "7"})
    return f"{type(shown[f'{section}.{key}']['value']).__name__} or none"


def _settings_shown(env: dict[str, str | None]) -> dict[str, Any]:
    shown = json.loads(invoke("config", "show", "--json", "--store", "nowhere", env=env))
    return {row["key"]: row for row in shown["settings"]}


def variables() -> dict[str, Any]:
    """The environment variables: those of settings, as `config show` names them, and all that the sources name."""
    values = {
        f"GOSSAMER_{section}_{key}".upper(): _as_text(value)
        for section, settings in settings_file().items()
        if section != "hosts"
        for key, value in settings.items()
    }
    shown = _settings_shown({**values})
    source = Path(gossamer.__file__).parent
    texts = (path.read_text("utf-8") for path in source.rglob("*.py"))
    named = {name for text in texts for name in re.findall(r"[\"'](_?GOSSAMER_[A-Z_]*[A-Z])[\"']", text)}
    return {"of settings": {key: row["from"] for key, row in shown.items()}, "others": sorted(named)}


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


# -- what commands print -----------------------------------------------------------------------------------------------


def json_keys(web: Path, scratch: Path) -> dict[str, list[str]]:
    """The keys that commands print with --json, for those that need no crawler at work."""
    picture, files = scratch / "graph.svg", scratch / "files"
    arguments: dict[str, Iterable[object]] = {
        **{name: QUESTIONS[name] for name in TELLING},
        "report of several": ("report", "broken", "titles-missing", "--json"),
        "index": ("index", "--json"),
        "rank": ("rank", "--json"),
        "rank by host": ("rank", "--hosts", "--json"),
        "rank near a page": ("rank", "--near", f"{GARDEN}roses", "--json"),
        "shape": ("shape", "--json"),
        "shape of a host": ("shape", "garden.example", "--json"),
        "related": ("related", f"{GARDEN}roses", "--json"),
        "crawlers": ("crawlers", "--json"),
        "search with explanations": ("search", "roses", "--explain", "--json"),
        "search with duplicates": ("search", "rosen", "--json"),
        "report list": ("report", "--list", "--json"),
        "report explained": ("report", "--explain", "LNK001", "--json"),
        **{f"export {name}": ("export", name, "--out", scratch / f"{name}.csv", "--json") for name in TABLES},
        "export graph": ("export", "graph", "--out", scratch / "graph.gexf", "--json"),
        "export picture": ("export", "picture", "--out", picture, "--json"),
        "export files": ("export", "files", "--out", files, "--json"),
        "export warc": ("export", "warc", "--out", scratch / "web.warc.gz", "--json"),
        "config init": ("config", "init", "--out", scratch / "new.toml", "--json"),
        "config show": ("config", "show", "--json"),
    }
    found = {name: key_paths(_last_json(invoke(*words, "--store", web))) for name, words in arguments.items()}
    imported, copied = scratch / "imported", scratch / "copied"
    found["import"] = key_paths(_last_json(run("import", files, "--store", imported, "--json").stdout))
    found["copy"] = key_paths(_last_json(invoke("copy", web, copied, "--json")))
    found["forget"] = key_paths(_last_json(invoke("forget", f"{GARDEN}lilies", "--yes", "--store", copied, "--json")))
    return found


def _last_json(text: str) -> Any:
    """A JSON answer; of several, the last."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(text.splitlines()[-1])


def table_headers(web: Path) -> dict[str, list[str]]:
    """The first line of the tables that commands print into a pipe."""
    return {" ".join(words): invoke(*words, "--store", web).partition("\n")[0].split("\t") for words in PIPED}


def reports() -> dict[str, Any]:
    """Every report by its code, with name, severity, group, columns and needs."""
    lines = [line.split("\t") for line in invoke("report", "--list").splitlines()]
    groups = {line[0]: line[-1] for line in lines}
    return {
        each["code"]: {"name": each["report"], "severity": each["severity"], "group": groups[each["code"]],
                       "columns": each["columns"], "needs": each["needs"]}
        for each in json.loads(invoke("report", "--list", "--json"))["reports"]
    }  # fmt: skip


def exit_codes(web: Path) -> dict[str, int]:
    """How commands end."""
    with subprocess.Popen(
        command("export", "words", "--store", web), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
    ) as unread:
        assert unread.stdout is not None
        unread.stdout.close()
    return {
        "fine": run("status", "--store", web).returncode,
        "a report found something": run("report", "broken", "--fail-on", "error", "--store", web).returncode,
        "wrong usage": run("status", "--no-such-flag").returncode,
        "a fault": run("status", "--store", web / "nowhere").returncode,
        "the reader of stdout is gone": unread.returncode,
    }


# -- what commands write -----------------------------------------------------------------------------------------------


def exports(web: Path, scratch: Path) -> dict[str, Any]:
    """The exports with their columns; Parquet tells the types as well."""
    return {
        **{name: _table(web, scratch, name) for name in (*TABLES, "graph")},
        "graph as gexf": sorted(set(re.findall(r'<attribute [^>]*title="([^"]+)"', _graph(web, "gexf")))),
        "graph as graphml": sorted(set(re.findall(r'attr\.name="([^"]+)"', _graph(web, "graphml")))),
        "hosts as gexf": sorted(set(re.findall(r'<attribute [^>]*title="([^"]+)"', _graph(web, "gexf", "hosts")))),
        "graph as commoncrawl": _common_crawl(web, scratch),
        "files": _manifest(web, scratch),
        "warc": _warc(web, scratch),
    }


def _table(web: Path, scratch: Path, name: str) -> dict[str, Any]:
    path = scratch / f"{name}.parquet"
    invoke("export", name, "--out", path, "--store", web)
    columns = invoke("export", name, "--format", "csv", "--store", web).partition("\n")[0].strip().split(",")
    row = json.loads(invoke("export", name, "--format", "jsonl", "--store", web).partition("\n")[0])
    assert list(row) == columns, f"JSON lines of {name} have other names than CSV: {list(row)}"
    return {"columns": columns, "types": {field.name: str(field.type) for field in pq.read_schema(path)}}


def _graph(web: Path, form: str, level: str = "pages") -> str:
    return invoke("export", "graph", "--format", form, "--level", level, "--store", web)


def _common_crawl(web: Path, scratch: Path) -> dict[str, int]:
    out = scratch / "commoncrawl"
    invoke("export", "graph", "--format", "commoncrawl", "--out", out, "--store", web)
    texts = {path.name: gzip.decompress(path.read_bytes()).decode() for path in sorted(out.iterdir())}
    return {name: len(text.splitlines()[-1].split("\t")) for name, text in texts.items()}  # name -> number of columns


def _manifest(web: Path, scratch: Path) -> list[str]:
    out = scratch / "exported files"
    invoke("export", "files", "--out", out, "--store", web)
    return sorted({key for line in (out / "manifest.jsonl").read_text().splitlines() for key in json.loads(line)})


def _warc(web: Path, scratch: Path) -> dict[str, list[str]]:
    out = scratch / "exported.warc.gz"
    invoke("export", "warc", "--out", out, "--store", web)
    found: dict[str, set[str]] = {}
    for head in re.findall(
        r"WARC/1\.1\r\n(.*?)\r\n\r\n", gzip.decompress(out.read_bytes()).decode("latin-1"), re.DOTALL
    ):
        fields = dict(line.split(": ", 1) for line in head.split("\r\n"))
        found.setdefault(fields["WARC-Type"], set()).update(fields)
    return {kind: sorted(names) for kind, names in sorted(found.items())}


def log_events(*logs: Path) -> dict[str, list[str]]:
    """The keys of a crawler's log, by event."""
    found: dict[str, set[str]] = {}
    for line in (line for log in logs for line in log.read_text().splitlines()):
        entry = json.loads(line)
        found.setdefault(entry["event"], set()).update(entry)
    return {event: sorted(keys) for event, keys in sorted(found.items())}
