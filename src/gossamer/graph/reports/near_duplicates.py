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

    Words = NDArray[np.uint64]
    Signatures = NDArray[np.uint32]

RUN = 32  # bytes: about five words
NUMBERS = 128  # of a signature; the estimate is within 0.05 in two of three cases, at 0.9 within 0.03
BANDS = 16
SEED = 1  # whatever, but always the same
LEAST_RUNS = 20  # a page of fewer words is not compared: nearly nothing is nearly equal to everything
_BLANK, _LEAD_OF_THREE = 0x20, 0xE0  # in UTF-8, CJK is what takes three bytes
_MIX = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing


def runs_of(text: str) -> Words:
    """The runs of a text as numbers; some may be there twice."""
    written = text.encode("utf-8", "replace")
    count = len(written) - RUN
    if count <= 0:
        return np.empty(0, np.uint64)
    letters = np.frombuffer(written, np.uint8)
    starts = np.flatnonzero((letters[:count] == _BLANK) | (letters[1 : count + 1] >= _LEAD_OF_THREE)) + 1
    every = np.ndarray((count + 1,), f"V{RUN}", written, strides=(1,))  # a run from each byte, without a copy
    runs = every[starts].view(np.uint64).reshape(-1, RUN // 8)
    hashed = runs[:, 0]
    for column in range(1, RUN // 8):
        hashed = (hashed ^ (hashed >> np.uint64(29))) * _MIX + runs[:, column]
    return hashed * _MIX


def signatures(sets: Sequence[Words]) -> Signatures:
    """A row of numbers for each set."""
    ends = np.cumsum([0, *map(len, sets)], dtype=np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(np.concatenate(sets), ends, NUMBERS, SEED)
    return np.array(matrix.to_rows(), np.uint32)


def near_pairs(signs: Signatures, least: float) -> Iterator[tuple[int, int, float]]:
    """For every row that is nearly equal to an earlier one: its number, the other's and the similarity; by number."""
    best: dict[int, tuple[float, int]] = {}
    for band in np.split(signs, BANDS, axis=1):
        ones, others = _candidates(band)
        equal = (signs[ones] == signs[others]).mean(axis=1)
        for one, other, similarity in zip(*(a[equal >= least].tolist() for a in (ones, others, equal)), strict=True):
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
