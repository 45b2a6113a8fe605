"""Finds runs of identical lines that stand twice: 12 or more in src/, 20 or more in tests/.

    python checks/duplicates.py

`make check` runs it. Blank lines and indentation do not count, and neither do data files. The script prints each pair
of places, and exits with 1 if there is one.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
LIMITS = {"src": 12, "tests": 20}  # lines
SUFFIXES = frozenset({".py", ".sql", ".html", ".css", ".js", ".ts", ".xml", ".java"})
# Path -> why its lines may stand elsewhere too.
ALLOWED = {
    "tests/unit/sqlite_schema_1.sql": "the frozen schema of version 1, which files on disks have",
}


class Line(NamedTuple):
    """A line that counts."""

    path: str
    number: int
    text: str


class Duplicate(NamedTuple):
    """Two places with the same lines."""

    first: Line
    second: Line
    length: int

    def __str__(self) -> str:
        places = (f"{line.path}:{line.number}" for line in (self.first, self.second))
        return f"{self.length} lines stand twice: {' and '.join(places)}"


def tracked_files(folder: str, root: Path = ROOT) -> list[Path]:
    """Return the files of a folder that git tracks or would track, without deleted ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    names = (name for name in sorted(set(listed)) if Path(name).suffix in SUFFIXES and name not in ALLOWED)
    return [root / name for name in names if (root / name).exists()]


def read_lines(path: Path, root: Path = ROOT) -> list[Line]:
    """Return the lines of a file that are not blank."""
    name = path.relative_to(root).as_posix()
    texts = enumerate(map(str.strip, path.read_text("utf-8").splitlines()), 1)
    return [Line(name, number, text) for number, text in texts if text]


def find_duplicates(files: Iterable[list[Line]], limit: int) -> Iterator[Duplicate]:
    """Yield runs of at least `limit` lines that stand in two places, each pair once, as long as it is."""
    contents = list(files)
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)  # window -> file and first line
    for file, lines in enumerate(contents):
        for start in range(len(lines) - limit + 1):
            places[tuple(line.text for line in lines[start : start + limit])].append((file, start))
    covered: set[tuple[int, int, int, int]] = set()  # pairs of windows inside a longer run
    for found in places.values():
        for index, (file, start) in enumerate(found):
            for other, other_start in found[index + 1 :]:
                if (file, start, other, other_start) in covered:
                    continue
                one, two, length = contents[file], contents[other], 0
                while _same_line(one, start + length, two, other_start + length):
                    covered.add((file, start + length, other, other_start + length))
                    length += 1
                yield Duplicate(one[start], two[other_start], length)


def _same_line(one: list[Line], index: int, two: list[Line], other: int) -> bool:
    return index < len(one) and other < len(two) and one[index].text == two[other].text


def main() -> int:
    """Print the duplicates of all folders; return the exit code."""
    found = [
        duplicate
        for folder, limit in LIMITS.items()
        for duplicate in find_duplicates(map(read_lines, tracked_files(folder)), limit)
    ]
    for duplicate in found:
        print(duplicate)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
