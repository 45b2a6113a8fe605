"""Labels of nodes: titles without the parts that a site adds to all of them, cut to a length."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LABEL_LENGTH = 34  # characters

# Separates the parts that sites add to every title: " — Python 3.11 documentation", "PostgreSQL: ", " (Java SE 17)".
TITLE_SEPARATOR = re.compile(r"\s+[\u2014\u2013|\u00b7\u00bb\u00ab:-]\s+|:\s+|\s+(?=\()")
MAX_TITLE_SHARE = 0.25  # a title part that more pages share does not identify a page


def distinctive_titles(titles: Sequence[str]) -> list[str]:
    """Return titles without parts that many share, such as the name of the site."""
    parts = [TITLE_SEPARATOR.split(title) for title in titles]
    counts = Counter(part for each in parts for part in set(each))
    most = max(2, MAX_TITLE_SHARE * len(titles))
    return [next((part for part in each if counts[part] < most), each[0]) for each in parts]


def last_url_part(url: str) -> str:
    """Return the last non-empty path segment of a URL, else its host."""
    host, _, path = url.partition("://")[2].partition("/")
    return next((part for part in reversed(path.split("/")) if part), host)


def printable_line(text: str) -> str:
    """Return a text on one line, without invisible characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def shorten_label(text: str) -> str:
    """Shorten a text to `MAX_LABEL_LENGTH` characters."""
    return text if len(text) <= MAX_LABEL_LENGTH else f"{text[: MAX_LABEL_LENGTH - 1].rstrip()}…"
