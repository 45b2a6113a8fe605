"""A process that inspects pages: it reads jobs from stdin and answers on stdout. `inspection` starts it.

It limits itself before it reads the first byte: memory, time for each page (the kernel ends it), no core dumps.

Frames (`processes.framing`) hold msgpack. The process sends an empty frame once it is ready, then a result for each
job.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gossamer.processes.framing import EMPTY_FRAME, encode_frame, read_frame
from gossamer.processes.limits import cap_address_space, disable_core_dumps, ignore_interrupts, set_job_timer

if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY_MIB = 1024
MAX_SECONDS = 10.0  # for one page


class InspectionJob(msgspec.Struct, array_like=True, frozen=True):
    """A page to inspect."""

    page: int  # a number that the caller chooses
    check: Literal["hreflang", "markup"]
    url: str
    charset: str
    source: bytes  # as the store has it


class InspectionResult(msgspec.Struct, array_like=True, frozen=True):
    """The findings in one page."""

    page: int
    rows: tuple[tuple[Any, ...], ...]
    failure: str = ""  # why the page could not be inspected


def main() -> None:
    """Serve stdin until it ends."""
    ignore_interrupts()
    checks = _load_checks()
    disable_core_dumps()
    cap_address_space(MEMORY_MIB)
    decode, jobs, answers = msgspec.msgpack.Decoder(InspectionJob).decode, sys.stdin.buffer, sys.stdout.buffer
    answers.write(EMPTY_FRAME)
    answers.flush()
    while (message := read_frame(jobs)) is not None:
        job = decode(message)
        set_job_timer(MAX_SECONDS)
        result = InspectionResult(job.page, tuple(checks[job.check](job)))
        set_job_timer(0)
        answers.write(encode_frame(msgspec.msgpack.encode(result)))
        answers.flush()


def _load_checks() -> dict[str, Callable[[InspectionJob], Any]]:
    # Imported here because the parent process needs only the job and the result.
    from gossamer.graph.reports.hreflang import hreflang_annotations  # noqa: PLC0415
    from gossamer.graph.reports.markup import markup_faults  # noqa: PLC0415

    return {"hreflang": hreflang_annotations, "markup": markup_faults}


if __name__ == "__main__":
    main()
