"""The manifest of a folder of pages: `manifest.jsonl`, a line for each file, with what a file alone cannot tell."""

from __future__ import annotations

import msgspec

NAME = "manifest.jsonl"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A page's file."""

    url: str
    path: str  # relative to the folder
    media_type: str = ""
    charset: str = ""
    status: int = 200
    last_modified: str = ""  # as the server wrote it


encode_line = msgspec.json.Encoder().encode
decode_line = msgspec.json.Decoder(Entry).decode
