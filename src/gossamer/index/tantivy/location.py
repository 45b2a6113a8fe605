"""Where an index lies: one directory per generation, and a file that says which of them counts.

    index/current           {"generation": 2, "format": 2}; replaced in one step
    index/writer.lock       held by the one writer
    index/2/pages           Tantivy: the documents
    index/2/anchors         Tantivy: what others call them
    index/2/words.db        SQLite: the words of each document in order
    index/2/attempt         while a writer is at work: where it began

A rebuild makes a new generation beside the old one, which is read until the new one is complete. A generation that does
not count (a rebuild that was killed) is removed by the next writer.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import IndexBusy, IndexFault, IndexMissing
from gossamer.model import Value

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 2  # counted up when fields or the analysis change: an index of another format is made anew


class CurrentGeneration(Value, frozen=True, kw_only=True):
    """Which generation counts."""

    generation: int
    format: int


class WriterAttempt(Value, frozen=True, kw_only=True):
    """A writer at work, or one that was killed."""

    commit: int  # the last one when it began: the time of Tantivy's file
    number: int  # which one in a row that began there


class TantivyLocation:
    """The directory of an index."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._current_file = directory / "current"

    def current(self) -> Path | None:
        """The directory of the generation that counts; None when there is none of this format."""
        try:
            record = msgspec.json.decode(self._current_file.read_bytes(), type=CurrentGeneration)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        folder = self.directory / str(record.generation)
        return folder if record.format == FORMAT and folder.is_dir() else None

    def require_current(self) -> Path:
        """The same, where there has to be one."""
        folder = self.current()
        if folder is None:
            raise IndexMissing(f"There is no index in {self.directory} yet: `gossamer index` makes it.")
        return folder

    def commit_state(self) -> tuple[tuple[int, int], ...]:
        """Something that is another after every commit: Tantivy puts a new file in the place of the old one."""
        folder = self.require_current()
        files = [self._current_file, folder / "pages" / "meta.json", folder / "anchors" / "meta.json"]
        try:
            return tuple((file_status.st_ino, file_status.st_mtime_ns) for file_status in map(os.stat, files))
        except FileNotFoundError as error:
            raise IndexFault(f"The index lacks {error.filename}: `gossamer index --rebuild` makes it anew.") from error

    def create_generation(self) -> Path:
        """A directory for the next generation."""
        generations = [int(name.name) for name in self.directory.iterdir() if name.name.isdigit()]
        folder = self.directory / str(max(generations, default=0) + 1)
        folder.mkdir()
        return folder

    def activate(self, folder: Path) -> None:
        """Let this generation count from now on."""
        record = CurrentGeneration(generation=int(folder.name), format=FORMAT)
        draft = self.directory / "current.new"
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(record))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._current_file)

    def begin_attempt(self, folder: Path) -> int:
        """Note that a writer begins; returns how many in a row did so and neither ended nor committed anything."""
        attempt_file, commit = folder / "attempt", (folder / "pages" / "meta.json").stat().st_mtime_ns
        try:
            previous = msgspec.json.decode(attempt_file.read_bytes(), type=WriterAttempt)
        except (FileNotFoundError, msgspec.DecodeError):
            previous = WriterAttempt(commit=commit, number=0)
        number = previous.number + 1 if previous.commit == commit else 1
        attempt_file.write_bytes(msgspec.json.encode(WriterAttempt(commit=commit, number=number)))
        return number

    def end_attempt(self, folder: Path) -> None:
        """Note that a writer ended as it should."""
        (folder / "attempt").unlink(missing_ok=True)

    def remove_other_generations(self, keep: Path) -> None:
        """Remove the other generations. Who still reads one keeps what is open of it."""
        for other in self.directory.iterdir():
            if other.name.isdigit() and other != keep:
                shutil.rmtree(other)

    def lock(self) -> int:
        """Be the one writer; a file descriptor to close at the end."""
        self.directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.directory / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise IndexBusy(f"Another process is writing the index in {self.directory}.") from None
        return lock
