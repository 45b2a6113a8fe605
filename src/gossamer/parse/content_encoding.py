"""Undoes Content-Encodings and checks the size while it decompresses, never after.

A few bytes in any of these codings can expand to gigabytes. So each coding here is a generator of small pieces, and its
consumer stops as soon as the page exceeds its limit.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

import brotli
import zstandard

from gossamer.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_INPUT_CHUNK = 64 << 10  # bytes passed to a codec at a time, which bounds its copies of unused input
_OUTPUT_CHUNK = 1 << 20  # bytes of output requested at a time
# zstandard has no output limit. A block of 4 bytes can expand to 128 KiB, so 256 bytes give 8 MiB at most.
_ZSTD_INPUT_CHUNK = 256
_ZSTD_WINDOW = 8 << 20  # RFC 9659: the largest window allowed in an HTTP content coding
_MAX_CODINGS = 5  # no honest server compresses a page six times
_MAX_MEMBERS = 10_000  # of a gzip body, or frames of a zstd body; block-wise gzip writes one for each 64 KiB


class DecodedBody(NamedTuple):
    """The decoded body, or why there is none. A body that is TOO_BIG is cut at the limit."""

    body: bytes
    outcome: Outcome
    reason: str


class _CutShortError(Exception):
    """The stream ended before its end mark; the data up to there is good."""


class _CorruptError(Exception):
    """The stream is invalid."""


def decode_body(body: bytes, content_encoding: str, limit: int) -> DecodedBody:
    """Undo the codings named in a Content-Encoding header, last applied first (RFC 9110 §8.4)."""
    codings = [name for part in content_encoding.split(",") if (name := part.strip().lower())]
    if len(codings) > _MAX_CODINGS:
        return DecodedBody(b"", Outcome.BAD_ENCODING, f"{len(codings)} content codings")
    reason = ""
    for name in reversed(codings):
        if name in _UNSUPPORTED:
            return DecodedBody(b"", Outcome.BAD_ENCODING, f"content coding {name} is not supported")
        coding = _CODINGS.get(name)
        if coding is None or not body:  # identity, or an unknown name such as "utf-8": browsers ignore both
            continue
        step = _gather_pieces(coding(body), limit)
        if step.outcome is not Outcome.FETCHED:
            return step._replace(reason=f"{name}: {step.reason}")
        body, reason = step.body, reason or step.reason
    if len(body) > limit:
        return DecodedBody(body[:limit], Outcome.TOO_BIG, f"more than {limit:,} bytes")
    return DecodedBody(body, Outcome.FETCHED, reason)


def _gather_pieces(pieces: Iterator[bytes], limit: int) -> DecodedBody:
    """Join the pieces as long as they stay within the limit."""
    gathered: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            gathered.append(piece)
            if size > limit:
                reason = f"more than {limit:,} bytes after decompression"
                return DecodedBody(b"".join(gathered)[:limit], Outcome.TOO_BIG, reason)
    except _CutShortError:
        return DecodedBody(b"".join(gathered), Outcome.FETCHED, "compressed body cut short")
    except (_CorruptError, zlib.error, brotli.error, zstandard.ZstdError) as fault:
        return DecodedBody(b"", Outcome.BAD_ENCODING, str(fault))
    return DecodedBody(b"".join(gathered), Outcome.FETCHED, "")


def _chunks(body: bytes, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def _gunzip(body: bytes) -> Iterator[bytes]:
    """Yield all members of a gzip stream (RFC 1952 §2.2); like browsers, ignore bytes behind the last one."""
    inflater, members = zlib.decompressobj(16 + zlib.MAX_WBITS), 1
    for chunk in _chunks(body, _INPUT_CHUNK):
        rest = chunk
        while rest:
            if inflater.eof:
                if rest[0] != 0x1F:
                    return
                if members == _MAX_MEMBERS:
                    raise _CorruptError(f"more than {_MAX_MEMBERS:,} members")
                inflater, members = zlib.decompressobj(16 + zlib.MAX_WBITS), members + 1
            yield from _inflate_pieces(inflater, rest)
            rest = inflater.unused_data
    if not inflater.eof:
        raise _CutShortError


def _inflate(body: bytes) -> Iterator[bytes]:
    """Inflate data with the zlib wrapper of RFC 9110 §8.4.1.2, or without, as some servers send it."""
    has_wrapper = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0  # RFC 1950 §2.2
    inflater = zlib.decompressobj(zlib.MAX_WBITS if has_wrapper else -zlib.MAX_WBITS)
    for chunk in _chunks(body, _INPUT_CHUNK):
        yield from _inflate_pieces(inflater, chunk)
        if inflater.eof:
            return
    raise _CutShortError


def _inflate_pieces(inflater: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    while piece := inflater.decompress(data, _OUTPUT_CHUNK):
        yield piece
        data = inflater.unconsumed_tail


def _unbrotli(body: bytes) -> Iterator[bytes]:
    decompressor = brotli.Decompressor()
    for chunk in _chunks(body, _INPUT_CHUNK):
        piece = decompressor.process(chunk, output_buffer_limit=_OUTPUT_CHUNK)
        while piece:  # can_accept_more_data() can be true with output still waiting (brotli 1.2.1)
            yield piece
            piece = decompressor.process(b"", output_buffer_limit=_OUTPUT_CHUNK)
        if decompressor.is_finished():
            return
    raise _CutShortError


def _unzstd(body: bytes) -> Iterator[bytes]:
    """Yield all frames of a zstd stream (RFC 8878 §3)."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame, frames = decompressor.decompressobj(), 1
    for chunk in _chunks(body, _ZSTD_INPUT_CHUNK):
        rest = chunk
        while rest:
            if frame.eof:
                if frames == _MAX_MEMBERS:
                    raise _CorruptError(f"more than {_MAX_MEMBERS:,} frames")
                frame, frames = decompressor.decompressobj(), frames + 1
            yield frame.decompress(rest)
            rest = frame.unused_data
    if not frame.eof:
        raise _CutShortError


_CODINGS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
_UNSUPPORTED = frozenset({"compress", "x-compress", "bzip2", "dcb", "dcz"})
