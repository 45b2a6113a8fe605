"""The manifest of a folder of pages: `manifest.jsonl`, a line for each file, with what a file alone cannot tell."""

from __future__ import annotations

from typing import Annotated

import msgspec

MANIFEST_NAME = "manifest.jsonl"


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A page's file. What a line leaves out is not known."""

    url: str
    path: str  # relative to the folder
    media_type: str = ""
    charset: str = ""
    status: int = 200
    last_modified: str | None = None  # as the server wrote it; None: ask the file
    etag: str = ""
    language: str = ""
    canonical: str = ""
    noindex: bool = False
    nofollow: bool = False
    visited_at: Annotated[float, msgspec.Meta(ge=0)] | None = None  # Unix time


encode_line = msgspec.json.Encoder().encode
decode_line = msgspec.json.Decoder(ManifestEntry).decode
