"""The unpacked model of the language detector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from gossamer.index.language_model import ARRAYS, load_identifier

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = (
    "Le petit chat dort pendant que la souris danse dans la cuisine.",
    "Der Igel trägt im Herbst Blätter in sein Nest und schläft bis zum Frühling.",
    "javax.sql.rowset.CachedRowSet (also extends javax.sql.rowset.Joinable)",
    "日本の首都は東京です。人口は約千四百万人です。",
    "ИЮЛЬ БЫЛ ЖАРКИМ, ДОЖДЕЙ ПОЧТИ ШЛИ",
    "x",
    "",
)


@pytest.fixture(scope="module")
def packed() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def classify_all(identifier: LanguageIdentifier) -> list[tuple[str, float]]:
    return [identifier.classify(sample) for sample in SAMPLES]


def test_mapped_arrays_give_the_same_languages_and_probabilities(tmp_path: Path, packed: LanguageIdentifier) -> None:
    first, second = (load_identifier(tmp_path / "cache", write=True) for _ in range(2))
    assert isinstance(second.tk_nextmove, memoryview), "the second call maps what the first one wrote"
    assert classify_all(first) == classify_all(second) == classify_all(packed)


def test_a_folder_without_write_access_changes_nothing(tmp_path: Path, packed: LanguageIdentifier) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    assert classify_all(load_identifier(tmp_path / "cache", write=True)) == classify_all(packed)
    load_identifier(tmp_path / "other", write=False)
    assert not (tmp_path / "other").exists()


def test_files_of_another_version_and_incomplete_ones_are_not_used(tmp_path: Path, packed: LanguageIdentifier) -> None:
    old = tmp_path / "py3langid-1-1"
    old.mkdir()
    load_identifier(tmp_path, write=True)
    (unpacked,) = tmp_path.iterdir()
    assert unpacked != old
    (unpacked / f"{ARRAYS[0]}.npy").unlink()
    assert classify_all(load_identifier(tmp_path, write=False)) == classify_all(packed)
