"""OpenSearch nodes on loopback, each a process that a test can kill."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from helpers.patience import PATIENCE

# Below the ephemeral range, so that a node gets the same ports again after a kill.
PORTS = range(20_000, 32_000)
# Small heaps and quick compilation, because test nodes are short-lived.
JAVA = ("java", "-Xms128m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


class OpenSearchNodes:
    """A cluster, as a context manager."""

    def __init__(self, class_path: str, count: int) -> None:
        self._class_path, self._count = class_path, count
        self._ports = _free_ports(2 * count)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def nodes(self) -> list[str]:
        """Return the URL of each node."""
        return [f"http://127.0.0.1:{port}" for port in self._ports[: self._count]]

    def url(self, name: str) -> str:
        """Return an index URL: all nodes, and the name of an index."""
        return f"{','.join(self.nodes)}/{name}"

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="opensearch-"))
        for number in range(self._count):
            self.start(number)
        try:
            self.wait_for(self._count)
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for number in list(self._processes):
            self.kill(number)
        shutil.rmtree(self._folder)

    def start(self, number: int) -> None:
        """Start a node with the data it had before a kill."""
        transport = [f"127.0.0.1:{port}" for port in self._ports[self._count :]]
        settings = {
            "cluster.name": "gossamer-tests",
            "node.name": f"node-{number}",
            "network.host": "127.0.0.1",
            "http.port": self._ports[number],
            "transport.port": self._ports[self._count + number],
            "discovery.seed_hosts": ",".join(transport),
            "cluster.initial_cluster_manager_nodes": ",".join(f"node-{one}" for one in range(self._count)),
            "cluster.routing.allocation.disk.threshold_enabled": "false",  # test machines have full disks
            "cluster.fault_detection.leader_check.interval": "500ms",
            "node.store.allow_mmap": "false",
            "node.processors": "2",
        }
        with (self._folder / f"node-{number}.log").open("ab") as log:
            self._processes[number] = subprocess.Popen(
                [*JAVA, "-cp", self._class_path, "OneNode", str(os.getpid()), self._folder / f"node-{number}",
                 *(f"{key}={value}" for key, value in settings.items())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def kill(self, number: int) -> None:
        """Send SIGKILL to a node."""
        process = self._processes.pop(number)
        process.kill()
        process.wait()

    def revive(self) -> None:
        """Start all killed nodes."""
        for number in set(range(self._count)) - self._processes.keys():
            self.start(number)
        self.wait_for(self._count)

    def manager(self) -> int:
        """Return the number of the node that manages the cluster."""
        name = self._ask("/_cat/cluster_manager?h=node") or ""
        return int(name.strip().rpartition("-")[2])

    def wait_for(self, nodes: int, status: str = "yellow") -> None:
        """Wait until the cluster has this many nodes and its indexes have this status."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            health = json.loads(self._ask(f"/_cluster/health?wait_for_nodes={nodes}&wait_for_status={status}") or "{}")
            if health.get("number_of_nodes") == nodes and not health["timed_out"]:
                return
            time.sleep(0.25)
        logs = "\n".join(log.read_text()[-2_000:] for log in sorted(self._folder.glob("*.log")))
        raise AssertionError(f"The cluster did not come up: {logs}")

    def _ask(self, path: str) -> str | None:
        for number in self._processes:
            try:
                with urlopen(self.nodes[number] + path, timeout=PATIENCE) as response:
                    return str(response.read().decode())
            except (URLError, TimeoutError, ConnectionError):
                continue
        return None


def _free_ports(count: int) -> list[int]:
    """Return different ports that are free now."""
    free: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            free.append(port)
        if len(free) == count:
            break
    return free
