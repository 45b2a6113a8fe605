"""A client of the Chrome DevTools Protocol over two pipes to the browser.

A message is JSON and ends with a zero byte. Commands have an id, which their answer repeats; events have none. With
flattened sessions one connection serves the browser and all its tabs: `sessionId` says which one.
Documentation: https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

_READ_BYTES = 1 << 20  # read at a time
_END = b"\0"  # of a message

Answer = dict[str, Any]


class CdpClosed(Exception):
    """The browser has closed its pipe."""


class CdpBroken(Exception):
    """The browser sends what is no message."""


class CdpMessage(msgspec.Struct):
    """An answer (with an id) or an event (with a method)."""

    id: int = 0
    method: str = ""
    params: dict[str, Any] = {}
    result: dict[str, Any] = {}
    error: dict[str, Any] = {}
    session: str = msgspec.field(default="", name="sessionId")


class CdpConnection:
    """Both pipes to a browser. Nothing blocks: the owner calls `read` and `write` when the pipes are ready."""

    def __init__(self, incoming: int, outgoing: int, on_event: Callable[[CdpMessage], None], max_bytes: int) -> None:
        os.set_blocking(incoming, False)
        os.set_blocking(outgoing, False)
        self.incoming = incoming
        self.outgoing = outgoing
        self._on_event = on_event
        self._max_bytes = max_bytes  # of a message
        self._received: list[bytes] = []  # pieces of a message that is not complete
        self._received_bytes = 0
        self._to_send = bytearray()
        self._last_id = 0
        self._waiting: dict[int, tuple[str, Callable[[CdpMessage], None]]] = {}  # id -> session, what gets the answer
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(CdpMessage).decode

    @property
    def has_unsent(self) -> bool:
        """Whether commands wait for room in the pipe."""
        return bool(self._to_send)

    def send(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        session: str = "",
        then: Callable[[CdpMessage], None] | None = None,
    ) -> None:
        """Send a command to the browser, or to the tab of a session. `then` gets its answer, which may be an error."""
        self._last_id += 1
        command: dict[str, Any] = {"id": self._last_id, "method": method, "params": params or {}}
        if session:
            command["sessionId"] = session
        if then is not None:
            self._waiting[self._last_id] = session, then
        self._to_send += self._encode(command)
        self._to_send += _END
        self.write()

    def forget(self, session: str) -> None:
        """Drop the commands of a closed session: no answer comes."""
        for number in [number for number, (owner, _) in self._waiting.items() if owner == session]:
            del self._waiting[number]

    def write(self) -> None:
        """Send what the pipe takes."""
        try:
            while self._to_send:
                del self._to_send[: os.write(self.outgoing, self._to_send)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._to_send.clear()  # the browser has exited; the next read finds the end

    def read(self) -> None:
        """Handle the messages that have arrived. Raises `CdpClosed` and `CdpBroken`."""
        try:
            data = os.read(self.incoming, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise CdpClosed
        *complete, rest = data.split(_END)
        for piece in complete:
            message = b"".join((*self._received, piece)) if self._received else piece
            self._received.clear()
            self._received_bytes = 0
            self._dispatch(message)
        if rest:
            self._received.append(rest)
            self._received_bytes += len(rest)
            if self._received_bytes > self._max_bytes:
                raise CdpBroken("the browser sends a message that is too long")

    def _dispatch(self, data: bytes) -> None:
        try:
            message = self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise CdpBroken(f"the browser sends what is no message: {fault}") from fault
        if not message.id:
            self._on_event(message)
        elif (waiting := self._waiting.pop(message.id, None)) is not None:
            waiting[1](message)
