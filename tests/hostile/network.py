"""A separate network in which every address belongs to this machine and the name server is hostile.

    run(script, folder)      runs a test script in that network and returns its JSON output
    open_network(folder)     called by the script: all addresses become local, `Names` resolves names
    cut(address), prepared_cut(address), mend(address)

It needs unprivileged user namespaces. Without them the tests skip or fail, see `conftest.skip_or_fail`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Self

from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

A, CNAME, AAAA = 1, 5, 28  # RFC 1035 §3.2.2, RFC 3596 §2.1
NO_SUCH_NAME = 3
ANSWER = 0x8180  # a response; recursion desired and available
PACKET = 512


def run(script: str, folder: Path) -> Any:
    """Run a script in a separate network; it receives a folder and prints JSON."""
    from conftest import skip_or_fail  # not at the top: the script imports this module too, without pytest

    if missing := [program for program in ("ip", "mount", "unshare") if shutil.which(program) is None]:
        skip_or_fail(f"no separate network is available without {', '.join(missing)}")
    result = subprocess.run(
        ["unshare", "--map-root-user", "--net", "--mount", sys.executable, script, str(folder)],
        check=False, capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    if result.returncode and ("unshare" in result.stderr or "Operation not permitted" in result.stderr):
        skip_or_fail(f"no separate network is available: {result.stderr}")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def open_network(folder: Path) -> None:
    """Make all addresses local, and resolve names at 127.0.0.1."""
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    for command in (
        "ip link set lo up",
        "ip route add local default dev lo",
        "ip -6 route add local default dev lo",
        f"mount --bind {folder / 'resolv.conf'} /etc/resolv.conf",
    ):
        subprocess.run(command.split(), check=True)


def cut(address: str) -> None:
    """Make an address unreachable."""
    with prepared_cut(address):
        pass


@contextmanager
def prepared_cut(address: str) -> Iterator[None]:
    """Make an address unreachable at the end of the block, at once: the process for it waits since the start."""
    ip = subprocess.Popen(["ip", "-batch", "-"], stdin=subprocess.PIPE, text=True)
    yield
    ip.communicate(f"route add unreachable {address} table local\n")
    assert ip.returncode == 0


def mend(address: str) -> None:
    """Make the address reachable again."""
    subprocess.run(["ip", "route", "del", "unreachable", address, "table", "local"], check=True)


class Names:
    """A name server: `answer` returns the addresses (or aliases) of a name, None for no reply."""

    def __init__(self, answer: Callable[[str], Sequence[str] | None]) -> None:
        self._answer = answer
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        self._thread = threading.Thread(target=self._serve, name="names", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                question, client = self._socket.recvfrom(PACKET)
            except OSError:
                return
            if reply := self._reply(question):
                self._socket.sendto(reply, client)

    def _reply(self, question: bytes) -> bytes:
        """Build a reply by RFC 1035 §4.1: header, question, and a record of the requested type per address."""
        end = question.index(0, 12)
        name = _name(question[12:end])
        (kind,) = struct.unpack("!H", question[end + 1 : end + 3])
        targets = self._answer(name)
        if targets is None:
            return b""
        records = [record for target in targets if (record := _record(target, kind))]
        for alias in filter(_is_name, targets):  # add the records of the alias
            records += [
                record for target in self._answer(alias) or () if (record := _record(target, kind, _labels(alias)))
            ]
        code = ANSWER if targets else ANSWER | NO_SUCH_NAME
        head = question[:2] + struct.pack("!5H", code, 1, len(records), 0, 0)
        return head + question[12 : end + 5] + b"".join(records)


def _name(labels: bytes) -> str:
    parts, offset = [], 0
    while offset < len(labels):
        parts.append(labels[offset + 1 : offset + 1 + labels[offset]].decode())
        offset += 1 + labels[offset]
    return ".".join(parts).lower()


def _labels(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _is_name(target: str) -> bool:
    return target[-1].isalpha() and ":" not in target


QUESTION_NAME = b"\xc0\x0c"  # a pointer (RFC 1035 §4.1.4)


def _record(target: str, kind: int, owner: bytes = QUESTION_NAME) -> bytes:
    """Return one record of a name with TTL 0; empty if it is of another type."""
    if _is_name(target):
        return _pack_record(owner, CNAME, _labels(target))
    address = ip_address(target)
    return _pack_record(owner, kind, address.packed) if kind == (A if address.version == 4 else AAAA) else b""


def _pack_record(owner: bytes, kind: int, data: bytes) -> bytes:
    return owner + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
