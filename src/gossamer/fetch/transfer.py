"""One transfer: a libcurl handle, the request it works on, its limits, and how it ended.

In: a `Request`, in one attempt or several. Out: a `FetchResult` for each attempt; the fetcher decides about the next.
A transfer sets its handle up once and reuses it for many requests; each attempt sets only the options that differ. The
callbacks run inside libcurl. So they are short, touch only their own transfer, and refuse by their return value: pycurl
would only print an exception.
"""

from __future__ import annotations

import os
import socket
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pycurl

from gossamer.errors import SettingsError
from gossamer.fetch.large_bodies import SMALL_BODY
from gossamer.fetch.response import ResponseHead, ResponseVerdict, clean_reason, judge_head, parse_head
from gossamer.model import FetchResult, Outcome, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.config import FetchSettings
    from gossamer.fetch.large_bodies import LargeBodyLimiter
    from gossamer.fetch.response import ResponseLimits
    from gossamer.model import Request

ABORT = 0  # bytes accepted: fewer than given make libcurl end the transfer
PAUSE: int = pycurl.WRITEFUNC_PAUSE
NO_SOCKET: int = pycurl.SOCKET_BAD
# Bytes of an unwanted body (of a redirect, a 404, an image) that are read and dropped, to reuse the connection. Reading
# more costs more than a new connection.
MAX_DRAINED_BYTES = 16 << 10

# Files of certificate authorities on common systems. The libcurl in the wheel knows only the path on its build machine.
CA_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)

# libcurl's numbers that pycurl has no names for.
SUPPRESS_CONNECT_HEADERS = 265  # CURLOPT_SUPPRESS_CONNECT_HEADERS
E_PROXY = 97  # CURLE_PROXY
E_TOO_LARGE = 100  # CURLE_TOO_LARGE
TLS_FAULTS = (
    pycurl.E_SSL_CONNECT_ERROR,
    pycurl.E_PEER_FAILED_VERIFICATION,
    pycurl.E_SSL_CERTPROBLEM,
    pycurl.E_SSL_CIPHER,
    pycurl.E_SSL_CACERT_BADFILE,
    pycurl.E_SSL_ISSUER_ERROR,
    pycurl.E_SSL_INVALIDCERTSTATUS,
)
FAULT_OUTCOMES = {
    pycurl.E_COULDNT_RESOLVE_HOST: Outcome.DNS,
    pycurl.E_URL_MALFORMAT: Outcome.DNS,  # the URL is canonical, so libcurl rejects the host name
    pycurl.E_COULDNT_RESOLVE_PROXY: Outcome.CONNECT,
    pycurl.E_COULDNT_CONNECT: Outcome.CONNECT,
    pycurl.E_SEND_ERROR: Outcome.CONNECT,
    pycurl.E_GOT_NOTHING: Outcome.CONNECT,
    E_PROXY: Outcome.CONNECT,
    E_TOO_LARGE: Outcome.HEADERS_TOO_BIG,
    **dict.fromkeys(TLS_FAULTS, Outcome.TLS),
}
# Messages where libcurl has none.
FAULT_MESSAGES = {
    pycurl.E_OK: "the answer's header ends in the middle",
    E_TOO_LARGE: "a line of more than 100 KiB",  # CURL_MAX_HTTP_HEADER
}


def user_agent(settings: FetchSettings) -> str:
    """Return the User-Agent of the crawler."""
    name = f"{settings.product}/{version('gossamer')}"
    return f"{name} (+{settings.contact})" if settings.contact else name


def certificate_file(settings: FetchSettings) -> str:
    """Return the file of certificate authorities to trust: the user's, else the system's, else certifi's."""
    if settings.ca_file:
        if not Path(settings.ca_file).is_file():
            raise SettingsError(f'ca_file: there is no file "{settings.ca_file}".')
        return settings.ca_file
    bundles = (os.environ.get("SSL_CERT_FILE", ""), *CA_BUNDLES)
    return next((bundle for bundle in bundles if bundle and Path(bundle).is_file()), None) or _other_certificate_file()


