"""Records of a web archive as header and bytes: WARC 1.0 and 1.1 (ISO 28500), ARC, plain or gzipped.

Archives are large, old and often damaged. So the reader holds one record at a time and continues after damage. It
reports a record with a wrong length and resumes at the next header. After damaged compression it resumes at the next
gzip member. fastwarc and warcio stop there.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, BinaryIO

from gossamer.errors import UsageError
from gossamer.files.file_page import SkippedItem
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

READ_BYTES = 32 << 10  # compressed bytes per read; most members are smaller
PIECE_BYTES = 1 << 20  # uncompressed bytes per read
MAX_LINE = 64 << 10  # bytes
MAX_HEADER = 1 << 20  # bytes of a record header
MAX_GAP = 1 << 10  # bytes of blank lines between two records
MAX_REREADS = 4  # times the size of a file: bytes read again to find gzip members inside damaged ones
GZIP_MAGIC = b"\x1f\x8b\x08"
WARC_MAGIC = b"WARC/"
ZIP_MAGIC = b"PK"
RECORD_END = re.compile(rb"\r\n\r\n")
# A record that begins inside another one: the length of the outer record is wrong.
INNER_RECORD = re.compile(rb"\r?\n\r?\nWARC/[01]\.\d{1,3}\r?\n")
INNER_LENGTH = 16  # bytes kept from the previous piece, so that a match across two pieces is found
BLANK_LINES = re.compile(rb"(?:[^\S\n]*+\n)*+")
LENGTH_PATTERN = re.compile(rb"[0-9]{1,15}")
ARC_HEADER = re.compile(rb"(\S.*) (\S+) (\d{8,17}) (\S+) (\S+)\r?\n?")  # URL, address, time, type, length
ARC_MAGIC = b"filedesc://"

NO_HEADER = "broken archive: no record begins where one should"
BAD_HEADER = "broken record: its header is malformed"
BAD_LENGTH = "broken record: it does not end where the next one begins"
CUT_SHORT = "broken record: it is cut short"
DAMAGED = "broken archive: its compression is damaged here"


class ArchiveRecord(Value, frozen=True, kw_only=True):
    """A record with its whole block in memory."""

    number: int
    type: str  # response, resource, revisit, request, warcinfo, metadata ...; always response in ARC
    headers: dict[str, str]  # lower-case names; ARC fields have their WARC names
    block: bytes
    fault: str = ""  # why the block may be incomplete; "": it is complete


class _Header(Value, frozen=True, kw_only=True):
    type: str
    headers: dict[str, str]
    length: int


def read_records(path: Path, max_block: int) -> Iterator[ArchiveRecord | SkippedItem]:
    """Yield every record, and a `SkippedItem` for each damaged part or record larger than `max_block` bytes.

    The call itself raises UsageError if the file is not an archive.
    """
    with path.open("rb") as file:
        first = _first_line(_ByteReader(file))
    if not first.startswith((WARC_MAGIC, ARC_MAGIC)):
        hint = (
            " If it is a WACZ file, unzip it and import the files of its folder `archive`."
            if first[:2] == ZIP_MAGIC
            else ""
        )
        raise UsageError(f"{path} is not a web archive: it begins like neither a WARC nor an ARC file.{hint}")
    return _open_records(path, max_block, arc=first.startswith(ARC_MAGIC))


def _open_records(path: Path, max_block: int, *, arc: bool) -> Iterator[ArchiveRecord | SkippedItem]:
    with path.open("rb") as file:
        yield from _RecordReader(_ByteReader(file), path.name, max_block, arc=arc).records()


def _first_line(reader: _ByteReader) -> bytes:
    while not (line := reader.read_line()).strip():
        if not line and not reader.resume():
            break
    return line


# -- bytes -------------------------------------------------------------------------------------------------------------


class _ByteReader:
    """Reads the decompressed bytes. Reading ends at the end of the file and at damage; `resume` continues after it."""

    def __init__(self, file: BinaryIO) -> None:
        is_gzipped = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        file.seek(0)
        self._pieces: Iterator[bytes | None] = (
            _gzip_members(file) if is_gzipped else iter(lambda: file.read(PIECE_BYTES), b"")
        )
        self._buffer = bytearray()
        self._is_paused = self._is_finished = False

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size and not self._is_paused:
            try:
                piece = next(self._pieces)
            except StopIteration:
                self._is_paused = self._is_finished = True
                return
            if piece is None:
                self._is_paused = True
            else:
                self._buffer += piece

    def fill(self, size: int) -> int:
        """Load up to `size` bytes; return how many of them there are. Fewer only at the end."""
        self._fill(size)
        return min(len(self._buffer), size)

    def peek_line(self, offset: int = 0) -> bytes:
        """Return the line at an offset with its end, or the start of a line that is too long; b"" at the end."""
        size = 1024
        while True:
            self._fill(offset + size)
            end = self._buffer.find(b"\n", offset, offset + MAX_LINE)
            if end >= 0 or len(self._buffer) < offset + size or size >= MAX_LINE:
                return bytes(self._buffer[offset : end + 1 or offset + MAX_LINE])
            size *= 4

    def read_line(self) -> bytes:
        """Return the next line as `peek_line` does, and move past it."""
        line = self.peek_line()
        self.skip(len(line))
        return line

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer only at the end."""
        self._fill(size)
        data = bytes(self._buffer[:size])
        self.skip(size)
        return data

    def skip(self, size: int) -> None:
        """Move past loaded bytes."""
        del self._buffer[:size]

    def match(self, pattern: re.Pattern[bytes], offset: int, size: int) -> int:
        """Return the length of a pattern's match at an offset, within `size` bytes; 0: none."""
        self._fill(offset + size)
        match = pattern.match(self._buffer, offset, offset + size)
        return len(match[0]) if match else 0

    def find(self, pattern: re.Pattern[bytes], size: int) -> int:
        """Return the offset of a pattern's first match in the next `size` bytes; -1: none."""
        self._fill(size)
        match = pattern.search(self._buffer, 0, size)
        return match.start() if match else -1

    def resume(self) -> bool:
        """Continue after damage; return False at the end of the file."""
        self._is_paused = self._is_finished
        return not self._is_finished


