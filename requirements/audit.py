"""Known vulnerabilities of the locked packages, by OSV (https://osv.dev), which gathers PyPI's and GitHub's advisories.

    python requirements/audit.py [--required] [LOCK ...]

One question for all packages of the lock files (default: run.lock). Exit code 1: some are vulnerable, and are listed.
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

URL = "https://api.osv.dev/v1/querybatch"
LOCK = Path(__file__).resolve().parent / "run.lock"
SECONDS = 15.0
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
# Advisories that do not concern us: id -> why, so that a check that fails can be answered by a reason.
ACCEPTED: dict[str, str] = {}


def locked(files: list[Path]) -> list[tuple[str, str]]:
    """Names and versions."""
    return sorted({pin for file in files for pin in PINNED.findall(file.read_text())})


def ask(url: str, packages: list[tuple[str, str]]) -> list[list[str]]:
    """The ids of the advisories of each package."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages]
    request = urllib.request.Request(
        url, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        told = json.load(answer)["results"]
    return [[advisory["id"] for advisory in each.get("vulns", [])] for each in told]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locks", nargs="*", type=Path, default=[LOCK], metavar="LOCK")
    parser.add_argument("--required", action="store_true", help="fail when the data cannot be reached")
    parser.add_argument("--url", default=URL, help="where OSV's data is asked for")
    options = parser.parse_args()
    packages = locked(options.locks)
    try:
        found = ask(options.url, packages)
    except (OSError, ValueError, KeyError) as fault:
        print(f"Not audited: the advisories at {options.url} cannot be read ({fault}).", file=sys.stderr)
        return 1 if options.required else 0
    bad = [
        (name, version, id_)
        for (name, version), ids in zip(packages, found, strict=True)
        for id_ in ids
        if id_ not in ACCEPTED
    ]
    for name, version, id_ in bad:
        print(f"{name} {version}: https://osv.dev/vulnerability/{id_}", file=sys.stderr)
    if not bad:
        print(f"{len(packages)} locked packages: no known vulnerability.", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
