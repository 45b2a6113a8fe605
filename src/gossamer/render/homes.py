"""The private HOME directories of browsers, and their end, also after a kill."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

_PREFIX = "gossamer-browser-"


def make_home(process: int) -> Path:
    """Make the HOME of a browser of a renderer process. Its name has the process, for `remove_homes`."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{process}-"))


def remove_homes(process: int) -> None:
    """Remove what browsers of a renderer process left that has exited."""
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{process}-*"):
        shutil.rmtree(home, ignore_errors=True)


def remove_old_homes() -> None:
    """Remove what browsers left whose renderer process and crawler were killed together."""
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process = home.name.removeprefix(_PREFIX).partition("-")[0]
        if process.isdigit() and not Path("/proc", process).exists():
            shutil.rmtree(home, ignore_errors=True)