def _gzip_members(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the contents of all gzip members in pieces, and None at each damaged part."""
    size = file.seek(0, 2)
    rereads = MAX_REREADS * size  # bytes that may be read a second time, so that the time stays linear
    start = _find_gzip_member(file, 0)
    while start < size:
        end = yield from _gzip_member(file, start)
        resume_at = end
        if resume_at is None:
            damaged_at = file.tell()
            rereads -= damaged_at - start
            resume_at = start + 1 if rereads > 0 else damaged_at
        following = _find_gzip_member(file, resume_at)
        if following != end:
            yield None
        start = following


def _gzip_member(file: BinaryIO, start: int) -> Generator[bytes, None, int | None]:
    """Yield the contents of the gzip member at `start`; return its end, or None if it is damaged.

    The last piece waits until the checksum after it is verified.
    """
    file.seek(start)
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    pending = b""
    while raw := file.read(READ_BYTES):
        while raw:
            try:
                piece = inflater.decompress(raw, PIECE_BYTES)
            except zlib.error:
                return None
            if pending and piece:
                yield pending
            pending = piece or pending
            if inflater.eof:
                yield pending
                return file.tell() - len(inflater.unused_data)
            raw = inflater.unconsumed_tail
    return None


def _find_gzip_member(file: BinaryIO, start: int) -> int:
    """Return the offset of the next gzip member; the end of the file if there is none.

    Bytes inside a member may look like a start. That is harmless: decompressing from there fails.
    """
    file.seek(start)
    before = b""
    while raw := file.read(READ_BYTES):
        position = (before + raw).find(GZIP_MAGIC)
        if position >= 0:
            return file.tell() - len(before) - len(raw) + position
        before = (before + raw)[1 - len(GZIP_MAGIC) :]
    return file.tell()


# -- records -----------------------------------------------------------------------------------------------------------


class _RecordReader:
    """Splits the bytes of an archive into records."""

    def __init__(self, reader: _ByteReader, name: str, max_block: int, *, arc: bool) -> None:
        self._reader, self._name, self._max_block, self._arc = reader, name, max_block, arc
        self._number = 0

    def records(self) -> Iterator[ArchiveRecord | SkippedItem]:
        reader = self._reader
        while True:
            line = reader.read_line()
            if not line:
                if not reader.resume():
                    return
                yield self._skip(DAMAGED)
            elif self._is_record_start(line):
                self._number += 1
                yield from self._read_record(line)
            elif line.strip():
                yield self._skip(NO_HEADER)
                self._seek_next_header()

    def _is_record_start(self, line: bytes) -> bool:
        return ARC_HEADER.fullmatch(line) is not None if self._arc else line.startswith(WARC_MAGIC)

    def _seek_next_header(self) -> None:
        while (line := self._reader.peek_line()) and not self._is_record_start(line):
            self._reader.skip(len(line))

    def _skip(self, reason: str, uri: str = "") -> SkippedItem:
        return SkippedItem(path=f"{self._name}, record {self._number}{f' ({uri})' if uri else ''}", reason=reason)

    def _read_record(self, line: bytes) -> Iterator[ArchiveRecord | SkippedItem]:
        header = _arc_header(line) if self._arc else _warc_header(self._reader)
        if header is None:
            yield self._skip(BAD_HEADER)
            return
        uri = header.headers.get("warc-target-uri", "")
        if header.length > self._max_block:
            yield self._skip(self._skip_block(header.length), uri)
            return
        is_whole = self._reader.fill(header.length) == header.length
        fault = CUT_SHORT if not is_whole else "" if self._is_record_end(header.length) else BAD_LENGTH
        block = self._recover_block(header.length) if fault else self._reader.read(header.length)
        if header.type != ARC_MAGIC.decode() or fault:
            yield ArchiveRecord(number=self._number, type=header.type, headers=header.headers, block=block, fault=fault)

    def _recover_block(self, length: int) -> bytes:
        """Return a block without the records that its wrong length included; reading resumes at the next record.

        It never copies the records inside. So the time is linear, however many of them have a wrong length.
        """
        inner = -1 if self._arc else self._reader.find(INNER_RECORD, length)
        if inner >= 0:
            return self._reader.read(inner)
        block = self._reader.read(length)
        self._seek_next_header()
        return block

    def _is_record_end(self, offset: int) -> bool:
        """Whether a record may end here: two empty lines follow (WARC 1.1, section 4), or another record."""
        if self._reader.match(RECORD_END, offset, len("\r\n\r\n")):
            return True
        line = self._reader.peek_line(offset + self._reader.match(BLANK_LINES, offset, MAX_GAP))
        return not line.strip() or self._is_record_start(line)

    def _skip_block(self, length: int) -> str:
        """Skip a record that is too large; return the reason."""
        while (size := self._reader.fill(min(length, PIECE_BYTES))) > 0:
            inner = -1 if self._arc else self._reader.find(INNER_RECORD, size)
            if inner >= 0:
                self._reader.skip(inner)
                return BAD_LENGTH
            done = size - INNER_LENGTH if size == PIECE_BYTES < length else size
            self._reader.skip(done)
            length -= done
        return f"it is larger than {self._max_block:,} bytes" if length == 0 else CUT_SHORT


def _warc_header(reader: _ByteReader) -> _Header | None:
    """Return the named fields after the version line (WARC 1.1, section 4); None if they are malformed."""
    fields: dict[str, list[str]] = {}  # the parts of folded lines
    size, name = 0, ""
    while (line := reader.read_line()).strip():
        size += len(line)
        text = line.decode("utf-8", "replace")
        if size > MAX_HEADER or (text[0] not in " \t" and ":" not in text):
            return None
        if text[0] in " \t":
            fields.setdefault(name, [""]).append(text.strip())
        else:
            name, _, value = text.partition(":")
            name = name.strip().lower()
            fields[name] = [value.strip()]
    headers = {name: " ".join(parts) for name, parts in fields.items()}
    length = headers.get("content-length", "")
    if not LENGTH_PATTERN.fullmatch(length.encode()) or "warc-type" not in headers:
        return None
    return _Header(type=headers["warc-type"].lower(), headers=headers, length=int(length))


def _arc_header(line: bytes) -> _Header | None:
    """Return the fields of an ARC header line, whose URL may contain blanks; None if it is malformed."""
    match = ARC_HEADER.fullmatch(line)
    if match is None or not LENGTH_PATTERN.fullmatch(match[5]):
        return None
    uri, _, date, kind, length = (part.decode("utf-8", "replace") for part in match.groups())
    headers = {"warc-target-uri": uri, "warc-date": date, "content-type": kind}
    is_file = match[1].startswith(ARC_MAGIC)
    return _Header(type=ARC_MAGIC.decode() if is_file else "response", headers=headers, length=int(length))
