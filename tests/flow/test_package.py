"""A built wheel contains the scripts that a checkout builds."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING
from zipfile import ZipFile

from conftest import skip_or_fail
from helpers.web.browser import MANIFEST, ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_a_wheel_carries_the_built_scripts(tmp_path: Path) -> None:
    if not MANIFEST.exists():
        skip_or_fail(
            "The explorer and the live charts are not built: `make frontend` builds them, with Node 20 or newer"
        )
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("gossamer/web/static/dist/.vite/manifest.json"))
    files = {file for entry in manifest.values() for file in (entry["file"], *entry.get("css", ()))}
    assert {f"gossamer/web/static/dist/{file}" for file in files} <= names
    assert {"gossamer/web/static/combobox.js", "gossamer/web/templates/graph.html"} <= names
