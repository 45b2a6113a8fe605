"""One transfer: a libcurl handle, the limits it works under, and how it ended.

A handle is set up once and then reused for request after request; only what differs is set again. Its callbacks run
inside libcurl, which means: they are short, they touch nothing but their own transfer, and they say no by their return
value, since an exception would only be printed.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections import deque
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import certifi
import pycurl

from gossamer.errors import SettingsError
from gossamer.fetch.response import RequestContext, ResponseHead, ResponseVerdict, clean_reason, judge_head, parse_head
from gossamer.model import Outcome, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.config import FetchSettings


ABORT = 0  # fewer bytes taken than given: libcurl ends the transfer
PAUSE: int = pycurl.WRITEFUNC_PAUSE
NO_SOCKET: int = pycurl.SOCKET_BAD
# A body nobody wants (of a redirect, a 404, an image) is read and dropped up to this size, for then the connection can
# be used again; to read a longer one costs more than a new connection (bytes).
MAX_DRAINED_BYTES = 16 << 10
SMALL_BODY = 1 << 20  # what every body may hold in memory (bytes) ...
MAX_LARGE_BODIES = 8  # ... and how many at a time may hold more, up to the limit of their kind

# Where systems keep their certificate authorities; the library in the wheel knows only the place of the machine it was
# built on.
CA_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)

# Names that pycurl lacks.
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
    pycurl.E_URL_MALFORMAT: Outcome.DNS,  # the URL is canonical: what libcurl does not bear is the host's name
    pycurl.E_COULDNT_RESOLVE_PROXY: Outcome.CONNECT,
    pycurl.E_COULDNT_CONNECT: Outcome.CONNECT,
    pycurl.E_SEND_ERROR: Outcome.CONNECT,
    pycurl.E_GOT_NOTHING: Outcome.CONNECT,
    E_PROXY: Outcome.CONNECT,
    E_TOO_LARGE: Outcome.HEADERS_TOO_BIG,
    **dict.fromkeys(TLS_FAULTS, Outcome.TLS),
}
# Where libcurl has no words.
FAULT_MESSAGES = {
    pycurl.E_OK: "the answer's header ends in the middle",
    E_TOO_LARGE: "a line of more than 100 KiB",  # CURL_MAX_HTTP_HEADER
}


class TransferAttempt(NamedTuple):
    """One request as it goes to libcurl."""

    context: RequestContext
    headers: list[bytes]
    head: bool = False  # HEAD instead of GET
    private: bool = False  # this origin may live at a private address
    vet: bool = False  # connect to nothing, only look at the addresses; see `Transfer._open_socket`


class TransferResult(NamedTuple):
    """How an attempt ended."""

    verdict: ResponseVerdict
    head: ResponseHead | None
    body: bytes
    milliseconds: int
    address: str


class LargeBodyLimiter:
    """Leave for a body to grow large, given to a few at a time; the others wait, their connections paused.

    It bounds the memory of a crawler whatever the web sends: 128 transfers of 32 MiB at once would be 4 GiB, with this
    they are 384 MiB at most (all of them 1 MiB, eight of them 32).
    """

    def __init__(self) -> None:
        self._growing: set[Transfer] = set()
        self._waiting: deque[Transfer] = deque()

    def try_acquire(self, transfer: Transfer) -> bool:
        """May this transfer's body grow? If not, it waits for its turn."""
        if len(self._growing) < MAX_LARGE_BODIES:
            self._growing.add(transfer)
            return True
        self._waiting.append(transfer)
        return False

    def release(self, transfer: Transfer) -> None:
        """A transfer ended: the next one may grow."""
        if transfer in self._waiting:
            self._waiting.remove(transfer)
        elif transfer in self._growing:
            self._growing.remove(transfer)
            if self._waiting:
                self._waiting.popleft().handle.pause(pycurl.PAUSE_CONT)


def user_agent(settings: FetchSettings) -> str:
    """How the crawler introduces itself."""
    name = f"{settings.product}/{version('gossamer')}"
    return f"{name} (+{settings.contact})" if settings.contact else name


