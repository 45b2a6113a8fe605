"""Find nearly equal pages by MinHash, without comparing every pair.

A text becomes a set of shingles: the 32 bytes from each start of a word, or of a character in scripts without blanks.
MinHash (rensa) turns a set into a signature of 128 numbers. The share of equal numbers in two signatures estimates the
Jaccard similarity of the sets. Two signatures are candidates if one of 16 bands of 8 numbers is equal. That finds 999
of 1,000 pairs that are 90 % equal, and 6 of 100 that are 50 % equal. Within a band a page is compared only with the
first and the previous page of its group. So ten thousand equal pages make twenty thousand pairs, not fifty million.
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

SHINGLE_BYTES = 32  # about five words
SIGNATURE_LENGTH = 128  # numbers; standard error of the estimate: at most 0.05, 0.03 at a similarity of 0.9
BANDS = 16
SEED = 1  # fixed, so that results are reproducible
MIN_SHINGLES = 20  # shorter pages are not compared: almost empty pages resemble each other
_BLANK, _THREE_BYTE_LEAD = 0x20, 0xE0  # first byte of three in UTF-8, as CJK characters have
_MIX = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing


def hash_shingles(text: str) -> ShingleHashes:
    """Return the hashes of a text's shingles, possibly with repetitions."""
    encoded = text.encode("utf-8", "replace")
    count = len(encoded) - SHINGLE_BYTES
    if count <= 0:
        return np.empty(0, np.uint64)
    letters = np.frombuffer(encoded, np.uint8)
    starts = np.flatnonzero((letters[:count] == _BLANK) | (letters[1 : count + 1] >= _THREE_BYTE_LEAD)) + 1
    # A shingle at each byte, without a copy.
    windows = np.ndarray((count + 1,), f"V{SHINGLE_BYTES}", encoded, strides=(1,))
    shingles = windows[starts].view(np.uint64).reshape(-1, SHINGLE_BYTES // 8)
    hashes = shingles[:, 0]
    for column in range(1, SHINGLE_BYTES // 8):
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _MIX + shingles[:, column]
    return hashes * _MIX


def minhash_signatures(sets: Sequence[ShingleHashes]) -> Signatures:
    """Return the signature of each set, as rows."""
    ends = np.cumsum([0, *map(len, sets)], dtype=np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(np.concatenate(sets), ends, SIGNATURE_LENGTH, SEED)
    return np.array(matrix.to_rows(), np.uint32)


def similar_pairs(rows: Signatures, min_similarity: float) -> Iterator[tuple[int, int, float]]:
    """Yield each row that is nearly equal to an earlier one: its number, the other number, the similarity."""
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
    """Return pairs of rows that agree in a band: each row with the first and the previous of its group."""
    keys = np.ascontiguousarray(band).view(np.dtype((np.void, band.shape[1] * band.itemsize))).ravel()
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(groups, kind="stable")
    follows = np.flatnonzero(groups[order][1:] == groups[order][:-1]) + 1
    rows = order[follows]
    return np.concatenate([rows, rows]), np.concatenate([firsts[groups[rows]], order[follows - 1]])
