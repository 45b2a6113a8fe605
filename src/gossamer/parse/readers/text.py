"""Text in one shape: blanks collapsed, lengths capped, runs by field packed for the store.

Only ASCII white space is collapsed, as in HTML: an ideographic or a no-break space is the author's, and stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from gossamer.model import Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TextRun = tuple[int, str]  # Field, text

_pack = msgspec.msgpack.Encoder().encode
_SEPARATOR = "\2"  # a control character that next to no page writes
_SPACED_SEPARATOR = f" {_SEPARATOR} "
_UNCLEAN = ("\n", "  ", f" {_SEPARATOR}", f"{_SEPARATOR} ", "\t", "\r", "\f", "\v", "\0")  # the likeliest first
_WORD = re.compile(r"\w+")


def collapse_blanks(text: str) -> str:
    """Runs of ASCII white space become one blank each, and none at the ends."""
    if text.isascii():
        return " ".join(text.split())
    return b" ".join(text.encode("utf-8", "replace").split()).decode()


def clean_all(texts: Sequence[str], max_length: int) -> list[str]:
    """Each text as `clean` makes it, faster: all are looked at in one call each, with a separator between them."""
    together = _SEPARATOR.join(("", *texts, ""))
    if together.count(_SEPARATOR) > len(texts) + 1:  # one has the separator in it
        return [clean(text, max_length) for text in texts]
    if not any(unclean in together for unclean in _UNCLEAN):  # nine pages of ten
        return [text[:max_length] for text in texts]
    words = together.replace("\0", " ").replace(_SEPARATOR, _SPACED_SEPARATOR).encode("utf-8", "replace").split()
    pieces = b" ".join(words).decode().split(_SEPARATOR)[1:-1]
    return [piece[1:-1][:max_length] for piece in pieces]


def clean(text: str, max_length: int) -> str:
    """A short text (title, anchor, description) in one line of at most `most` characters, fit for any database."""
    return collapse_blanks(text.replace("\0", " "))[:max_length]


def pack_runs(runs: Iterable[TextRun]) -> bytes:
    """The runs as they are stored: msgpack [[field, text], ...]."""
    return _pack(list(runs))


def topic_nearness(runs: Iterable[TextRun], topic: frozenset[str]) -> float:
    """The share of the topic's words that occur in the text, 0..1."""
    if not topic:
        return 0.0
    words: set[str] = set()
    for _, text in runs:
        words.update(_WORD.findall(text.lower()))
    return len(topic & words) / len(topic)


def page_runs(title: str, description: str, body: Iterable[TextRun]) -> list[TextRun]:
    """A page's runs in reading order: what it calls itself, then what it says."""
    head = ((int(Field.TITLE), title), (int(Field.DESCRIPTION), description))
    return [*(run for run in head if run[1]), *body]
