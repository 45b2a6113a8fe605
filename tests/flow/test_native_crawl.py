"""A crawl with kernels stores and indexes the same as one without: resources, links, texts, words and positions."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from conftest import skip_without_native
from gossamer.kernels import SWITCH, native
from helpers.cli.commands import FAST, crawl, gossamer, query
from helpers.patience import PATIENT_CRAWL
from webs import debian

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from webs.nginx import Nginx

# Columns that differ between any two crawls: numbers in order of arrival, times, crawlers.
VARYING = {
    *("id", "doc_id", "word_id", "version", "tries", "priority"),
    *("discovered_at", "discovered_by", "visited_at", "visited_by"),
}
LINKS = """
    SELECT s.url, t.url, links.kind, links.follow, anchor, weight, rel, position FROM links
    JOIN resources s ON s.id = source JOIN resources t ON t.id = target"""
TEXTS = "SELECT url, hex(text_digest), hex(content_digest), title, description, language, canonical FROM resources"


def digest(rows: Iterable[object]) -> tuple[int, str]:
    """Return the number of rows and the digest of them sorted."""
    lines = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return len(lines), sha256("\n".join(lines).encode()).hexdigest()


def exported(store: Path, table: str) -> tuple[int, str]:
    """Return the digest of an exported table without the columns that vary."""
    out = store.with_name(f"{store.name}-{table}.jsonl")
    done = gossamer("export", table, "--store", store, "--out", out)
    assert done.returncode == 0, done.stderr
    with out.open() as file:
        return digest({name: value for name, value in json.loads(line).items() if name not in VARYING} for line in file)


def contents(store: Path) -> dict[str, tuple[int, str]]:
    """Return digests of everything that a crawl keeps."""
    tables = {table: exported(store, table) for table in ("resources", "links", "words")}
    return {**tables, "weights": digest(query(store, LINKS)), "texts": digest(query(store, TEXTS))}


@pytest.mark.full
@pytest.mark.parametrize("site", debian.DOCUMENTATION)
def test_crawls_with_and_without_kernels_are_equal(documentation_webs: Nginx, site: str, tmp_path: Path) -> None:
    if native is None:
        skip_without_native()
    url, found = documentation_webs.url(site, "/index.html"), {}
    for switch in ("1", "0"):
        crawl(url, tmp_path / switch, *FAST, env={**PATIENT_CRAWL, SWITCH: switch})
        status = json.loads(gossamer("status", "--store", tmp_path / switch, "--json", env={SWITCH: switch}).stdout)
        assert status["native"] is (switch == "1")
        found[switch] = contents(tmp_path / switch)
    print(site, found["1"])
    assert found["1"] == found["0"]
