"""A process that looks into pages: reads jobs from stdin, answers on stdout. Started by `inspection`, never by hand.

It is limited before it reads the first byte: memory, time for each page (the kernel kills it), no core dumps. Frames,
both ways: 4 bytes length (big-endian), then that much msgpack; first an empty one from here, once it is ready.
"""

from __future__ import annotations

import resource
import signal
import sys
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

HEADER = 4  # bytes of a frame's length
MEMORY_MIB = 1024
SECONDS = 10.0  # for one page


class Job(msgspec.Struct, array_like=True, frozen=True):
    """A page to look into."""

    page: int  # a number of the asker's choice
    what: Literal["hreflang", "markup"]
    url: str
    charset: str
    source: bytes  # as it is stored


class Found(msgspec.Struct, array_like=True, frozen=True):
    """What was found in it."""

    page: int
    rows: tuple[tuple[Any, ...], ...]
    why_not: str = ""  # why nothing could be found


def main() -> None:
    """Serve stdin."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    looks = _looks()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    memory = MEMORY_MIB << 20
    memory = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    decode, jobs, answers = msgspec.msgpack.Decoder(Job).decode, sys.stdin.buffer, sys.stdout.buffer
    answers.write(bytes(HEADER))
    answers.flush()
    while message := _frame(jobs):
        job = decode(message)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)  # SIGALRM is left at its default: it ends the process
        found = Found(job.page, tuple(looks[job.what](job)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        answer = msgspec.msgpack.encode(found)
        answers.write(len(answer).to_bytes(HEADER, "big") + answer)
        answers.flush()


def _looks() -> dict[str, Callable[[Job], Any]]:
    from gossamer.graph.reports.hreflang import alternates_in  # noqa: PLC0415  the asker needs Job and Found only
    from gossamer.graph.reports.markup import faults_in  # noqa: PLC0415

    return {"hreflang": alternates_in, "markup": faults_in}


def _frame(jobs: BinaryIO) -> bytes:
    """The next message; nothing at the end."""
    return jobs.read(int.from_bytes(jobs.read(HEADER), "big"))


if __name__ == "__main__":
    main()
