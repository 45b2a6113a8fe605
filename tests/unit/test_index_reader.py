"""Reading an index that cannot be written."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from typing import TYPE_CHECKING

from gossamer.index.tantivy import TantivyLocation, TantivyReader, TantivyWriter
from gossamer.model import Field
from helpers.index.small_index import fill, indexable

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_read_only_index_is_read_although_tantivy_locks_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tantivy may create its lock file while the reader removes the temporary folder."""
    location = TantivyLocation(tmp_path / "index")
    with closing(TantivyWriter(location)) as writer:
        fill(writer, indexable(1, [(Field.TEXT, "amber")]), indexable(2, [(Field.TEXT, "basin")]))
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
    with closing(TantivyReader(location)) as reader:
        assert sorted(reader.ids()) == [1, 2]
    assert len(locked) == 2  # pages, anchors
    assert not list(temporary.iterdir())
