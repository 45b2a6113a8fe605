"""A file system of a few megabytes, to test a full disk; it needs no root."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run_on_a_small_disk(disk: Path, size: str, script: str, *arguments: str) -> None:
    """Mount a file system at `disk`, invisible to this process, and run `script DISK ARGUMENTS` there."""
    from conftest import skip_or_fail  # not at the top: scripts without pytest import this module too

    line = 'mount -t tmpfs -o size="$1" none "$2"; shift 2; exec "$@"'
    command = [sys.executable, script, str(disk), *arguments]
    result = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-ec", line, "sh", size, disk, *command],
        check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    if "unshare: " in result.stderr or "mount: " in result.stderr:
        skip_or_fail(f"no small file system can be mounted: {result.stderr}")
    assert result.returncode == 0, result.stdout + result.stderr
