"""Responses that are wrong on the wire: sizes, pace, HTTP, redirects. A few are valid."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct

from hostile.server import BEHAVIOURS, CHUNK, PAGE, Exchange, behaviour

# -- valid responses -------------------------------------------------------------------------------------------------


@behaviour
async def page(exchange: Exchange) -> None:
    await exchange.answer()


@behaviour
async def missing(exchange: Exchange) -> None:
    await exchange.answer(b"<title>No such page</title>", status="404 Not Found")


@behaviour
async def status(exchange: Exchange) -> None:
    """`of`: the rest of the status line; `retry`: Retry-After; `bytes`: size of the body."""
    retry = f"Retry-After: {exchange.query['retry']}\r\n" if "retry" in exchange.query else ""
    body = b"e" * int(exchange.query.get("bytes", "10"))
    await exchange.answer(body, status=exchange.query.get("of", "500 Internal Server Error"), more=retry)


@behaviour
async def no_content(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")


@behaviour
async def typed(exchange: Exchange) -> None:
    """`of`: the content type ("" for none), `bytes`: the size."""
    await exchange.answer(b"t" * int(exchange.query.get("bytes", "10")), kind=exchange.query.get("of", ""))


@behaviour
async def zipped(exchange: Exchange) -> None:
    await exchange.answer(gzip.compress(PAGE), more="Content-Encoding: gzip\r\n")


@behaviour
async def echo(exchange: Exchange) -> None:
    await exchange.answer(json.dumps(exchange.request.headers).encode(), kind="text/plain")


@behaviour
async def conditional(exchange: Exchange) -> None:
    if exchange.request.headers.get("if-none-match") == '"v1"':
        exchange.writer.write(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n')
    else:
        await exchange.answer(more='ETag: "v1"\r\n')


@behaviour
async def slow(exchange: Exchange) -> None:
    """A page after `seconds`."""
    await asyncio.sleep(float(exchange.query.get("seconds", "0.3")))
    await exchange.answer()


@behaviour
async def interim(exchange: Exchange) -> None:
    """A page after informational responses."""
    exchange.writer.write(b"HTTP/1.1 103 Early Hints\r\nContent-Type: image/png\r\n\r\n")
    await exchange.answer()


# -- sizes -----------------------------------------------------------------------------------------------------------


async def _forever(exchange: Exchange, data: bytes) -> None:
    while True:
        await exchange.raw(data)


@behaviour
async def endless(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    await _forever(exchange, CHUNK)


@behaviour
async def endless_chunked(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _forever(exchange, b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK))


@behaviour
async def endless_missing(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n")
    await _forever(exchange, CHUNK)


@behaviour
async def sized(exchange: Exchange) -> None:
    """A body of `bytes` (default 100 MB), with its Content-Length."""
    size = int(exchange.query.get("bytes", "100000000"))
    await exchange.raw(f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {size}\r\n\r\n".encode())
    for start in range(0, size, len(CHUNK)):
        await exchange.raw(CHUNK[: size - start])


@behaviour
async def swell(exchange: Exchange) -> None:
    """A body that stops growing after `bytes`, before its end."""
    size = int(exchange.query["bytes"])
    await exchange.raw(f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {size + 1}\r\n\r\n".encode())
    await exchange.raw(b"x" * size)
    await exchange.until_hung_up()


@behaviour
async def huge_robots(exchange: Exchange) -> None:
    """A robots.txt of 100 MB; the rule that counts comes first."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000000\r\n\r\n")
    line = b"Disallow: /private\n"
    await exchange.raw(b"User-agent: *\n" + line * 3000)
    for _ in range(100000000 // len(CHUNK)):
        await exchange.raw(line * (len(CHUNK) // len(line)))


@behaviour
async def long_header(exchange: Exchange) -> None:
    """One header of 10 MB."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Long: ")
    for _ in range(160):
        await exchange.raw(CHUNK)
    await exchange.raw(b"\r\n\r\n" + PAGE)


@behaviour
async def many_headers(exchange: Exchange) -> None:
    """`count` headers (default 100,000) of about 20 bytes."""
    lines = "".join(f"X-Header-{number}: value\r\n" for number in range(int(exchange.query.get("count", "100000"))))
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + lines.encode() + b"\r\n" + PAGE)


@behaviour
async def big_headers(exchange: Exchange) -> None:
    """`count` headers of 1 kB, within libcurl's limits."""
    lines = b"".join(b"X-Big-%d: %b\r\n" % (number, b"v" * 1000) for number in range(int(exchange.query["count"])))
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + lines + b"\r\n" + PAGE)


@behaviour
async def endless_interim(exchange: Exchange) -> None:
    await _forever(exchange, b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" * 1000)


@behaviour
async def endless_trailers(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
    await exchange.raw(b"3\r\nabc\r\n0\r\n")
    await _forever(exchange, b"X-Trailer: " + b"t" * 1000 + b"\r\n")


# -- time ------------------------------------------------------------------------------------------------------------


@behaviour
async def drip(exchange: Exchange) -> None:
    """One byte a second."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await exchange.raw(b".")
        await asyncio.sleep(1)


@behaviour
async def drip_header(exchange: Exchange) -> None:
    """A header, one byte a second."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Slow: ")
    while True:
        await exchange.raw(b".")
        await asyncio.sleep(1)


@behaviour
async def stall(exchange: Exchange) -> None:
    """No response at all."""
    await exchange.until_hung_up()


@behaviour
async def stall_in_header(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Ty")
    await exchange.until_hung_up()


@behaviour
async def stall_in_body(exchange: Exchange) -> None:
    """Half a body of type `of`."""
    kind = exchange.query.get("of", "text/html")
    await exchange.raw(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n".encode() + PAGE)
    await exchange.until_hung_up()


@behaviour
async def steady(exchange: Exchange) -> None:
    """Fast enough for any minimum rate, but without end."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        await exchange.raw(b"s" * 1000)
        await asyncio.sleep(0.1)


# -- broken HTTP -----------------------------------------------------------------------------------------------------


@behaviour
async def cut_short(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n" + PAGE)


@behaviour
async def cut_chunks(exchange: Exchange) -> None:
    await exchange.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"
    )


@behaviour
async def broken_chunks(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n")


@behaviour
async def cut_header(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/h")


@behaviour
async def garbage(exchange: Exchange) -> None:
    await exchange.raw(bytes(range(256)) * 16)


@behaviour
async def bare_words(exchange: Exchange) -> None:
    """HTTP/0.9: a body without a header."""
    await exchange.raw(PAGE)


@behaviour
async def switching(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\nother words")


@behaviour
async def coded_transfer(exchange: Exchange) -> None:
    """A transfer coding that the client did not ask for."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + gzip.compress(PAGE))


@behaviour
async def two_lengths(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\n" + b"5" * 50)


@behaviour
async def unasked_304(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 304 Not Modified\r\n\r\n")


@behaviour
async def escapes(exchange: Exchange) -> None:
    """A status line that a terminal would obey."""
    await exchange.answer(status="599 \x1b[2J\x1b]0;owned\x07 " + "long " * 100)


@behaviour
async def false_trailer(exchange: Exchange) -> None:
    """A trailer that looks like another response."""
    await exchange.raw(b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHTTP/1.1 200 OK: yes\r\n\r\n")


@behaviour
async def negative_length(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: -5\r\n\r\n" + PAGE)


@behaviour
async def astronomic_length(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %b\r\n\r\n" % (b"9" * 40) + PAGE)


@behaviour
async def overflowing_chunk(exchange: Exchange) -> None:
    """A chunk size that overflows 64 bits."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
    await exchange.raw(b"F" * 30 + b"\r\n" + PAGE)


@behaviour
async def length_and_chunks(exchange: Exchange) -> None:
    """Two framings that contradict each other, as in request smuggling."""
    await exchange.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"%x\r\n%b\r\n0\r\n\r\n" % (len(PAGE), PAGE)
    )


@behaviour
async def smuggled(exchange: Exchange) -> None:
    """A page followed by a response to a request that was not sent yet."""
    forged = b"<title>Forged</title>"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
    exchange.writer.write(head % len(PAGE) + PAGE + head % len(forged) + forged)


@behaviour
async def no_such_status(exchange: Exchange) -> None:
    """An invalid status: `of`."""
    await exchange.answer(status=exchange.query["of"])


@behaviour
async def nul_in_header(exchange: Exchange) -> None:
    await exchange.answer(more="X-Nul: a\0b\r\n")


@behaviour
async def header_without_colon(exchange: Exchange) -> None:
    await exchange.answer(more="this is no header\r\n")


@behaviour
async def controls_in_headers(exchange: Exchange) -> None:
    """Escape sequences in every header that is stored."""
    evil = "\x1b[2J\x1b]0;owned\x07\x7f\x85"
    await exchange.answer(
        kind=f"text/html; charset={evil}",
        more=f'ETag: "{evil}"\r\nLast-Modified: {evil}\r\nLink: <{evil}>; rel=next\r\nContent-Language: {evil}\r\n',
    )


@behaviour
async def reset(exchange: Exchange) -> None:
    """Reset the connection instead of answering."""
    exchange.keep = False
    _send_reset(exchange)


@behaviour
async def reset_in_body(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n" + PAGE)
    await asyncio.sleep(0.1)
    _send_reset(exchange)


def _send_reset(exchange: Exchange) -> None:
    connection: socket.socket = exchange.writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.writer.transport.abort()


@behaviour
async def hang_up(exchange: Exchange) -> None:
    exchange.keep = False


# -- redirects -------------------------------------------------------------------------------------------------------


@behaviour
async def redirect(exchange: Exchange) -> None:
    """Redirect to `to`, with a body as servers send it."""
    to = f"Location: {exchange.query['to']}\r\n" if "to" in exchange.query else ""
    await exchange.answer(b"<p>Moved.", status=exchange.query.get("status", "302 Found"), more=to)


@behaviour
async def loop(exchange: Exchange) -> None:
    await exchange.answer(status="301 Moved Permanently", more=f"Location: {exchange.request.target}\r\n")


@behaviour
async def hops(exchange: Exchange) -> None:
    """`left` redirects, then `then` (default: a page)."""
    left = int(exchange.query.get("left", "1"))
    then = exchange.query.get("then", "page")
    to = f"/hops?left={left - 1}&then={then}" if left > 1 else f"/{then}"
    await exchange.answer(b"", status="301 Moved Permanently", more=f"Location: {to}\r\n")


@behaviour
async def there_and_back(exchange: Exchange) -> None:
    """Two redirects that lead to each other."""
    back = "/there-and-back" if "back" in exchange.query else "/there-and-back?back=1"
    await exchange.answer(b"", status="301 Moved Permanently", more=f"Location: {back}\r\n")


@behaviour
async def long_location(exchange: Exchange) -> None:
    """A redirect to a URL of `length` characters."""
    to = "/page?" + "l" * int(exchange.query["length"])
    await exchange.answer(b"", status="302 Found", more=f"Location: {to}\r\n")


@behaviour
async def robots_5_hops(exchange: Exchange) -> None:
    exchange.query["left"], exchange.query["then"] = "5", "rules"
    await hops(exchange)


@behaviour
async def robots_6_hops(exchange: Exchange) -> None:
    exchange.query["left"], exchange.query["then"] = "6", "rules"
    await hops(exchange)


@behaviour
async def rules(exchange: Exchange) -> None:
    await exchange.answer(b"User-agent: *\nDisallow: /private\n", kind="text/plain")


# -- robots.txt ------------------------------------------------------------------------------------------------------


@behaviour
async def stern_rules(exchange: Exchange) -> None:
    await exchange.answer(b"User-agent: *\nDisallow: /\n", kind="text/plain")


@behaviour
async def odd_rules(exchange: Exchange) -> None:
    """A byte order mark, line ends of an old Mac, blanks, capitals, and a wrong type."""
    rules = b"\xef\xbb\xbf USER-AGENT :\t*\r  disallow\t: /private # secret\rfoo: bar\r:\r\r"
    await exchange.answer(rules, kind="application/octet-stream")


@behaviour
async def binary_rules(exchange: Exchange) -> None:
    await exchange.answer(bytes(range(256)) * 1000, kind="text/plain")


@behaviour
async def slow_rules(exchange: Exchange) -> None:
    """Patterns that take a backtracking matcher years."""
    stars = b"*a" * 200
    await exchange.answer(b"User-agent: *\n" + b"Disallow: /%b$\n" % stars * 500, kind="text/plain")


@behaviour
async def patient_rules(exchange: Exchange) -> None:
    """A delay of three hundred years."""
    await exchange.answer(b"User-agent: *\nCrawl-delay: 9999999999\n", kind="text/plain")


@behaviour
async def forbidden(exchange: Exchange) -> None:
    await exchange.answer(status="403 Forbidden")


@behaviour
async def busy(exchange: Exchange) -> None:
    await exchange.answer(status="503 Service Unavailable", more="Retry-After: 7200\r\n")


@behaviour
async def broken(exchange: Exchange) -> None:
    await exchange.answer(status="500 Internal Server Error")


# -- HEAD ------------------------------------------------------------------------------------------------------------


@behaviour
async def no_head(exchange: Exchange) -> None:
    """HEAD is not allowed; GET returns 100 kB."""
    if exchange.request.method == "HEAD":
        await exchange.answer(status="405 Method Not Allowed")
    else:
        await exchange.answer(b"x" * 100_000, kind="image/png")


@behaviour
async def hang_up_head(exchange: Exchange) -> None:
    """HEAD gets no response at all; GET does."""
    if exchange.request.method == "HEAD":
        exchange.keep = False
    else:
        await exchange.answer()


# Names of all behaviours that need no parameter.
WIRE = tuple(sorted(BEHAVIOURS.keys() - {"big-headers", "long-location", "no-such-status"}))
