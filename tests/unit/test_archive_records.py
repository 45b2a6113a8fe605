"""Reading web archives record by record: what is broken is told, and nothing else is lost."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.errors import UsageError
from gossamer.files import records
from gossamer.files.file_page import SkippedItem
from gossamer.files.records import ArchiveRecord, read_records
from helpers.files.archives import HTML, page, put, record, response

if TYPE_CHECKING:
    from pathlib import Path

MANY = 1 << 20


def read(path: Path, max_block: int = MANY) -> tuple[list[str], list[str]]:
    """The URIs of good records, and what is wrong with the rest."""
    good, faults = [], []
    for found in read_records(path, max_block):
        if isinstance(found, SkippedItem):
            faults.append(found.reason)
        elif found.fault:
            faults.append(found.fault)
        else:
            good.append(found.headers["warc-target-uri"])
    return good, faults


def uris(*numbers: int) -> list[str]:
    return [f"https://example.org/{number}" for number in numbers]


@pytest.mark.parametrize("packed", [False, True])
def test_records_come_in_order_with_their_headers_and_blocks(tmp_path: Path, packed: bool) -> None:
    path = put(tmp_path / "a", record(b"x: y", kind="warcinfo", uri=""), page(1), packed=packed)
    info, one = read_records(path, MANY)
    assert isinstance(info, ArchiveRecord)
    assert (info.number, info.type, info.block) == (1, "warcinfo", b"x: y")
    assert isinstance(one, ArchiveRecord)
    assert (one.number, one.type, one.headers["warc-target-uri"]) == (2, "response", "https://example.org/1")
    assert one.block.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_file_may_be_gzipped_as_a_whole(tmp_path: Path) -> None:
    path = put(tmp_path / "a", b"".join(map(page, range(3))), packed=True)
    assert read(path) == (uris(0, 1, 2), [])


def test_members_may_end_anywhere(tmp_path: Path) -> None:
    whole = b"".join(map(page, range(3)))
    path = put(tmp_path / "a", *(whole[i : i + 100] for i in range(0, len(whole), 100)), packed=True)
    assert read(path) == (uris(0, 1, 2), [])


def test_header_fields_may_be_folded_and_lines_end_in_newlines_only(tmp_path: Path) -> None:
    text = b"WARC/1.0\nWARC-Type: response\nWARC-Target-URI: https://example.org/a\n\tb\nContent-Length: 2\n\nok\n\n"
    path = put(tmp_path / "a", text, text)
    assert read(path) == (["https://example.org/a b"] * 2, [])


@pytest.mark.parametrize("blanks", [b"", b"\r\n", b"\r\n" * 5, b"\n\n"])
def test_any_number_of_empty_lines_may_be_between_records(tmp_path: Path, blanks: bytes) -> None:
    one = page(1).removesuffix(b"\r\n\r\n")
    assert read(put(tmp_path / "a", one + blanks, page(2))) == (uris(1, 2), [])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("length", "fault"),
    [
        (10, records.BAD_LENGTH),  # too short
        (1000, records.BAD_LENGTH),  # into the next record
        (10**6 - 1, records.CUT_SHORT),  # beyond the end of the file
        (10**14, records.BAD_LENGTH),  # more than is taken: found while reading over it
        ("-5", records.BAD_HEADER),
        ("many", records.BAD_HEADER),
        ("", records.BAD_HEADER),
    ],
)
def test_a_wrong_length_loses_that_record_only(tmp_path: Path, packed: bool, length: int | str, fault: str) -> None:
    wrong = record(response(), length=length)
    good, faults = read(put(tmp_path / "a", page(1), wrong, page(2), page(3), packed=packed))
    assert good == uris(1, 2, 3)
    assert fault in faults


@pytest.mark.parametrize("packed", [False, True])
def test_garbage_between_records_is_told_once_and_passed_over(tmp_path: Path, packed: bool) -> None:
    path = put(tmp_path / "a", page(1), b"garbage\n" * 1000, page(2), packed=packed)
    assert read(path) == (uris(1, 2), [records.NO_HEADER])


@pytest.mark.parametrize("number", range(4))
def test_a_damaged_member_loses_its_record_only(tmp_path: Path, number: int) -> None:
    members = [bytearray(gzip.compress(page(n))) for n in range(4)]
    chance = random.Random(number)
    for _ in range(20):
        damaged = [member.copy() for member in members]
        at = chance.randrange(10, len(damaged[number]) - 9)  # a time before it and spare bits behind it nobody reads
        damaged[number][at] ^= 1 << chance.randrange(8)
        path = put(tmp_path / "a", *map(bytes, damaged))
        good, faults = read(path)
        assert good == uris(*(n for n in range(4) if n != number))
        assert faults


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_cut_short_is_told(tmp_path: Path, packed: bool) -> None:
    path = put(tmp_path / "a", page(1), page(2), packed=packed)
    path.write_bytes(path.read_bytes()[:-40])
    good, faults = read(path)
    assert good == uris(1)
    assert faults


def test_a_record_that_is_too_large_is_passed_over_without_being_held(tmp_path: Path) -> None:
    large = record(response(b"x" * (64 << 20)), uri="https://example.org/large")
    path = put(tmp_path / "a", page(1), large, page(2), packed=True)
    del large
    tracemalloc.start()
    assert read(path, 10_000) == (uris(1, 2), ["it is larger than 10,000 bytes"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_an_endless_header_is_not_held(tmp_path: Path) -> None:
    endless = b"WARC/1.1\r\n" + b"X-Field: value\r\n" * 200_000
    tracemalloc.start()
    good, faults = read(put(tmp_path / "a", endless, page(1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert good == uris(1)
    assert records.BAD_HEADER in faults
    assert peak < 12 << 20


def test_a_line_without_end_is_not_held(tmp_path: Path) -> None:
    path = put(tmp_path / "a", page(1), b"x" * (32 << 20), b"\n", page(2))
    tracemalloc.start()
    good, _ = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert good[-1:] == uris(2)
    assert peak < 8 << 20


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"\x1f\x8b\x08rubbish", gzip.compress(b"<html>", mtime=0), b"PK\x03\x04"]
)
def test_what_is_no_archive_is_refused_at_once(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UsageError, match="is not a web archive"):
        read_records(tmp_path / "a", MANY)


def test_arc_files_are_read_too(tmp_path: Path) -> None:
    block = response()
    first = b"filedesc://a.arc 0.0.0.0 20200229120000 text/plain 3\n1 0\n"
    one = b"http://example.org/a b 192.0.2.1 20200229120000 text/html %d\n" % len(block) + block + b"\n"
    path = put(tmp_path / "a", first, b"\n", one, one)
    found = list(read_records(path, MANY))
    assert [(each.type, each.headers["warc-target-uri"]) for each in found if isinstance(each, ArchiveRecord)] == [
        ("response", "http://example.org/a b"),
    ] * 2


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), packed=st.booleans())
def test_no_damage_makes_the_reader_fail(tmp_path: Path, data: st.DataObject, packed: bool) -> None:
    path = put(tmp_path / "a", record(b"", kind="warcinfo"), page(1), record(HTML, kind="resource"), packed=packed)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(20 if packed else 5, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 60)))
        content[start:end] = data.draw(st.binary(max_size=60))
    path.write_bytes(bytes(content))
    try:
        found = list(read_records(path, MANY))
    except UsageError:
        return  # the first record is damaged beyond recognition
    assert all(isinstance(each, SkippedItem) or len(each.block) <= MANY for each in found)
