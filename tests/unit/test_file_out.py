"""A file that is exported is there whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gossamer.files.atomic_file import open_atomic

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_takes_its_name_when_all_is_written(tmp_path: Path) -> None:
    place = tmp_path / "out.csv"
    place.write_bytes(b"old")
    with open_atomic(place) as out:
        out.write(b"new")
        assert place.read_bytes() == b"old"
    assert place.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_fault_on_the_way_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "out.csv"
    place.write_bytes(b"old")

    def fail() -> None:
        with open_atomic(place) as out:
            out.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert place.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_atomic(pipe) as out:
        out.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
