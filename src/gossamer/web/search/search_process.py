"""The search process: it alone opens the files of the index, and answers one question at a time.

    python -P -m gossamer.web.search.search_process FD

Tantivy maps the files of an index into memory. A file that is cut short kills the process that reads it (SIGBUS), and
some questions take very long. So a process of its own answers them, with limits that it sets itself:

- Time for each question. The kernel ends the process, even when the server is gone.
- Memory. It says that a question needs more, then exits, so that its successor starts with a clean heap.
- No core dumps.

It exits when the server closes the socket, also by `kill -9`.

Frames (`processes.framing`) hold msgpack. The process receives `SearchOptions`, then `IndexQuestion`s. It sends an
empty frame once it is ready, then an `IndexReply` for each question, in order. It imports no FastAPI, to save
30 MB.
"""

from __future__ import annotations

import gc
import socket
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from gossamer.errors import GossamerError, UsageError
from gossamer.processes.framing import EMPTY_FRAME, HEADER_BYTES, receive_frame, send_frame
from gossamer.processes.limits import cap_data, disable_core_dumps, ignore_interrupts, set_job_timer
from gossamer.web.search import answers
from gossamer.web.search.facets import SearchQuestion
from gossamer.web.search.packed_answer import SearchReply, search_reply
from gossamer.web.search.search_session import CHECK_SECONDS, SearchSession

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds for one question. On a web of 16,000 pages one question in a thousand takes more than 0.1 s; a person gives
# up after some seconds, and everyone else waits meanwhile.
QUESTION_SECONDS = 5.0
MAX_DATA_BYTES = 1 << 30  # private memory; a word in a million documents takes 200 MB
UNEXPECTED = "unexpected"  # `IndexReply.fault` of an error in our code
NO_VALUE = msgspec.Raw(msgspec.msgpack.encode(None))


class SearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the process needs to know before the first question."""

    location: str
    question_seconds: float = QUESTION_SECONDS
    max_data_bytes: int = MAX_DATA_BYTES
    check_seconds: float = CHECK_SECONDS


class IndexQuestion(msgspec.Struct, frozen=True, array_like=True):
    """A question: a name of `FUNCTIONS`, and its arguments."""

    function: str
    arguments: msgspec.Raw


class IndexReply(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a question, or why there is none; and the state of the web that it comes from."""

    generation: int
    version: int
    value: msgspec.Raw = NO_VALUE
    fault: str = ""  # name of the error's class in `gossamer.errors`
    detail: str = ""


class AskedFunction(NamedTuple):
    """A function that the server can ask for."""

    arguments: Any  # the type of its arguments, a tuple
    call: Callable[..., object]


def _state(_: SearchSession) -> None:
    """Return nothing: each reply carries the state."""


def _search(session: SearchSession, question: SearchQuestion, with_facets: bool) -> SearchReply:
    return search_reply(answers.search(session, question, with_facets=with_facets))


def _languages(session: SearchSession) -> dict[str, int]:
    return session.index.languages()


def _find_urls(session: SearchSession, queries: list[str], limit: int) -> list[str]:
    return [hit.url for query in queries for hit in session.searcher.search(query, limit=limit).hits]


FUNCTIONS = {
    "state": AskedFunction(tuple[()], _state),
    "search": AskedFunction(tuple[SearchQuestion, bool], _search),
    "complete": AskedFunction(tuple[str, int, bool], answers.complete),
    "suggest": AskedFunction(tuple[str, int], answers.suggest),
    "word": AskedFunction(tuple[str, str, int, int], answers.word),
    "languages": AskedFunction(tuple[()], _languages),
    "find_urls": AskedFunction(tuple[list[str], int], _find_urls),
}


def main() -> None:
    """Serve the socket whose file descriptor is the first argument."""
    ignore_interrupts()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        first = receive_frame(connection)
        if first is None:
            return
        options = msgspec.msgpack.decode(first, type=SearchOptions)
        disable_core_dumps()
        cap_data(options.max_data_bytes)
        gc.freeze()  # full collections over the loaded modules would pause a search for 0.1 s
        session = SearchSession(options.location, check_seconds=options.check_seconds)
        with suppress(GossamerError):  # the first question gets the error
            _ = session.searcher  # opening takes longer than most questions
        try:
            connection.sendall(EMPTY_FRAME)
            _serve(connection, session, options)
        except (BrokenPipeError, ConnectionResetError):
            return  # the server is gone


def _serve(connection: socket.socket, session: SearchSession, options: SearchOptions) -> None:
    decode = msgspec.msgpack.Decoder(IndexQuestion).decode
    encode = msgspec.msgpack.Encoder().encode_into
    while (frame := receive_frame(connection)) is not None:
        question = decode(frame)
        reply = bytearray(HEADER_BYTES)
        set_job_timer(options.question_seconds)
        try:
            encode(_answer(session, question), reply, HEADER_BYTES)
        except MemoryError:
            del reply, session
            mebibytes = options.max_data_bytes >> 20
            detail = f"This question needs more than {mebibytes:,} MiB of memory: ask for less at a time."
            reply = bytearray(HEADER_BYTES)
            encode(IndexReply(-1, -1, NO_VALUE, UsageError.__name__, detail), reply, HEADER_BYTES)
            send_frame(connection, reply)
            return
        set_job_timer(0)
        send_frame(connection, reply)
        del frame, question, reply  # do not hold a large answer until the next question comes


def _answer(session: SearchSession, question: IndexQuestion) -> IndexReply:
    function = FUNCTIONS[question.function]
    try:
        generation, version = session.state
        value = function.call(session, *msgspec.msgpack.decode(question.arguments, type=function.arguments))
    except GossamerError as error:
        if not isinstance(error, UsageError):
            session.close()  # a repaired web is read again from its files
        return IndexReply(-1, -1, NO_VALUE, type(error).__name__, str(error))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the server answers 500, as for an error of its own
        traceback.print_exc()
        return IndexReply(-1, -1, NO_VALUE, UNEXPECTED, f"The search process failed at {question.function}.")
    return IndexReply(generation, version, msgspec.Raw(msgspec.msgpack.encode(value)))


if __name__ == "__main__":
    main()
