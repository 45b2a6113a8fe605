"""A file system of a few megabytes for what happens when the disk is full; it needs no root."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run_on_a_small_disk(disk: Path, size: str, script: str, *arguments: str) -> None:
    """Mount one at `disk`, where this process does not see it, and run a script there: `script DISK ARGUMENTS`."""
    from conftest import not_here  # not above: scripts import this module too, and have no pytest around them

    line = 'mount -t tmpfs -o size="$1" none "$2"; shift 2; exec "$@"'
    command = [sys.executable, script, str(disk), *arguments]
    ran = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-ec", line, "sh", size, disk, *command],
        check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    if "unshare: " in ran.stderr or "mount: " in ran.stderr:
        not_here(f"no small file system can be mounted: {ran.stderr}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
