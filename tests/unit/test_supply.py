"""What Gossamer brings along: licences that are listed, advisories that are looked at."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
LOCK = "good==1.0 \\\n    --hash=sha256:00\nbad==2.0 ; python_version < '4' \\\n    --hash=sha256:00\n"
NPM_LOCK = json.dumps(
    {
        "packages": {
            "": {"name": "the project itself", "version": "0.1.0"},
            "node_modules/bad": {"version": "3.0.0", "license": "GPL-3.0-only"},
            "node_modules/good/node_modules/@a/part": {"version": "4.0.0", "license": "MIT"},
            "node_modules/tool": {"version": "5.0.0", "license": "GPL-3.0-only", "dev": True},
        }
    }
)
NOWHERE = "http://127.0.0.1:9/"  # the discard port: nobody listens


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REQUIREMENTS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def advisories(found: dict[str, list[str]]) -> Iterator[str]:
    """A server that answers as OSV does, of packages named as in "bad 2.0 (PyPI)"; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            names = [f"{it['package']['name']} {it['version']} ({it['package']['ecosystem']})" for it in asked]
            known = [found.get(name, []) for name in names]
            body = json.dumps({"results": [{"vulns": [{"id": id_} for id_ in ids]} if ids else {} for ids in known]})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_the_page_of_licences_is_up_to_date_and_all_are_allowed() -> None:
    done = run("licences.py", "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_package_that_is_bundled_is_listed_with_its_licence(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_text(NPM_LOCK)
    lines, faults = runpy.run_path(str(REQUIREMENTS / "licences.py"))["bundled"](tmp_path / "lock.json")
    assert lines == [
        "| bad | 3.0.0 | GPL-3.0-only | https://www.npmjs.com/package/bad |",
        "| @a/part | 4.0.0 | MIT | https://www.npmjs.com/package/@a/part |",
    ]
    assert faults == ["bad comes under 'GPL-3.0-only', which is not on the list in requirements/licences.py"]


def test_the_page_of_licences_names_what_the_web_app_is_built_from() -> None:
    page = (REQUIREMENTS.parent / "docs/reference/licences.md").read_text()
    wanted = json.loads((REQUIREMENTS.parent / "frontend/package.json").read_text())["dependencies"]
    assert [name for name, version in wanted.items() if f"| {name} | {version} |" not in page] == []


def test_a_vulnerable_package_fails_the_audit(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    with advisories({"bad 2.0 (PyPI)": ["GHSA-1"]}) as url:
        done = run("audit.py", "--url", url, tmp_path / "lock")
    assert (done.returncode, done.stderr) == (1, "bad 2.0 (PyPI): https://osv.dev/vulnerability/GHSA-1\n")


def test_packages_of_npm_are_audited_in_the_same_question(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    (tmp_path / "lock.json").write_text(NPM_LOCK)
    known = {"bad 3.0.0 (npm)": ["GHSA-2"], "@a/part 4.0.0 (npm)": ["GHSA-3"], "tool 5.0.0 (npm)": ["GHSA-4"]}
    with advisories(known) as url:
        done = run("audit.py", "--url", url, tmp_path / "lock", tmp_path / "lock.json")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "@a/part 4.0.0 (npm): https://osv.dev/vulnerability/GHSA-3",
        "bad 3.0.0 (npm): https://osv.dev/vulnerability/GHSA-2",
    ]


def test_an_audit_without_findings_says_what_it_looked_at(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    with advisories({}) as url:
        done = run("audit.py", "--url", url, tmp_path / "lock")
    assert (done.returncode, done.stderr) == (0, "2 locked packages: no known vulnerability.\n")


def test_an_audit_looks_at_what_is_shipped_and_what_builds_it() -> None:
    audit = runpy.run_path(str(REQUIREMENTS / "audit.py"))
    names = {(package.name, package.ecosystem) for package in audit["locked"](audit["LOCKS"])}
    assert {("numpy", "PyPI"), ("hatchling", "PyPI"), ("sigma", "npm")} <= names
    assert names.isdisjoint({("pytest", "PyPI"), ("scrapy", "PyPI"), ("vite", "npm")})


def test_an_audit_that_cannot_reach_its_data_says_so() -> None:
    done = run("audit.py", "--url", NOWHERE)
    assert done.returncode == 0
    assert done.stderr.startswith(f"Not audited: the advisories at {NOWHERE} cannot be read")
    assert run("audit.py", "--url", NOWHERE, "--required").returncode == 1
