"""Webs in PostgreSQL exist on servers: only a migration may change their tables."""

from __future__ import annotations

import hashlib

from gossamer.store.postgres.opening import current_schema

# Digest of the tables of a new web without comments, by store version. Webs of these versions exist on servers: if the
# last digest differs, raise the version instead of changing the digest. A new version needs a migration or a column
# with its number (`store/migrations.py`), and a line here.
LAYOUTS = {1: "28ed978c385a1f1c", 3: "5c7bd7272a9321cb", 4: "51af994c36261f2d"}


def test_a_released_layout_never_changes() -> None:
    schema = current_schema()
    statements = " ".join(" ".join(line.partition("--")[0] for line in schema.script.splitlines()).split())
    assert hashlib.sha256(statements.encode()).hexdigest()[:16] == LAYOUTS[schema.version]
    assert {1, *schema.migrations} == set(LAYOUTS)
