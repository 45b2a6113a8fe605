"""The versions of the tables, and the way from an older version to the newest: one mechanism for both back-ends.

Schema versions are numbered for both back-ends together. A step consists of the columns of `resources` that have its
number (`columns.py`), and of the file `migration_N.sql` in the package of a back-end. A back-end without either has no
step of that number.

A released version never changes, because webs of it exist on disks and servers. Two tests know each version by a digest
(`tests/unit/test_sqlite_versions.py`, `tests/unit/test_postgres_layout.py`).
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import StoreError
from gossamer.store import columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.store.columns import ColumnDialect

RESOURCE_COLUMNS = "{resource_columns}"  # stands in schema.sql for the columns of the table `resources`
_MIGRATION_FILE = re.compile(r"migration_(\d+)\.sql")


class Schema(NamedTuple):
    """The tables of a back-end and the way to them."""

    script: str  # SQL for a new web
    migrations: Mapping[int, str]  # SQL by the schema version that it leads to

    @property
    def version(self) -> int:
        """The version that the script makes."""
        return max((1, *self.migrations))

    def scripts_from(self, version: int) -> list[str]:
        """Return the scripts that bring a web of a version to the newest; version 0 is an empty database."""
        if version == 0:
            return [self.script]
        return [self.migrations[step] for step in sorted(self.migrations) if step > version]


def load_schema(package: str, dialect: ColumnDialect) -> Schema:
    """Return the schema of the back-end in a package."""
    folder = resources.files(package)
    files = {int(m[1]): entry for entry in folder.iterdir() if (m := _MIGRATION_FILE.fullmatch(entry.name))}
    added = {column.since for column in columns.COLUMNS if column.since > 1}
    migrations = {}
    for version in sorted(added | files.keys()):
        added_columns = "".join(f"{statement};\n" for statement in dialect.additions(version))
        migrations[version] = added_columns + (files[version].read_text("utf-8") if version in files else "")
    script = folder.joinpath("schema.sql").read_text("utf-8")
    return Schema(script.replace(RESOURCE_COLUMNS, dialect.table_body()), migrations)


def refuse_while_crawling(display_name: str, working: Sequence[str]) -> None:
    """Raise if crawlers work in an older web, because their version of Gossamer does not know the new tables."""
    if working:
        raise StoreError(
            f"{display_name} is of an older version of Gossamer, and a crawler of that version"
            f" ({' and '.join(working)}) is at work there: stop it and try again."
        )
