"""A canonical URL as the name of a file, and back: every URL has one name, every name one URL.

    https://example.org/docs/os.html       https/example.org/docs/os.html
    https://example.org/docs/              https/example.org/docs/^index.html
    https://example.org/docs               https/example.org/docs^
    https://example.org/v1.2/a?b=c/d       https/example.org/v1.2^/a^3Fb=c^2Fd^
    http://localhost:8080/                 http/localhost^3A8080/^index.html

`^` is the escape: `^3F` is an octet. At the end of a name, `^` sets a file apart from a directory that could bear the
same name (`/docs` and `/docs/os.html`): a file's name has a dot or ends in `^`, a directory's has none or ends in `^`.
A segment too long for a file system goes on in a directory whose name ends in `^~`. No name starts with a dot, so
nothing is hidden, and neither `.` nor `..` comes about.

File systems that do not tell upper case from lower (macOS, Windows) cannot hold two URLs that differ in case only.
"""

from __future__ import annotations

import re

from gossamer.urls.canonical import authority, canonicalize, scheme

MAX_PIECE_LENGTH = 200  # characters of an escaped piece; file systems allow 255, and marks come on top
INDEX_NAME = "^index.html"  # the page of a directory itself: a last segment that is empty
EMPTY_SEGMENT = "^empty"  # a segment before it that is empty, as in /a//b
CONTINUATION_MARK = "^~"
MARK = "^"

# Kept as they are: what a canonical URL may hold and every common file system allows. The rest is escaped, `^` too.
UNSAFE = re.compile(r"[^A-Za-z0-9._~%!$&'()+,;=@\[\]{}#-]")
ESCAPE_SEQUENCE = re.compile(r"\^([0-9A-F]{2})")


def url_to_path(url: str) -> str:
    """The relative path of a canonical URL's file."""
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
    """A segment as names that are short enough, all but the last of them marked to go on."""
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
    """The URL whose file has this relative path; ValueError when there is none."""
    names = path.split("/")
    segments = _segments(names[1:])
    if len(segments) < 2:
        raise ValueError(f"{path!r} is not the path of a page's file")
    url = f"{names[0]}://{'/'.join(segments)}"
    # The way back must lead here: that refuses all that only looks like a name of ours.
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