def certificate_file(settings: FetchSettings) -> str:
    """The file of certificate authorities to trust: the user's, the system's, or else the one that certifi brings."""
    if settings.ca_file:
        if not Path(settings.ca_file).is_file():
            raise SettingsError(f'ca_file: there is no file "{settings.ca_file}".')
        return settings.ca_file
    system = ssl.get_default_verify_paths().cafile  # also obeys SSL_CERT_FILE
    return next((bundle for bundle in (system, *CA_BUNDLES) if bundle and Path(bundle).is_file()), certifi.where())


def handle_options(settings: FetchSettings) -> dict[int, Any]:
    """What is the same for every request."""
    authorities = certificate_file(settings)
    return {
        # libcurl reads and writes much more than the web, and must follow nothing by itself.
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.REDIR_PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.FOLLOWLOCATION: 0,
        pycurl.NETRC: pycurl.NETRC_IGNORED,
        pycurl.PROXY: settings.proxy,  # "" also keeps it from looking at http_proxy & co.
        pycurl.NOPROXY: "",
        pycurl.HEADEROPT: pycurl.HEADER_SEPARATE,  # what is for the host is not for the proxy
        SUPPRESS_CONNECT_HEADERS: 1,  # and what a proxy says is not what the host says
        # HTTP/2 gains nothing on one polite connection a host, and costs memory on broad crawls.
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.HTTP09_ALLOWED: 0,
        pycurl.HTTP_CONTENT_DECODING: 0,  # parsers decode, under a cap
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
    """A libcurl handle and the attempt it is busy with."""

    def __init__(
        self,
        settings: FetchSettings,
        options: Mapping[int, Any],
        refusal: Callable[[str], str],
        on_public_address: Callable[[str], None],
        body_limiter: LargeBodyLimiter,
    ) -> None:
        """`met_in_public` is told the URL of a host that may be private and has a public address."""
        self._settings = settings
        self._refusal = refusal
        self._on_public_address = on_public_address
        self._body_limiter = body_limiter
        self._header_lines: list[bytes] = []
        self._headers: list[bytes] = []  # those set on the handle
        self._is_head = False
        self._is_vetting = False
        self.handle = pycurl.Curl()
        for option, value in options.items():
            self.handle.setopt(option, value)
        # A list's own append saves 2 µs a page against a function of ours; libcurl bounds what arrives (300 KiB).
        self.handle.setopt(pycurl.HEADERFUNCTION, self._header_lines.append)
        self.handle.setopt(pycurl.WRITEFUNCTION, self._write)
        self.handle.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)

    def begin(self, attempt: TransferAttempt) -> None:
        """Get ready for an attempt."""
        self._attempt = attempt
        self._header_lines.clear()
        self._chunks: list[bytes] = []
        self._size = 0
        self._size_allowed = 0  # bytes of body that may be kept without thinking
        self._head: ResponseHead | None = None
        self._verdict: ResponseVerdict | None = None
        self._refusal_reason = ""  # why the guard said no
        self._vetted = False  # addresses were seen that need no socket
        self._socket_error = ""  # why there was no socket
        setopt = self.handle.setopt
        setopt(pycurl.URL, attempt.context.url)
        if attempt.headers is not self._headers:
            setopt(pycurl.HTTPHEADER, attempt.headers)
            self._headers = attempt.headers
        if attempt.head is not self._is_head:
            setopt(pycurl.NOBODY if attempt.head else pycurl.HTTPGET, 1)
            self._is_head = attempt.head
        if attempt.vet is not self._is_vetting:
            setopt(pycurl.PROXY, "" if attempt.vet else self._settings.proxy)
            self._is_vetting = attempt.vet

    def end(self, errno: int, message: str) -> TransferResult:
        """How the attempt ended, by libcurl's result and what was seen on the way."""
        self._body_limiter.release(self)
        handle = self.handle
        chunks, self._chunks = self._chunks, []  # an idle transfer must not keep a body alive
        if self._verdict is None:
            self._judge_head()
        verdict = self._verdict
        if (
            self._refusal_reason and errno == pycurl.E_COULDNT_CONNECT
        ):  # else another address of the host was a public one
            verdict = ResponseVerdict(Outcome.ADDRESS, self._refusal_reason)
        elif self._vetted:
            verdict = ResponseVerdict(Outcome.CHECKED)
        elif verdict is None or (verdict.outcome is Outcome.FETCHED and errno and not self._is_truncated()):
            verdict = self._failure_verdict(errno, message)
        return TransferResult(
            verdict,
            self._head,
            b"".join(chunks) if verdict.outcome is Outcome.FETCHED else b"",
            handle.getinfo(pycurl.TOTAL_TIME_T) // 1000,
            handle.getinfo(pycurl.PRIMARY_IP),
        )

    def abandon(self) -> None:
        """The attempt was dropped."""
        self._body_limiter.release(self)
        self._chunks = []

    def close(self) -> None:
        """Give back what the handle holds."""
        self.handle.close()

    # -- called by libcurl -------------------------------------------------------------------------------------------

    def _write(self, chunk: bytes) -> int | None:
        """Take a piece of the body, or end the transfer."""
        if self._verdict is None:
            self._judge_head()
        self._size += len(chunk)
        if self._size <= self._size_allowed:
            self._chunks.append(chunk)
            return None
        return self._write_large(chunk)

    def _write_large(self, chunk: bytes) -> int | None:
        verdict = self._verdict
        if verdict is None or verdict.outcome is not Outcome.FETCHED:
            return None if self._size <= MAX_DRAINED_BYTES else ABORT
        if self._size > verdict.limit:
            self._chunks.append(chunk[: verdict.limit - self._size])
            if self._attempt.context.role is not Role.ROBOTS:
                self._verdict = ResponseVerdict(Outcome.TOO_BIG, f"more than {verdict.limit} bytes")
            return ABORT
        if not self._body_limiter.try_acquire(self):
            self._size -= len(chunk)  # it will be given again
            return PAUSE
        self._size_allowed = verdict.limit
        self._chunks.append(chunk)
        return None

    def _open_socket(self, _purpose: int, address: Any) -> int:
        """The socket for an address, unless the guard refuses it.

        Behind a proxy all connections go to the proxy, so the addresses of a host are looked at beforehand: an attempt
        that vets goes the direct way, sees here each address its host resolves to, and opens none of them.

        The plain descriptor is returned: of a socket object pycurl takes a duplicate that child processes inherit.
        """
        attempt = self._attempt
        reason = self._refusal(address.addr[0]) if attempt.vet or not self._settings.proxy else ""
        if attempt.private:
            if not reason and not self._settings.proxy:
                self._on_public_address(attempt.context.url)
            reason = ""
        self._refusal_reason = self._refusal_reason or reason
        self._vetted = attempt.vet
        if reason or attempt.vet:
            return NO_SOCKET
        try:
            return socket.socket(address.family, address.socktype, address.protocol).detach()
        except OSError as error:  # no descriptor left, no such family on this machine
            self._socket_error = error.strerror or str(error)
            return NO_SOCKET

    # -- what it means ----------------------------------------------------------------------------------------------

    def _judge_head(self) -> None:
        """Judge the header, once it is there whole."""
        limit = self._settings.max_header_bytes
        if sum(map(len, self._header_lines)) > limit:
            self._verdict = ResponseVerdict(Outcome.HEADERS_TOO_BIG, f"more than {limit} bytes")
            return
        self._head = parse_head(self._header_lines)
        if self._head is not None:
            self._verdict = judge_head(self._attempt.context, self._head)
            self._size_allowed = min(self._verdict.limit, SMALL_BODY)

    def _is_truncated(self) -> bool:
        return (
            self._attempt.context.role is Role.ROBOTS and self._verdict is not None and self._size > self._verdict.limit
        )

    def _failure_verdict(self, errno: int, message: str) -> ResponseVerdict:
        """What libcurl's error means."""
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
        """Which limit of time it was: libcurl has one error for all, only the words differ."""
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
