"""Known vulnerabilities of the locked packages, by OSV (https://osv.dev), which gathers the advisories.

    python requirements/audit.py [--required] [LOCK ...]

One question for all packages of the lock files, pip's and npm's (default: what an installation brings, what builds it
and what the web app is bundled from; a new advisory on a tool for tests stops nobody). Exit code 1: some are
vulnerable, and are listed.

Where the data cannot be reached it says so and ends with 0, for a check that needs the network must not stop work
without it; with --required that is an error too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
URL = "https://api.osv.dev/v1/querybatch"
LOCKS = [ROOT / "requirements/run.lock", ROOT / "requirements/build.lock", ROOT / "frontend/package-lock.json"]
SECONDS = 15.0
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
# Advisories that do not concern us: id -> why, so that a check that fails can be answered by a reason.
ACCEPTED: dict[str, str] = {}


class Package(NamedTuple):
    """What OSV is asked about. PyPI and npm have packages of the same name."""

    name: str
    version: str
    ecosystem: str


def locked(files: list[Path]) -> list[Package]:
    """The packages of all lock files, each once."""
    return sorted(
        {package for file in files for package in (of_npm if file.suffix == ".json" else of_pypi)(file.read_text())}
    )


def of_pypi(lock: str) -> list[Package]:
    """The lines of pip's lock that pin a version."""
    return [Package(name, version, "PyPI") for name, version in PINNED.findall(lock)]


def of_npm(lock: str) -> list[Package]:
    """All that has a folder in `node_modules` (without one, the lock lists the project itself) and is no tool."""
    packages = json.loads(lock)["packages"].items()
    bundled = [(folder, it) for folder, it in packages if folder and not it.get("dev")]
    return [Package(folder.rpartition("node_modules/")[2], it["version"], "npm") for folder, it in bundled]


def ask(url: str, packages: list[Package]) -> list[list[str]]:
    """The ids of the advisories of each package."""
    queries = [{"package": {"name": it.name, "ecosystem": it.ecosystem}, "version": it.version} for it in packages]
    request = urllib.request.Request(
        url, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        told = json.load(answer)["results"]
    return [[advisory["id"] for advisory in each.get("vulns", [])] for each in told]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locks", nargs="*", type=Path, default=LOCKS, metavar="LOCK")
    parser.add_argument("--required", action="store_true", help="fail when the data cannot be reached")
    parser.add_argument("--url", default=URL, help="where OSV's data is asked for")
    options = parser.parse_args()
    packages = locked(options.locks)
    try:
        found = ask(options.url, packages)
    except (OSError, ValueError, KeyError) as fault:
        print(f"Not audited: the advisories at {options.url} cannot be read ({fault}).", file=sys.stderr)
        return 1 if options.required else 0
    bad = [(it, id_) for it, ids in zip(packages, found, strict=True) for id_ in ids if id_ not in ACCEPTED]
    for it, id_ in bad:
        print(f"{it.name} {it.version} ({it.ecosystem}): https://osv.dev/vulnerability/{id_}", file=sys.stderr)
    if not bad:
        print(f"{len(packages)} locked packages: no known vulnerability.", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
