"""`manifest.jsonl` of an exported folder: one line per file, with facts that the file itself does not contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

if TYPE_CHECKING:
    from gossamer.store.values import ResourceRow

MANIFEST_NAME = "manifest.jsonl"


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the folder. A default value means unknown."""

    url: str
    path: str  # relative to the folder
    media_type: str = ""
    charset: str = ""
    status: Annotated[int, msgspec.Meta(ge=100, le=599)] = 200
    last_modified: str | None = None  # as the server sent it; None: use the time of the file
    etag: str = ""
    language: str = ""
    canonical: str = ""
    noindex: bool = False
    nofollow: bool = False
    visited_at: float | None = None  # Unix time


encode_line = msgspec.json.Encoder().encode
decode_line = msgspec.json.Decoder(ManifestEntry).decode


def rebuild_headers(page: ResourceRow | ManifestEntry) -> dict[str, str]:
    """Return HTTP response headers rebuilt from stored fields; empty ones are left out.

    The store does not record whether a language or a directive came from the header or from the page itself.
    So the headers contain both; a repeated statement means the same.
    """
    directives = (("noindex", page.noindex), ("nofollow", page.nofollow))
    fields = {
        "Content-Type": f"{page.media_type}; charset={page.charset}" if page.charset else page.media_type,
        "Content-Language": page.language,
        "ETag": page.etag,
        "Last-Modified": page.last_modified,
        "Link": f"<{page.canonical}>; rel=canonical" if page.canonical else "",
        "X-Robots-Tag": ", ".join(word for word, is_set in directives if is_set),
    }
    return {name: value for name, value in fields.items() if value}
