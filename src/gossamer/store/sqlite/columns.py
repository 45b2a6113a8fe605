"""Columns of `resources` as SQLite writes them."""

from gossamer.store.columns import ColumnDialect

SQLITE_COLUMNS = ColumnDialect(
    types={
        "id": "INTEGER", "integer": "INTEGER", "big": "INTEGER", "small": "INTEGER", "real": "REAL",
        "text": "TEXT", "bytes": "BLOB",
    },
    empty_bytes="x''",
    hex="lower(hex({}))",
    has_references=True,
)  # fmt: skip


def assign(*names: str) -> str:
    """Return assignments of parameters to columns, for UPDATE."""
    return ", ".join(f"{name} = ?" for name in names)
