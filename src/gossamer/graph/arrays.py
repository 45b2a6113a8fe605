"""Arrays in files: appended in blocks, published completely or not at all, read through memory mapping.

A bundle (`bonds`, `visited` ...) is a folder of raw arrays and a small manifest that names the folder.
The writer flushes a new folder to disk, then renames the manifest into place. So readers see the old or the new
bundle, even after a power cut. Nothing writes through a mapping: a full disk would kill the process with SIGBUS
instead of raising an error.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np

from gossamer.basics.durable import sync_directory
from gossamer.basics.locations import is_shared, local_directory
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    import numpy.typing as npt

    Array = npt.NDArray[Any]

FORMAT = 2  # version of the files; bundles of another version are rebuilt
FOLDER_NAME, DRAFT_NAME = re.compile(r"[a-z]+-[0-9a-f]{8}"), re.compile(r"[a-z]+\.json\.[0-9a-f]{8}")
LOAD_TRIES = 5  # attempts to open a bundle that another process is replacing


@contextmanager
def graph_directory(location: str) -> Iterator[Path]:
    """Yield the directory of a web's link graph: beside its store, or temporary if that is read-only."""
    web = local_directory(location)
    if is_shared(location):
        web.mkdir(parents=True, exist_ok=True)
    if os.access(web, os.W_OK):
        yield web / "graph"
    else:
        with tempfile.TemporaryDirectory(prefix="gossamer-") as scratch:
            yield Path(scratch)


class StoredArray(Value, frozen=True, kw_only=True):
    """Type and length of a stored array."""

    dtype: str
    length: int


class ArrayManifest(Value, frozen=True, kw_only=True):
    """The manifest of a bundle: its folder, its arrays and its store version."""

    format: int
    version: int  # the store version that the arrays reflect
    folder: str
    arrays: dict[str, StoredArray]
    facts: dict[str, int]


class ArrayBundle:
    """A published bundle, its arrays mapped into memory."""

    def __init__(self, directory: Path, manifest: ArrayManifest) -> None:
        self.version = manifest.version
        self.facts = manifest.facts
        folder = directory / manifest.folder
        self._arrays = {name: _map_array(folder / name, stored) for name, stored in manifest.arrays.items()}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]


def _map_array(path: Path, stored: StoredArray) -> Array:
    if not stored.length:
        return np.empty(0, stored.dtype)  # an empty file cannot be mapped
    return np.asarray(np.memmap(path, stored.dtype, mode="r", shape=(stored.length,)))


def load_bundle(directory: Path, name: str) -> ArrayBundle | None:
    """Return the published bundle; None if there is none or it is unreadable, so that the caller rebuilds it."""
    for _ in range(LOAD_TRIES):
        try:
            manifest = load_manifest(directory / f"{name}.json")
            return ArrayBundle(directory, manifest) if manifest is not None else None
        except FileNotFoundError:  # another process replaced it after we read the manifest
            continue
        except ValueError:  # a file is shorter than its manifest says
            return None
    return None


def load_manifest(path: Path) -> ArrayManifest | None:
    """Return a manifest; None if it is missing, malformed or of another format."""
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=ArrayManifest)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return manifest if manifest.format == FORMAT else None


class ArrayWriter:
    """Writes a new version of a bundle. The caller holds `directory_lock`.

    Leaving the `with` block without `publish` discards everything.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._folder = directory / f"{name}-{secrets.token_hex(4)}"
        self._files: dict[str, _ArrayFile] = {}
        self._published = False

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True)
        return self

    def append(self, name: str, values: Array) -> None:
        """Append values to an array. The first values set its type."""
        if name not in self._files:
            self._files[name] = _ArrayFile(self._folder / name, values.dtype.str)
        self._files[name].append(values)

    def map_array(self, name: str) -> Array:
        """Return the values appended so far, mapped from the file."""
        file = self._files[name]
        return _map_array(self._folder / name, file.flush())

    def publish(self, version: int, facts: dict[str, int] | None = None) -> None:
        """Replace the old version by the new one."""
        arrays = {name: file.finish() for name, file in self._files.items()}
        manifest = ArrayManifest(
            format=FORMAT, version=version, folder=self._folder.name, arrays=arrays, facts=facts or {}
        )  # fmt: skip
        sync_directory(self._folder)
        replace_file(self._directory / f"{self._name}.json", msgspec.json.encode(manifest))
        self._published = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        if not self._published:
            shutil.rmtree(self._folder, ignore_errors=True)


class _ArrayFile:
    """The file of an array that is being written."""

    def __init__(self, path: Path, dtype: str) -> None:
        self._file = path.open("wb")
        self._dtype = dtype
        self._length = 0

    def append(self, values: Array) -> None:
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self._length += len(values)

    def flush(self) -> StoredArray:
        self._file.flush()
        return StoredArray(dtype=self._dtype, length=self._length)

    def finish(self) -> StoredArray:
        stored = self.flush()
        os.fsync(self._file.fileno())
        return stored

    def close(self) -> None:
        self._file.close()


def replace_file(path: Path, content: bytes | memoryview) -> None:
    """Write a file completely or not at all, and durably."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)


@contextmanager
def directory_lock(directory: Path) -> Iterator[None]:
    """Exclude other writers of the directory; at the end, remove unused files."""
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        _remove_leftovers(directory)
    finally:
        os.close(handle)


def _remove_leftovers(directory: Path) -> None:
    """Remove replaced bundles and drafts of killed writers. Readers keep their mappings of removed files."""
    manifests = (load_manifest(path) for path in directory.glob("*.json"))
    needed = {manifest.folder for manifest in manifests if manifest is not None}
    for path in directory.iterdir():
        if DRAFT_NAME.fullmatch(path.name):
            path.unlink(missing_ok=True)
        elif FOLDER_NAME.fullmatch(path.name) and path.name not in needed:
            shutil.rmtree(path, ignore_errors=True)
