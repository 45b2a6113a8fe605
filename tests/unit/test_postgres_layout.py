"""Webs in PostgreSQL exist on servers: only a migration may change their tables."""

from __future__ import annotations

import hashlib
from importlib import resources

from gossamer.store.postgres.opening import LAYOUT, MIGRATIONS

# Digest of schema.sql without its comments, by layout. Webs of these layouts exist on servers: if the last digest
# differs, raise `LAYOUT` instead of changing the digest. A new layout needs a migration, a line here, and a test that
# migrates a copy of the previous schema, kept beside this file, to the new one (as test_sqlite_versions.py does).
LAYOUTS = {1: "28ed978c385a1f1c"}


def test_a_released_layout_never_changes() -> None:
    text = resources.files("gossamer.store.postgres").joinpath("schema.sql").read_text("utf-8")
    statements = " ".join(" ".join(line.partition("--")[0] for line in text.splitlines()).split())
    assert hashlib.sha256(statements.encode()).hexdigest()[:16] == LAYOUTS[LAYOUT]
    assert {1, *MIGRATIONS} == set(LAYOUTS)
