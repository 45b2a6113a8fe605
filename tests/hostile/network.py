"""A network of its own, where every address is this machine's and the name server is hostile.

    run(script, folder)      runs a script of the tests in there and gives what it printed, as JSON
    open_network(folder)     called by the script: all addresses become local, names are asked of `Names`
    cut(address), mend(address)

It needs unprivileged user namespaces; where they are not to be had, the tests that use it are skipped (or fail, see
`conftest.not_here`).
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
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

A, CNAME, AAAA = 1, 5, 28  # RFC 1035 §3.2.2, RFC 3596 §2.1
NO_SUCH_NAME = 3
ANSWER = 0x8180  # a response; recursion desired and available
PACKET = 512


def run(script: str, folder: Path) -> Any:
    """Run a script in a network of its own; it gets a folder, and prints JSON."""
    from conftest import not_here  # not above: the script imports this module too, where there is none

    if missing := [program for program in ("ip", "mount", "unshare") if shutil.which(program) is None]:
        not_here(f"no network of our own can be had without {', '.join(missing)}")
    done = subprocess.run(
        ["unshare", "--map-root-user", "--net", "--mount", sys.executable, script, str(folder)],
        check=False, capture_output=True, text=True, timeout=200,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    if done.returncode and ("unshare" in done.stderr or "Operation not permitted" in done.stderr):
        not_here(f"no network of our own can be had: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def open_network(folder: Path) -> None:
    """All addresses are this machine's; names are asked of 127.0.0.1."""
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    for command in (
        "ip link set lo up",
        "ip route add local default dev lo",
        "ip -6 route add local default dev lo",
        f"mount --bind {folder / 'resolv.conf'} /etc/resolv.conf",
    ):
        subprocess.run(command.split(), check=True)


def cut(address: str) -> None:
    """Nothing gets to an address any more."""
    subprocess.run(["ip", "route", "add", "unreachable", address, "table", "local"], check=True)


def mend(address: str) -> None:
    """It can be reached again."""
    subprocess.run(["ip", "route", "del", "unreachable", address, "table", "local"], check=True)


class Names:
    """A name server: `answer` gives the addresses of a name (and names it is an alias of), None for no answer."""

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
        """RFC 1035 §4.1: the header, the question again, and an answer for each record of the type asked for."""
        end = question.index(0, 12)
        name = _name(question[12:end])
        (kind,) = struct.unpack("!H", question[end + 1 : end + 3])
        found = self._answer(name)
        if found is None:
            return b""
        records = [record for each in found if (record := _record(each, kind))]
        for alias in filter(_is_name, found):  # with what it is an alias of
            records += [record for each in self._answer(alias) or () if (record := _record(each, kind, _labels(alias)))]
        code = ANSWER if found else ANSWER | NO_SUCH_NAME
        head = question[:2] + struct.pack("!5H", code, 1, len(records), 0, 0)
        return head + question[12 : end + 5] + b"".join(records)


def _name(labels: bytes) -> str:
    parts, at = [], 0
    while at < len(labels):
        parts.append(labels[at + 1 : at + 1 + labels[at]].decode())
        at += 1 + labels[at]
    return ".".join(parts).lower()


def _labels(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _is_name(target: str) -> bool:
    return target[-1].isalpha() and ":" not in target


THE_NAME_ASKED_FOR = b"\xc0\x0c"  # a pointer (RFC 1035 §4.1.4)


def _record(target: str, kind: int, owner: bytes = THE_NAME_ASKED_FOR) -> bytes:
    """One record of a name, without a lifetime; nothing when it is of another type."""
    if _is_name(target):
        return _packed(owner, CNAME, _labels(target))
    address = ip_address(target)
    return _packed(owner, kind, address.packed) if kind == (A if address.version == 4 else AAAA) else b""


def _packed(owner: bytes, kind: int, data: bytes) -> bytes:
    return owner + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
