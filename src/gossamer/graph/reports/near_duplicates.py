"""Pages that are nearly the same, found without comparing each with each.

A text becomes the set of its runs of 32 bytes, one from the beginning of every word (of every character where a script
has no blanks). MinHash (rensa) makes a signature of 128 numbers of the set: the share of equal numbers in two
signatures estimates how much of the sets is equal (Jaccard). Signatures that agree in one of 16 bands of 8 numbers are
candidates: of pages that are 90 % equal 999 in 1,000, of those that are 50 % equal 6 in 100. In a band a page is only
held against the first of its kind and the one before it, so ten thousand equal pages make twenty thousand pairs and not
fifty million.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rensa import RMinHash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    ShingleHashes = NDArray[np.uint64]
    Signatures = NDArray[np.uint32]

SHINGLE_BYTES = 32  # bytes: about five words
SIGNATURE_LENGTH = 128  # of a signature; the estimate is within 0.05 in two of three cases, at 0.9 within 0.03
BANDS = 16
SEED = 1  # whatever, but always the same
MIN_SHINGLES = 20  # a page of fewer words is not compared: nearly nothing is nearly equal to everything
_BLANK, _THREE_BYTE_LEAD = 0x20, 0xE0  # in UTF-8, CJK is what takes three bytes
_MIX = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing


def hash_shingles(text: str) -> ShingleHashes:
    """The runs of a text as numbers; some may be there twice."""
    encoded = text.encode("utf-8", "replace")
    count = len(encoded) - SHINGLE_BYTES
    if count <= 0:
        return np.empty(0, np.uint64)
    letters = np.frombuffer(encoded, np.uint8)
    starts = np.flatnonzero((letters[:count] == _BLANK) | (letters[1 : count + 1] >= _THREE_BYTE_LEAD)) + 1
    windows = np.ndarray(
        (count + 1,), f"V{SHINGLE_BYTES}", encoded, strides=(1,)
    )  # a run from each byte, without a copy
    shingles = windows[starts].view(np.uint64).reshape(-1, SHINGLE_BYTES // 8)
    hashes = shingles[:, 0]
    for column in range(1, SHINGLE_BYTES // 8):
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _MIX + shingles[:, column]
    return hashes * _MIX


def minhash_signatures(sets: Sequence[ShingleHashes]) -> Signatures:
    """A row of numbers for each set."""
    ends = np.cumsum([0, *map(len, sets)], dtype=np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(np.concatenate(sets), ends, SIGNATURE_LENGTH, SEED)
    return np.array(matrix.to_rows(), np.uint32)


def similar_pairs(rows: Signatures, min_similarity: float) -> Iterator[tuple[int, int, float]]:
    """For every row that is nearly equal to an earlier one: its number, the other's and the similarity; by number."""
    best: dict[int, tuple[float, int]] = {}
    for band in np.split(rows, BANDS, axis=1):
        ones, others = _candidates(band)
        equal = (rows[ones] == rows[others]).mean(axis=1)
        for one, other, similarity in zip(
            *(a[equal >= min_similarity].tolist() for a in (ones, others, equal)), strict=True
        ):
            if similarity > best.get(one, (0.0, 0))[0]:
                best[one] = similarity, other
    return ((one, best[one][1], best[one][0]) for one in sorted(best))


def _candidates(band: Signatures) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows that agree in a band: each with the first of them, and with the one before it."""
    keys = np.ascontiguousarray(band).view(np.dtype((np.void, band.shape[1] * band.itemsize))).ravel()
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(groups, kind="stable")
    follows = np.flatnonzero(groups[order][1:] == groups[order][:-1]) + 1
    rows = order[follows]
    return np.concatenate([rows, rows]), np.concatenate([firsts[groups[rows]], order[follows - 1]])
