"""A parser process, with its priority and limits: it reads jobs from a socket and answers with pages.

    python -P -m gossamer.parse.parser_process FD

It reads hostile bytes, so it limits itself before the first one:

- Memory. It answers for a page that needs more, then exits, so that its successor starts with a clean heap.
- Time for each page. The kernel ends the process, even when the coordinator is gone.
- No core dumps.

It exits when the coordinator closes the socket.

Frames (`processes.framing`) hold msgpack. The process receives `ParseOptions`, then `ParseJob`s. It sends an empty
frame once it is ready, then a `Page` for each job, in order.
"""

from __future__ import annotations

import gc
import os
import select
import socket
import sys
import time

import msgspec
from selectolax.lexbor import SelectolaxError

from gossamer.model import Outcome, Page, ParseJob
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import PageParser
from gossamer.processes.framing import EMPTY_FRAME, HEADER_BYTES, receive_frame, send_frame
from gossamer.processes.heap import release_memory
from gossamer.processes.limits import cap_address_space, disable_core_dumps, ignore_interrupts, set_job_timer

NICENESS = 5  # the coordinator and searches beside the crawl go first: somebody waits for them
QUIET_MILLISECONDS = 2_000  # without a job, after which the process gives memory back
LARGE_PAGE_BYTES = 1 << 20  # after such a page it gives memory back even when it is never without a job ...
RELEASE_INTERVAL_SECONDS = 5.0  # ... but at most once in this time
_PAGES_BETWEEN_COLLECTIONS = 1000  # parsing makes few cycles; looking for them on every page costs 5 % of the time


def main() -> None:
    """Serve the socket whose file descriptor is the first argument."""
    ignore_interrupts()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        first = receive_frame(connection)
        if first is None:
            return
        options = msgspec.msgpack.decode(first, type=ParseOptions)
        parser = PageParser(options)
        os.nice(NICENESS)
        disable_core_dumps()
        cap_address_space(options.memory)
        gc.freeze()
        gc.disable()
        try:
            connection.sendall(EMPTY_FRAME)
            _serve(connection, parser, options)
        except (BrokenPipeError, ConnectionResetError):
            return  # the coordinator is gone


def _serve(connection: socket.socket, parser: PageParser, options: ParseOptions) -> None:
    decode = msgspec.msgpack.Decoder(ParseJob).decode
    encode = msgspec.msgpack.Encoder().encode_into
    served = 0
    has_grown, released_at = False, 0.0  # since a large page; last release of memory
    jobs = select.poll()
    jobs.register(connection, select.POLLIN)
    while (frame := receive_frame(connection)) is not None:
        job = decode(frame)
        del frame
        reply = bytearray(HEADER_BYTES)
        set_job_timer(options.seconds)
        try:
            page = parser.parse(job)
            encode(page, reply, HEADER_BYTES)
        except (MemoryError, SelectolaxError):  # Lexbor's parser fails for no other reason
            reply = bytearray(HEADER_BYTES)
            encode(Page(job.id, Outcome.PARSER_MEMORY, f"needs more than {options.memory} MiB"), reply, HEADER_BYTES)
            send_frame(connection, reply)
            return
        set_job_timer(0)
        send_frame(connection, reply)
        has_grown = has_grown or page.size >= LARGE_PAGE_BYTES
        del job, page, reply  # do not hold a large page until the next job comes
        served += 1
        if served % _PAGES_BETWEEN_COLLECTIONS == 0:
            gc.collect()
        if not jobs.poll(QUIET_MILLISECONDS) or (
            has_grown and time.monotonic() >= released_at + RELEASE_INTERVAL_SECONDS
        ):
            release_memory()
            has_grown, released_at = False, time.monotonic()


if __name__ == "__main__":
    main()