def _other_certificate_file() -> str:
    """Return the file that Python trusts, else certifi's."""
    import ssl  # noqa: PLC0415  with certifi 25 ms of every start, which systems with a known file save

    import certifi  # noqa: PLC0415

    return ssl.get_default_verify_paths().cafile or certifi.where()


def handle_options(settings: FetchSettings) -> dict[int, Any]:
    """Return the libcurl options that are the same for every request."""
    authorities = certificate_file(settings)
    return {
        # libcurl supports many protocols and follows redirects; the crawler allows neither.
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.REDIR_PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.FOLLOWLOCATION: 0,
        pycurl.NETRC: pycurl.NETRC_IGNORED,
        pycurl.PROXY: settings.proxy,  # "" also makes it ignore http_proxy and similar variables
        pycurl.NOPROXY: "",
        pycurl.HEADEROPT: pycurl.HEADER_SEPARATE,  # the proxy must not get the headers for the host
        SUPPRESS_CONNECT_HEADERS: 1,  # headers of the proxy are not headers of the host
        # HTTP/2 gains nothing with one polite connection to a host, and costs memory on broad crawls.
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.HTTP09_ALLOWED: 0,
        pycurl.HTTP_CONTENT_DECODING: 0,  # parsers decode, under a size limit
        pycurl.PATH_AS_IS: 1,  # the URL is canonical already
        pycurl.USERAGENT: user_agent(settings),
        pycurl.SSL_VERIFYPEER: 1,
        pycurl.SSL_VERIFYHOST: 2,
        pycurl.CAINFO: authorities,
        pycurl.PROXY_CAINFO: authorities,
        pycurl.CONNECTTIMEOUT_MS: round(settings.connect_timeout * 1000),
        pycurl.TIMEOUT_MS: round(settings.timeout * 1000),
        pycurl.LOW_SPEED_LIMIT: settings.min_rate,
        pycurl.LOW_SPEED_TIME: settings.min_rate_seconds,
        pycurl.TCP_NODELAY: 1,
        pycurl.NOSIGNAL: 1,
    }


