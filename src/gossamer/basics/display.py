"""Values as terminals (`cli`) and web pages (`web`) show them: foreign text made safe, amounts, times.

A title may hold escape sequences that rewrite a terminal, or direction marks that make a URL read as another one. These
functions show such characters by their numbers.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import TYPE_CHECKING

from gossamer.basics.times import accepted_time

if TYPE_CHECKING:
    from collections.abc import Iterable

# Invisible characters that change visible text: controls (C0, DEL, C1), line and paragraph separators, format
# characters (Unicode category Cf: direction marks, zero-width ones, tags), surrogates, blank letters, selectors. Arabic
# and Kaithi number signs are of category Cf too, but visible. A test compares these ranges with the Unicode tables.
CONTROLS = r"\x00-\x1f"
INVISIBLE = (
    r"\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Joiners between two letters beyond ASCII stay: Persian, Indic scripts and emoji need them.
JOINER = r"(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])"
HIDDEN = re.compile(f"{JOINER}|([{CONTROLS}{INVISIBLE}])")
HIDDEN_IN_JSON = re.compile(f"[{INVISIBLE}]")  # the json module escapes the other controls
ILLEGAL_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2
SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
WHOLE_DAYS = 100  # from so many days on, a duration has no hours


def escape_hidden(text: str) -> str:
    """Return foreign text as one line, with all invisible characters escaped."""
    return HIDDEN.sub(_escape, text)


def escape_hidden_lines(text: str) -> str:
    """Return foreign text of several lines with invisible characters escaped; line ends and tabs stay."""
    return HIDDEN.sub(lambda match: match[0] if match[0] in "\n\t" else _escape(match), text)


def without_illegal_xml(text: str) -> str:
    """Return text without the characters that no XML file may hold, not even as numbers: controls, U+FFFE, U+FFFF."""
    return ILLEGAL_IN_XML.sub("", text)


def _escape(match: re.Match[str]) -> str:
    character = match[1]
    if character is None:
        return match[0]
    code = ord(character)
    return SHORT_ESCAPES.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"«U+{code:04X}»")


def site_of(url: object) -> str:
    """Return scheme and authority of an http or https URL, "" for other values."""
    text = str(url)
    return "/".join(text.split("/", 3)[:3]) if text.startswith(("http://", "https://")) else ""


def common_site(urls: Iterable[object]) -> str:
    """Return the site of most of the URLs, "" if there are none: their paths are shown without it."""
    sites = Counter(site for url in urls if (site := site_of(url)))
    return sites.most_common(1)[0][0] if sites else ""


# -- amounts and times -------------------------------------------------------------------------------------------------


def pluralize(number: int, noun: str) -> str:
    """Return a number and its noun: `1 page`, `2,000 pages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_bytes(amount: float) -> str:
    """Return a size such as `12.3 MB`, in decimal units, as for networks and disks."""
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.95 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def format_duration(seconds: float) -> str:
    """Return a duration in at most two units: `850 ms`, `12 s`, `3 min 20 s`, `2 h 05 min`, `4 d 3 h`, `406 d`."""
    if seconds < 0.9995:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 1:
        return f"{whole} s"
    if hours < 1:
        return f"{minutes} min {whole % 60:02d} s"
    if days < 1:
        return f"{hours} h {minutes % 60:02d} min"
    return f"{days} d {hours % 24} h" if days < WHOLE_DAYS else f"{days:,} d"


def format_age(moment: float | None, now: float | None = None) -> str:
    """Return how long ago a moment (Unix time) was: `3 min 20 s ago`."""
    if not moment:
        return "never"
    if accepted_time(moment) is None:
        return "unknown"
    seconds = round((time.time() if now is None else now) - moment)
    if seconds < 1:
        return "just now"
    return f"{seconds} s ago" if seconds < 60 else f"{format_duration(seconds)} ago"


def format_time(moment: float | None) -> str:
    """Return a moment (Unix time) as local date and time."""
    if not moment:
        return "never"
    if accepted_time(moment) is None:
        return "unknown"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
