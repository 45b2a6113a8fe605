"""The records of a web archive: WARC 1.0 and 1.1 (ISO 28500), and ARC, which came before it; plain or gzipped.

Archives are large, old and often damaged, so this reader holds one record at a time and goes on behind what is broken:
a record that does not end where the next begins is told, and reading takes up at the next header, or at the next gzip
member where the compression itself is damaged. (fastwarc and warcio stop there: decision 13.)
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, BinaryIO

from gossamer.errors import UsageError
from gossamer.files.file_page import Skipped
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

RAW = 32 << 10  # compressed bytes read at a time: most members are smaller
PIECE = 1 << 20  # bytes decompressed or read at a time
MAX_LINE = 64 << 10
MAX_HEADER = 1 << 20
GZIP = b"\x1f\x8b\x08"
WARC = b"WARC/"
ZIP = b"PK"
END = b"\r\n\r\n"
INNER = re.compile(rb"\r?\n\r?\nWARC/[01]\.\d+\r?\n")  # a record that begins within another: that one's length is wrong
INNER_LENGTH = 16  # bytes of it, at least
LENGTH = re.compile(rb"[0-9]{1,15}")
ARC = re.compile(rb"(\S.*) (\S+) (\d{8,17}) (\S+) (\S+)\r?\n?")  # URL, address, time, type, length
ARC_FILE = b"filedesc://"

NO_HEADER = "broken archive: no record begins where one should"
BAD_HEADER = "broken record: its header makes no sense"
BAD_LENGTH = "broken record: it does not end where the next one begins"
CUT_SHORT = "broken record: it is cut short"
DAMAGED = "broken archive: its compression is damaged here"


class Record(Value, frozen=True, kw_only=True):
    """One record."""

    number: int
    type: str  # response, resource, revisit, request, warcinfo, metadata ...; of ARC: response
    headers: dict[str, str]  # lower-case names; of ARC: target, date and type under their WARC names
    block: bytes
    fault: str = ""  # why the block may not be whole


class _Header(Value, frozen=True, kw_only=True):
    type: str
    headers: dict[str, str]
    length: int


def records_in(path: Path, max_block: int) -> Iterator[Record | Skipped]:
    """Every record of an archive, and what stands in the place of one. Larger ones than `max_block` are skipped.

    Whether the file is an archive at all is seen at once.
    """
    with path.open("rb") as file:
        first = _first_line(_Reader(file))
    if not first.startswith((WARC, ARC_FILE)):
        hint = " If it is a WACZ file, unzip it and take what is in its folder archive." if first[:2] == ZIP else ""
        raise UsageError(f"{path} is not a web archive: it begins like neither a WARC nor an ARC file.{hint}")
    return _records(path, max_block, arc=first.startswith(ARC_FILE))


def _records(path: Path, max_block: int, *, arc: bool) -> Iterator[Record | Skipped]:
    with path.open("rb") as file:
        yield from _Framing(_Reader(file), path.name, max_block, arc=arc).records()


def _first_line(reader: _Reader) -> bytes:
    while not (line := reader.line()).strip():
        if not line and not reader.resume():
            break
    return line


# -- bytes -------------------------------------------------------------------------------------------------------------


class _Reader:
    """The archive's bytes, decompressed. They end where the file ends, and where it is damaged: `resume` goes on."""

    def __init__(self, file: BinaryIO) -> None:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        self._pieces: Iterator[bytes | None] = _members(file) if packed else iter(lambda: file.read(PIECE), b"")
        self._buffer = bytearray()
        self._ended = self._last = False

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size and not self._ended:
            try:
                piece = next(self._pieces)
            except StopIteration:
                self._ended = self._last = True
                return
            if piece is None:
                self._ended = True
            else:
                self._buffer += piece

    def line(self) -> bytes:
        """The next line with its end, or a part of one that is too long; b"" at the end."""
        size = 1024
        while True:
            self._fill(size)
            end = self._buffer.find(b"\n", 0, MAX_LINE)
            if end >= 0 or len(self._buffer) < size or size >= MAX_LINE:
                return self.take(min(end + 1 or MAX_LINE, len(self._buffer)))
            size *= 4

    def take(self, size: int) -> bytes:
        """The next bytes; fewer at the end only."""
        self._fill(size)
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def back(self, data: bytes) -> None:
        """Put bytes back, to be read next."""
        self._buffer[:0] = data

    def resume(self) -> bool:
        """Go on behind damage; False at the end of the file."""
        self._ended = self._last
        return not self._last


def _members(file: BinaryIO) -> Iterator[bytes | None]:
    """The contents of all gzip members, in pieces; None in place of what is damaged."""
    size = file.seek(0, 2)
    start = _magic(file, 0)
    while start < size:
        end = yield from _member(file, start)
        following = _magic(file, start + 1 if end is None else end)
        if following != end:
            yield None
        start = following


def _member(file: BinaryIO, start: int) -> Generator[bytes, None, int | None]:
    """The contents of the gzip member that starts there; returns where it ends, None when it is damaged.

    The last piece is held back until the checksum behind it is seen to be right.
    """
    file.seek(start)
    inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
    held = b""
    while raw := file.read(RAW):
        while raw:
            try:
                piece = inflater.decompress(raw, PIECE)
            except zlib.error:
                return None
            if held and piece:
                yield held
            held = piece or held
            if inflater.eof:
                yield held
                return file.tell() - len(inflater.unused_data)
            raw = inflater.unconsumed_tail
    return None


