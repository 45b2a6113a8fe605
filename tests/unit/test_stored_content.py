"""Stored texts and sources, read as far as wanted."""

from __future__ import annotations

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import StoreCorrupt
from gossamer.model import Field
from gossamer.store.content import decode_text, iterate_source, iterate_text, read_text_start

RUNS = st.lists(st.tuples(st.sampled_from(Field), st.text(max_size=300)), max_size=40)


def pack(runs: object) -> bytes:
    return zstandard.compress(msgspec.msgpack.encode(runs))


@given(RUNS)
def test_a_text_in_pieces_equals_the_whole_text(runs: list[tuple[Field, str]]) -> None:
    packed = pack(runs)
    assert list(iterate_text(packed)) == decode_text(packed) == runs
    assert read_text_start(packed, 1 << 20, 0) == (runs, False)


@given(RUNS, st.integers(0, 2_000), st.integers(0, 20))
def test_the_start_of_a_text_is_cut_at_the_limit(runs: list[tuple[Field, str]], limit: int, run_cost: int) -> None:
    start = read_text_start(pack(runs), limit, run_cost)
    assert sum(len(text) for _, text in start.runs) <= limit
    cost = sum(len(text) + run_cost for _, text in start.runs[:-1])
    assert cost < limit or len(start.runs) <= 1
    assert [field for field, _ in start.runs] == [field for field, _ in runs[: len(start.runs)]]
    assert all(run[1].startswith(text) for run, (_, text) in zip(runs, start.runs, strict=False))
    assert start.is_cut == (start.runs != runs)


def test_the_start_of_a_giant_run_decompresses_little() -> None:
    packed = pack([(Field.TEXT, "漢字" * 5_000_000)])
    assert read_text_start(packed, 10, 0) == ([(Field.TEXT, "漢字" * 5)], True)
    assert len(next(iterate_source(packed))) <= 64 << 10


@pytest.mark.parametrize("body", [b"", b"\x93", b"\x91\x92\x07\xa5abc", b"\xc0", b"\x91\x92\x07\xc0"])
def test_a_damaged_text_is_an_error(body: bytes) -> None:
    packed = zstandard.compress(body)
    with pytest.raises(StoreCorrupt):
        list(iterate_text(packed))
    with pytest.raises(StoreCorrupt):
        list(iterate_text(packed[:-3]))
