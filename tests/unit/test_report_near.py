"""Near-duplicate pages: similarity estimates, and a cost that grows linearly with the pages."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gossamer.graph.reports.near_duplicates import SIGNATURE_LENGTH, hash_shingles, minhash_signatures, similar_pairs

VOCABULARY = [f"word{n}" for n in range(5_000)]


def text(seed: int, words: int = 1_000) -> list[str]:
    return random.Random(seed).choices(VOCABULARY, k=words)


def with_changes(words: list[str], every: int) -> str:
    return " ".join("changed" if position % every == 1 else word for position, word in enumerate(words))


def jaccard(one: str, other: str) -> float:
    a, b = (set(hash_shingles(each).tolist()) for each in (one, other))
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("every", [10, 20, 50, 100, 500])
def test_the_estimated_similarity_is_near_the_true_one(every: int) -> None:
    words = text(1, 3_000)
    one, other = " ".join(words), with_changes(words, every)
    signatures = minhash_signatures([hash_shingles(one), hash_shingles(other)])
    assert (signatures[0] == signatures[1]).mean() == pytest.approx(jaccard(one, other), abs=0.12)


def test_near_duplicates_are_found_among_other_pages() -> None:
    texts = [" ".join(text(seed)) for seed in range(50)] + [with_changes(text(seed), 400) for seed in range(10)]
    pairs = list(similar_pairs(minhash_signatures([hash_shingles(each) for each in texts]), 0.9))
    assert [(one, other) for one, other, _ in pairs] == [(50 + seed, seed) for seed in range(10)]
    assert all(similarity >= 0.9 for _, _, similarity in pairs)


def test_texts_without_spaces_between_words_are_compared() -> None:
    letters = random.Random(3).choices("日本語中文字漢詩歌山川花鳥風月雪星海空雲", k=2_000)
    one = "".join(letters)
    other = "".join([*letters[:1_000], "猫", *letters[1_001:]])
    assert len(list(similar_pairs(minhash_signatures([hash_shingles(one), hash_shingles(other)]), 0.9))) == 1


@pytest.mark.parametrize("short", ["", "a few words", "x" * 32, "\0" * 100])
def test_short_texts_have_no_shingles(short: str) -> None:
    assert len(hash_shingles(short)) == 0


def test_the_same_text_has_the_same_signature_in_every_process() -> None:
    signatures = minhash_signatures([hash_shingles(" ".join(text(1)))])
    assert signatures.shape == (1, SIGNATURE_LENGTH)
    assert signatures[0, :3].tolist() == [28232665, 45712934, 102912976]


def test_ten_thousand_equal_pages_are_not_compared_pairwise() -> None:
    signatures = np.repeat(minhash_signatures([hash_shingles(" ".join(text(1)))]), 10_000, axis=0)
    assert len(list(similar_pairs(signatures, 0.9))) == 9_999  # one pair per page; all pairs would be fifty million
