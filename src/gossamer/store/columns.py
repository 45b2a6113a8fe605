"""The columns of the table `resources`, declared once for both back-ends.

The schemas, the migrations, the statements of `submit` and `forget`, and PostgreSQL's temporary tables derive from
`COLUMNS`. To add a column, append it with the next schema version (`since`); older webs get it when they are opened. A
column that readers see is also a field of `ResourceRow` (`store/values.py`).

`written` names the step that writes a column:

    discovery  when a link to the resource is found or judged again
    outcome    by every visit
    revisit    by every visit: the evidence for its next one (`store/work/revisit_rows.py`)
    response   by a visit that brought content, new or unchanged, or found that there is none
    content    by a visit that brought new content, or found that there is none
    visits     otherwise changed by visits
"""

from __future__ import annotations

from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gossamer.store.values import ResourceRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SqlType = Literal["id", "integer", "big", "small", "real", "text", "bytes"]
WritingStep = Literal["discovery", "outcome", "revisit", "response", "content", "visits"]
Origin = Literal["", "visit", "page"]


class _Required(Enum):
    """The default of a column that every INSERT names."""

    REQUIRED = "required"


REQUIRED = _Required.REQUIRED
NULL = None


class ResourceColumn(NamedTuple):
    """A column of `resources`."""

    name: str
    type: SqlType
    default: str | bytes | float | _Required | None  # REQUIRED: none; NULL: the column may be NULL
    written: WritingStep
    comment: str = ""
    origin: Origin = ""  # the value is the field of this name in `Visit` or `Page`; "": `visit_rows.py` computes it
    references: str = ""  # the table that it points at
    since: int = 1  # the schema version that added it


# In the order of the table. Columns that every batch reads come first, because SQLite reads a row from the left.
COLUMNS = (
    ResourceColumn("id", "id", REQUIRED, "discovery", "the DocID"),
    ResourceColumn("digest", "bytes", REQUIRED, "discovery", "128-bit BLAKE2b of the canonical URL's key"),
    ResourceColumn("host", "big", REQUIRED, "discovery", references="hosts"),
    ResourceColumn("state", "text", REQUIRED, "outcome"),
    ResourceColumn("role", "text", "page", "discovery", "page, sitemap, check"),
    ResourceColumn("outcome", "text", "", "outcome", "of the last visit"),
    ResourceColumn("depth", "integer", REQUIRED, "discovery", "depth, hops, kind, follow, seed: of its best claim"),
    ResourceColumn("hops", "integer", 0, "discovery"),
    ResourceColumn(
        "asked", "integer", REQUIRED, "discovery", "bits: judged strengths of claims (store/work/claims.py)"
    ),
    ResourceColumn("priority", "real", 0, "discovery"),
    ResourceColumn("tries", "integer", 0, "outcome", "failed tries in a row in this round"),
    ResourceColumn("visits", "integer", 0, "visits"),
    ResourceColumn("outlinks", "integer", NULL, "content", "rows in links; -1: followed, not stored; NULL: unknown"),
    ResourceColumn("version", "big", NULL, "visits", "the store version of its last change; NULL: never visited"),
    ResourceColumn("kind", "small", REQUIRED, "discovery"),
    ResourceColumn("follow", "small", REQUIRED, "discovery"),
    ResourceColumn("seed", "small", 0, "discovery"),
    ResourceColumn("url", "text", REQUIRED, "discovery"),
    ResourceColumn("reason", "text", "", "outcome", "why it has this state"),
    ResourceColumn("discovered_at", "real", REQUIRED, "discovery"),
    ResourceColumn("discovered_by", "big", NULL, "discovery", references="crawlers"),
    ResourceColumn("visited_at", "real", NULL, "outcome"),
    ResourceColumn("visited_by", "big", NULL, "outcome", references="crawlers"),
    ResourceColumn("status", "integer", 0, "outcome"),
    ResourceColumn("bytes", "big", 0, "response", origin="visit"),
    ResourceColumn("media_type", "text", "", "content"),
    ResourceColumn("charset", "text", "", "content", origin="page"),
    ResourceColumn("language", "text", "", "content", origin="page"),
    ResourceColumn("title", "text", "", "content", origin="page"),
    ResourceColumn("description", "text", "", "content", origin="page"),
    ResourceColumn("canonical", "text", "", "content", origin="page"),
    ResourceColumn("noindex", "small", 0, "content", origin="page"),
    ResourceColumn("nofollow", "small", 0, "content", origin="page"),
    ResourceColumn("etag", "text", "", "response"),
    ResourceColumn("last_modified", "text", "", "response"),
    ResourceColumn("content_digest", "bytes", b"", "response", origin="page"),
    ResourceColumn("text_digest", "bytes", b"", "content", origin="page"),
    ResourceColumn("topic", "real", 0, "content", "nearness to the crawl's topic", origin="page"),
    ResourceColumn("changes", "integer", 0, "visits", "visits that found new content"),
    ResourceColumn("told_at", "real", NULL, "visits", "the newest date of change in a sitemap or feed"),
    ResourceColumn("misled", "integer", 0, "revisit", "such dates in a row that were wrong"),
    ResourceColumn("dated", "real", NULL, "revisit", "dated, found, gap, quiet: how often it changes"),
    ResourceColumn("found", "real", NULL, "revisit", "(`gossamer.revisit.evidence`)"),
    ResourceColumn("gap", "real", NULL, "revisit"),
    ResourceColumn("quiet", "real", NULL, "revisit"),
    ResourceColumn("pace", "integer", NULL, "revisit", "how soon it deserves a visit (`gossamer.revisit.pace`)"),
    ResourceColumn("cut", "text", "", "content", "parts over the page budget", origin="page", since=3),
    ResourceColumn(
        "script_sign", "text", "", "response", "why scripts seem to make it: app shell", origin="page", since=4
    ),
    ResourceColumn("rendered", "text", "", "response", "why a browser rendered it", origin="page", since=4),
)
TYPES = {column.name: column.type for column in COLUMNS}


