"""Stored texts and sources: a parser packs them (`parse/`), this module unpacks them."""

from __future__ import annotations

import threading

import msgspec
import zstandard

from gossamer.errors import StoreCorrupt
from gossamer.model import Field


class _Zstd(threading.local):
    """One decompression context per thread.

    Creating a context takes twice as long as a page, and threads must not share one.
    """

    def __init__(self) -> None:
        self.context = zstandard.ZstdDecompressor()


_ZSTD = _Zstd()
_TEXT = msgspec.msgpack.Decoder(list[tuple[Field, str]])
_RUNS = msgspec.msgpack.Decoder(list[tuple[int, str]])
_PACKED_RUNS = msgspec.msgpack.Decoder(list[tuple[int, msgspec.Raw]])
_RUN = msgspec.msgpack.Decoder(str)


def decode_text(packed: bytes) -> list[tuple[Field, str]]:
    """Return the text by field, in reading order (packed in `Page.text`)."""
    try:
        return _TEXT.decode(decode_source(packed))
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def decode_runs(packed: bytes) -> list[tuple[int, str]]:
    """Return the text with fields as plain numbers; faster, and the garbage collector need not scan it."""
    try:
        return _RUNS.decode(decode_source(packed))
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def decode_fields(packed: bytes) -> list[tuple[int, msgspec.Raw]]:
    """Return the text with each run still packed, for `decode_run`, to read only some runs of it."""
    try:
        return _PACKED_RUNS.decode(decode_source(packed))
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def decode_run(packed: msgspec.Raw) -> str:
    """Return one run of a text."""
    try:
        return _RUN.decode(packed)
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def _corrupt_text(error: msgspec.DecodeError) -> StoreCorrupt:
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
    except zstandard.ZstdError as error:
        raise StoreCorrupt(f"A stored text or source cannot be decompressed ({error}).") from error