class Transfer:
    """A libcurl handle, the request it works on, and the attempt it is busy with.

    An attempt is a request too: the redirect target of a robots.txt, or a GET after a HEAD.
    """

    request: Request
    attempt: Request
    hops: int  # redirects followed so far

    def __init__(
        self,
        settings: FetchSettings,
        options: Mapping[int, Any],
        refusal: Callable[[str], str],
        on_public_address: Callable[[str], None],
        body_limiter: LargeBodyLimiter,
    ) -> None:
        """`on_public_address` gets the URL when a host that may be private has a public address."""
        self._settings = settings
        self._refusal = refusal
        self._on_public_address = on_public_address
        self._body_limiter = body_limiter
        self._header_lines: list[bytes] = []
        self._headers: list[bytes] = []  # set on the handle
        self._is_head = self._has_method = False
        self.is_vetting = False  # it only checks the addresses and connects to none; see `_open_socket`
        self.handle = pycurl.Curl()
        for option, value in options.items():
            self.handle.setopt(option, value)
        # The list's own append saves 2 µs a page against a Python function; libcurl limits all lines to 300 KiB.
        self.handle.setopt(pycurl.HEADERFUNCTION, self._header_lines.append)
        self.handle.setopt(pycurl.WRITEFUNCTION, self._write)
        self.handle.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)

    def assign(self, request: Request) -> None:
        """Take over a request; `begin` starts the attempts at it."""
        self.request = request
        self.hops = 0
        self._milliseconds = 0  # of its attempts so far

    def begin(
        self, attempt: Request, headers: list[bytes], limits: ResponseLimits, *, is_private: bool, is_vetting: bool
    ) -> None:
        """Prepare the handle for an attempt. `is_private`: its origin may have a private address."""
        self.attempt = attempt
        self._limits = limits
        self._is_private = is_private
        self._header_lines.clear()
        self._chunks: list[bytes] = []
        self._size = 0
        self._size_allowed = 0  # bytes of body to keep without further checks
        self._head: ResponseHead | None = None
        self._verdict: ResponseVerdict | None = None
        self._refusal_reason = ""  # of the guard
        self._vetted = False  # a vetting attempt has seen an address
        self._socket_error = ""  # why a socket could not be opened
        setopt = self.handle.setopt
        setopt(pycurl.URL, attempt.url)
        if headers is not self._headers:
            setopt(pycurl.HTTPHEADER, headers)
            self._headers = headers
        if attempt.method or self._has_method:
            self._set_method(attempt)
        elif attempt.head is not self._is_head:
            setopt(pycurl.NOBODY if attempt.head else pycurl.HTTPGET, 1)
            self._is_head = attempt.head
        if is_vetting is not self.is_vetting:
            setopt(pycurl.PROXY, "" if is_vetting else self._settings.proxy)
            self.is_vetting = is_vetting

    def _set_method(self, attempt: Request) -> None:
        """Set another method than GET and HEAD with its body, or go back to those."""
        self._has_method = bool(attempt.method)
        if attempt.method:
            self.handle.setopt(pycurl.POSTFIELDS, attempt.body)
            self.handle.setopt(pycurl.CUSTOMREQUEST, attempt.method)
        else:
            self.handle.unsetopt(pycurl.CUSTOMREQUEST)
            self.handle.setopt(pycurl.NOBODY if attempt.head else pycurl.HTTPGET, 1)
        self._is_head = attempt.head

    def end(self, errno: int, message: str) -> FetchResult:
        """Return how the attempt ended, by libcurl's result and the callbacks."""
        self._body_limiter.release(self)
        handle = self.handle
        chunks, self._chunks = self._chunks, []  # an idle transfer must not hold a body in memory
        if self._verdict is None:
            self._judge_head()
        verdict = self._verdict
        if self._refusal_reason and errno == pycurl.E_COULDNT_CONNECT:  # otherwise another address was public
            verdict = ResponseVerdict(Outcome.ADDRESS, self._refusal_reason)
        elif self._vetted:
            verdict = ResponseVerdict(Outcome.CHECKED)
        elif verdict is None or (verdict.outcome is Outcome.FETCHED and errno and not self._is_truncated()):
            verdict = self._failure_verdict(errno, message)
        self._milliseconds += handle.getinfo(pycurl.TOTAL_TIME_T) // 1000
        head = self._head
        return FetchResult(
            request=self.request,
            outcome=verdict.outcome,
            reason=verdict.reason,
            status=head.status if head else 0,
            headers=head.headers if head else {},
            body=b"".join(chunks) if verdict.outcome is Outcome.FETCHED else b"",
            milliseconds=self._milliseconds,
            address=handle.getinfo(pycurl.PRIMARY_IP),
            location=verdict.location,
        )

    def abandon(self) -> None:
        """Drop the attempt."""
        self._body_limiter.release(self)
        self._chunks = []

    def close(self) -> None:
        """Free the handle."""
        self.handle.close()

    # -- called by libcurl -------------------------------------------------------------------------------------------

    def _write(self, chunk: bytes) -> int | None:
        """Keep a chunk of the body, or end the transfer."""
        try:
            if self._verdict is None:
                self._judge_head()
            self._size += len(chunk)
            if self._size <= self._size_allowed:
                self._chunks.append(chunk)
                return None
            return self._write_large(chunk)
        except MemoryError:  # libcurl takes no exception; the transfer fails
            return ABORT

    def _write_large(self, chunk: bytes) -> int | None:
        verdict = self._verdict
        if verdict is None or verdict.outcome is not Outcome.FETCHED:
            return None if self._size <= MAX_DRAINED_BYTES else ABORT
        if self._size > verdict.limit:
            self._chunks.append(chunk[: verdict.limit - self._size])
            if self.attempt.role is not Role.ROBOTS:
                self._verdict = ResponseVerdict(Outcome.TOO_BIG, f"more than {verdict.limit} bytes")
            return ABORT
        allowed = self._body_limiter.grow(self, self._size, verdict.limit)
        if not allowed:
            self._size -= len(chunk)  # libcurl passes it again after the pause
            return PAUSE
        self._size_allowed = allowed
        self._chunks.append(chunk)
        return None

    def _open_socket(self, _purpose: int, address: Any) -> int:
        """Open a socket for an address, unless the guard refuses it.

        With a proxy, all connections go to the proxy, so a vetting attempt checks the addresses of the host first. It
        uses no proxy, gets here each address that the host resolves to, and opens none of them.

        The result is a plain descriptor: pycurl would duplicate a socket object, and child processes would inherit it.
        """
        reason = self._refusal(address.addr[0]) if self.is_vetting or not self._settings.proxy else ""
        if self._is_private:
            if not reason and not self._settings.proxy:
                self._on_public_address(self.attempt.url)
            reason = ""
        self._refusal_reason = self._refusal_reason or reason
        self._vetted = self.is_vetting
        if reason or self.is_vetting:
            return NO_SOCKET
        try:
            return socket.socket(address.family, address.socktype, address.protocol).detach()
        except OSError as error:  # no descriptor left, or the machine lacks this address family
            self._socket_error = error.strerror or str(error)
            return NO_SOCKET

    # -- what it means ----------------------------------------------------------------------------------------------

    def _judge_head(self) -> None:
        """Judge the header if it is complete."""
        limit = self._settings.max_header_bytes
        if sum(map(len, self._header_lines)) > limit:
            self._verdict = ResponseVerdict(Outcome.HEADERS_TOO_BIG, f"more than {limit} bytes")
            return
        self._head = parse_head(self._header_lines)
        if self._head is not None:
            self._verdict = judge_head(self.attempt, self._head, self._limits)
            self._size_allowed = min(self._verdict.limit, SMALL_BODY)

    def _is_truncated(self) -> bool:
        return self.attempt.role is Role.ROBOTS and self._verdict is not None and self._size > self._verdict.limit

    def _failure_verdict(self, errno: int, message: str) -> ResponseVerdict:
        """Return the verdict for an error of libcurl."""
        if errno == pycurl.E_OPERATION_TIMEDOUT:
            return self._timeout_verdict(message)
        if errno == pycurl.E_RECV_ERROR and message.startswith("Too large response headers"):
            return ResponseVerdict(Outcome.HEADERS_TOO_BIG, clean_reason(message))
        broken = self.handle.getinfo(pycurl.OS_ERRNO)
        outcome = (
            Outcome.CONNECT if broken and errno == pycurl.E_RECV_ERROR else FAULT_OUTCOMES.get(errno, Outcome.BAD_HTTP)
        )
        if outcome is Outcome.CONNECT and (broken or self._socket_error):
            message = self._socket_error or os.strerror(broken)
        return ResponseVerdict(
            outcome, clean_reason(message or FAULT_MESSAGES.get(errno) or pycurl.easy_strerror(errno))
        )

    def _timeout_verdict(self, message: str) -> ResponseVerdict:
        """Return which time limit was exceeded: libcurl has one error for all, only the messages differ."""
        settings = self._settings
        too_slow = message.startswith("Operation too slow")
        seconds = settings.min_rate_seconds if too_slow else settings.timeout
        if not message.startswith("Operation"):  # "Connection timed out", "Resolving timed out", "SSL connection ..."
            seconds = min(settings.connect_timeout, settings.timeout)
            return ResponseVerdict(Outcome.TIMEOUT, f"no connection within {seconds:g} s")
        if not self._header_lines:
            return ResponseVerdict(Outcome.TIMEOUT, f"no answer within {seconds:g} s")
        if too_slow:
            return ResponseVerdict(Outcome.TOO_SLOW, f"less than {settings.min_rate} bytes/s for {seconds} s")
        return ResponseVerdict(Outcome.TIMEOUT, f"not complete within {seconds:g} s")
