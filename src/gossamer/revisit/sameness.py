"""Compares two readings of a page, ignoring text that servers generate for every response.

Time stamps to the second, "generated on ..." lines, "3 hours ago", "in 0.12 seconds" and tokens differ between visits
although nothing changed. A date in a sentence is content and counts: a concert may have moved to another day.

The text is hostile. Every pattern is bounded and none starts inside another's match, so that the time grows linearly
with the length of the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model import Field

MAX_COMPARED = 1 << 20  # characters, to bound the time; longer texts that differ at all count as changed

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = (
    r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    rf"|\d{{1,2}}\.? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}}|{_MONTH} \d{{1,2}}(?= \d\d:)"
)
_CLOCK = r"\d{1,2}:\d\d"
_SECONDS = r":\d\d(?:[.,]\d{1,9})?"
_ZONE = r"(?: ?[ap]m\b)?(?: ?(?:utc|gmt|z|cet|cest|[ecmp][sd]t)\b| ?[+-]\d\d:?\d\d)?"
_UNIT = r"(?:ms|milliseconds?|seconds?|secs?|s|minutes?|hours?|days?|weeks?|months?|years?)"

# Text that differs in every response.
_VOLATILE = re.compile(
    rf"(?<![\w.:])(?:(?:{_DATE}),?(?:t| at | |  )?)?{_CLOCK}{_SECONDS}{_ZONE}"
    rf"|(?<![\w.])\d{{1,9}} {_UNIT} ago\b"
    rf"|(?<![\w.])\d{{1,9}}(?:\.\d{{1,9}} ?{_UNIT}|[ ]?(?:ms|milliseconds))\b"
    r"|(?<![\w-])(?=[a-z_-]{0,256}\d)(?=[\d_-]{0,256}[a-z])[\w-]{16,}",
    re.IGNORECASE,
)
# Words of a line about the page itself; dates and times in such a line do not count.
_TIMESTAMP_WORDS = re.compile(
    r"\b(?:generated|updated|modified|rendered|built|retrieved|printed|accessed|last change|today)\b", re.IGNORECASE
)
_TIMESTAMP = re.compile(rf"(?<![\w.:])(?:(?:{_DATE})|{_CLOCK}{_ZONE})", re.IGNORECASE)


def without_volatile(run: str) -> str:
    """Return a run of text without the parts that differ in every response."""
    run = _VOLATILE.sub("", run)
    return _TIMESTAMP.sub("", run) if _TIMESTAMP_WORDS.search(run) else run


def is_same_content(before: Sequence[tuple[Field, str]], now: Sequence[tuple[Field, str]]) -> bool:
    """Return whether two texts by field are equal, apart from volatile parts."""
    if len(before) != len(now) or max(_text_length(before), _text_length(now)) > MAX_COMPARED:
        return False
    return all(
        old_field == new_field and (old == new or without_volatile(old) == without_volatile(new))
        for (old_field, old), (new_field, new) in zip(before, now, strict=True)
    )


def _text_length(runs: Sequence[tuple[Field, str]]) -> int:
    return sum(len(text) for _, text in runs)
