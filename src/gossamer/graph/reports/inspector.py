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

LENGTH_BYTES = 4  # bytes of a frame's length
MEMORY_MIB = 1024
MAX_SECONDS = 10.0  # for one page


class InspectionJob(msgspec.Struct, array_like=True, frozen=True):
    """A page to look into."""

    page: int  # a number of the asker's choice
    check: Literal["hreflang", "markup"]
    url: str
    charset: str
    source: bytes  # as it is stored


class InspectionResult(msgspec.Struct, array_like=True, frozen=True):
    """What was found in it."""

    page: int
    rows: tuple[tuple[Any, ...], ...]
    failure: str = ""  # why nothing could be found


def main() -> None:
    """Serve stdin."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    checks = _load_checks()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    memory = MEMORY_MIB << 20
    memory = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    decode, jobs, answers = msgspec.msgpack.Decoder(InspectionJob).decode, sys.stdin.buffer, sys.stdout.buffer
    answers.write(bytes(LENGTH_BYTES))
    answers.flush()
    while message := _read_frame(jobs):
        job = decode(message)
        signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)  # SIGALRM is left at its default: it ends the process
        result = InspectionResult(job.page, tuple(checks[job.check](job)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        answer = msgspec.msgpack.encode(result)
        answers.write(len(answer).to_bytes(LENGTH_BYTES, "big") + answer)
        answers.flush()


def _load_checks() -> dict[str, Callable[[InspectionJob], Any]]:
    from gossamer.graph.reports.hreflang import hreflang_annotations  # noqa: PLC0415  the asker needs Job and Found only
    from gossamer.graph.reports.markup import markup_faults  # noqa: PLC0415

    return {"hreflang": hreflang_annotations, "markup": markup_faults}


def _read_frame(jobs: BinaryIO) -> bytes:
    """The next message; nothing at the end."""
    return jobs.read(int.from_bytes(jobs.read(LENGTH_BYTES), "big"))


if __name__ == "__main__":
    main()
