"""The watcher of system calls, which the fault tests use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from conftest import skip_or_fail
from faults.system_calls import SystemCall, run_watched, supported
from helpers.patience import PATIENCE, until


def test_a_caller_that_dies_before_the_decision_stops_nothing(tmp_path: Path) -> None:
    if not supported():
        skip_or_fail("system calls can be watched on Linux on x86-64 or ARM only")

    def run() -> int:
        child = os.fork()
        if child == 0:
            os.mkdir("never", dir_fd=os.open(tmp_path, os.O_RDONLY))
            os._exit(0)
        return 0 if os.waitpid(child, 0)[1] == signal.SIGKILL else 1

    def kill_and_read(call: SystemCall) -> int:
        os.kill(call.thread, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{call.thread}").exists(), "the end of the caller")
        return len(call.path(1).parts)

    assert run_watched(["mkdirat"], run, kill_and_read, PATIENCE) == 0
    assert not (tmp_path / "never").exists()
