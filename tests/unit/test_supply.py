"""Dependencies of Gossamer: their licences are listed, their advisories are audited."""

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
CARGO_LOCK = """
version = 4
[[package]]
name = "bad"
version = "6.0.0"
source = "registry"
[[package]]
name = "good"
version = "7.0.0"
source = "registry"
[[package]]
name = "the-project-itself"
version = "0.1.0"
"""
UNREACHABLE_URL = "http://127.0.0.1:9/"  # the discard port: nobody listens


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REQUIREMENTS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def advisories(vulnerabilities: dict[str, list[str]]) -> Iterator[str]:
    """Serve advisories as OSV does, for packages named like "bad 2.0 (PyPI)"; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            names = [
                f"{query['package']['name']} {query['version']} ({query['package']['ecosystem']})" for query in queries
            ]
            known = [vulnerabilities.get(name, []) for name in names]
            body = json.dumps({"results": [{"vulns": [{"id": id_} for id_ in ids]} if ids else {} for ids in known]})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_the_licence_page_is_current_and_all_licences_are_allowed() -> None:
    result = run("licences.py", "--check")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_bundled_package_is_listed_with_its_licence(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_text(NPM_LOCK)
    lines, faults = runpy.run_path(str(REQUIREMENTS / "licences.py"))["npm_rows"](tmp_path / "lock.json")
    assert lines == [
        "| bad | 3.0.0 | GPL-3.0-only | https://www.npmjs.com/package/bad |",
        "| @a/part | 4.0.0 | MIT | https://www.npmjs.com/package/@a/part |",
    ]
    assert faults == ["bad comes under 'GPL-3.0-only', which is not on the list in requirements/licences.py"]


def test_a_crate_is_listed_with_the_licence_that_cargo_or_the_page_states(tmp_path: Path) -> None:
    (tmp_path / "Cargo.lock").write_text(CARGO_LOCK)
    licences = runpy.run_path(str(REQUIREMENTS / "licences.py"))
    rows, faults = licences["crate_rows"](tmp_path / "Cargo.lock", {("bad", "6.0.0"): "MIT"}, "")
    assert rows[0] == "| bad | 6.0.0 | MIT | https://crates.io/crates/bad |"
    assert faults == ["good comes under 'not said', which is not on the list in requirements/licences.py"]
    page = licences["CRATES_HEAD"] + rows[0] + "\n| good | 7.0.0 | Zlib | https://crates.io/crates/good |\n"
    assert licences["crate_rows"](tmp_path / "Cargo.lock", {}, page) == (page.splitlines()[-2:], [])


def test_the_licence_page_lists_the_dependencies_of_the_web_app() -> None:
    page = (REQUIREMENTS.parent / "docs/reference/licences.md").read_text()
    dependencies = json.loads((REQUIREMENTS.parent / "frontend/package.json").read_text())["dependencies"]
    assert [name for name, version in dependencies.items() if f"| {name} | {version} |" not in page] == []


def test_a_vulnerable_package_fails_the_audit(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    with advisories({"bad 2.0 (PyPI)": ["GHSA-1"]}) as url:
        result = run("audit.py", "--url", url, tmp_path / "lock")
    assert (result.returncode, result.stderr) == (1, "bad 2.0 (PyPI): https://osv.dev/vulnerability/GHSA-1\n")


def test_npm_packages_are_audited_in_the_same_request(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    (tmp_path / "lock.json").write_text(NPM_LOCK)
    known = {"bad 3.0.0 (npm)": ["GHSA-2"], "@a/part 4.0.0 (npm)": ["GHSA-3"], "tool 5.0.0 (npm)": ["GHSA-4"]}
    with advisories(known) as url:
        result = run("audit.py", "--url", url, tmp_path / "lock", tmp_path / "lock.json")
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "@a/part 4.0.0 (npm): https://osv.dev/vulnerability/GHSA-3",
        "bad 3.0.0 (npm): https://osv.dev/vulnerability/GHSA-2",
    ]


def test_crates_are_audited(tmp_path: Path) -> None:
    (tmp_path / "Cargo.lock").write_text(CARGO_LOCK)
    known = {"bad 6.0.0 (crates.io)": ["RUSTSEC-1"], "the-project-itself 0.1.0 (crates.io)": ["RUSTSEC-2"]}
    with advisories(known) as url:
        result = run("audit.py", "--url", url, tmp_path / "Cargo.lock")
    assert (result.returncode, result.stderr) == (1, "bad 6.0.0 (crates.io): https://osv.dev/vulnerability/RUSTSEC-1\n")


def test_an_audit_without_findings_counts_the_packages(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    with advisories({}) as url:
        result = run("audit.py", "--url", url, tmp_path / "lock")
    assert (result.returncode, result.stderr) == (0, "2 locked packages: no known vulnerability.\n")


def test_an_audit_covers_shipped_packages_and_build_tools() -> None:
    audit = runpy.run_path(str(REQUIREMENTS / "audit.py"))
    names = {(package.name, package.ecosystem) for package in audit["locked_packages"](audit["LOCKS"])}
    assert {("numpy", "PyPI"), ("hatchling", "PyPI"), ("sigma", "npm"), ("pyo3", "crates.io")} <= names
    assert names.isdisjoint({("pytest", "PyPI"), ("scrapy", "PyPI"), ("vite", "npm")})


def test_an_audit_that_cannot_reach_the_advisories_says_so() -> None:
    result = run("audit.py", "--url", UNREACHABLE_URL)
    assert result.returncode == 0
    assert result.stderr.startswith(f"Not audited: the advisories at {UNREACHABLE_URL} cannot be read")
    assert run("audit.py", "--url", UNREACHABLE_URL, "--required").returncode == 1
