"""Stored texts and sources: a parser packs them (`parse/`), this module unpacks them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import zstandard

from gossamer.errors import StoreCorrupt
from gossamer.model import Field

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 64 << 10  # of a stored body decompressed at a time
MAX_CHARACTER_BYTES = 4  # in UTF-8


class PackedHeads(NamedTuple):
    """The first bytes of one kind of value in msgpack."""

    short: range  # these hold the size themselves
    size_bytes: dict[int, int]  # these name the number of bytes of the size


ARRAY_HEADS = PackedHeads(range(0x90, 0xA0), {0xDC: 2, 0xDD: 4})
TEXT_HEADS = PackedHeads(range(0xA0, 0xC0), {0xD9: 1, 0xDA: 2, 0xDB: 4})


class _Zstd(threading.local):
    """One decompression context per thread.

    Creating a context takes twice as long as a page, and threads must not share one.
    """

    def __init__(self) -> None:
        self.context = zstandard.ZstdDecompressor()


_ZSTD = _Zstd()
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)  # msgspec raises the latter for bytes that are no UTF-8
_TEXT = msgspec.msgpack.Decoder(list[tuple[Field, str]])
_RUNS = msgspec.msgpack.Decoder(list[tuple[int, str]])
_PACKED_RUNS = msgspec.msgpack.Decoder(list[tuple[int, msgspec.Raw]])
_RUN = msgspec.msgpack.Decoder(str)


def decode_text(packed: bytes) -> list[tuple[Field, str]]:
    """Return the text by field, in reading order (packed in `Page.text`)."""
    try:
        return _TEXT.decode(decode_source(packed))
    except UNREADABLE as error:
        raise _corrupt_text(error) from error


def decode_runs(packed: bytes) -> list[tuple[int, str]]:
    """Return the text with fields as plain numbers; faster, and the garbage collector need not scan it."""
    return read_runs(decode_source(packed))


def read_runs(unpacked: bytes) -> list[tuple[int, str]]:
    """Return the text that `decode_source` decompressed, with fields as plain numbers."""
    try:
        return _RUNS.decode(unpacked)
    except UNREADABLE as error:
        raise _corrupt_text(error) from error


def decode_fields(packed: bytes) -> list[tuple[int, msgspec.Raw]]:
    """Return the text with each run still packed, for `decode_run`, to read only some runs of it."""
    try:
        return _PACKED_RUNS.decode(decode_source(packed))
    except UNREADABLE as error:
        raise _corrupt_text(error) from error


def decode_run(packed: msgspec.Raw) -> str:
    """Return one run of a text."""
    try:
        return _RUN.decode(packed)
    except UNREADABLE as error:
        raise _corrupt_text(error) from error


def _corrupt_text(error: Exception) -> StoreCorrupt:
    return StoreCorrupt(f"A stored text cannot be read ({error}).")


def unpacked_size(packed: bytes) -> int:
    """Return how many bytes a text or source has unpacked, as its header says; 0: unknown."""
    try:
        return max(0, zstandard.frame_content_size(packed))
    except zstandard.ZstdError:
        return 0


def decode_source(packed: bytes) -> bytes:
    """Return the decoded body (packed in `Page.source`)."""
    try:
        return _ZSTD.context.decompressobj().decompress(packed)
    except (zstandard.ZstdError, TypeError) as error:  # a damaged row may hold another type
        raise StoreCorrupt(f"A stored text or source cannot be decompressed ({error}).") from error


def iterate_source(packed: bytes) -> Iterator[bytes]:
    """Yield the decoded body in chunks of at most `CHUNK_BYTES`, decompressed as they are asked for."""
    with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
        while True:
            try:
                chunk = reader.read(CHUNK_BYTES)
            except zstandard.ZstdError as error:
                raise StoreCorrupt(f"A stored text or source cannot be decompressed ({error}).") from error
            if not chunk:
                return
            yield chunk


def iterate_text(packed: bytes) -> Iterator[tuple[Field, str]]:
    """Yield the runs of a text in reading order, decompressed as they are asked for."""
    reader = _PackedTextReader(packed)
    for field, size in reader.run_sizes():
        yield field, reader.take(size).decode("utf-8", "replace")


class TextStart(NamedTuple):
    """The beginning of a text."""

    runs: list[tuple[Field, str]]
    is_cut: bool  # whether the text goes on


def read_text_start(packed: bytes, max_characters: int, run_cost: int) -> TextStart:
    """Return the beginning of a text, and decompress no more. Each run counts as `run_cost` further characters."""
    reader, left = _PackedTextReader(packed), max_characters
    runs: list[tuple[Field, str]] = []
    for field, size in reader.run_sizes():
        if left <= 0:
            return TextStart(runs, is_cut=True)
        piece = reader.take(min(size, MAX_CHARACTER_BYTES * left)).decode("utf-8", "ignore")  # its end may be half
        runs.append((field, piece[:left]))
        if len(piece) > left or size > MAX_CHARACTER_BYTES * left:
            return TextStart(runs, is_cut=True)
        left -= len(piece) + run_cost
    return TextStart(runs, is_cut=False)


class _PackedTextReader:
    """Reads the frame of a packed text: an array of pairs of a field and a text. msgspec decodes only whole ones."""

    def __init__(self, packed: bytes) -> None:
        self._chunks = iterate_source(packed)
        self._buffer = bytearray()

    def run_sizes(self) -> Iterator[tuple[Field, int]]:
        """Yield field and size in bytes of each run; the caller takes its bytes before it asks for the next."""
        for _ in range(self._size(ARRAY_HEADS)):
            self._size(ARRAY_HEADS)
            yield Field(self.take(1)[0]), self._size(TEXT_HEADS)

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        while len(self._buffer) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise StoreCorrupt("A stored text cannot be read (it ends too early).")
            self._buffer += chunk
        taken = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return taken

    def _size(self, heads: PackedHeads) -> int:
        """Read the head of an array or of a text: its size is in the first byte, or in the bytes after it."""
        head = self.take(1)[0]
        if head in heads.short:
            return head - heads.short.start
        if head not in heads.size_bytes:
            raise StoreCorrupt("A stored text cannot be read (it is not a list of texts).")
        return int.from_bytes(self.take(heads.size_bytes[head]), "big")
