"""An index where nothing can be written."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from typing import TYPE_CHECKING

from gossamer.index.tantivy import TantivyLocation, TantivyReader, TantivyWriter
from gossamer.model import Field
from helpers.index.small_index import fill, standing

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_an_index_that_cannot_be_written_is_read_though_tantivy_locks_what_it_was_shown_while_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = TantivyLocation(tmp_path / "index")
    with closing(TantivyWriter(place)) as writer:
        fill(writer, standing(1, [(Field.TEXT, "amber")]), standing(2, [(Field.TEXT, "basin")]))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    locked: list[Path] = []
    remove = os.rmdir

    def lock_first(path: str, *, dir_fd: int | None = None) -> None:
        for folder in temporary.iterdir():
            if folder not in locked:
                (folder / ".tantivy-meta.lock").touch()
                locked.append(folder)
        remove(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", lock_first)
    with closing(TantivyReader(place)) as reader:
        assert sorted(reader.ids()) == [1, 2]
    assert len(locked) == 2  # pages, anchors
    assert not list(temporary.iterdir())
