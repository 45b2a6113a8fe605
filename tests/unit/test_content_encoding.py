"""Content-Encoding: bodies are decoded up to a size limit."""

from __future__ import annotations

import gzip
import os
import tracemalloc
import zlib

import brotli
import pytest
import zstandard

from gossamer.model import Outcome
from gossamer.parse.content_encoding import decode_body

TEXT = b"The quick brown fox jumps over the lazy dog. " * 5000
LIMIT = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


CODINGS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("name", CODINGS)
def test_each_content_coding_is_decoded(name: str) -> None:
    assert decode_body(CODINGS[name](TEXT), name, LIMIT) == (TEXT, Outcome.FETCHED, "")


def test_raw_deflate_is_decoded() -> None:
    assert decode_body(raw_deflate(TEXT), "deflate", LIMIT).body == TEXT


@pytest.mark.parametrize("header", ["", "identity", "none", "utf-8", " Identity ,"])
def test_a_body_without_coding_is_unchanged(header: str) -> None:
    assert decode_body(TEXT, header, LIMIT) == (TEXT, Outcome.FETCHED, "")


def test_codings_are_decoded_in_reverse_order() -> None:
    assert decode_body(brotli.compress(gzip.compress(TEXT)), "GZIP, br", LIMIT).body == TEXT


def test_an_empty_gzip_body_is_accepted() -> None:
    assert decode_body(b"", "gzip", LIMIT) == (b"", Outcome.FETCHED, "")


def test_all_members_of_a_gzip_body_are_decoded() -> None:
    assert decode_body(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip", LIMIT).body == b"one two"


def test_all_frames_of_a_zstd_body_are_decoded() -> None:
    compress = zstandard.ZstdCompressor().compress
    assert decode_body(compress(b"one ") + compress(b"two"), "zstd", LIMIT).body == b"one two"


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_bytes_after_the_compressed_stream_are_ignored(name: str) -> None:
    assert decode_body(CODINGS[name](TEXT) + b"\n<!-- cached -->", name, LIMIT) == (TEXT, Outcome.FETCHED, "")


@pytest.mark.parametrize("name", CODINGS)
def test_the_received_part_of_a_truncated_body_is_kept(name: str) -> None:
    text = os.urandom(300_000)  # random, so that half of the stream is half of the text
    whole = CODINGS[name](text)
    body, outcome, reason = decode_body(whole[: len(whole) // 2], name, LIMIT)
    assert (outcome, reason) == (Outcome.FETCHED, "compressed body cut short")
    assert text.startswith(body)
    assert len(body) > 10_000


@pytest.mark.parametrize("name", CODINGS)
def test_an_invalid_compressed_body_is_a_bad_encoding(name: str) -> None:
    assert (
        decode_body(b"\x1f<html>this is no compressed stream</html>" * 9, name, LIMIT).outcome is Outcome.BAD_ENCODING
    )


def test_a_wrong_checksum_is_a_bad_encoding() -> None:
    body = bytearray(gzip.compress(TEXT))
    body[-8] ^= 1
    assert decode_body(bytes(body), "gzip", LIMIT).outcome is Outcome.BAD_ENCODING


@pytest.mark.parametrize("header", ["compress", "br, x-compress"])
def test_an_unsupported_coding_is_a_bad_encoding(header: str) -> None:
    assert decode_body(b"\x1f\x9d\x90", header, LIMIT).outcome is Outcome.BAD_ENCODING


@pytest.mark.parametrize("name", CODINGS)
def test_decompression_stops_at_the_size_limit(name: str) -> None:
    bomb = CODINGS[name](bytes(100 << 20))
    tracemalloc.start()
    try:
        body, outcome, _ = decode_body(bomb, name, LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(body), outcome) == (LIMIT, Outcome.TOO_BIG)
    assert peak < 32 << 20  # bytes; a third of the decoded size


def test_a_nested_compression_bomb_is_too_big() -> None:
    assert decode_body(gzip.compress(gzip.compress(bytes(50 << 20))), "gzip, gzip", LIMIT).outcome is Outcome.TOO_BIG


def test_the_size_limit_applies_to_plain_bodies() -> None:
    assert decode_body(TEXT, "", 100) == (TEXT[:100], Outcome.TOO_BIG, "more than 100 bytes")


def test_too_many_stacked_codings_are_refused() -> None:
    assert decode_body(TEXT, ",".join(["gzip"] * 6), LIMIT).outcome is Outcome.BAD_ENCODING


def test_a_body_of_too_many_gzip_members_is_refused() -> None:
    assert decode_body(gzip.compress(b"") * 20_000, "gzip", LIMIT).outcome is Outcome.BAD_ENCODING


def test_a_zstd_window_beyond_the_standard_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    assert decode_body(stream.compress(TEXT) + stream.flush(), "zstd", LIMIT).outcome is Outcome.BAD_ENCODING
