"""The HTTP protocol of a connection with the limits of `client_limits`, and the register of open connections.

Uvicorn's own protocol bounds neither heads nor times nor connections. This one counts bytes before the parser keeps
them. It answers with 408, 413, 414 or 431 and closes; it closes at once if not even a request line came.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from gossamer.web.http.client_limits import (
    BODY_TOO_LARGE,
    MAX_BODY_BYTES,
    MAX_CLIENT_CONNECTIONS,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_TARGET_BYTES,
    MIN_READ_RATE,
    REQUEST_SECONDS,
    WRITE_SECONDS,
    client_of,
)
from gossamer.web.http.problems import make_problem

if TYPE_CHECKING:
    import asyncio

    from gossamer.web.http.client_limits import TrustedProxies

FED_BYTES = 16_384  # given to the parser at a time, so that a head is over its limit by no more
LINGER_SECONDS = 1.0  # a refused client may still send; a reset before it reads would lose the refusal
MAX_LINGER_BYTES = 1 << 20  # that a refused client may still send


class ConnectionRegister:
    """The open connections by client, oldest first.

    A client over its share loses its oldest connection without a running request. So half-open connections make room
    for people at the same address. If all its connections are busy, the new one is refused.
    """

    def __init__(self, most: int, proxies: TrustedProxies) -> None:
        self._most = most
        self._proxies = proxies
        self._clients: dict[str, dict[LimitedProtocol, None]] = {}
        self._count = 0

    def admit(self, connection: LimitedProtocol) -> bool:
        """Register a connection; return False if it must be refused."""
        own = self._clients.get(connection.client_name, {})
        if connection.client_name not in self._proxies and len(own) >= MAX_CLIENT_CONNECTIONS:
            crowd = own
        elif self._count >= self._most:
            crowd = max(self._clients.values(), key=len)
        else:
            crowd = None
        if crowd is not None and not self._drop_oldest_waiting(crowd):
            return False
        self._clients.setdefault(connection.client_name, own)[connection] = None
        self._count += 1
        return True

    def discard(self, connection: LimitedProtocol) -> None:
        """Forget a connection that ended."""
        own = self._clients.get(connection.client_name, {})
        if connection in own:
            del own[connection]
            self._count -= 1
            if not own:
                del self._clients[connection.client_name]

    def _drop_oldest_waiting(self, crowd: dict[LimitedProtocol, None]) -> bool:
        oldest = next((each for each in crowd if each.is_waiting), None)
        if oldest is None:
            return False
        self.discard(oldest)
        oldest.transport.abort()
        return True


class _Refused(Exception):
    """A limit was exceeded."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, register: ConnectionRegister, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._register = register
        self.client_name = ""  # as `client_of` names it
        self._in_request = self._in_head = False
        self._head_bytes = 0
        self._refusal: HTTPStatus | None = None
        self._lingered_bytes = 0
        self._request_timer: asyncio.TimerHandle | None = None
        self._close_timer: asyncio.TimerHandle | None = None  # of a client that does not read, or was refused

    @property
    def is_waiting(self) -> bool:
        """Whether no request of this connection runs."""
        return self.cycle is None or bool(self.cycle.response_complete)

    # -- the connection ------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection, and give it `REQUEST_SECONDS` for its first request."""
        super().connection_made(transport)
        self.client_name = client_of(self.client[0]) if self.client else ""
        if self._register.admit(self):
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self._end_slow_request)
            return
        self._refusal = HTTPStatus.SERVICE_UNAVAILABLE
        transport.write(_refusal_bytes(self._refusal))
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._register.discard(self)
        self._cancel_timers()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also one whose client has not read its last answer."""
        self.transport.abort()

    # -- requests ------------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parse what came, up to the first limit."""
        if self._refusal is not None:
            self._lingered_bytes += len(data)
            if self._lingered_bytes > MAX_LINGER_BYTES:
                self.transport.abort()
            return
        self._unset_keepalive_if_required()
        for start in range(0, len(data), FED_BYTES):
            self._feed(data[start : start + FED_BYTES])
            if self._refusal is not None or self.transport.is_closing():
                return
        self._watch_request()

    def _feed(self, part: bytes) -> None:
        refusal = None
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserUpgrade:
            pass  # the request is answered as one of HTTP/1.1
        except httptools.HttpParserError as error:
            cause = error.__context__
            refusal = cause.args[0] if isinstance(cause, _Refused) else HTTPStatus.BAD_REQUEST
        if self._in_head:
            self._head_bytes += len(part)
            if self._head_bytes > MAX_HEAD_BYTES:
                refusal = refusal or HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        if refusal:
            self._refuse(refusal)
        elif len(self.pipeline) > MAX_PIPELINED:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """Start to count a head."""
        self._in_request = self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the URL."""
        super().on_url(url)
        if len(self.url) > MAX_TARGET_BYTES:
            raise _Refused(HTTPStatus.REQUEST_URI_TOO_LONG)

    def on_headers_complete(self) -> None:
        """Start the request if its head is within the limits."""
        if len(self.headers) > MAX_HEADERS:
            raise _Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if not _has_known_length(self.headers):
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the body is complete."""
        self._in_request = False
        super().on_message_complete()

    def _watch_request(self) -> None:
        """Keep a timer while a request is incomplete."""
        if not self._in_request and self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None
        elif self._in_request and self._request_timer is None:
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self._end_slow_request)

    def _end_slow_request(self) -> None:
        self._request_timer = None
        if self.flow.read_paused:  # the client waits for us
            self._watch_request()
        elif self._in_head or not self.is_waiting:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.abort()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer with a refusal and close; only close if an earlier answer is under way."""
        self._refusal = status
        self._cancel_timers()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the app stops waiting for the body
            self.cycle.message_event.set()
            if self.cycle.response_started or self.pipeline:
                self.transport.abort()
                return
        self.transport.write(_refusal_bytes(status))
        self.transport.write_eof()
        self._close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _cancel_timers(self) -> None:
        for timer in (self._request_timer, self._close_timer):
            if timer is not None:
                timer.cancel()

    # -- answers -------------------------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """Watch a client that reads more slowly than we write."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Stop watching."""
        super().resume_writing()
        if self._close_timer is not None and self._refusal is None and not self.transport.is_closing():
            self._close_timer.cancel()

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        super().on_response_complete()
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self._watch_reader()

    def _watch_reader(self) -> None:
        if self._close_timer is not None:
            self._close_timer.cancel()
        unread = self.transport.get_write_buffer_size()
        self._close_timer = self.loop.call_later(WRITE_SECONDS, self._end_slow_reader, unread)

    def _end_slow_reader(self, unread_before: int) -> None:
        if unread_before - self.transport.get_write_buffer_size() < WRITE_SECONDS * MIN_READ_RATE:
            self.transport.abort()
        else:
            self._watch_reader()


def _has_known_length(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether the body has a stated length within the limit."""
    for name, value in headers:
        if name == b"transfer-encoding":
            return False
        if name == b"content-length" and not (value.isdigit() and len(value) < 10 and int(value) <= MAX_BODY_BYTES):
            return False
    return True


REFUSALS = {
    HTTPStatus.BAD_REQUEST: "This is not an HTTP request.",
    HTTPStatus.REQUEST_TIMEOUT: f"The request was not complete after {REQUEST_SECONDS:.0f} seconds.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: BODY_TOO_LARGE,
    HTTPStatus.REQUEST_URI_TOO_LONG: f"The URL is longer than {MAX_TARGET_BYTES:,} bytes.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: (
        f"The request has more than {MAX_HEADERS} headers or {MAX_HEAD_BYTES:,} bytes of them."
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: f"This address has {MAX_CLIENT_CONNECTIONS} busy connections already.",
}


def _refusal_bytes(status: HTTPStatus) -> bytes:
    body = msgspec.json.encode(make_problem(status, REFUSALS[status]))
    head = (
        f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
        "x-content-type-options: nosniff\r\n\r\n"
    )
    return STATUS_LINE[status] + head.encode() + body
