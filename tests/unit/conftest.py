"""Fixtures of the unit tests."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest


@pytest.fixture
def started_processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Return the list of processes that the test has started; it grows as the test runs."""
    processes: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def record_start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        processes.append(popen(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", record_start)
    return processes
