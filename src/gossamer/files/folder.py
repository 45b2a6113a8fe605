"""The pages in a folder of files: which file is which URL, of which type, and its bytes, read with care.

Three kinds of folder: with a manifest (an export of ours), with names of ours but no manifest, and any folder at all,
when a base URL is given that its files hang below. Nothing outside the folder is read: a path or a symbolic link that
leads there is refused, as is everything that is not a regular file (a pipe would block for ever).
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

from gossamer.errors import UsageError
from gossamer.files import manifest
from gossamer.files.file_names import url_of
from gossamer.files.file_page import Skipped, page_of
from gossamer.files.header import header_of
from gossamer.urls.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.files.file_page import FilePage


class Refusal(Exception):
    """This file cannot be taken; the text says why."""


def pages_in(folder: Path, base: str | None, max_bytes: int) -> Iterator[FilePage | Skipped]:
    """Every page in the folder, in the order of the manifest or of the names. `base` is a canonical URL."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a directory.")
    return _pages(folder.resolve(), base, max_bytes)


def _pages(root: Path, base: str | None, max_bytes: int) -> Iterator[FilePage | Skipped]:
    listed = root / manifest.NAME
    entries = _listed(listed) if base is None and listed.is_file() else _walked(root, base)
    for entry in entries:
        if isinstance(entry, Skipped):
            yield entry
            continue
        try:
            yield _page(root, entry, max_bytes)
        except Refusal as refusal:
            yield Skipped(path=entry.path, reason=str(refusal))


def _listed(path: Path) -> Iterator[manifest.Entry | Skipped]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                entry = manifest.decode_line(line)
            except msgspec.DecodeError as error:
                raise UsageError(f"{path}, line {number}, is not a line of a manifest: {error}.") from error
            if canonical(entry.url) == entry.url:
                yield entry
            else:
                yield Skipped(path=entry.path, reason=f"{entry.url} is not a URL to visit")


def _walked(root: Path, base: str | None) -> Iterator[manifest.Entry | Skipped]:
    for directory, directories, files in os.walk(root):
        directories.sort()
        links = [name for name in directories if Path(directory, name).is_symlink()]  # os.walk does not follow them
        for name in sorted([*files, *links]):
            path = Path(directory, name).relative_to(root).as_posix()
            if path == manifest.NAME and base is None:
                continue
            url = _url(path, base)
            yield (
                manifest.Entry(url=url, path=path)
                if url
                else Skipped(path=path, reason="its name is no URL's; give --base")
            )


def _url(path: str, base: str | None) -> str | None:
    if base is None:
        try:
            return url_of(path)
        except ValueError:
            return None
    return canonical(quote_from_bytes(os.fsencode(path), safe="/~"), base if base.endswith("/") else f"{base}/")


def _page(root: Path, entry: manifest.Entry, max_bytes: int) -> FilePage:
    body, modified = _read(root, entry.path, max_bytes)
    told = msgspec.structs.replace(
        entry,
        media_type=entry.media_type or media_type_of(entry.path),
        last_modified=formatdate(modified, usegmt=True) if entry.last_modified is None else entry.last_modified,
    )
    headers = {name.lower(): value for name, value in header_of(told).items()}
    status = 200 if entry.status == 304 else entry.status  # 304 says that nothing came: but here it is
    return page_of(entry.url, body, status, headers, at=entry.visited_at)


def _read(root: Path, relative: str, max_bytes: int) -> tuple[bytes, float]:
    parts = PurePosixPath(relative)
    path = root / parts
    try:
        if parts.is_absolute() or ".." in parts.parts or path.resolve() != path:
            raise Refusal("it leads out of the folder or through a symbolic link")
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise Refusal("it is not a regular file")
        if status.st_size > max_bytes:
            raise Refusal(f"it is larger than {max_bytes:,} bytes")
        return path.read_bytes(), status.st_mtime
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise Refusal(getattr(error, "strerror", None) or str(error)) from error


def media_type_of(path: str) -> str:
    """The media type by the name's ending; "" when that tells nothing."""
    # Without the system's own tables, so that a folder is read alike on every machine.
    guessed, encoding = mimetypes.MimeTypes().guess_type(path.removesuffix("^"), strict=True)
    return guessed if guessed and not encoding else ""
