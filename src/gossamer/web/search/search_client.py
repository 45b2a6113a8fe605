"""Asks the search process from the event loop: it starts the process, and again when it ends.

Questions wait in one bounded queue. Nobody waits without end: a question over its deadline ends the process, and its
client gets an error; the others go on with the next process. When the process dies by itself, for example because
somebody cut an index file short, all waiting clients get an error and can ask again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer import errors
from gossamer.errors import GossamerError
from gossamer.processes.exit_report import describe_exit
from gossamer.processes.framing import HEADER_BYTES, encode_frame, take_frames
from gossamer.processes.start import start_python
from gossamer.web.http.sessions import TooBusy
from gossamer.web.search.search_process import UNEXPECTED, IndexQuestion, IndexReply, SearchOptions

if TYPE_CHECKING:
    import subprocess

MAX_WAITING = 256  # questions; 5 ms each, so the last one waits about a second
WAIT_SECONDS = 10.0  # for an answer of a running process: two questions that use up their time
SENT_AHEAD = 2  # questions in the socket, so that the process need not wait for the event loop
GRACE_SECONDS = 1.0  # after the deadline, when the process does not end itself: it may be stopped
START_SECONDS = 60.0  # until a new process is ready; it takes 0.5 s on a quiet machine
RESTART_SECONDS = 1.0  # between two starts, when a process ended before its first answer
MAX_REPLY_BYTES = 256 << 20
# As `web.server.keep_memory`: glibc keeps freed memory, because the next search needs as much.
ALLOCATOR_VARIABLES = {"MALLOC_TRIM_THRESHOLD_": str(32 << 20), "MALLOC_MMAP_THRESHOLD_": str(16 << 20)}


class SearchTimeout(GossamerError):
    """A question took longer than its deadline."""


class SearchProcessEnded(GossamerError):
    """The search process ended while the question waited or ran."""


class SearchFailed(Exception):
    """The search process met an error in our code and wrote it to stderr; the answer is 500."""


class WaitingQuestion:
    """A question, and the future that gets its reply."""

    __slots__ = ("frame", "reply")

    def __init__(self, frame: bytes, reply: asyncio.Future[IndexReply]) -> None:
        self.frame = frame
        self.reply = reply


class SearchClient:
    """Asks one search process at a time. All methods but `close` belong to the event loop."""

    def __init__(self, location: str, **options: float) -> None:
        """`options` are fields of `SearchOptions`."""
        self._options = SearchOptions(location=location, **options)  # type: ignore[arg-type]
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(IndexReply).decode
        self.waiting: deque[WaitingQuestion] = deque()  # the first ones are sent
        self._sent = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: _ProcessConnection | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_late = False  # whether the first question is over its deadline
        self._next_start = 0.0  # monotonic time before which no process starts
        self._loop: asyncio.AbstractEventLoop | None = None
        self.starts = 0  # processes started so far
        self.fault = ""  # why the last question had no answer, "" after an answer: the web or its index is damaged

    @property
    def pid(self) -> int | None:
        """The process that answers now."""
        return self._process.pid if self._process else None

    async def ask(self, function: str, *arguments: object, type: Any = Any) -> Any:  # noqa: A002 - as in msgspec
        """Return the answer of a function of the search process, as a value of a type."""
        reply = await self.reply(function, *arguments)
        return msgspec.msgpack.decode(reply.value, type=type)

    def ask_from_thread(self, function: str, *arguments: object, type: Any = Any) -> Any:  # noqa: A002 - as above
        """Ask from a thread of a route, and wait for the answer."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(self.ask(function, *arguments, type=type), self._loop).result()

    async def reply(self, function: str, *arguments: object) -> IndexReply:
        """Return the reply to a question; raise its error."""
        if len(self.waiting) >= MAX_WAITING:
            raise TooBusy("The server is busy with other searches. Try again in a moment.")
        self.start()
        question = IndexQuestion(function, msgspec.Raw(self._encode(arguments)))
        waiting = WaitingQuestion(encode_frame(self._encode(question)), asyncio.get_running_loop().create_future())
        self.waiting.append(waiting)
        self._send()
        is_ready = self._connection is not None and self._connection.is_ready
        try:
            async with asyncio.timeout(WAIT_SECONDS if is_ready else START_SECONDS):
                return self._checked(await waiting.reply)
        except TimeoutError:
            raise TooBusy("The server is busy with other searches. Try again in a moment.") from None
        finally:
            self._drop_if_unsent(waiting)

    def _checked(self, reply: IndexReply) -> IndexReply:
        """Return a reply with a value; raise the error of another one."""
        if reply.fault == UNEXPECTED:
            raise SearchFailed(reply.detail)
        kind = getattr(errors, reply.fault, GossamerError) if reply.fault else None
        is_damage = kind is not None and issubclass(kind, errors.StoreCorrupt | errors.IndexFault)
        if kind is None or is_damage:
            self.fault = reply.detail if is_damage and kind is not errors.IndexMissing else ""
        if kind is not None:
            raise kind(reply.detail)
        return reply

    def _drop_if_unsent(self, waiting: WaitingQuestion) -> None:
        """Forget a question that its client gave up, unless the process has it already."""
        with suppress(ValueError):
            if self.waiting.index(waiting) >= self._sent:
                self.waiting.remove(waiting)

    # -- the process ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the process unless it runs. Raises `SearchProcessEnded` soon after one that could not answer."""
        if self._process is not None:
            return
        if time.monotonic() < self._next_start:
            raise SearchProcessEnded(self.fault)
        self._loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        with theirs:
            process = start_python(
                "-m", "gossamer.web.search.search_process", str(theirs.fileno()), pass_fds=(theirs.fileno(),),
                environment={**os.environ, **ALLOCATOR_VARIABLES},
            )  # fmt: skip
        self._connection = _ProcessConnection(self, ours, encode_frame(self._encode(self._options)))
        self._process = process  # last: without a connection the process ends by itself
        self.starts += 1
        self._set_timer(START_SECONDS)

    def close(self) -> None:
        """End the process. A second call does nothing."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None

    def take_reply(self, frame: memoryview) -> None:
        """Take a message of the process: the empty one says that it is ready."""
        assert self._connection is not None
        if not len(frame):
            self._connection.is_ready = True
        else:
            self._connection.has_answered = True
            self._sent -= 1
            answered = self.waiting.popleft()
            if not answered.reply.done():  # its client may be gone
                answered.reply.set_result(self._decode(bytes(frame)))
        self._set_timer(self._options.question_seconds + GRACE_SECONDS if self._sent else None)
        self._send()

    def _send(self) -> None:
        connection = self._connection
        if connection is None or not connection.is_ready:
            return
        while self._sent < min(len(self.waiting), SENT_AHEAD):
            connection.write(self.waiting[self._sent].frame)
            self._sent += 1
            if self._sent == 1:
                self._set_timer(self._options.question_seconds + GRACE_SECONDS)

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._kill) if seconds is not None else None

    def _kill(self) -> None:
        """End a process that did not end itself in time; `process_ended` goes on from there."""
        assert self._process is not None
        self._is_late = True
        self._process.kill()

    def process_ended(self) -> None:
        """Take the end of the process: answer the clients that waited, and start the next one."""
        assert self._process is not None
        assert self._connection is not None
        self._process.kill()  # it may have closed only the socket
        code = self._process.wait()
        is_late = self._is_late or code == -signal.SIGALRM
        has_answered = self._connection.has_answered
        self._connection.close()
        self._process = self._connection = None
        self._set_timer(None)
        sent, self._sent, self._is_late = self._sent, 0, False
        if is_late and sent:
            self._fail(1, SearchTimeout(_too_slow(self._options.question_seconds)))
        elif code or not has_answered:
            self.fault = (
                f"The search process {describe_exit(code)} and starts again: try again in a moment. If this repeats,"
                " the index may be damaged: run `gossamer index --rebuild`."
            )
            self._fail(len(self.waiting), SearchProcessEnded(self.fault))
        self._next_start = 0.0 if has_answered or is_late else time.monotonic() + RESTART_SECONDS
        if has_answered or self.waiting:
            self._next_start = 0.0
            self.start()

    def _fail(self, count: int, error: GossamerError) -> None:
        for _ in range(count):
            reply = self.waiting.popleft().reply
            if not reply.done():
                reply.set_exception(error)


def _too_slow(seconds: float) -> str:
    return (
        f"This question took longer than {seconds:g} seconds and was stopped:"
        " use fewer or rarer words, or a shorter phrase."
    )


class _ProcessConnection:
    """The server's end of the socket. Reads go to the client; writes wait where the socket is full."""

    def __init__(self, client: SearchClient, connection: socket.socket, first: bytes) -> None:
        connection.setblocking(False)
        self._client = client
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._unsent = bytearray()
        self.is_ready = False
        self.has_answered = False
        self._loop.add_reader(connection, self._read)
        self.write(first)

    def write(self, frame: bytes) -> None:
        """Send a frame, now or when the socket has room."""
        if not self._unsent:
            self._loop.add_writer(self._socket, self._flush)
        self._unsent += frame
        self._flush()

    def _flush(self) -> None:
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):  # `_read` sees the end of the process
            del self._unsent[: self._socket.send(self._unsent)]
        if not self._unsent:
            self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            received = self._socket.recv(READ_BYTES)
        except ConnectionResetError:
            received = b""
        except BlockingIOError:
            return
        if not received:
            self._client.process_ended()
            return
        self._received += received
        if len(self._received) >= HEADER_BYTES:
            for frame in take_frames(self._received, MAX_REPLY_BYTES):
                self._client.take_reply(frame)

    def close(self) -> None:
        """Close the socket. The loop may be closed already."""
        if not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self._socket.close()


READ_BYTES = 256 << 10
