"""Values of HTTP headers that several packages read."""

from __future__ import annotations


def parse_media_type(content_type: str) -> str:
    """Return the type in a Content-Type without its parameters, lower case: "text/html"; "" when it has none."""
    return content_type.partition(";")[0].strip().lower()
