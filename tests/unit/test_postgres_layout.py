"""Webs in PostgreSQL are there already: their tables change by a migration, or not at all."""

from __future__ import annotations

import hashlib
from importlib import resources

from gossamer.store.postgres.opening import LAYOUT, MIGRATIONS

# What schema.sql says in each layout, without its comments. Webs of these layouts are on servers: where the last one
# differs, it is not this number that must change, but `LAYOUT`. A new one takes a migration, a line here, and a test
# that the layout before, kept beside this file, comes out of it like a new web (test_sqlite_versions.py has such ones).
LAYOUTS = {1: "28ed978c385a1f1c"}


def test_a_layout_stays_what_it_was() -> None:
    text = resources.files("gossamer.store.postgres").joinpath("schema.sql").read_text("utf-8")
    said = " ".join(" ".join(line.partition("--")[0] for line in text.splitlines()).split())
    assert hashlib.sha256(said.encode()).hexdigest()[:16] == LAYOUTS[LAYOUT]
    assert {1, *MIGRATIONS} == set(LAYOUTS)
