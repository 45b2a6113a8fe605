"""A parser process: reads jobs from a socket, answers pages. Started by `parsers.ParserPool`, never by hand.

    python -P -m gossamer.parse.parser_process FD

It lives among hostile bytes, so it is limited before it reads the first of them: memory (a page that needs more is
answered as such, then the process ends, to start clean), time for each page (the kernel kills it, even when nobody is
left to notice), no core dumps. It ends when the other side of the socket does.

Frames, both ways: 4 bytes length (big-endian), then that much msgpack. To here: `ParseOptions`, then `ParseJob`s.
From here: an empty frame once it is ready, then a `Page` for each job, in order.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import sys
import time

import msgspec
from selectolax.lexbor import SelectolaxError

from gossamer.model import Outcome, Page, ParseJob
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import PageParser
from gossamer.processes.heap import release_memory

NICENESS = 5  # whoever waits for an answer (the coordinator, a search beside the crawl) goes first
HEADER_BYTES = 4  # bytes of a frame's length
QUIET_MILLISECONDS = 2_000  # milliseconds without a job, after which memory is given back
LARGE_PAGE_BYTES = 1 << 20  # bytes of a page whose memory is given back by one that is never without a job, too ...
RELEASE_INTERVAL_SECONDS = 5.0  # ... but not sooner than this many seconds after the last time
_PAGES_BETWEEN_COLLECTIONS = 1000  # cycles are rare here; looking for them on every page cost 5 % of its time


def main() -> None:
    """Serve the socket whose file descriptor is the first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the coordinator
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        first = _receive_frame(connection)
        if first is None:
            return
        options = msgspec.msgpack.decode(first, type=ParseOptions)
        parser = PageParser(options)
        _limit_resources(options)
        gc.freeze()
        gc.disable()
        try:
            connection.sendall(bytes(HEADER_BYTES))
            _serve(connection, parser, options)
        except (BrokenPipeError, ConnectionResetError):
            return  # the coordinator is gone


def _limit_resources(options: ParseOptions) -> None:
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    memory = options.memory << 20
    memory = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _serve(connection: socket.socket, parser: PageParser, options: ParseOptions) -> None:
    decode = msgspec.msgpack.Decoder(ParseJob).decode
    encode = msgspec.msgpack.Encoder().encode_into
    served = 0
    has_grown, released_at = False, 0.0  # by a large page; when
    jobs = select.poll()
    jobs.register(connection, select.POLLIN)
    while (frame := _receive_frame(connection)) is not None:
        job = decode(frame)
        del frame
        reply = bytearray(HEADER_BYTES)
        signal.setitimer(signal.ITIMER_REAL, options.seconds)  # SIGALRM is left at its default: it ends the process
        try:
            page = parser.parse(job)
            encode(page, reply, HEADER_BYTES)
        except (MemoryError, SelectolaxError):  # Lexbor's parser fails for no other reason
            reply = bytearray(HEADER_BYTES)
            encode(Page(job.id, Outcome.PARSER_MEMORY, f"needs more than {options.memory} MiB"), reply, HEADER_BYTES)
            _send_frame(connection, reply)
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send_frame(connection, reply)
        has_grown = has_grown or page.size >= LARGE_PAGE_BYTES
        del job, page, reply  # a large page is not held until the next one comes
        served += 1
        if served % _PAGES_BETWEEN_COLLECTIONS == 0:
            gc.collect()
        if not jobs.poll(QUIET_MILLISECONDS) or (
            has_grown and time.monotonic() >= released_at + RELEASE_INTERVAL_SECONDS
        ):
            release_memory()
            has_grown, released_at = False, time.monotonic()


def _send_frame(connection: socket.socket, reply: bytearray) -> None:
    reply[:HEADER_BYTES] = (len(reply) - HEADER_BYTES).to_bytes(HEADER_BYTES, "big")
    connection.sendall(reply)


def _receive_frame(connection: socket.socket) -> bytes | None:
    """The next message; None when the coordinator has closed the connection."""
    header = connection.recv(HEADER_BYTES, socket.MSG_WAITALL)
    if len(header) < HEADER_BYTES:
        return None
    size = int.from_bytes(header, "big")
    message = connection.recv(size, socket.MSG_WAITALL)
    return message if len(message) == size else None


if __name__ == "__main__":
    main()
