"""Export files that appear only when they are complete."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_atomic(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces `path` when the block ends without an error.

    A pipe or a device is written directly.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as out:
            yield out
        return
    part = Path(f"{path}.part")
    try:
        with part.open("wb") as out:
            yield out
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
