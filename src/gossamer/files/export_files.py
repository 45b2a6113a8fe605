"""A web's pages as files: each stored source under the name of its URL, and a manifest on top."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from gossamer.errors import UsageError
from gossamer.files import manifest
from gossamer.files.file_names import url_to_path
from gossamer.model import Outcome, Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.protocol import Store
    from gossamer.store.values import ResourceRow


class ExportedPage(Value, frozen=True, kw_only=True):
    """What has become of one resource."""

    url: str
    bytes: int = 0
    skip_reason: str = ""  # "" when it was written


def export_files(store: Store, folder: Path) -> Iterator[ExportedPage]:
    """Write every visited page that has a source; tells of each as it goes. The folder must be empty or not there.

    Into an empty folder only: so no file of another export stays between, and nothing that lies there (a symbolic link,
    say) can lead a page's bytes elsewhere.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty directory; give another place for the files.")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / manifest.MANIFEST_NAME).open("xb") as lines:
        for row in store.every_page():
            source = store.source(row.id)
            if source is None:
                yield ExportedPage(url=row.url, skip_reason="no source stored")
                continue
            entry = _manifest_entry(row)
            try:
                _write_file(folder / entry.path, source)
            except OSError as error:
                # A name of thousands of characters is the page's fault; anything else is ours to stop for.
                if error.errno != errno.ENAMETOOLONG:
                    raise
                yield ExportedPage(url=row.url, skip_reason="its path is too long for this file system")
                continue
            lines.write(manifest.encode_line(entry) + b"\n")
            yield ExportedPage(url=row.url, bytes=len(source))


def _manifest_entry(row: ResourceRow) -> manifest.ManifestEntry:
    return manifest.ManifestEntry(
        url=row.url,
        path=url_to_path(row.url),
        media_type=row.media_type,
        charset=row.charset,
        status=source_status(row),
        last_modified=row.last_modified,
        etag=row.etag,
        language=row.language,
        canonical=row.canonical,
        noindex=row.noindex,
        nofollow=row.nofollow,
        visited_at=row.visited_at,
    )


def source_status(row: ResourceRow) -> int:
    """The status of the answer that brought the source: a later visit may have brought none, and another status."""
    return row.status if row.outcome == Outcome.FETCHED else 200


def _write_file(path: Path, source: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source)
