"""URL -> bytes: hundreds of transfers at a time over libcurl's multi interface, in the crawl loop's one thread.

In go `Request`s, out come `Fetched`s; every way it can go is an `Outcome`, none is an exception. The fetcher registers
libcurl's sockets in the loop's selector and is called back when one is ready:

    fetcher.start(request)
    for key, mask in selector.select(fetcher.next_timeout(now)):
        key.data(mask)
    fetcher.tick(now)
    for fetched in fetcher.finished(): ...

Redirects of pages are handed back, for the loop decides whether their target is wanted; only robots.txt is followed
here, hop by hop (RFC 9309 §2.3.1.2). Each hop is a request of its own: guard, limits and credentials start anew.
`answer` judges headers, `transfer` handles one transfer, `guard` the addresses, `credentials` what a host gets to see.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pycurl

from gossamer.fetch import guard
from gossamer.fetch.credentials import host_headers
from gossamer.fetch.response import RequestContext
from gossamer.fetch.transfer import LargeBodyLimiter, Transfer, TransferAttempt, TransferResult, handle_options
from gossamer.model import FetchResult, Outcome, Role
from gossamer.urls.canonical import authority, origin

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable, Mapping, Sequence

    from gossamer.config import FetchSettings, HostSettings
    from gossamer.model import Request

ROBOTS_REDIRECTS = 5  # RFC 9309 §2.3.1.2: "at least five consecutive redirects"
ENCODINGS = "gzip, deflate, br, zstd"  # what parsers decode
# Servers that do not know HEAD answer it with all sorts of errors. These two are about the moment, not the method.
TRUSTED_HEAD_STATUSES = frozenset({429, 503})
FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]+")  # RFC 9110 §5.5


class FetchTask(NamedTuple):
    """A request under way: where it has got to."""

    request: Request
    url: str  # of the present hop
    head: bool  # ask with HEAD
    vetted: bool  # its addresses were looked at, or will be when its socket is opened
    hops: int = 0
    milliseconds: int = 0  # of the hops before


class Fetcher:
    """Makes transfers. Owned by one thread; `close` it before its selector."""

    def __init__(
        self,
        settings: FetchSettings,
        hosts: Mapping[str, HostSettings],
        *,
        accept: Sequence[str],
        selector: selectors.BaseSelector,
        transfers: int,
        idle_connections: int,
    ) -> None:
        """`waiting`: connections that are kept open, beside those in use, for the next request to their host."""
        self._settings = settings
        self._extra_headers = host_headers(hosts, os.environ)
        self.accept_types(accept)
        refusal = partial(guard.refusal, allowed=guard.parse_networks(settings.allow_private))
        body_limiter = LargeBodyLimiter()
        self._new_transfer = partial(
            Transfer, settings, handle_options(settings), refusal, self._on_public_address, body_limiter
        )
        self._private_origins: set[str] = set()  # origins that may live at private addresses
        self._public_hosts: set[str] = set()  # hosts of these that were seen at a public one
        self._transfers = transfers
        self._idle: list[Transfer] = []
        self._tasks: dict[pycurl.Curl, tuple[Transfer, FetchTask]] = {}
        self._results: list[FetchResult] = []
        self._selector = selector
        self._watched: dict[int, Callable[[int], None]] = {}  # libcurl's sockets, with what to call
        self._timer_seconds: float | None = None  # libcurl wants to be called after so many seconds ...
        self._timer_due: float | None = None  # ... which is then, once the loop has told the time
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, transfers + idle_connections)

    @property
    def active_count(self) -> int:
        """Requests under way."""
        return len(self._tasks)

    def accept_types(self, types: Sequence[str]) -> None:
        """Fetch these media types from now on."""
        self._accept = frozenset(types)
        base = {"Accept": ", ".join((*types, "*/*;q=0.1")), "Accept-Encoding": ENCODINGS}
        self._headers = _header_lines(base)
        self._host_headers = {
            host_origin: _header_lines(_merge_headers(base, extra))
            for host_origin, extra in self._extra_headers.items()
        }

    def allow_private(self, url: str) -> None:
        """The user asked for this URL: its scheme, host and port may be at a private address.

        Not any more once its host was met at a public one: whom the user meant lives there, and whoever has its name
        point to a private address afterwards (DNS rebinding) means no good.
        """
        if authority(url) not in self._public_hosts:
            self._private_origins.add(origin(url))

    def _on_public_address(self, url: str) -> None:
        self._public_hosts.add(authority(url))
        self._private_origins -= {f"http://{authority(url)}", f"https://{authority(url)}"}

    def start(self, request: Request) -> None:
        """Begin a transfer; its end will be among the `finished`."""
        transfer = self._idle.pop() if self._idle else self._new_transfer()
        head = request.head or request.role is Role.CHECK
        self._begin(transfer, FetchTask(request, request.url, head=head, vetted=self._needs_no_vetting(request.url)))

    def take_results(self) -> list[FetchResult]:
        """What has ended since the last call."""
        results, self._results = self._results, []
        return results

    def next_timeout(self, now: float) -> float | None:
        """Seconds until `tick` is due, None when nothing; `now` is on the loop's clock, whatever that is."""
        if self._timer_seconds is None:
            return None
        if self._timer_due is None:
            self._timer_due = now + self._timer_seconds
        return max(0.0, self._timer_due - now)

    def tick(self, now: float) -> None:
        """Do what is due without a socket being ready: new transfers, timeouts."""
        if self.next_timeout(now) == 0.0:
            self._timer_seconds = self._timer_due = None
            self._socket_action(pycurl.SOCKET_TIMEOUT, 0)

    def cancel_all(self) -> None:
        """Drop everything under way; nothing of it will be among the `finished`."""
        for transfer, _ in list(self._tasks.values()):
            self._multi.remove_handle(transfer.handle)
            transfer.abandon()
            self._release(transfer)

    def close(self) -> None:
        """Cancel everything, close all connections."""
        self.cancel_all()
        for transfer in self._idle:
            transfer.close()
        self._idle.clear()
        for descriptor in list(self._watched):
            self._unwatch(descriptor)
        self._multi.close()

    # -- from attempt to attempt -------------------------------------------------------------------------------------

    def _begin(self, transfer: Transfer, task: FetchTask) -> None:
        transfer.begin(self._make_attempt(task))
        self._tasks[transfer.handle] = (transfer, task)
        self._multi.add_handle(transfer.handle)

    def _needs_no_vetting(self, url: str) -> bool:
        return not self._settings.proxy or self._settings.trust_proxy or origin(url) in self._private_origins

    def _make_attempt(self, task: FetchTask) -> TransferAttempt:
        host_origin = origin(task.url)
        headers = self._host_headers.get(host_origin, self._headers)
        conditions = _conditional_headers(task.request) if not task.hops else []
        context = RequestContext(task.url, task.request.role, bool(conditions), self._accept, self._settings.max_bytes)
        return TransferAttempt(
            context,
            headers + conditions if conditions else headers,
            head=task.head,
            private=host_origin in self._private_origins,
            vet=not task.vetted,
        )

    def _collect(self) -> None:
        """Take what libcurl has finished."""
        _, done, failed = self._multi.info_read()
        for handle in done:
            self._finish(handle, 0, "")
        for handle, errno, message in failed:
            self._finish(handle, errno, message)

    def _finish(self, handle: pycurl.Curl, errno: int, message: str) -> None:
        transfer, task = self._tasks[handle]
        ending = transfer.end(errno, message)
        self._multi.remove_handle(handle)
        next_task = self._next_task(task, ending)
        if next_task is not None:
            self._begin(transfer, next_task)
        else:
            self._release(transfer)
            self._results.append(self._make_result(task, ending))

    def _release(self, transfer: Transfer) -> None:
        del self._tasks[transfer.handle]
        if len(self._idle) < self._transfers:
            self._idle.append(transfer)
        else:
            transfer.close()

    def _next_task(self, task: FetchTask, ending: TransferResult) -> FetchTask | None:
        """The next attempt of the same request; None when it has ended."""
        verdict = ending.verdict
        milliseconds = task.milliseconds + ending.milliseconds
        if not task.vetted:
            return task._replace(vetted=True, milliseconds=milliseconds) if verdict.outcome is Outcome.CHECKED else None
        if task.request.role is Role.ROBOTS and verdict.outcome is Outcome.REDIRECTED and task.hops < ROBOTS_REDIRECTS:
            vetted = self._needs_no_vetting(verdict.location)
            return task._replace(url=verdict.location, vetted=vetted, hops=task.hops + 1, milliseconds=milliseconds)
        if task.request.role is Role.CHECK and task.head and _is_head_doubtful(ending):
            return task._replace(head=False, milliseconds=milliseconds)
        return None

    def _make_result(self, task: FetchTask, ending: TransferResult) -> FetchResult:
        outcome, reason, location, _ = ending.verdict
        if outcome is Outcome.REDIRECTED and task.request.role is Role.ROBOTS:
            outcome, reason, location = Outcome.TOO_MANY_REDIRECTS, f"more than {ROBOTS_REDIRECTS} redirects", ""
        if outcome is Outcome.DNS and not task.vetted:
            reason += "; names are looked up before the proxy is asked, unless it is trusted (trust_proxy)"
        status = ending.head.status if ending.head else 0
        if status == 401 and self._withholds_secrets(task.url):
            reason += "; the credentials of this host are sent over https only"
        return FetchResult(
            request=task.request,
            outcome=outcome,
            reason=reason,
            status=status,
            headers=ending.head.headers if ending.head else {},
            body=ending.body,
            milliseconds=task.milliseconds + ending.milliseconds,
            address=ending.address,
            location=location,
        )

    def _withholds_secrets(self, url: str) -> bool:
        host_origin = origin(url)
        secure = self._host_headers.get(host_origin.replace("http://", "https://", 1))
        return secure is not None and secure != self._host_headers.get(host_origin)

    # -- called by libcurl and the selector ----------------------------------------------------------------------------

    def _socket_action(self, descriptor: int, mask: int) -> None:
        """Let libcurl work on a socket that is ready (or on what is due)."""
        if descriptor != pycurl.SOCKET_TIMEOUT and descriptor not in self._watched:
            return  # closed by what was done for another socket of the same `select`
        _, running = self._multi.socket_action(descriptor, mask)  # CSELECT_IN, _OUT are EVENT_READ, _WRITE
        if running < len(self._tasks):
            self._collect()

    def _set_timer(self, milliseconds: int) -> None:
        self._timer_seconds = milliseconds / 1000 if milliseconds >= 0 else None
        self._timer_due = None

    def _watch(self, event: int, descriptor: int, _multi: pycurl.CurlMulti, _data: object) -> None:
        """Wait for what libcurl waits for. POLL_IN and POLL_OUT are EVENT_READ and EVENT_WRITE."""
        if event == pycurl.POLL_REMOVE:
            self._unwatch(descriptor)
            return
        if descriptor in self._watched:
            self._selector.modify(descriptor, event, self._watched[descriptor])
            return
        if descriptor in self._selector.get_map():  # left by somebody who closed it without a word
            self._selector.unregister(descriptor)
        self._watched[descriptor] = partial(self._socket_action, descriptor)
        self._selector.register(descriptor, event, self._watched[descriptor])

    def _unwatch(self, descriptor: int) -> None:
        if self._watched.pop(descriptor, None) is not None:
            self._selector.unregister(descriptor)


def _header_lines(headers: Mapping[str, str]) -> list[bytes]:
    """Headers as libcurl takes them; one without a value is written with a semicolon."""
    return [f"{name}: {value}".encode() if value else f"{name};".encode() for name, value in headers.items()]


def _merge_headers(base: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    replaced = {name.lower() for name in extra}
    return {name: value for name, value in base.items() if name.lower() not in replaced} | dict(extra)


def _conditional_headers(request: Request) -> list[bytes]:
    """Ask only for what changed (RFC 9110 §13.1). The values are a server's: what could break a header is left out."""
    values = (("If-None-Match", request.etag), ("If-Modified-Since", request.last_modified))
    return [f"{name}: {value}".encode("latin-1") for name, value in values if FIELD_VALUE.fullmatch(value)]


def _is_head_doubtful(ending: TransferResult) -> bool:
    """Does the answer to a HEAD say too little about what a GET would get?"""
    if ending.head is not None and ending.verdict.outcome is not Outcome.BAD_HTTP:
        return ending.head.status >= 400 and ending.head.status not in TRUSTED_HEAD_STATUSES
    return ending.verdict.outcome in {Outcome.BAD_HTTP, Outcome.CONNECT} and bool(ending.address)
