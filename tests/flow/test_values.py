"""Values that strangers write (dates, numbers, header texts) from the file to every output."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import httpx
import pytest

from helpers.cli.commands import gossamer, query
from helpers.files.archives import record, response, write_archive
from helpers.patience import PATIENCE
from helpers.store.small_web import SEED, build
from helpers.web.browser import AppServer

if TYPE_CHECKING:
    from pathlib import Path

BAD_DATES = (
    "0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:59Z", "00010101000000", "0001-01-01",
)  # fmt: skip
# Times that version 0.1 stored, or that a damaged row may hold.
BAD_TIMES = (-62_135_683_140.0, 253_402_387_139.0, 1e300, -1e300, float("inf"), float("-inf"))
TABLES = ("resources.csv", "resources.jsonl", "visits.parquet", "hosts.csv")
WITHOUT_INDEX = {"GOSSAMER_CRAWL_INDEX": "false"}


def run(*arguments: object) -> str:
    done = gossamer(*arguments, env=WITHOUT_INDEX)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def export_everything(web: Path, out: Path) -> None:
    """Write every export, and import those that carry pages."""
    for name in TABLES:
        run("export", name.partition(".")[0], "--out", out / name, "--store", web)
    run("export", "warc", "--out", out / "pages.warc.gz", "--store", web)
    run("export", "files", "--out", out / "files", "--store", web)
    run("import", out / "pages.warc.gz", "--store", out / "from-archive")
    run("import", out / "files", "--store", out / "from-files")


def test_an_archive_with_impossible_dates_is_imported_as_of_now(tmp_path: Path) -> None:
    records = [
        record(response(Last_Modified="Sat, 01 Jan 0000 00:00:00 GMT"), uri=f"{SEED}{number}", WARC_Date=date)
        for number, date in enumerate(BAD_DATES)
    ]
    before = time.time()
    run("import", write_archive(tmp_path / "a.warc", *records), "--store", tmp_path / "web")
    times = [moment for (moment,) in query(tmp_path / "web", "SELECT visited_at FROM resources WHERE visits > 0")]
    assert len(times) == len(BAD_DATES)
    assert all(before <= moment <= time.time() for moment in times)
    export_everything(tmp_path / "web", tmp_path)


@pytest.fixture
def old_web(tmp_path: Path) -> Path:
    """Return a web whose every stored time is impossible."""
    build(tmp_path / "web").close()
    with closing(sqlite3.connect(tmp_path / "web/web.db", isolation_level=None)) as db:
        for table, key in (("resources", "id"), ("visits", "resource"), ("history", "id"), ("rounds", "id")):
            for column in [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1].endswith("_at")]:
                for number, moment in enumerate(BAD_TIMES):
                    db.execute(
                        f"UPDATE {table} SET {column} = ? WHERE {key} % ? = ? AND {column} IS NOT NULL",
                        (moment, len(BAD_TIMES), number),
                    )
    return tmp_path / "web"


def test_a_web_with_impossible_times_is_shown_and_exported(old_web: Path, tmp_path: Path) -> None:
    export_everything(old_web, tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "resources.jsonl").read_text().splitlines()]
    assert {row["visited_at"] for row in rows} == {None}
    run("page", SEED, "--store", old_web)
    run("status", "--store", old_web)
    run("crawlers", "--store", old_web)
    with AppServer(old_web) as app, httpx.Client(base_url=app.url, timeout=PATIENCE) as client:
        paths = ("/crawl", "/hosts", "/errors", f"/page?url={SEED}", f"/source?url={SEED}", "/api/status", "/metrics")
        reports = [report for report in client.get("/api/reports").json()["reports"] if not report["unavailable"]]
        assert reports
        for path in (*paths, *(f"/reports/{report['report']}?url={SEED}" for report in reports)):
            assert client.get(path).status_code == 200, path


def test_a_manifest_with_impossible_values_is_imported_or_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, moment in (("old", -(10**10)), ("far", 1 << 45), ("page", 784_111_777)):
        (folder / f"{name}.html").write_text("<title>A page</title>")
        os.utime(folder / f"{name}.html", (moment, moment))
    entries: list[dict[str, object]] = [
        {"path": "old.html", "visited_at": -1e300},
        {"path": "far.html", "visited_at": 1e300, "etag": "e" * 100_000},
        {"path": "page.html", "last_modified": "x" * 100_000, "media_type": "text/html", "charset": "y" * 100_000},
        {"path": "page.html", "etag": "a\0b", "language": "\0" * 1_000, "canonical": "\0"},
    ]
    lines = [json.dumps({"url": f"{SEED}{number}", **entry}) for number, entry in enumerate(entries)]
    (folder / "manifest.jsonl").write_text("\n".join(lines))
    run("import", folder, "--store", tmp_path / "web")
    stored = query(tmp_path / "web", "SELECT etag, last_modified, charset, language, canonical FROM resources")
    assert len(stored) == len(entries)
    assert all(len(text) < 2_000 and "\0" not in text for row in stored for text in row)
    for status in (0, -1, 10**30, 1e300):
        (folder / "manifest.jsonl").write_text(json.dumps({"url": SEED, "path": "page.html", "status": status}))
        refused = gossamer("import", folder, "--store", tmp_path / "web", env=WITHOUT_INDEX)
        assert refused.returncode == 2, refused.stderr
        assert "line 1, is not a manifest entry" in refused.stderr
