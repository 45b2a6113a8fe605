"""Install the packages of a lock file with pip, and show how far it is: `python requirements/install.py run.lock`.

A first run downloads for minutes. pip's own output is a hundred lines, and `--quiet` shows nothing at all.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

PACKAGE = re.compile(r"^[A-Za-z0-9._-]+==", re.MULTILINE)  # the line of a package in a lock file
STEP = re.compile(r"(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9._-]+)")
PLAIN_SECONDS = 10.0  # between two lines where they cannot replace each other
LINES_SHOWN = 20  # of pip's output, if it fails


class Progress:
    """Writes how many packages are done: one line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._seen: set[str] = set()
        self._is_live = sys.stderr.isatty()
        self._next_at = time.monotonic() + PLAIN_SECONDS
        self._write(f"Installing {total} package{'s'[: total > 1]} ...")

    def read(self, line: str) -> None:
        """Take a line of pip's output."""
        if line.startswith("Installing collected packages"):
            self._write("Unpacking the packages ...")
        elif (match := STEP.match(line)) and match[1] not in self._seen:
            self._seen.add(match[1])
            if self._is_live or time.monotonic() >= self._next_at:
                self._next_at = time.monotonic() + PLAIN_SECONDS
                self._write(f"Downloading package {len(self._seen)} of at most {self._total}: {match[1]}")

    def close(self) -> None:
        """Remove the line from the terminal."""
        if self._is_live:
            sys.stderr.write("\r\x1b[K")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text[:79]}\x1b[K" if self._is_live else f"{text}\n")
        sys.stderr.flush()


def main() -> int:
    """Install and return pip's exit code; show the end of its output if it fails."""
    lock = Path(sys.argv[1])
    progress = Progress(len(PACKAGE.findall(lock.read_text())))
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off"]
    lines = []
    with subprocess.Popen(
        [*command, "--require-hashes", "-r", str(lock)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            lines.append(line)
            progress.read(line)
    progress.close()
    if pip.returncode:
        sys.stderr.writelines(lines[-LINES_SHOWN:])
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main())
