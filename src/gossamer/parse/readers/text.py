"""Text normalized: blanks collapsed, lengths capped, runs by field packed for the store.

Only ASCII white space is collapsed, as in HTML: the author chose an ideographic or no-break space, so it stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.page_budget import MAX_TEXT_BYTES, MAX_WORDS
from gossamer.basics.words import cut_after_words
from gossamer.model import Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TextRun = tuple[int, str]  # Field, text

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[tuple[int, str]]).decode
_SEPARATOR = "\2"  # a control character that hardly any page contains
_SPACED_SEPARATOR = f" {_SEPARATOR} "
_UNCLEAN = ("\n", "  ", f" {_SEPARATOR}", f"{_SEPARATOR} ", "\t", "\r", "\f", "\v", "\0")  # the likeliest first
_WORD = re.compile(r"\w+")


def collapse_blanks(text: str) -> str:
    """Replace each run of ASCII white space by one blank, and remove it at the ends."""
    if text.isascii():
        return " ".join(text.split())
    return b" ".join(text.encode("utf-8", "replace").split()).decode()


def clean_all(texts: Sequence[str], max_length: int) -> list[str]:
    """Clean many texts at once, faster than `clean`: it joins them with a separator and checks all in one call."""
    together = _SEPARATOR.join(("", *texts, ""))
    if together.count(_SEPARATOR) > len(texts) + 1:  # a text contains the separator
        return [clean(text, max_length) for text in texts]
    if not any(unclean in together for unclean in _UNCLEAN):  # nine pages of ten
        return [text[:max_length] for text in texts]
    words = together.replace("\0", " ").replace(_SEPARATOR, _SPACED_SEPARATOR).encode("utf-8", "replace").split()
    pieces = b" ".join(words).decode().split(_SEPARATOR)[1:-1]
    return [piece[1:-1][:max_length] for piece in pieces]


def clean(text: str, max_length: int) -> str:
    """Return a title, anchor or description in one line of at most `max_length` characters, without NUL."""
    return collapse_blanks(text.replace("\0", " "))[:max_length]


def pack_runs(runs: Iterable[TextRun]) -> bytes:
    """Return the runs in the form of the store: msgpack [[field, text], ...]."""
    return _pack(list(runs))


def unpack_runs(packed: bytes) -> list[TextRun]:
    """Return the runs of their form in the store."""
    return _unpack(packed)


def pack_page_text(runs: list[TextRun], cut: list[str]) -> bytes:
    """Return the packed runs, at most as many as the page budget allows; add to `cut` what it does not allow."""
    packed = pack_runs(runs)
    if len(packed) > MAX_WORDS:  # shorter texts are within both limits
        kept = _cut_after_bytes(runs, MAX_TEXT_BYTES)
        if kept is not runs:
            cut.append("text")
            packed = pack_runs(kept)
        indexed = [run for run in kept if run[0] != Field.DESCRIPTION]
        if cut_after_words(indexed, MAX_WORDS) is not indexed:
            cut.append("words")
    return packed


def _cut_after_bytes(runs: list[TextRun], max_bytes: int) -> list[TextRun]:
    """Return the runs up to so many bytes in UTF-8; the same list if there are no more."""
    left = max_bytes
    for number, (field, text) in enumerate(runs):
        encoded = text.encode("utf-8", "replace")
        if len(encoded) > left:
            return [*runs[:number], (field, encoded[:left].decode("utf-8", "ignore"))]
        left -= len(encoded)
    return runs


def topic_nearness(runs: Iterable[TextRun], topic: frozenset[str]) -> float:
    """Return the share of the topic's words that occur in the text, 0..1."""
    if not topic:
        return 0.0
    words: set[str] = set()
    for _, text in runs:
        words.update(_WORD.findall(text.lower()))
    return len(topic & words) / len(topic)


def page_runs(title: str, description: str, body: Iterable[TextRun]) -> list[TextRun]:
    """Return a page's runs in reading order: title, description, body."""
    head = ((int(Field.TITLE), title), (int(Field.DESCRIPTION), description))
    return [*(run for run in head if run[1]), *body]
