"""Reading web archives record by record: a broken record is reported and loses nothing else."""

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
from helpers.files.archives import HTML, page, record, response, write_archive

if TYPE_CHECKING:
    from pathlib import Path

MAX_BLOCK = 1 << 20


def read_uris(path: Path, max_block: int = MAX_BLOCK) -> tuple[list[str], list[str]]:
    """Return the URIs of good records and the faults of the others."""
    good, faults = [], []
    for item in read_records(path, max_block):
        if isinstance(item, SkippedItem):
            faults.append(item.reason)
        elif item.fault:
            faults.append(item.fault)
        else:
            good.append(item.headers["warc-target-uri"])
    return good, faults


def uris(*numbers: int) -> list[str]:
    return [f"https://example.org/{number}" for number in numbers]


@pytest.mark.parametrize("packed", [False, True])
def test_records_come_in_order_with_their_headers_and_blocks(tmp_path: Path, packed: bool) -> None:
    path = write_archive(tmp_path / "a", record(b"x: y", kind="warcinfo", uri=""), page(1), gzipped=packed)
    info, one = read_records(path, MAX_BLOCK)
    assert isinstance(info, ArchiveRecord)
    assert (info.number, info.type, info.block) == (1, "warcinfo", b"x: y")
    assert isinstance(one, ArchiveRecord)
    assert (one.number, one.type, one.headers["warc-target-uri"]) == (2, "response", "https://example.org/1")
    assert one.block.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_file_may_be_gzipped_as_a_whole(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a", b"".join(map(page, range(3))), gzipped=True)
    assert read_uris(path) == (uris(0, 1, 2), [])


def test_gzip_members_may_end_inside_a_record(tmp_path: Path) -> None:
    whole = b"".join(map(page, range(3)))
    path = write_archive(tmp_path / "a", *(whole[i : i + 100] for i in range(0, len(whole), 100)), gzipped=True)
    assert read_uris(path) == (uris(0, 1, 2), [])


def test_folded_header_fields_and_bare_newlines_are_accepted(tmp_path: Path) -> None:
    text = b"WARC/1.0\nWARC-Type: response\nWARC-Target-URI: https://example.org/a\n\tb\nContent-Length: 2\n\nok\n\n"
    path = write_archive(tmp_path / "a", text, text)
    assert read_uris(path) == (["https://example.org/a b"] * 2, [])


@pytest.mark.parametrize("blanks", [b"", b"\r\n", b"\r\n" * 5, b"\n\n"])
def test_any_number_of_blank_lines_may_separate_records(tmp_path: Path, blanks: bytes) -> None:
    one = page(1).removesuffix(b"\r\n\r\n")
    assert read_uris(write_archive(tmp_path / "a", one + blanks, page(2))) == (uris(1, 2), [])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("length", "fault"),
    [
        (10, records.BAD_LENGTH),  # too short
        (1000, records.BAD_LENGTH),  # into the next record
        (10**6 - 1, records.CUT_SHORT),  # beyond the end of the file
        (10**14, records.BAD_LENGTH),  # above the limit: noticed while skipping the block
        ("-5", records.BAD_HEADER),
        ("many", records.BAD_HEADER),
        ("", records.BAD_HEADER),
    ],
)
def test_a_wrong_length_loses_that_record_only(tmp_path: Path, packed: bool, length: int | str, fault: str) -> None:
    wrong = record(response(), length=length)
    good, faults = read_uris(write_archive(tmp_path / "a", page(1), wrong, page(2), page(3), gzipped=packed))
    assert good == uris(1, 2, 3)
    assert fault in faults


@pytest.mark.parametrize("packed", [False, True])
def test_garbage_between_records_is_reported_once_and_skipped(tmp_path: Path, packed: bool) -> None:
    path = write_archive(tmp_path / "a", page(1), b"garbage\n" * 1000, page(2), gzipped=packed)
    assert read_uris(path) == (uris(1, 2), [records.NO_HEADER])


@pytest.mark.parametrize("number", range(4))
def test_a_damaged_gzip_member_loses_its_record_only(tmp_path: Path, number: int) -> None:
    members = [bytearray(gzip.compress(page(n))) for n in range(4)]
    rng = random.Random(number)
    for _ in range(20):
        damaged = [member.copy() for member in members]
        # No reader checks the time stamp before this range or the spare bits after it.
        position = rng.randrange(10, len(damaged[number]) - 9)
        damaged[number][position] ^= 1 << rng.randrange(8)
        path = write_archive(tmp_path / "a", *map(bytes, damaged))
        good, faults = read_uris(path)
        assert good == uris(*(n for n in range(4) if n != number))
        assert faults


@pytest.mark.parametrize("packed", [False, True])
def test_a_truncated_file_is_reported(tmp_path: Path, packed: bool) -> None:
    path = write_archive(tmp_path / "a", page(1), page(2), gzipped=packed)
    path.write_bytes(path.read_bytes()[:-40])
    good, faults = read_uris(path)
    assert good == uris(1)
    assert faults


def test_an_oversized_record_is_skipped_without_loading_it(tmp_path: Path) -> None:
    large = record(response(b"x" * (64 << 20)), uri="https://example.org/large")
    path = write_archive(tmp_path / "a", page(1), large, page(2), gzipped=True)
    del large
    tracemalloc.start()
    assert read_uris(path, 10_000) == (uris(1, 2), ["it is larger than 10,000 bytes"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_an_endless_header_is_not_loaded_into_memory(tmp_path: Path) -> None:
    endless = b"WARC/1.1\r\n" + b"X-Field: value\r\n" * 200_000
    tracemalloc.start()
    good, faults = read_uris(write_archive(tmp_path / "a", endless, page(1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert good == uris(1)
    assert records.BAD_HEADER in faults
    assert peak < 12 << 20


def test_an_endless_line_is_not_loaded_into_memory(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a", page(1), b"x" * (32 << 20), b"\n", page(2))
    tracemalloc.start()
    good, _ = read_uris(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert good[-1:] == uris(2)
    assert peak < 8 << 20


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"\x1f\x8b\x08rubbish", gzip.compress(b"<html>", mtime=0), b"PK\x03\x04"]
)
def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UsageError, match="is not a web archive"):
        read_records(tmp_path / "a", MAX_BLOCK)


def test_arc_files_are_read(tmp_path: Path) -> None:
    block = response()
    first = b"filedesc://a.arc 0.0.0.0 20200229120000 text/plain 3\n1 0\n"
    one = b"http://example.org/a b 192.0.2.1 20200229120000 text/html %d\n" % len(block) + block + b"\n"
    path = write_archive(tmp_path / "a", first, b"\n", one, one)
    items = list(read_records(path, MAX_BLOCK))
    assert [(item.type, item.headers["warc-target-uri"]) for item in items if isinstance(item, ArchiveRecord)] == [
        ("response", "http://example.org/a b"),
    ] * 2


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), packed=st.booleans())
def test_no_damage_crashes_the_reader(tmp_path: Path, data: st.DataObject, packed: bool) -> None:
    path = write_archive(
        tmp_path / "a", record(b"", kind="warcinfo"), page(1), record(HTML, kind="resource"), gzipped=packed
    )
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(20 if packed else 5, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 60)))
        content[start:end] = data.draw(st.binary(max_size=60))
    path.write_bytes(bytes(content))
    try:
        items = list(read_records(path, MAX_BLOCK))
    except UsageError:
        return  # the first record is damaged too much to recognize an archive
    assert all(isinstance(item, SkippedItem) or len(item.block) <= MAX_BLOCK for item in items)
