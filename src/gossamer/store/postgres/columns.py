"""Columns of `resources` as PostgreSQL writes them."""

from gossamer.store.columns import ColumnDialect

POSTGRES_COLUMNS = ColumnDialect(
    types={
        "id": "BIGINT", "integer": "INTEGER", "big": "BIGINT", "small": "SMALLINT",
        "real": "DOUBLE PRECISION", "text": 'TEXT COLLATE "C"', "bytes": "BYTEA",
    },
    empty_bytes="''",
    hex="encode({}, 'hex')",
    has_references=False,  # each would cost a look-up and a row lock
)  # fmt: skip
