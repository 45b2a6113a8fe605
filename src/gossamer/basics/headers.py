"""Values of HTTP headers that several packages read."""

from __future__ import annotations

import re

MAX_LENGTH = (1 << 63) - 1  # bytes: the largest integer of a database column
# Control characters (RFC 9110 §5.5) and lone surrogates, which no database column takes.
UNFIT = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


def parse_media_type(content_type: str) -> str:
    """Return the type in a Content-Type without its parameters, lower case: "text/html"; "" when it has none."""
    return content_type.partition(";")[0].strip().lower()


def parse_length(content_length: str) -> int | None:
    """Return the number in a Content-Length; None if it is no number of bytes. A huge one counts as the largest."""
    if not (content_length.isascii() and content_length.isdecimal()):
        return None
    digits = content_length.lstrip("0")
    return min(int(digits[:20] or "0"), MAX_LENGTH)


def header_text(value: str, max_length: int) -> str:
    """Return a header value that a text column can hold; "" if it is longer, or no header may contain it."""
    return value if len(value) <= max_length and not UNFIT.search(value) else ""
