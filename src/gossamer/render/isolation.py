"""The layers that keep a browser off the network and off our files, and which of them work on this machine.

    python -P -m gossamer.render.isolation

prints an `IsolationReport` as JSON. A process tries the layers itself, as the user that browsers get: settings of the
kernel, AppArmor and the seccomp filters of containers refuse them in too many ways to ask about each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

from gossamer.processes.start import environment_without_secrets, start_python
from gossamer.render.landlock import landlock_version, restrict_files
from gossamer.render.namespaces import enter_empty_network, refuse_new_privileges, try_sandbox_namespaces

if TYPE_CHECKING:
    from collections.abc import Callable

BROWSER_USER = 65533  # of a root's browsers. No package makes a user with this number, and container images map it
_PROBE_SECONDS = 30.0  # that the probe may take on a busy machine; it needs a twentieth of one
_HOW_TO = "see docs/how-to/pages-made-by-scripts.md"


class IsolationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Why each layer is missing; "" where it works."""

    network: str = ""  # an empty network namespace around the browser
    sandbox: str = ""  # Chromium's own sandbox around each page
    files: str = ""  # Landlock: no files but the system's and the browser's own

    @property
    def is_complete(self) -> bool:
        """Whether both layers are there that rendering by default needs: network and sandbox."""
        return not (self.network or self.sandbox)

    @property
    def reason(self) -> str:
        """Why it is not complete, in words for people."""
        missing = [("a network namespace", self.network), ("Chromium's sandbox", self.sandbox)]
        return "; ".join(f"{layer} is not to be had: {why}" for layer, why in missing if why)


def check_isolation() -> IsolationReport:
    """Try the layers in a process of its own."""
    if sys.platform != "linux":
        why = "only Linux has it"
        return IsolationReport(network=why, sandbox=why, files=why)
    process = start_python(
        "-m", "gossamer.render.isolation", stdout=subprocess.PIPE, environment=environment_without_secrets()
    )
    try:
        output, _ = process.communicate(timeout=_PROBE_SECONDS)
        return msgspec.json.decode(output, type=IsolationReport)
    except (subprocess.TimeoutExpired, msgspec.DecodeError):
        process.kill()
        process.communicate()
        why = "the process that tries it did not answer"
        return IsolationReport(network=why, sandbox=why, files=why)


def become_browser_user() -> None:
    """Give up root for good, as browsers do. Raises OSError."""
    os.setgroups([])
    os.setgid(BROWSER_USER)
    os.setuid(BROWSER_USER)


def _problem(layer: Callable[[], None]) -> str:
    """Try a layer and return why it fails."""
    try:
        layer()
    except OSError as fault:
        return f"the system refuses it ({fault.strerror}); {_HOW_TO}"
    return ""


def _restrict() -> None:
    restrict_files(landlock_version(), ())


def main() -> None:
    """Try every layer on this process, from the outermost to the innermost, and print the report."""
    user = _problem(become_browser_user) if os.geteuid() == 0 else ""
    network = user or _problem(enter_empty_network)
    refuse_new_privileges()
    sandbox = user or _problem(try_sandbox_namespaces)
    files = _problem(_restrict) if landlock_version() else "this kernel has no Landlock"
    print(json.dumps({"network": network, "sandbox": sandbox, "files": files}))  # noqa: T201 - the answer of this program


if __name__ == "__main__":
    main()
