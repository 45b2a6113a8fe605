"""Messages between processes: 4 bytes of length (big-endian), then the message."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

HEADER_BYTES = 4
EMPTY_FRAME = bytes(HEADER_BYTES)  # children send it once they are ready for jobs


class FrameTooLong(ValueError):
    """A frame claims to be longer than its reader accepts."""


def encode_frame(message: bytes) -> bytes:
    """Return a message with its length before it."""
    return len(message).to_bytes(HEADER_BYTES, "big") + message


def append_frame(buffer: bytearray, message: object, encode_into: Callable[[object, bytearray, int], None]) -> None:
    """Encode a message at the end of a buffer of bytes to send, after its length; this saves a copy of the message."""
    start = len(buffer)
    buffer += EMPTY_FRAME
    encode_into(message, buffer, -1)
    buffer[start : start + HEADER_BYTES] = (len(buffer) - start - HEADER_BYTES).to_bytes(HEADER_BYTES, "big")


def send_frame(connection: socket.socket, frame: bytearray) -> None:
    """Send a frame whose first `HEADER_BYTES` bytes are free for its length; this saves a copy of the message."""
    frame[:HEADER_BYTES] = (len(frame) - HEADER_BYTES).to_bytes(HEADER_BYTES, "big")
    connection.sendall(frame)


def receive_frame(connection: socket.socket) -> bytes | None:
    """Wait for the next message of a socket; None when the other side has closed it."""
    header = connection.recv(HEADER_BYTES, socket.MSG_WAITALL)
    if len(header) < HEADER_BYTES:
        return None
    size = int.from_bytes(header, "big")
    message = connection.recv(size, socket.MSG_WAITALL)
    return message if len(message) == size else None


def read_frame(pipe: IO[bytes]) -> bytes | None:
    """Wait for the next message of a pipe; None when the other side has closed it."""
    header = pipe.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    size = int.from_bytes(header, "big")
    message = pipe.read(size)
    return message if len(message) == size else None


def take_frames(buffer: bytearray, max_bytes: int) -> Iterator[memoryview]:
    """Yield the complete messages of a buffer and remove each afterwards.

    A message is a view of the buffer, without a copy: it ends when the next one is asked for. Raises `FrameTooLong` for
    a message of more than `max_bytes`.
    """
    while len(buffer) >= HEADER_BYTES:
        size = int.from_bytes(buffer[:HEADER_BYTES], "big")
        if size > max_bytes:
            raise FrameTooLong
        end = HEADER_BYTES + size
        if len(buffer) < end:
            return
        with memoryview(buffer) as view, view[HEADER_BYTES:end] as message:
            yield message
        del buffer[:end]