def _magic(file: BinaryIO, start: int) -> int:
    """Where the next gzip member begins; the end of the file when none does.

    Bytes within a member may look like the start of one. That is no harm: they cannot be decompressed either.
    """
    file.seek(start)
    before = b""
    while raw := file.read(RAW):
        found = (before + raw).find(GZIP)
        if found >= 0:
            return file.tell() - len(before) - len(raw) + found
        before = (before + raw)[1 - len(GZIP) :]
    return file.tell()


# -- records -----------------------------------------------------------------------------------------------------------


class _Framing:
    """Where records begin and end."""

    def __init__(self, reader: _Reader, name: str, max_block: int, *, arc: bool) -> None:
        self._reader, self._name, self._max_block, self._arc = reader, name, max_block, arc
        self._number = 0

    def records(self) -> Iterator[Record | Skipped]:
        reader = self._reader
        while True:
            line = reader.line()
            if not line:
                if not reader.resume():
                    return
                yield self._skipped(DAMAGED)
            elif self._begins(line):
                self._number += 1
                yield from self._record(line)
            elif line.strip():
                yield self._skipped(NO_HEADER)
                self._to_next_header()

    def _begins(self, line: bytes) -> bool:
        return ARC.fullmatch(line) is not None if self._arc else line.startswith(WARC)

    def _to_next_header(self) -> None:
        while (line := self._reader.line()) and not self._begins(line):
            pass
        self._reader.back(line)

    def _skipped(self, reason: str, uri: str = "") -> Skipped:
        return Skipped(path=f"{self._name}, record {self._number}{f' ({uri})' if uri else ''}", reason=reason)

    def _record(self, line: bytes) -> Iterator[Record | Skipped]:
        header = _arc_header(line) if self._arc else _warc_header(self._reader)
        if header is None:
            yield self._skipped(BAD_HEADER)
            return
        uri = header.headers.get("warc-target-uri", "")
        if header.length > self._max_block:
            yield self._skipped(self._pass(header.length), uri)
            return
        block = self._reader.take(header.length)
        fault = CUT_SHORT if len(block) < header.length else "" if self._is_between() else BAD_LENGTH
        if fault:
            block = self._mended(block)
        if header.type != ARC_FILE.decode() or fault:
            yield Record(number=self._number, type=header.type, headers=header.headers, block=block, fault=fault)

    def _mended(self, block: bytes) -> bytes:
        """A block without the records that its wrong length took in; reading goes on at the next, in it or behind."""
        if not self._arc and (inner := INNER.search(block)):
            self._reader.back(block[inner.start() :].lstrip())
            return block[: inner.start()]
        self._to_next_header()
        return block

    def _is_between(self) -> bool:
        """Whether a record may end here: two empty lines follow, as the standard asks for, or another record does."""
        end = self._reader.take(len(END))
        self._reader.back(end)
        if end == END:
            return True
        line = b"\n"
        while line and not line.strip():
            line = self._reader.line()
        self._reader.back(line)
        return not line or self._begins(line)

    def _pass(self, length: int) -> str:
        """Read over a record that is too large; says why it is left out."""
        before = b""
        while length > 0 and (piece := self._reader.take(min(length, PIECE))):
            if not self._arc and (inner := INNER.search(before + piece)):
                self._reader.back((before + piece)[inner.start() :].lstrip())
                return BAD_LENGTH
            length -= len(piece)
            before = piece[-INNER_LENGTH:]
        return f"it is larger than {self._max_block:,} bytes" if length == 0 else CUT_SHORT


def _warc_header(reader: _Reader) -> _Header | None:
    """The named fields behind the version line (WARC 1.1, section 4)."""
    headers: dict[str, str] = {}
    size, name = 0, ""
    while (line := reader.line()).strip():
        size += len(line)
        text = line.decode("utf-8", "replace")
        if size > MAX_HEADER or (text[0] not in " \t" and ":" not in text):
            return None
        if text[0] in " \t":
            headers[name] = f"{headers.get(name, '')} {text.strip()}"
        else:
            name, _, value = text.partition(":")
            name = name.strip().lower()
            headers[name] = value.strip()
    length = headers.get("content-length", "")
    if not LENGTH.fullmatch(length.encode()) or "warc-type" not in headers:
        return None
    return _Header(type=headers["warc-type"].lower(), headers=headers, length=int(length))


def _arc_header(line: bytes) -> _Header | None:
    """An ARC record's one line; of a URL with blanks in it, too."""
    match = ARC.fullmatch(line)
    if match is None or not LENGTH.fullmatch(match[5]):
        return None
    uri, _, date, kind, length = (part.decode("utf-8", "replace") for part in match.groups())
    headers = {"warc-target-uri": uri, "warc-date": date, "content-type": kind}
    is_file = match[1].startswith(ARC_FILE)
    return _Header(type=ARC_FILE.decode() if is_file else "response", headers=headers, length=int(length))
