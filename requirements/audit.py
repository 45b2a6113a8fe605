"""Lists known vulnerabilities of the locked packages, by the advisories of OSV (https://osv.dev).

    python requirements/audit.py [--required] [LOCK ...]

The script asks OSV once for all packages of the lock files of pip, npm and cargo. By default these are the packages
that an installation needs, that build it, that the web app bundles, and the crates of the native kernels. An advisory
on a test tool must not stop work. Exit code 1: some packages are vulnerable; the script lists them.

If OSV cannot be reached, the script says so and exits with 0, because work must go on without a network. With
--required that is an error too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
URL = "https://api.osv.dev/v1/querybatch"
LOCKS = [
    ROOT / "requirements/run.lock",
    ROOT / "requirements/build.lock",
    ROOT / "frontend/package-lock.json",
    ROOT / "native/Cargo.lock",
]
TIMEOUT_SECONDS = 15.0  # for the one request; `make check` waits for it
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
# Advisories that do not concern Gossamer: id -> reason.
ACCEPTED: dict[str, str] = {}


class Package(NamedTuple):
    """A locked package; the ecosystem matters because registries share names."""

    name: str
    version: str
    ecosystem: str


def locked_packages(files: list[Path]) -> list[Package]:
    """Return the packages of all lock files, each once."""
    packages: set[Package] = set()
    for file in files:
        packages.update(lock_parser(file)(file.read_text()))
    return sorted(packages)


def lock_parser(file: Path) -> Callable[[str], list[Package]]:
    """Return the function that reads this kind of lock file."""
    if file.name == "Cargo.lock":
        return parse_cargo_lock
    return parse_npm_lock if file.suffix == ".json" else parse_pip_lock


def parse_pip_lock(lock: str) -> list[Package]:
    """Return the packages of pip's lock file: its lines that pin a version."""
    return [Package(name, version, "PyPI") for name, version in PINNED.findall(lock)]


def parse_npm_lock(lock: str) -> list[Package]:
    """Return the bundled packages of npm's lock file, without tools and the project itself (which has no folder)."""
    packages = json.loads(lock)["packages"].items()
    bundled = [(folder, it) for folder, it in packages if folder and not it.get("dev")]
    return [Package(folder.rpartition("node_modules/")[2], it["version"], "npm") for folder, it in bundled]


def parse_cargo_lock(lock: str) -> list[Package]:
    """Return the crates of cargo's lock file, without the project itself (which has no source)."""
    crates = tomllib.loads(lock)["package"]
    return [Package(crate["name"], crate["version"], "crates.io") for crate in crates if "source" in crate]


def query_advisories(url: str, packages: list[Package]) -> list[list[str]]:
    """Return the ids of the advisories of each package."""
    queries = [{"package": {"name": it.name, "ecosystem": it.ecosystem}, "version": it.version} for it in packages]
    request = urllib.request.Request(
        url, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        results = json.load(response)["results"]
    return [[advisory["id"] for advisory in each.get("vulns", [])] for each in results]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locks", nargs="*", type=Path, default=LOCKS, metavar="LOCK")
    parser.add_argument("--required", action="store_true", help="fail if the data cannot be reached")
    parser.add_argument("--url", default=URL, help="address of the OSV query API")
    options = parser.parse_args()
    packages = locked_packages(options.locks)
    try:
        advisories = query_advisories(options.url, packages)
    except (OSError, ValueError, KeyError) as fault:
        print(f"Not audited: the advisories at {options.url} cannot be read ({fault}).", file=sys.stderr)
        return 1 if options.required else 0
    vulnerable = [(it, id_) for it, ids in zip(packages, advisories, strict=True) for id_ in ids if id_ not in ACCEPTED]
    for it, id_ in vulnerable:
        print(f"{it.name} {it.version} ({it.ecosystem}): https://osv.dev/vulnerability/{id_}", file=sys.stderr)
    if not vulnerable:
        print(f"{len(packages)} locked packages: no known vulnerability.", file=sys.stderr)
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
