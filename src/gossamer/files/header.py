"""The header of an answer, made again of what was stored of it: the page as a file or record must say it on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.files.manifest import ManifestEntry
    from gossamer.store.values import ResourceRow


def rebuild_headers(page: ResourceRow | ManifestEntry) -> dict[str, str]:
    """The fields that a server might have sent, without those that would be empty.

    What the page itself says is in them too: nobody noted which of both had said it, and said twice it is the same.
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
