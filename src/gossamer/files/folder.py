"""Pages from a folder of files: the URL, media type and bytes of each file.

The reader accepts three kinds of folder: an export with a manifest, an export without one, and any folder with a base
URL. Without a manifest, the paths give the URLs. It never reads outside the folder: it refuses symbolic links and paths
that lead out. It also refuses everything that is not a regular file, because a pipe would block forever.
"""

from __future__ import annotations

import mimetypes
import os
import stat
from email.utils import formatdate
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

import msgspec

from gossamer.basics.times import accepted_time
from gossamer.errors import UsageError
from gossamer.files import manifest
from gossamer.files.file_names import path_to_url
from gossamer.files.file_page import Refusal, SkippedItem, make_file_page
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.files.file_page import FilePage


def read_folder(folder: Path, base: str | None, max_bytes: int) -> Iterator[FilePage | SkippedItem]:
    """Yield every page of the folder, in manifest or name order. `base` is a canonical URL."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a directory.")
    return _read_pages(folder.resolve(), base, max_bytes)


def _read_pages(root: Path, base: str | None, max_bytes: int) -> Iterator[FilePage | SkippedItem]:
    manifest_path = root / manifest.MANIFEST_NAME
    entries = _read_manifest(manifest_path) if base is None and manifest_path.is_file() else _walk_files(root, base)
    for entry in entries:
        if isinstance(entry, SkippedItem):
            yield entry
            continue
        try:
            yield _page_from_entry(root, entry, max_bytes)
        except Refusal as refusal:
            yield SkippedItem(path=entry.path, reason=str(refusal))


def _read_manifest(path: Path) -> Iterator[manifest.ManifestEntry | SkippedItem]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                entry = manifest.decode_line(line)
            except msgspec.DecodeError as error:
                raise UsageError(f"{path}, line {number}, is not a manifest entry: {error}.") from error
            if canonicalize(entry.url) == entry.url:
                yield entry
            else:
                yield SkippedItem(path=entry.path, reason=f"{entry.url} is not a canonical HTTP URL")


def _walk_files(root: Path, base: str | None) -> Iterator[manifest.ManifestEntry | SkippedItem]:
    for directory, directories, files in os.walk(root):
        directories.sort()
        links = [name for name in directories if Path(directory, name).is_symlink()]  # os.walk does not follow them
        for name in sorted([*files, *links]):
            path = Path(directory, name).relative_to(root).as_posix()
            if path == manifest.MANIFEST_NAME and base is None:
                continue
            url = _file_url(path, base)
            yield (
                manifest.ManifestEntry(url=url, path=path)
                if url
                else SkippedItem(path=path, reason="its name does not encode a URL; give --base")
            )


def _file_url(path: str, base: str | None) -> str | None:
    if base is None:
        try:
            return path_to_url(path)
        except ValueError:
            return None
    return canonicalize(quote_from_bytes(os.fsencode(path), safe="/~"), base if base.endswith("/") else f"{base}/")


def _page_from_entry(root: Path, entry: manifest.ManifestEntry, max_bytes: int) -> FilePage:
    body, modified = _read_file(root, entry.path, max_bytes)
    completed = msgspec.structs.replace(
        entry,
        media_type=entry.media_type or guess_media_type(entry.path),
        last_modified=_format_modified(modified) if entry.last_modified is None else entry.last_modified,
    )
    headers = {name.lower(): value for name, value in manifest.rebuild_headers(completed).items()}
    status = 200 if entry.status == 304 else entry.status  # 304 has no body, but the file has one
    return make_file_page(entry.url, body, status, headers, fetched_at=accepted_time(entry.visited_at))


def _format_modified(moment: float) -> str:
    """Return the time of a file as a header; "" if no header can have it."""
    return "" if accepted_time(moment) is None else formatdate(moment, usegmt=True)


def _read_file(root: Path, relative: str, max_bytes: int) -> tuple[bytes, float]:
    parts = PurePosixPath(relative)
    path = root / parts
    try:
        if parts.is_absolute() or ".." in parts.parts or path.resolve() != path:
            raise Refusal("its path leads out of the folder or through a symbolic link")
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise Refusal("it is not a regular file")
        if status.st_size > max_bytes:
            raise Refusal(f"it is larger than {max_bytes:,} bytes")
        return path.read_bytes(), status.st_mtime
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise Refusal(getattr(error, "strerror", None) or str(error)) from error


def guess_media_type(path: str) -> str:
    """Return the media type for a file extension; "" if unknown."""
    # Without the system's tables, so that every machine gives the same result.
    guessed, encoding = mimetypes.MimeTypes().guess_type(path.removesuffix("^"), strict=True)
    return guessed if guessed and not encoding else ""
