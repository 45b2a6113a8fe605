"""Where an export goes: a file that is there whole or not at all, whatever happens on the way."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_atomic(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to: it takes its name (and the place of another of that name) when all is written.

    A pipe or a device is written to as it is.
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
