"""Texts and sources as they are kept, in every back-end alike: packed by a parser (`crawl/reading`), read here."""

from __future__ import annotations

import threading

import msgspec
import zstandard

from gossamer.errors import StoreCorrupt
from gossamer.model import Field


class _Zstd(threading.local):
    """A context is made once per thread, for that takes twice as long as a page; threads must not share it."""

    def __init__(self) -> None:
        self.context = zstandard.ZstdDecompressor()


_ZSTD = _Zstd()
_TEXT = msgspec.msgpack.Decoder(list[tuple[Field, str]])
_RUNS = msgspec.msgpack.Decoder(list[tuple[int, str]])
_PACKED_RUNS = msgspec.msgpack.Decoder(list[tuple[int, msgspec.Raw]])
_RUN = msgspec.msgpack.Decoder(str)


def decode_text(packed: bytes) -> list[tuple[Field, str]]:
    """The text by field, in reading order, from the form a parser packed it into (`Page.text`)."""
    try:
        return _TEXT.decode(decode_source(packed))
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def decode_runs(packed: bytes) -> list[tuple[int, str]]:
    """The same with the fields as plain numbers: quicker, and the garbage collector need not look through it."""
    try:
        return _RUNS.decode(decode_source(packed))
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def decode_fields(packed: bytes) -> list[tuple[int, msgspec.Raw]]:
    """The same with each run left packed, for `decode_run`: who needs some runs of a long text need not read all."""
    try:
        return _PACKED_RUNS.decode(decode_source(packed))
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def decode_run(packed: msgspec.Raw) -> str:
    """One run of a text."""
    try:
        return _RUN.decode(packed)
    except msgspec.DecodeError as error:
        raise _corrupt_text(error) from error


def _corrupt_text(error: msgspec.DecodeError) -> StoreCorrupt:
    return StoreCorrupt(f"A stored text cannot be read ({error}).")


def decode_source(packed: bytes) -> bytes:
    """The decoded body as it was, from the form a parser packed it into (`Page.source`)."""
    try:
        return _ZSTD.context.decompressobj().decompress(packed)
    except zstandard.ZstdError as error:
        raise StoreCorrupt(f"A stored text or source cannot be decompressed ({error}).") from error
