"""The directory of an index: one subdirectory per generation, and a file that names the current one.

    index/current           {"generation": 2, "format": 2}; replaced atomically
    index/writer.lock       locked by the only writer
    index/2/pages           Tantivy: the documents
    index/2/anchors         Tantivy: the anchor texts of links to them
    index/2/words.db        SQLite: the words of each document in order
    index/2/attempt         exists while a writer runs: the commit it started from

A rebuild fills a new generation while readers use the old one. The next writer removes generations that are not
current, such as those of a killed rebuild.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.durable import make_directory, sync_directory
from gossamer.errors import IndexBusy, IndexFault, IndexMissing
from gossamer.model import Value

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 2  # raise it when fields or the analysis change; the next writer rebuilds an index of another format


class CurrentGeneration(Value, frozen=True, kw_only=True):
    """Content of `current`: the generation that readers open."""

    generation: int
    format: int


class WriterAttempt(Value, frozen=True, kw_only=True):
    """Content of `attempt`: a writer that runs, or that was killed."""

    commit: int  # the last commit when it started: modification time of Tantivy's meta.json in ns
    number: int  # consecutive writers that started from this commit, this one included


class TantivyLocation:
    """The directory of an index."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._current_file = directory / "current"

    def current(self) -> Path | None:
        """Return the directory of the current generation; None when there is none of this format."""
        try:
            record = msgspec.json.decode(self._current_file.read_bytes(), type=CurrentGeneration)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        folder = self.directory / str(record.generation)
        return folder if record.format == FORMAT and folder.is_dir() else None

    def require_current(self) -> Path:
        """Return the directory of the current generation, or raise `IndexMissing`."""
        folder = self.current()
        if folder is None:
            raise IndexMissing(f"There is no index in {self.directory} yet: run `gossamer index`.")
        return folder

    def commit_state(self) -> tuple[tuple[int, int], ...]:
        """Return inodes and times of files that Tantivy replaces with every commit."""
        folder = self.require_current()
        files = [self._current_file, folder / "pages" / "meta.json", folder / "anchors" / "meta.json"]
        try:
            return tuple((file_status.st_ino, file_status.st_mtime_ns) for file_status in map(os.stat, files))
        except FileNotFoundError as error:
            raise IndexFault(f"The index lacks {error.filename}: run `gossamer index --rebuild`.") from error

    def create_generation(self) -> Path:
        """Make the directory of the next generation."""
        generations = [int(name.name) for name in self.directory.iterdir() if name.name.isdigit()]
        folder = self.directory / str(max(generations, default=0) + 1)
        folder.mkdir()
        sync_directory(self.directory)
        return folder

    def activate(self, folder: Path) -> None:
        """Make this generation the current one, atomically."""
        record = CurrentGeneration(generation=int(folder.name), format=FORMAT)
        draft = self.directory / "current.new"
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(record))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._current_file)
        sync_directory(self.directory)

    def begin_attempt(self, folder: Path) -> int:
        """Record that a writer starts; return how many consecutive ones started without a commit or a clean end."""
        attempt_file, commit = folder / "attempt", (folder / "pages" / "meta.json").stat().st_mtime_ns
        try:
            previous = msgspec.json.decode(attempt_file.read_bytes(), type=WriterAttempt)
        except (FileNotFoundError, msgspec.DecodeError):
            previous = WriterAttempt(commit=commit, number=0)
        number = previous.number + 1 if previous.commit == commit else 1
        attempt_file.write_bytes(msgspec.json.encode(WriterAttempt(commit=commit, number=number)))
        return number

    def end_attempt(self, folder: Path) -> None:
        """Record that a writer ended cleanly."""
        (folder / "attempt").unlink(missing_ok=True)

    def remove_other_generations(self, keep: Path) -> None:
        """Remove the other generations; readers of one keep its open files."""
        for other in self.directory.iterdir():
            if other.name.isdigit() and other != keep:
                shutil.rmtree(other)

    def lock(self) -> int:
        """Take the writer's lock; return the file descriptor that holds it until closed."""
        make_directory(self.directory)
        lock = os.open(self.directory / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise IndexBusy(f"Another process is writing the index in {self.directory}.") from None
        return lock
