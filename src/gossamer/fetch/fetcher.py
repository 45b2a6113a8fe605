"""URL -> bytes: hundreds of transfers at a time over libcurl's multi interface, in the thread of the crawl loop.

In: `Request`s. Out: `FetchResult`s, each with an `Outcome`; failures are outcomes, not exceptions. The fetcher
registers libcurl's sockets in the loop's selector, and the loop calls it back when one is ready:

    fetcher.start(request)
    for key, mask in selector.select(fetcher.next_timeout(now)):
        key.data(mask)
    fetcher.tick(now)
    for fetched in fetcher.take_results(): ...

The fetcher returns redirects of pages, because the loop decides whether it wants their target. It follows only those of
robots.txt, hop by hop (RFC 9309 §2.3.1.2). Guard, limits and credentials apply to each hop as to a new request.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pycurl

from gossamer.fetch import guard
from gossamer.fetch.credentials import host_headers
from gossamer.fetch.large_bodies import LargeBodyLimiter
from gossamer.fetch.response import ResponseLimits, conditional_headers
from gossamer.fetch.transfer import Transfer, handle_options
from gossamer.model import Outcome, Role
from gossamer.urls.canonical import authority, origin

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable, Mapping, Sequence

    from gossamer.config import FetchSettings, HostSettings
    from gossamer.model import FetchResult, Request

ROBOTS_REDIRECTS = 5  # RFC 9309 §2.3.1.2: "at least five consecutive redirects"
ENCODINGS = "gzip, deflate, br, zstd"  # what parsers decode
# Servers without HEAD answer it with many different errors. These two concern the load, not the method.
TRUSTED_HEAD_STATUSES = frozenset({429, 503})


class Fetcher:
    """Runs transfers. One thread owns it; `close` it before its selector."""

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
        """`idle_connections`: how many connections to keep open, beside those in use, for later requests."""
        self._settings = settings
        self._extra_headers = host_headers(hosts, os.environ)
        self.accept_types(accept)
        refusal = partial(guard.refusal, allowed=guard.parse_networks(settings.allow_private))
        body_limiter = LargeBodyLimiter(settings.max_bytes)
        self._new_transfer = partial(
            Transfer, settings, handle_options(settings), refusal, self._on_public_address, body_limiter
        )
        self._private_origins: set[str] = set()  # origins that may have private addresses
        self._public_hosts: set[str] = set()  # hosts of these that had a public one
        self._transfers = transfers
        self._idle: list[Transfer] = []
        self._active: dict[pycurl.Curl, Transfer] = {}
        self._results: list[FetchResult] = []
        self._selector = selector
        self._watched: dict[int, Callable[[int], None]] = {}  # libcurl's sockets and their callbacks
        self._timer_seconds: float | None = None  # libcurl asked to be called after so many seconds ...
        self._timer_due: float | None = None  # ... which is this time on the loop's clock, once it is known
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, transfers + idle_connections)

    @property
    def active_count(self) -> int:
        """The number of requests in progress."""
        return len(self._active)

    def accept_types(self, types: Sequence[str]) -> None:
        """Set the media types to fetch."""
        self._limits = ResponseLimits(frozenset(types), self._settings.max_bytes)
        base = {"Accept": ", ".join((*types, "*/*;q=0.1")), "Accept-Encoding": ENCODINGS}
        self._headers = _header_lines(base)
        self._host_headers = {
            host_origin: _header_lines(_merge_headers(base, extra))
            for host_origin, extra in self._extra_headers.items()
        }

    def allow_private(self, url: str) -> None:
        """Allow private addresses for the origin of a URL that the user gave.

        This ends once the host had a public address, because the user meant that one. A later private address is
        probably an attack (DNS rebinding).
        """
        if authority(url) not in self._public_hosts:
            self._private_origins.add(origin(url))

    def _on_public_address(self, url: str) -> None:
        self._public_hosts.add(authority(url))
        self._private_origins -= {f"http://{authority(url)}", f"https://{authority(url)}"}

    def start(self, request: Request) -> None:
        """Start a transfer; `take_results` returns its result later."""
        transfer = self._idle.pop() if self._idle else self._new_transfer()
        transfer.assign(request)
        attempt = msgspec.structs.replace(request, head=True) if request.role is Role.CHECK else request
        self._begin(transfer, attempt, is_vetting=self._needs_vetting(attempt.url))

    def take_results(self) -> list[FetchResult]:
        """Return the results since the last call."""
        results, self._results = self._results, []
        return results

    def next_timeout(self, now: float) -> float | None:
        """Return the seconds until `tick` is due, None when it is not; `now` is in seconds of any one clock."""
        if self._timer_seconds is None:
            return None
        if self._timer_due is None:
            self._timer_due = now + self._timer_seconds
        return max(0.0, self._timer_due - now)

    def tick(self, now: float) -> None:
        """Do the work that needs no ready socket: new transfers, timeouts."""
        if self.next_timeout(now) == 0.0:
            self._timer_seconds = self._timer_due = None
            self._socket_action(pycurl.SOCKET_TIMEOUT, 0)

    def cancel_all(self) -> None:
        """Drop all requests in progress, without results."""
        for transfer in list(self._active.values()):
            self._multi.remove_handle(transfer.handle)
            transfer.abandon()
            self._release(transfer)

    def close(self) -> None:
        """Cancel all requests and close all connections."""
        self.cancel_all()
        for transfer in self._idle:
            transfer.close()
        self._idle.clear()
        for descriptor in list(self._watched):
            self._unwatch(descriptor)
        self._multi.close()

    # -- from attempt to attempt -------------------------------------------------------------------------------------

    def _begin(self, transfer: Transfer, attempt: Request, *, is_vetting: bool) -> None:
        host_origin = origin(attempt.url)
        headers = self._host_headers.get(host_origin, self._headers)
        if attempt.role is Role.SUBRESOURCE:
            headers = self._subresource_headers(attempt, host_origin)
        conditions = conditional_headers(attempt)
        transfer.begin(
            attempt,
            headers + conditions if conditions else headers,
            self._limits,
            is_private=host_origin in self._private_origins,
            is_vetting=is_vetting,
        )
        self._active[transfer.handle] = transfer
        self._multi.add_handle(transfer.handle)

    def _subresource_headers(self, attempt: Request, host_origin: str) -> list[bytes]:
        """Return what scripts set, without a word of theirs about what the user set for the host."""
        merged = _merge_headers({"Accept": "*/*", "Accept-Encoding": ENCODINGS}, attempt.headers)
        own = self._extra_headers.get(host_origin, {}) if attempt.has_credentials else {}
        return _header_lines(_merge_headers(merged, own))

    def _needs_vetting(self, url: str) -> bool:
        """Return whether the addresses of a host must be checked before a proxy is asked for the URL."""
        return (
            bool(self._settings.proxy) and not self._settings.trust_proxy and origin(url) not in self._private_origins
        )

    def _collect(self) -> None:
        """Collect the transfers that libcurl has finished."""
        _, done, failed = self._multi.info_read()
        for handle in done:
            self._finish(handle, 0, "")
        for handle, errno, message in failed:
            self._finish(handle, errno, message)

    def _finish(self, handle: pycurl.Curl, errno: int, message: str) -> None:
        transfer = self._active[handle]
        fetched = transfer.end(errno, message)
        self._multi.remove_handle(handle)
        attempt = _next_attempt(transfer, fetched)
        if attempt is None:
            self._release(transfer)
            self._results.append(self._describe_failure(transfer, fetched))
            return
        is_redirected = attempt.url != transfer.attempt.url
        transfer.hops += is_redirected
        self._begin(transfer, attempt, is_vetting=is_redirected and self._needs_vetting(attempt.url))

    def _release(self, transfer: Transfer) -> None:
        del self._active[transfer.handle]
        if len(self._idle) < self._transfers:
            self._idle.append(transfer)
        else:
            transfer.close()

    def _describe_failure(self, transfer: Transfer, fetched: FetchResult) -> FetchResult:
        """Return the result of the last attempt, with what only the fetcher knows about its failure."""
        outcome, reason, replace = fetched.outcome, fetched.reason, msgspec.structs.replace
        if outcome is Outcome.REDIRECTED and transfer.request.role is Role.ROBOTS:
            reason = f"more than {ROBOTS_REDIRECTS} redirects"
            return replace(fetched, outcome=Outcome.TOO_MANY_REDIRECTS, reason=reason, location="")
        if outcome is Outcome.DNS and transfer.is_vetting:
            reason += "; names are looked up before the proxy is asked, unless it is trusted (trust_proxy)"
            return replace(fetched, reason=reason)
        if fetched.status == 401 and self._withholds_secrets(transfer.attempt.url):
            return replace(fetched, reason=f"{reason}; the credentials of this host are sent over https only")
        return fetched

    def _withholds_secrets(self, url: str) -> bool:
        host_origin = origin(url)
        secure = self._host_headers.get(host_origin.replace("http://", "https://", 1))
        return secure is not None and secure != self._host_headers.get(host_origin)

    # -- called by libcurl and the selector ----------------------------------------------------------------------------

    def _socket_action(self, descriptor: int, mask: int) -> None:
        """Let libcurl work on a ready socket, or on timeouts."""
        if descriptor != pycurl.SOCKET_TIMEOUT and descriptor not in self._watched:
            return  # an earlier event of the same `select` closed it
        _, running = self._multi.socket_action(descriptor, mask)  # CSELECT_IN, _OUT are EVENT_READ, _WRITE
        if running < len(self._active):
            self._collect()

    def _set_timer(self, milliseconds: int) -> None:
        self._timer_seconds = milliseconds / 1000 if milliseconds >= 0 else None
        self._timer_due = None

    def _watch(self, event: int, descriptor: int, _multi: pycurl.CurlMulti, _data: object) -> None:
        """Register a socket for the events libcurl waits for; POLL_IN and POLL_OUT are EVENT_READ and EVENT_WRITE."""
        if event == pycurl.POLL_REMOVE:
            self._unwatch(descriptor)
            return
        if descriptor in self._watched:
            self._selector.modify(descriptor, event, self._watched[descriptor])
            return
        if descriptor in self._selector.get_map():  # its last owner closed it without unregistering it
            self._selector.unregister(descriptor)
        self._watched[descriptor] = partial(self._socket_action, descriptor)
        self._selector.register(descriptor, event, self._watched[descriptor])

    def _unwatch(self, descriptor: int) -> None:
        if self._watched.pop(descriptor, None) is not None:
            self._selector.unregister(descriptor)


def _header_lines(headers: Mapping[str, str]) -> list[bytes]:
    """Return headers in libcurl's form, which writes one without a value with a semicolon."""
    return [f"{name}: {value}".encode() if value else f"{name};".encode() for name, value in headers.items()]


def _merge_headers(base: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    replaced = {name.lower() for name in extra}
    return {name: value for name, value in base.items() if name.lower() not in replaced} | dict(extra)


def _next_attempt(transfer: Transfer, fetched: FetchResult) -> Request | None:
    """Return the next attempt at the same request; None when the request has ended."""
    attempt, outcome = transfer.attempt, fetched.outcome
    if transfer.is_vetting:
        return attempt if outcome is Outcome.CHECKED else None
    if attempt.role is Role.ROBOTS and outcome is Outcome.REDIRECTED and transfer.hops < ROBOTS_REDIRECTS:
        return msgspec.structs.replace(attempt, url=fetched.location, etag="", last_modified="")
    if attempt.role is Role.CHECK and attempt.head and _is_head_doubtful(fetched):
        return msgspec.structs.replace(attempt, head=False)
    return None


def _is_head_doubtful(fetched: FetchResult) -> bool:
    """Return whether a GET could get another result than this response to a HEAD."""
    if fetched.status and fetched.outcome is not Outcome.BAD_HTTP:
        return fetched.status >= 400 and fetched.status not in TRUSTED_HEAD_STATUSES
    return fetched.outcome in {Outcome.BAD_HTTP, Outcome.CONNECT} and bool(fetched.address)
