"""The words that a page may have: counted quickly, and a little too high, by its parser and by the index alike."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import islice

# Marks that belong to the letter before them (category M), which Python's \w leaves out. Later scripts have none.
MARKS = "".join(chr(code) for code in range(0x300, 0x1E00) if unicodedata.category(chr(code)).startswith("M"))
# Scripts without spaces: Thai, Lao, Myanmar, Khmer, kana, Han, Hangul. Each character counts as a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
UNSPACED += "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS_ALONE = bytes(byte if chr(byte).isalnum() and byte < 0x80 else ord(" ") for byte in range(256))
_NO_FIRST_BYTES = bytes(range(0xC0))  # bytes that begin no character beyond ASCII


@cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word. Compiling it takes 4 ms, which few processes need."""
    return re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{MARKS}\xad])*+")


def most_words(text: bytes) -> int:
    """Return a number of words that a text in UTF-8 does not exceed, much faster than counting them."""
    return len(text.translate(_LETTERS_ALONE).split()) + len(text.translate(None, _NO_FIRST_BYTES))


def cut_after_words(runs: list[tuple[int, str]], max_words: int) -> list[tuple[int, str]]:
    """Return the runs up to so many words; the same list if there are no more."""
    if sum([len(text) for _, text in runs]) <= max_words:  # a word has at least one character
        return runs
    left = max_words
    for number, (field, text) in enumerate(runs):
        words = _word().finditer(text)
        if len(text) > left and (first_over := next(islice(words, left, None), None)) is not None:
            kept = text[: first_over.start()].rstrip()
            return [*runs[:number], *([(field, kept)] if kept else [])]
        left -= sum(1 for _ in _word().finditer(text))
    return runs
