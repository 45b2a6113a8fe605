"""Export pages as files: each stored source under a path made from its URL, plus a manifest."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from gossamer.basics.times import accepted_time
from gossamer.errors import UsageError
from gossamer.files import manifest
from gossamer.files.file_names import url_to_path
from gossamer.model import Outcome, Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.protocol import ExportSource
    from gossamer.store.values import ResourceRow


class ExportedPage(Value, frozen=True, kw_only=True):
    """The result of exporting one page."""

    url: str
    bytes: int = 0
    skip_reason: str = ""  # "": it was exported


def export_files(store: ExportSource, folder: Path) -> Iterator[ExportedPage]:
    """Write every visited page that has a source; yield a result for each.

    The folder must be empty or missing. So no file of an older export remains in it,
    and no symbolic link in it can redirect a page's bytes elsewhere.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty directory. Give an empty or a new one.")
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
                # Skip only this page: its URL is too long. Any other error (a full disk) ends the export.
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
        visited_at=accepted_time(row.visited_at),
    )


def source_status(row: ResourceRow) -> int:
    """Return the status of the response that the source came from.

    A later visit without a body (304, an error) leaves the source and changes the status.
    """
    return row.status if row.outcome == Outcome.FETCHED else 200


def _write_file(path: Path, source: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source)
