"""Get the jars of OpenSearch with Maven into `.cache/opensearch`, and compile one class that starts a node.

As a script it gets them before the tests. That takes a minute, mostly network time.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = (HERE / "OneNode.java", HERE / "pom.xml")
CACHE = HERE.parents[1] / ".cache" / "opensearch"
JARS, CLASSES = CACHE / "jars", CACHE / "classes"


def get() -> str | None:
    """Return the class path for `OneNode`; None without Maven or a JDK."""
    if not all(map(shutil.which, ("mvn", "javac", "java"))):
        return None
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # one process gets them, others wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiled = CLASSES / "OneNode.class"
        if not compiled.exists() or compiled.stat().st_mtime < max(source.stat().st_mtime for source in SOURCES):
            _make()
    return f"{CLASSES}:{JARS}/*"


def _make() -> None:
    for folder in (JARS, CLASSES):
        shutil.rmtree(folder, ignore_errors=True)
    copy = ("dependency:copy-dependencies", f"-DoutputDirectory={JARS}")
    subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *copy], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["javac", "-d", CLASSES, "-cp", f"{JARS}/*", HERE / "OneNode.java"], check=True)


def main() -> int:
    """Get the jars, or report why that is impossible."""
    if get() is not None:
        return 0
    print("There is no Maven or no JDK here. Tests that need OpenSearch skip.", file=sys.stderr)
    return 1 if os.environ.get("GOSSAMER_REQUIRE_ALL") == "1" else 0


if __name__ == "__main__":
    sys.exit(main())
