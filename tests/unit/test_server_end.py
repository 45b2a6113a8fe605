"""A signal ends the server even if its event loop no longer works."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, os, signal
import gossamer.web.server as server
from uvicorn import Config

server.END_SECONDS = 0.1

async def never(scope, receive, send):
    await asyncio.get_running_loop().create_future()  # as a task that was lost

started = server.WebServer(Config(never, lifespan="on", log_level="warning"), lambda: None)
signal.setitimer(signal.ITIMER_REAL, 0.1)
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
started.run()
"""


def test_a_signal_ends_a_server_that_hangs() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr == "gossamer: The server did not end by itself and was ended.\n"
