"""The passes that collect the documents of words: the kernel and Python give the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conftest import skip_without_native
from gossamer.index.dictionary import PythonDictionaryPass
from gossamer.kernels import native

if TYPE_CHECKING:
    from gossamer.kernels import DictionaryColumns, DictionaryPass

NAMES = [f"field{number}" for number in range(16)]
CODES = st.one_of(st.integers(1, 8), st.integers(2**31, 2**31 + 3), st.integers(1, 2**32 - 1))
RUNS = st.lists(st.tuples(st.integers(0, 15), st.lists(CODES, max_size=30)), max_size=4)


def pack(numbers: list[int]) -> bytes:
    return np.array(numbers, "<u4").tobytes()


def collect(pass_: DictionaryPass, documents: list[list[tuple[int, list[int]]]], limit: int) -> list[DictionaryColumns]:
    for runs in documents:
        words = [code for _, codes in runs for code in codes]
        pass_.add(pack(words), pack([16 * len(codes) + field for field, codes in runs]))
    chunks = []
    while (columns := pass_.take_rows(limit))[0]:
        chunks.append(columns)
    assert columns == (b"", b"", b"", b"", "", "")
    return chunks


@given(st.dictionaries(CODES, st.integers(0, 5), min_size=1), st.lists(RUNS, max_size=6), st.integers(1, 4))
def test_the_rows_of_a_pass_are_the_same_both_ways(
    words: dict[int, int], documents: list[list[tuple[int, list[int]]]], limit: int
) -> None:
    if native is None:
        skip_without_native()
    codes = sorted(words)
    columns = pack(codes), pack([words[code] for code in codes]), NAMES
    found = collect(native.DictionaryPass(*columns), documents, limit)
    assert found == collect(PythonDictionaryPass(*columns), documents, limit)
    assert sum(len(chunk[4].split()) for chunk in found) == sum(
        code in words for runs in documents for _, codes in runs for code in codes
    )
