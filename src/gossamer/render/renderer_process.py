"""A renderer process: it runs one browser, and gives it pages and answers.

    python -P -m gossamer.render.renderer_process FD

It stands between the coordinator and the browser, because what a browser sends is hostile once a page has taken it
over. A browser that dies is replaced; the coordinator decides about its pages. The process exits when the coordinator
closes the socket, and the browser with it. If the process is killed, the kernel kills its browser.

`messages` has the frames.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import socket
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from gossamer.processes.framing import EMPTY_FRAME, append_frame, receive_frame, take_frames
from gossamer.processes.limits import cap_data, disable_core_dumps, ignore_interrupts
from gossamer.render.browser_process import BrowserProcess, reserve_pipe_descriptors
from gossamer.render.isolation import IsolationReport
from gossamer.render.messages import AnswerRequest, AskRequest, FinishPage, FromRenderer, LosePages, RunPage, ToRenderer
from gossamer.render.namespaces import adopt_orphans
from gossamer.render.options import RenderOptions
from gossamer.render.pages.browser_tabs import BrowserFlooded, BrowserTabs
from gossamer.render.pages.cdp import CdpBroken, CdpClosed

if TYPE_CHECKING:
    from gossamer.model import PageRequest, RenderedPage

_READ_BYTES = 1 << 20  # read from the coordinator at a time
_FIRST_FREE_DESCRIPTOR = 10  # for the socket, above the browser's
_START_SECONDS = 60.0  # that a browser may take to start
MEMORY_BYTES = 768 << 20  # of this process: twice what four pages take that each get all the responses they may


class BrowserNotStarted(Exception):
    """A browser died before it took commands."""


class Renderer:
    """The loop of the process."""

    def __init__(self, connection: socket.socket, options: RenderOptions, isolation: IsolationReport) -> None:
        self._connection = connection
        self._options = options
        self._isolation = isolation
        self._outgoing = bytearray()
        self._incoming = bytearray()
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._decode = msgspec.msgpack.Decoder(ToRenderer).decode
        self._max_message = 2 * options.max_bytes + _READ_BYTES
        self._last_number = 0
        self._has_reported = False
        self._selector = selectors.DefaultSelector()
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ)
        self._start_browser()

    def run(self) -> None:
        """Serve until the coordinator is gone."""
        try:
            while self._step():
                pass
        finally:
            self._browser.end()

    def _start_browser(self) -> None:
        self._browser = BrowserProcess(self._options, self._isolation)
        pipes = self._browser.incoming, self._browser.outgoing
        self._tabs = BrowserTabs(pipes, self._options, self)
        self._selector.register(self._browser.incoming, selectors.EVENT_READ)

    def _replace_browser(self, cause: str, *, is_suspicious: bool = True, has_exited: bool = False) -> None:
        """Start another browser, and tell the coordinator which pages this one had."""
        self._selector.unregister(self._browser.incoming)
        if self._tabs.connection.outgoing in self._selector.get_map():
            self._selector.unregister(self._tabs.connection.outgoing)
        end = self._browser.end_after_exit() if has_exited else self._browser.end()
        reason = f"the browser {end}" if end != "was ended" else cause
        if not self._tabs.is_ready:
            raise BrowserNotStarted(reason)
        if self._tabs.jobs:
            self._send(LosePages(self._tabs.jobs, reason, is_suspicious, self._tabs.is_tainted))
        self._start_browser()

    def _step(self) -> bool:
        """Handle what is ready; return False when the coordinator is gone."""
        for key, mask in self._selector.select(self._timeout()):
            if key.fileobj is self._connection and mask & selectors.EVENT_READ and not self._read():
                return False
        try:
            self._tabs.connection.read()
            self._tabs.connection.write()
            self._tabs.on_time()
            if self._tabs.must_be_replaced:
                self._replace_browser("a page had to be stopped", is_suspicious=False)
        except BrowserFlooded:
            self._replace_browser("a page made too many requests", is_suspicious=False)
        except CdpClosed:
            self._replace_browser("the browser closed its pipe", has_exited=True)
        except (CdpBroken, KeyError, TypeError, ValueError) as fault:
            self._replace_browser(f"the browser sends what makes no sense: {fault}")
        if self._tabs.is_ready and not self._has_reported:
            self._has_reported = True
            self._outgoing += EMPTY_FRAME
        elif not self._tabs.is_ready and time.monotonic() > self._browser.started + _START_SECONDS:
            self._replace_browser("the browser did not start")
        return self._write()

    def _timeout(self) -> float | None:
        deadline = self._tabs.deadline if self._tabs.is_ready else self._browser.started + _START_SECONDS
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    def _read(self) -> bool:
        try:
            data = self._connection.recv(_READ_BYTES)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        self._incoming += data
        for message in take_frames(self._incoming, self._max_message):
            match self._decode(message):
                case RunPage() as page:
                    self._tabs.submit(page)
                case AnswerRequest(response):
                    self._tabs.answer(response)
        return bool(data)

    def _send(self, message: FromRenderer) -> None:
        append_frame(self._outgoing, message, self._encode_into)

    def _write(self) -> bool:
        try:
            while self._outgoing:
                del self._outgoing[: self._connection.send(self._outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            return False
        self._watch_for_room(self._connection, is_waiting=bool(self._outgoing))
        pipe = self._tabs.connection
        if pipe.has_unsent != (pipe.outgoing in self._selector.get_map()):
            if pipe.has_unsent:
                self._selector.register(pipe.outgoing, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(pipe.outgoing)
        return True

    def _watch_for_room(self, connection: socket.socket, *, is_waiting: bool) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if is_waiting else 0)
        if self._selector.get_key(connection).events != events:
            self._selector.modify(connection, events)

    # What tabs need (`browser_tabs.PageOwner`)

    def ask(self, request: PageRequest) -> int:
        """Send a request to the coordinator; return the number of its answer."""
        self._last_number += 1
        self._send(AskRequest(msgspec.structs.replace(request, id=self._last_number)))
        return self._last_number

    def finish(self, page: RenderedPage) -> None:
        """Send a finished page to the coordinator."""
        self._send(FinishPage(page))
        self._browser.collect_orphans()


def main() -> None:
    """Serve the socket whose file descriptor is the first argument."""
    ignore_interrupts()
    descriptor = fcntl.fcntl(int(sys.argv[1]), fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
    os.close(int(sys.argv[1]))
    with socket.socket(fileno=descriptor) as connection:
        first, second = receive_frame(connection), receive_frame(connection)
        if first is None or second is None:
            return
        options = msgspec.msgpack.decode(first, type=RenderOptions)
        isolation = msgspec.msgpack.decode(second, type=IsolationReport)
        disable_core_dumps()
        cap_data(MEMORY_BYTES)
        adopt_orphans()
        reserve_pipe_descriptors()
        try:
            Renderer(connection, options, isolation).run()
        except BrowserNotStarted as fault:
            sys.exit(str(fault))


if __name__ == "__main__":
    main()
