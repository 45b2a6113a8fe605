"""A canonical URL as a file path, and back: every URL has one path, every path one URL.

    https://example.org/docs/os.html       https/example.org/docs/os.html
    https://example.org/docs/              https/example.org/docs/^index.html
    https://example.org/docs               https/example.org/docs^
    https://example.org/v1.2/a?b=c/d       https/example.org/v1.2^/a^3Fb=c^2Fd^
    http://localhost:8080/                 http/localhost^3A8080/^index.html

`^` escapes an octet: `^3F`. A final `^` distinguishes a file from a directory of the same name (`/docs` and
`/docs/os.html`): a file name has a dot or ends in `^`, a directory name has no dot or ends in `^`.
A segment that is too long for a file system continues in a directory whose name ends in `^~`. No name starts with a
dot: no file is hidden, and `.` and `..` cannot occur.

A file system that ignores case (macOS, Windows) cannot hold two URLs that differ only in case.
"""

from __future__ import annotations

import re

from gossamer.urls.canonical import authority, canonicalize, scheme

MAX_PIECE_LENGTH = 200  # characters of an escaped piece; file systems allow 255, and marks are added to it
INDEX_NAME = "^index.html"  # an empty last segment: the page of a directory
EMPTY_SEGMENT = "^empty"  # an empty segment in the middle, as in /a//b
CONTINUATION_MARK = "^~"
MARK = "^"

# Characters outside this set are escaped, `^` too. Common file systems allow all characters in it.
UNSAFE = re.compile(r"[^A-Za-z0-9._~%!$&'()+,;=@\[\]{}#-]")
ESCAPE_SEQUENCE = re.compile(r"\^([0-9A-F]{2})")


def url_to_path(url: str) -> str:
    """Return the relative file path of a canonical URL."""
    host = authority(url)
    rest = url[url.index("/", 8) + 1 :]
    path, mark, query = rest.partition("?")
    *directories, last = path.split("/")
    parts = [scheme(url), *_split_segment(host)]
    for segment in directories:
        parts += _mark_segment(segment, marked="." in segment) if segment else [EMPTY_SEGMENT]
    leaf = last + mark + query
    parts += _mark_segment(leaf, marked="." not in leaf) if leaf else [INDEX_NAME]
    return "/".join(parts)


def _mark_segment(text: str, *, marked: bool) -> list[str]:
    *long, last = _split_segment(text)
    return [*long, last + MARK if marked else last]


def _split_segment(text: str) -> list[str]:
    """Split an escaped segment into names of legal length; all but the last have the continuation mark."""
    pieces, piece = [], ""
    for character in text:
        name = _escape(character, first=not piece)
        if len(piece) + len(name) > MAX_PIECE_LENGTH:
            pieces.append(piece + CONTINUATION_MARK)
            piece = ""
            name = _escape(character, first=True)
        piece += name
    return [*pieces, piece]


def _escape(character: str, *, first: bool) -> str:
    hidden = first and character == "."
    return f"^{ord(character):02X}" if hidden or UNSAFE.match(character) else character


def path_to_url(path: str) -> str:
    """Return the URL of a relative file path; raise ValueError if it is not the path of any URL."""
    names = path.split("/")
    segments = _segments(names[1:])
    if len(segments) < 2:
        raise ValueError(f"{path!r} is not the path of a page's file")
    url = f"{names[0]}://{'/'.join(segments)}"
    # The round trip refuses paths that only resemble exported ones.
    if canonicalize(url) != url or url_to_path(url) != path:
        raise ValueError(f"{path!r} is not the path of a page's file")
    return url


def _segments(names: list[str]) -> list[str]:
    segments, text = [], ""
    for name in names:
        if name in {INDEX_NAME, EMPTY_SEGMENT}:
            segments.append("")
        elif name.endswith(CONTINUATION_MARK):
            text += _unescape(name.removesuffix(CONTINUATION_MARK))
        else:
            segments.append(text + _unescape(name.removesuffix(MARK)))
            text = ""
    return segments


def _unescape(name: str) -> str:
    return ESCAPE_SEQUENCE.sub(lambda match: chr(int(match[1], 16)), name)
