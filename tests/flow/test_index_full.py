"""A full disk of the index: the crawl continues, no document is set aside, and the index catches up with space."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.errors import IndexMissing
from gossamer.wiring import open_index
from helpers.cli.commands import FAST, crawl, environment, gossamer, query
from helpers.patience import PATIENCE, until
from helpers.store.small_disk import run_on_a_small_disk
from webs.generated import GeneratedWeb, Shape

PAGES = 400
SMALL, LARGE = "300k", "100m"


def resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)


def documents(store: Path) -> int:
    try:
        with closing(open_index(str(store))) as index:
            assert not index.set_aside_documents()
            return index.count()
    except IndexMissing:
        return 0


def a_crawl_continues_and_the_index_catches_up(store: Path, disk: Path) -> None:
    with GeneratedWeb(Shape(pages=PAGES)) as site:
        done = gossamer("crawl", site.url, "--store", store, *FAST)
    assert done.returncode == 0, done.stderr
    assert "The index could not follow: No disk space is left for the index" in done.stderr
    assert query(store, "SELECT state, count(*) FROM resources GROUP BY 1") == [("visited", PAGES)]
    done = gossamer("index", "--store", store)
    assert done.returncode == 2
    assert "gossamer: No disk space is left for the index" in done.stderr
    assert "Traceback" not in done.stderr
    resize(disk, LARGE)
    done = gossamer("index", "--store", store)
    assert done.returncode == 0, done.stderr
    assert documents(store) == PAGES


def an_index_process_continues_by_itself(store: Path, disk: Path) -> None:
    with GeneratedWeb(Shape(pages=PAGES)) as site:
        crawl(site.url, store, "--no-index", *FAST)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gossamer.indexing", str(store)], env=environment(), stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: shutil.disk_usage(disk).free < 8 << 10)
    assert process.poll() is None
    resize(disk, LARGE)
    until(lambda: documents(store) == PAGES)
    _, stderr = process.communicate(timeout=PATIENCE)  # closes its stdin, as the end of a crawl does
    assert process.returncode == 0, stderr


CASES = {case.__name__: case for case in (a_crawl_continues_and_the_index_catches_up,
                                          an_index_process_continues_by_itself)}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_index_survives_a_full_disk(case: str, tmp_path: Path) -> None:
    disk = tmp_path / "web" / "index"
    disk.mkdir(parents=True)
    run_on_a_small_disk(disk, SMALL, __file__, case)


if __name__ == "__main__":
    CASES[sys.argv[2]](Path(sys.argv[1]).parent, Path(sys.argv[1]))