# -- groups ------------------------------------------------------------------------------------------------------------


def _written_by(writer: WritingStep, origin: Origin) -> tuple[str, ...]:
    return tuple(column.name for column in COLUMNS if (column.written, column.origin) == (writer, origin))


# The columns that a visit writes, in the order of the rows of `store/work/visit_rows.py`.
OUTCOME = ("state", "outcome", "reason", "status", "tries", "visited_at", "visited_by")
REVISIT = ("dated", "found", "gap", "quiet", "misled", "pace")
VALIDATORS = ("etag", "last_modified")
_RESPONSE_OF_VISIT = _written_by("response", "visit")
_RESPONSE_OF_PAGE = _written_by("response", "page")
_CONTENT_OF_PAGE = _written_by("content", "page")
RESPONSE = (*VALIDATORS, *_RESPONSE_OF_VISIT, *_RESPONSE_OF_PAGE)
CONTENT = ("media_type", "outlinks", *_written_by("content", "visit"), *_CONTENT_OF_PAGE)


def _fields(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gets these fields of a value as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


response_of_visit = _fields(_RESPONSE_OF_VISIT)
response_of_page = _fields(_RESPONSE_OF_PAGE)
content_of_visit = _fields(_written_by("content", "visit"))
content_of_page = _fields(_CONTENT_OF_PAGE)


# -- SQL ---------------------------------------------------------------------------------------------------------------

# Fields of `ResourceRow` that are not plain columns of `resources AS r`.
_READ_AS = {
    "host": "h.name",
    "backlinks": "coalesce(b.number, 0)",
    "discovered_by": "coalesce(d.name, '')",
    "visited_by": "coalesce(v.name, '')",
    "version": "coalesce(r.version, 0)",
}
_RESOURCE_JOINS = """
    FROM resources AS r JOIN hosts AS h ON h.id = r.host LEFT JOIN backlinks AS b ON b.resource = r.id
    LEFT JOIN crawlers AS d ON d.id = r.discovered_by LEFT JOIN crawlers AS v ON v.id = r.visited_by"""


class ColumnDialect(NamedTuple):
    """How a back-end writes columns in SQL."""

    types: Mapping[SqlType, str]
    empty_bytes: str
    hex: str  # SQL that writes bytes as hexadecimal digits, with {} for the bytes
    has_references: bool

    def definition(self, column: ResourceColumn) -> str:
        """Return the definition of a column, as CREATE TABLE and ALTER TABLE have it."""
        parts = [column.name, self.types[column.type]]
        if column.type == "id":
            parts.append("PRIMARY KEY")
        elif column.default is not NULL:
            parts.append("NOT NULL")
            if column.default is not REQUIRED:
                parts.append(f"DEFAULT {self.default(column)}")
        if column.references and self.has_references:
            parts.append(f"REFERENCES {column.references} (id)")
        return " ".join(parts)

    def default(self, column: ResourceColumn) -> str:
        """Return the default as SQL."""
        if column.default is NULL:
            return "NULL"
        if isinstance(column.default, bytes):
            return self.empty_bytes
        return f"'{column.default}'" if isinstance(column.default, str) else str(column.default)

    def table_body(self) -> str:
        """Return the columns for CREATE TABLE, with their comments."""
        lines = []
        for number, column in enumerate(COLUMNS, 1):
            comma = "," if number < len(COLUMNS) else ""
            line = f"    {self.definition(column)}{comma}"
            lines.append(f"{line:<52} -- {column.comment}" if column.comment else line)
        return "\n".join(lines)

    def additions(self, version: int) -> list[str]:
        """Return the statements that add the columns of a schema version to an older web."""
        added = (column for column in COLUMNS if column.since == version)
        return [f"ALTER TABLE resources ADD COLUMN {self.definition(column)}" for column in added]

    def stage(self, names: tuple[str, ...]) -> str:
        """Return columns of these types for a temporary table; all may be NULL."""
        return ", ".join(f"{name} {self.types[TYPES[name]]}" for name in names)

    def reset(self) -> str:
        """Return assignments that make a resource look unvisited; the caller sets state, reason and version."""
        kept = {"state", "reason", "version"}
        by_visits = (column for column in COLUMNS if column.written != "discovery" and column.name not in kept)
        return ", ".join(f"{column.name} = {self.default(column)}" for column in by_visits)

    def select_rows(self) -> str:
        """Return a SELECT of `ResourceRow` in the order of its fields, from `resources AS r`; the caller adds WHERE."""
        return f"SELECT {', '.join(map(self._read, ResourceRow.__struct_fields__))}{_RESOURCE_JOINS}"

    def _read(self, name: str) -> str:
        expression = _READ_AS.get(name, f"r.{name}")
        if TYPES.get(name) == "bytes":
            expression = self.hex.format(expression)
        return expression if expression == f"r.{name}" else f"{expression} AS {name}"
