"""Debian's documentation as test webs, and nginx to serve it: installed, or unpacked into `.cache/debian`.

As a script (`make test-packages`) it gets missing packages. It unpacks them instead of installing them. That needs no
root, changes nothing on the machine, and works in container images whose dpkg omits /usr/share/doc. Root also installs
Chromium, Maven and a JDK, because they need many other packages.
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

# Package -> the folder or program that tests use.
DOCUMENTATION = {
    "python3.11-doc": "usr/share/doc/python3.11/html",
    "postgresql-doc-15": "usr/share/doc/postgresql-doc-15/html",
    "openjdk-17-doc": "usr/share/doc/openjdk-17-jre-headless/api",
}
JAVA = "openjdk-17-doc"
# A module of it is a site of 2,800 pages. Tests crawl it where all 10,000 pages show nothing more.
JAVA_MODULE = "java.base"
# Only benchmarks use it; `make test-packages` does not get it.
MORE = {"cppreference-doc-en-html": "usr/share/cppreference/doc/html/en"}
PROGRAMS = {
    "nginx": "usr/sbin/nginx",
    "chromium": "usr/bin/chromium",
    "chromium-headless-shell": "usr/bin/chromium-headless-shell",  # renders pages at two thirds of the time of chromium
    "maven": "usr/bin/mvn",  # gets OpenSearch: see tests/opensearch/jars.py
    "openjdk-17-jdk-headless": "usr/bin/javac",
}
INSTALLED = frozenset({"chromium", "chromium-headless-shell", "maven", "openjdk-17-jdk-headless"})
PACKAGES = DOCUMENTATION | PROGRAMS


def find(package: str) -> Path | None:
    """Return the package's folder or program; None if it is missing."""
    wanted = (PACKAGES | MORE)[package]
    proof = wanted if package in PROGRAMS else f"{wanted}/index.html"
    return next((root / wanted for root in (SYSTEM, CACHE / package) if (root / proof).exists()), None)


def link_java_module(target: Path) -> Path:
    """Link the pages of one Java module into a new folder; its links to other modules are broken."""
    root = find(JAVA)
    assert root is not None
    shutil.copytree(root / JAVA_MODULE, target / JAVA_MODULE, copy_function=os.link, symlinks=True)
    os.link(root / "index.html", target / "index.html")
    return target


def missing() -> list[str]:
    """Return the missing packages."""
    return [package for package in PACKAGES if find(package) is None]


def unpack(package: str, options: list[str]) -> bool:
    """Download and unpack a package completely; return False if apt-get cannot find it."""
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        command = ["apt-get", "-qq", *options, "download", package]
        result = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        archives = list(Path(scratch).glob("*.deb"))
        if not archives:
            print(result.stderr.strip(), file=sys.stderr)
            return False
        subprocess.run(["dpkg-deb", "-x", archives[0], f"{scratch}/root"], check=True)
        Path(scratch, "root").rename(CACHE / package)
    return True


def fresh_lists() -> list[str]:
    """Fetch our own package lists, which needs no root; return the apt-get options that use them."""
    folder = CACHE / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'cache'}"]
    subprocess.run(["apt-get", "-qq", *options, "update"], check=False)
    return options


def install(packages: list[str]) -> None:
    """Install packages; update the package lists first if apt-get does not know them."""
    if not packages or os.geteuid() != 0:
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", "--yes", "--no-install-recommends", "install", *packages]
    if subprocess.run(command, env=quiet, capture_output=True, check=False).returncode:
        subprocess.run(["apt-get", "-qq", "update"], env=quiet, check=False)
        subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False)


def get(packages: list[str]) -> None:
    """Unpack packages with the system's package lists, or with fresh ones if those are missing or stale."""
    CACHE.mkdir(parents=True, exist_ok=True)
    left = [package for package in packages if not unpack(package, [])]
    if left:
        options = fresh_lists()
        for package in left:
            unpack(package, options)


def main() -> int:
    """Get missing packages and report those that are unavailable."""
    packages = missing()
    if packages and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        print(f"Getting Debian's {', '.join(packages)} for the tests (into {CACHE}) ...", file=sys.stderr)
        install([package for package in packages if package in INSTALLED])
        get([package for package in packages if package not in INSTALLED])
    left = missing()
    if left:
        print(
            f"Not found, and not available from apt-get: {', '.join(left)}. Tests that need them skip.", file=sys.stderr
        )
    return 1 if left and os.environ.get("GOSSAMER_REQUIRE_ALL") == "1" else 0


if __name__ == "__main__":
    sys.exit(main())
