"""Debian's documentation as test webs, and nginx to serve it: from the system, or unpacked into `.cache/debian`.

As a script (`make test-packages`) it gets what is missing. Packages are unpacked and not installed: that needs no root,
changes nothing on the machine, and works in container images whose dpkg leaves out /usr/share/doc. Only what needs many
other packages (Chromium, Maven, a JDK) is installed, and only by root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEM = Path("/")
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "debian"

# Package -> the folder (or program) of it that is used.
DOCUMENTATION = {
    "python3.11-doc": "usr/share/doc/python3.11/html",
    "postgresql-doc-15": "usr/share/doc/postgresql-doc-15/html",
    "openjdk-17-doc": "usr/share/doc/openjdk-17-jre-headless/api",
}
# For measuring only: `make test-packages` does not get it.
MORE = {"cppreference-doc-en-html": "usr/share/cppreference/doc/html/en"}
PROGRAMS = {
    "nginx": "usr/sbin/nginx",
    "chromium": "usr/bin/chromium",
    "maven": "usr/bin/mvn",  # gets OpenSearch: see tests/opensearch/jars.py
    "openjdk-17-jdk-headless": "usr/bin/javac",
}
INSTALLED = frozenset({"chromium", "maven", "openjdk-17-jdk-headless"})
PACKAGES = DOCUMENTATION | PROGRAMS


def find(package: str) -> Path | None:
    """Where the package's folder or program is; None when it is nowhere."""
    wanted = (PACKAGES | MORE)[package]
    proof = wanted if package in PROGRAMS else f"{wanted}/index.html"
    return next((root / wanted for root in (SYSTEM, CACHE / package) if (root / proof).exists()), None)


def missing() -> list[str]:
    """The packages that are nowhere."""
    return [package for package in PACKAGES if find(package) is None]


def unpack(package: str, options: list[str]) -> bool:
    """Download a package and unpack it, whole or not at all; False when apt-get does not know where to get it."""
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        command = ["apt-get", "-qq", *options, "download", package]
        said = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        archives = list(Path(scratch).glob("*.deb"))
        if not archives:
            print(said.stderr.strip(), file=sys.stderr)
            return False
        subprocess.run(["dpkg-deb", "-x", archives[0], f"{scratch}/root"], check=True)
        Path(scratch, "root").rename(CACHE / package)
    return True


def fresh_lists() -> list[str]:
    """Options that let apt-get use package lists of our own, fetched now: that needs no root."""
    folder = CACHE / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'cache'}"]
    subprocess.run(["apt-get", "-qq", *options, "update"], check=False)
    return options


def install(packages: list[str]) -> None:
    """Install packages, with fresh package lists when the system's do not know them."""
    if not packages or os.geteuid() != 0:
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", "--yes", "--no-install-recommends", "install", *packages]
    if subprocess.run(command, env=quiet, capture_output=True, check=False).returncode:
        subprocess.run(["apt-get", "-qq", "update"], env=quiet, check=False)
        subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False)


def get(packages: list[str]) -> None:
    """Unpack packages with the system's package lists and, when those are missing or stale, with fresh ones."""
    CACHE.mkdir(parents=True, exist_ok=True)
    left = [package for package in packages if not unpack(package, [])]
    if left:
        options = fresh_lists()
        for package in left:
            unpack(package, options)


def main() -> int:
    """Get what is missing; say what could not be had."""
    packages = missing()
    if packages and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        print(f"Getting Debian's {', '.join(packages)} for the tests (into {CACHE}) ...", file=sys.stderr)
        install([package for package in packages if package in INSTALLED])
        get([package for package in packages if package not in INSTALLED])
    left = missing()
    if left:
        print(
            f"Not found, and not to be had with apt-get: {', '.join(left)}. Tests that need them skip.", file=sys.stderr
        )
    return 1 if left and os.environ.get("GOSSAMER_REQUIRE_ALL") == "1" else 0


if __name__ == "__main__":
    sys.exit(main())
