"""Find the browser on this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

# In order of preference: the headless shell takes two thirds of the CPU time and memory of a full Chromium.
BROWSER_NAMES = (
    "chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome-stable",
    "google-chrome",
)  # fmt: skip
# Where packages put the program itself. `/usr/bin` may hold a shell script that starts it as a child or adds switches.
_PROGRAM_FOLDERS = ("/usr/lib/chromium", "/usr/lib64/chromium-browser", "/opt/google/chrome")
_PROGRAM_NAMES = {"google-chrome": "chrome", "google-chrome-stable": "chrome", "chromium-browser": "chromium"}


def find_browser(named: str = "") -> Path | None:
    """Return the program of the browser that the user named, or else of the best one here; None without one."""
    for name in (named,) if named else BROWSER_NAMES:
        found = shutil.which(name)
        if found is not None:
            return find_program(Path(found))
    return None


def find_program(found: Path) -> Path:
    """Return the program behind a shell script of a package; another file itself."""
    real = found.resolve()
    with real.open("rb") as file:
        is_script = file.read(2) == b"#!"
    if not is_script:
        return real
    name = _PROGRAM_NAMES.get(found.name, found.name)
    root = next((parent.parent for parent in found.absolute().parents if parent.name == "usr"), Path("/"))
    folders = [real.parent, *(root / folder.lstrip("/") for folder in _PROGRAM_FOLDERS)]
    programs = (folder / name for folder in folders)
    return next((file for file in programs if file != real and _is_program(file)), real)


def _is_program(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)
