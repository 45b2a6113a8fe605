"""Arrays in files: published complete or not at all, readable after their replacement."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gossamer.graph.arrays import ArrayWriter, directory_lock, graph_directory, load_bundle

if TYPE_CHECKING:
    from pathlib import Path


def publish(directory: Path, *values: int, version: int = 1) -> None:
    with directory_lock(directory), ArrayWriter(directory, "part") as writer:
        for value in values:
            writer.append("numbers", np.array([value], np.int32))
        writer.append("none", np.empty(0, np.float64))
        writer.publish(version, {"size": len(values)})


def test_a_bundle_is_read_as_written(tmp_path: Path) -> None:
    assert load_bundle(tmp_path, "part") is None
    publish(tmp_path, 3, 1, 2, version=9)
    bundle = load_bundle(tmp_path, "part")
    assert bundle is not None
    assert (bundle.version, bundle.facts) == (9, {"size": 3})
    assert bundle["numbers"].tolist() == [3, 1, 2]
    assert bundle["numbers"].dtype == np.int32
    assert len(bundle["none"]) == 0
    assert bundle["none"].dtype == np.float64


def test_a_reader_keeps_a_replaced_bundle(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    old = load_bundle(tmp_path, "part")
    publish(tmp_path, 2)
    new = load_bundle(tmp_path, "part")
    assert old is not None
    assert new is not None
    assert (old["numbers"].tolist(), new["numbers"].tolist()) == ([1], [2])
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1


def test_an_unpublished_bundle_leaves_no_files(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    before = sorted(tmp_path.rglob("*"))
    with suppress(KeyboardInterrupt), ArrayWriter(tmp_path, "part") as writer:
        writer.append("numbers", np.arange(9))
        raise KeyboardInterrupt
    assert sorted(tmp_path.rglob("*")) == before


def test_leftovers_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    (tmp_path / "other-00dead00").mkdir()
    (tmp_path / "other-00dead00" / "numbers").write_bytes(b"1234")
    (tmp_path / "other.json.00dead00").write_bytes(b"{")
    (tmp_path / "mine.txt").write_bytes(b"not of the graph")
    publish(tmp_path, 1)
    assert {path.name for path in tmp_path.iterdir() if "part" not in path.name} == {"lock", "mine.txt"}


@pytest.mark.parametrize(
    "manifest", [b"", b"{}", b'{"format":0,"version":1,"folder":"x","arrays":{},"facts":{}}', b"\xff"]
)
def test_an_invalid_manifest_loads_as_none(tmp_path: Path, manifest: bytes) -> None:
    publish(tmp_path, 1)
    (tmp_path / "part.json").write_bytes(manifest)
    assert load_bundle(tmp_path, "part") is None


def test_a_truncated_array_loads_as_none(tmp_path: Path) -> None:
    publish(tmp_path, 1, 2, 3)
    (numbers,) = tmp_path.glob("part-*/numbers")
    numbers.write_bytes(numbers.read_bytes()[:-1])
    assert load_bundle(tmp_path, "part") is None


def test_a_missing_array_loads_as_none(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    (numbers,) = tmp_path.glob("part-*/numbers")
    numbers.unlink()
    assert load_bundle(tmp_path, "part") is None


def test_a_writable_web_holds_its_graph(tmp_path: Path) -> None:
    with graph_directory(str(tmp_path)) as directory:
        assert directory == tmp_path / "graph"


def test_an_unwritable_web_gets_a_temporary_graph_directory(tmp_path: Path) -> None:
    with graph_directory(str(tmp_path / "nowhere")) as directory:
        publish(directory, 1)
        assert tmp_path not in directory.parents
    assert not directory.exists()
    assert list(tmp_path.iterdir()) == []
