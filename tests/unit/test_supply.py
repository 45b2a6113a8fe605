"""What Gossamer brings along: licences that are listed, advisories that are looked at."""

from __future__ import annotations

import json
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
NOWHERE = "http://127.0.0.1:9/"  # the discard port: nobody listens


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REQUIREMENTS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def advisories(found: dict[str, list[str]]) -> Iterator[str]:
    """A server that answers as OSV does; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            known = [found.get(f"{query['package']['name']} {query['version']}", []) for query in asked]
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


def test_a_vulnerable_package_fails_the_audit(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    with advisories({"bad 2.0": ["GHSA-1"]}) as url:
        done = run("audit.py", "--url", url, tmp_path / "lock")
    assert done.returncode == 1
    assert "bad 2.0: https://osv.dev/vulnerability/GHSA-1" in done.stderr
    assert "good" not in done.stderr


def test_an_audit_without_findings_says_what_it_looked_at(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(LOCK)
    with advisories({}) as url:
        done = run("audit.py", "--url", url, tmp_path / "lock")
    assert (done.returncode, done.stderr) == (0, "2 locked packages: no known vulnerability.\n")


def test_an_audit_that_cannot_reach_its_data_says_so() -> None:
    done = run("audit.py", "--url", NOWHERE)
    assert done.returncode == 0
    assert done.stderr.startswith(f"Not audited: the advisories at {NOWHERE} cannot be read")
    assert run("audit.py", "--url", NOWHERE, "--required").returncode == 1
