"""`crawl`, before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path


def test_of_many_seeds_the_first_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = [f"ftp://host{number}.test/" for number in range(500)]  # refused, so nothing is fetched
    with pytest.raises(SystemExit) as end:
        run(("crawl", *seeds, "--store", str(tmp_path / "web")))
    first = capsys.readouterr().err.splitlines()[0]
    assert end.value.code == 2
    assert first.startswith("Crawling ftp://host0.test/, ftp://host1.test/, ftp://host2.test/, and 497 more into ")
    assert "host3" not in first
