"""Nearly equal pages: found where they are, at a cost that grows with their number and not with its square."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gossamer.graph.reports.near_duplicates import SIGNATURE_LENGTH, hash_shingles, minhash_signatures, similar_pairs

VOCABULARY = [f"word{n}" for n in range(5_000)]


def text(seed: int, words: int = 1_000) -> list[str]:
    return random.Random(seed).choices(VOCABULARY, k=words)


def with_changes(words: list[str], every: int) -> str:
    return " ".join("changed" if place % every == 1 else word for place, word in enumerate(words))


def jaccard(one: str, other: str) -> float:
    a, b = (set(hash_shingles(each).tolist()) for each in (one, other))
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("every", [10, 20, 50, 100, 500])
def test_the_similarity_told_is_near_the_true_one(every: int) -> None:
    words = text(1, 3_000)
    one, other = " ".join(words), with_changes(words, every)
    signs = minhash_signatures([hash_shingles(one), hash_shingles(other)])
    assert (signs[0] == signs[1]).mean() == pytest.approx(jaccard(one, other), abs=0.12)


def test_pages_that_are_nearly_equal_are_found_among_others() -> None:
    texts = [" ".join(text(seed)) for seed in range(50)] + [with_changes(text(seed), 400) for seed in range(10)]
    found = list(similar_pairs(minhash_signatures([hash_shingles(each) for each in texts]), 0.9))
    assert [(one, other) for one, other, _ in found] == [(50 + seed, seed) for seed in range(10)]
    assert all(similarity >= 0.9 for _, _, similarity in found)


def test_texts_in_scripts_without_blanks_are_compared_too() -> None:
    letters = random.Random(3).choices("日本語中文字漢詩歌山川花鳥風月雪星海空雲", k=2_000)
    one = "".join(letters)
    other = "".join([*letters[:1_000], "猫", *letters[1_001:]])
    assert len(list(similar_pairs(minhash_signatures([hash_shingles(one), hash_shingles(other)]), 0.9))) == 1


@pytest.mark.parametrize("short", ["", "a few words", "x" * 32, "\0" * 100])
def test_what_is_too_short_has_no_runs_to_compare(short: str) -> None:
    assert len(hash_shingles(short)) == 0


def test_the_same_text_has_the_same_signature_in_every_process() -> None:
    signs = minhash_signatures([hash_shingles(" ".join(text(1)))])
    assert signs.shape == (1, SIGNATURE_LENGTH)
    assert signs[0, :3].tolist() == [28232665, 45712934, 102912976]


def test_ten_thousand_equal_pages_are_not_compared_each_with_each() -> None:
    signs = np.repeat(minhash_signatures([hash_shingles(" ".join(text(1)))]), 10_000, axis=0)
    assert len(list(similar_pairs(signs, 0.9))) == 9_999  # each with one other; all pairs would be fifty million
