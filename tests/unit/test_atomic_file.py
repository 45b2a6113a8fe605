"""An exported file appears complete or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gossamer.files.atomic_file import open_atomic

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_replaced_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    with open_atomic(target) as out:
        out.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_failure_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")

    def fail() -> None:
        with open_atomic(target) as out:
            out.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_named_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_atomic(pipe) as out:
        out.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
