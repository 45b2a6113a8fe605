"""Send requests to an OpenSearch cluster, retry transient errors, and report the others in one sentence.

The client library skips a dead node and asks the next one. `Cluster` repeats requests that a cluster rejects during an
election (503) or under load (429). Jitter keeps clients from returning all at once. User name and password come only
from the environment, and go only over https or to this machine.
"""

from __future__ import annotations

import logging
import random
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from opensearchpy import Transport
from opensearchpy.exceptions import (
    ConnectionError as Unreachable,
)
from opensearchpy.exceptions import (
    ConnectionTimeout,
    OpenSearchException,
    SerializationError,
    SSLError,
    TransportError,
)

from gossamer.errors import IndexFault, IndexFull, IndexRefused, IndexUnreachable, UsageError
from gossamer.model import Value
from gossamer.urls.canonical import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

USER, PASSWORD = "GOSSAMER_INDEX_USER", "GOSSAMER_INDEX_PASSWORD"
REQUEST_SECONDS = 30.0  # timeout of one request
CONNECTIONS_PER_NODE = 8  # open connections to one node, because several threads share a reader
WRITER_RETRY_SECONDS = 30.0  # a cluster that lost a node elects its successor in less time
READER_RETRY_SECONDS = 4.0  # a person waits for the answer, and `serve` stops a question after 5 s
FIRST_CONTACT_SECONDS = 3.0  # for nodes that never answered, because the URL is probably wrong
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds between tries; each wait is up to twice the one before
TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})
# OpenSearch allows more. We reserve the dot as separator, so that indexes of two webs never have the same name.
_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")

logging.getLogger("opensearch").addHandler(logging.NullHandler())  # it logs every retry; we report errors ourselves


class ClusterAddress(Value, frozen=True, kw_only=True):
    """The nodes of a cluster, and the prefix of the names of the web's indexes."""

    nodes: tuple[str, ...]  # "https://search.example:9200"
    name: str

    @classmethod
    def parse(cls, url: str) -> ClusterAddress:
        """Parse a URL such as https://one.example:9200,https://two.example:9200/name."""
        head, _, last = url.rpartition(",")
        parts = urlsplit(last)
        name = parts.path.strip("/")
        nodes = tuple(filter(None, (*head.split(","), f"{parts.scheme}://{parts.netloc}")))
        if "@" in url:
            raise UsageError(f"A user name and a password do not belong in an index URL: set {USER} and {PASSWORD}.")
        if not _INDEX_NAME.fullmatch(name) or parts.query or parts.fragment or not all(map(_is_node, nodes)):
            raise UsageError(f"{url} is not an index URL such as https://search.example:9200/name.")
        return cls(nodes=nodes, name=name)

    def __str__(self) -> str:
        return f"{self.nodes[0]}/{self.name}"


def _is_node(url: str) -> bool:
    parts = urlsplit(url)
    try:
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.path and parts.port != 0
    except ValueError:  # an invalid port
        return False


class Backoff:
    """Waits between tries: longer each time, with jitter, until the time is over."""

    def __init__(self, seconds: float) -> None:
        self._deadline, self._wait = time.monotonic() + seconds, FIRST_WAIT

    @property
    def is_over(self) -> bool:
        """Whether there is no time left for another try."""
        return time.monotonic() + self._wait > self._deadline

    def wait(self) -> None:
        """Wait until the next try."""
        time.sleep(self._wait * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        self._wait = min(2 * self._wait, LONGEST_WAIT)


class Cluster:
    """The client of one cluster. Several threads may share it."""

    def __init__(
        self,
        address: ClusterAddress,
        environ: Mapping[str, str],
        *,
        ca_file: str = "",
        retry_seconds: float = WRITER_RETRY_SECONDS,
    ) -> None:
        self.address = address
        self._retry_seconds = retry_seconds
        self._has_answered = False  # whether any node ever answered
        secure = {"ca_certs": ca_file} if ca_file else {}
        hosts = [_host(node) | (secure if node.startswith("https:") else {}) for node in address.nodes]
        self._transport = Transport(
            hosts, http_auth=_credentials(address, environ), max_retries=len(hosts), retry_on_timeout=True,
            retry_on_status=(), timeout=REQUEST_SECONDS, pool_maxsize=CONNECTIONS_PER_NODE,
        )  # fmt: skip

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def request(
        self, method: str, path: str, body: object = None, *, ignore_faults: Collection[int | str] = (),
        before_retry: Callable[[], None] = lambda: None, timeout_seconds: float = REQUEST_SECONDS, retry: bool = True,
        **parameters: object,
    ) -> Any:  # fmt: skip
        """Return the answer; None when its status or error name is one of `ignore_faults`.

        The client calls `before_retry` before every further try.
        """
        backoff = self.start_backoff() if retry else Backoff(0.0)
        first_contact = Backoff(FIRST_CONTACT_SECONDS)
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        while True:
            try:
                answer = self._transport.perform_request(
                    method, path, params=parameters, body=data, timeout=timeout_seconds
                )
            except OpenSearchException as error:
                self._has_answered = self._has_answered or not isinstance(error, Unreachable)
                if isinstance(error, TransportError) and {error.status_code, error.error} & {*ignore_faults}:
                    return None
                if not _is_transient(error) or backoff.is_over or (first_contact.is_over and not self._has_answered):
                    raise self._fault(error) from error
            else:
                self._has_answered = True
                return answer
            backoff.wait()
            before_retry()

    def start_backoff(self) -> Backoff:
        """Return the waits between tries of one request."""
        return Backoff(self._retry_seconds)

    def _fault(self, error: OpenSearchException) -> IndexFault:
        where = f"The index at {self.address}"
        match error:
            case SSLError():
                return IndexUnreachable(
                    f"{where} cannot be reached securely ({_cause(error)}): set index.ca_file to the certificate "
                    "authority to trust."
                )
            case ConnectionTimeout():
                return IndexUnreachable(f"{where} did not answer in time.")
            case Unreachable():
                return IndexUnreachable(f"{where} cannot be reached ({_cause(error)}).")
            case SerializationError():
                return IndexFault(f"{where} does not answer like OpenSearch.")
            case TransportError():
                return _refusal(where, error)
        return IndexFault(f"{where} cannot be used ({error}).")


def _host(node: str) -> dict[str, object]:
    parts = urlsplit(node)
    secure = parts.scheme == "https"
    return {"host": parts.hostname, "port": parts.port or (443 if secure else 80), "use_ssl": secure}


def _credentials(address: ClusterAddress, environ: Mapping[str, str]) -> tuple[str, str] | None:
    user, password = environ.get(USER), environ.get(PASSWORD)
    if user is None and password is None:
        return None
    if not user or password is None:
        raise UsageError(f"{USER} and {PASSWORD} go together.")
    for node in address.nodes:
        parts = urlsplit(node)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise UsageError(f"{node} would get the password of {USER} unencrypted: use https.")
    return user, password


def _is_transient(error: OpenSearchException) -> bool:
    """Return whether a retry may succeed."""
    if isinstance(error, SSLError) or not isinstance(error, TransportError):
        return False
    return isinstance(error, Unreachable) or (error.status_code in TRANSIENT_STATUSES and not is_full(error.info))


def is_full(error: object) -> bool:
    """Return whether OpenSearch blocked writes because its disk is nearly full."""
    return re.search(r"read-only.{1,3}allow.delete", str(error)) is not None


def _refusal(where: str, error: TransportError) -> IndexFault:
    if is_full(error.info):
        return IndexFull(f"{where} is read-only because its disk is nearly full: free space, then try again.")
    if error.status_code == 401:
        return IndexRefused(f"{where} wants a user name and a password it knows: set {USER} and {PASSWORD}.")
    if error.status_code == 403:
        return IndexRefused(f"{where} does not allow this to the user in {USER} ({_innermost_reason(error)}).")
    if error.status_code in TRANSIENT_STATUSES:
        return IndexUnreachable(
            f"{where} cannot answer now ({error.status_code}, {_innermost_reason(error)}): try again later."
        )
    return IndexFault(f"{where} answered {error.status_code} ({_innermost_reason(error)}).")


def _innermost_reason(error: TransportError) -> str:
    """Return OpenSearch's reason of the innermost cause."""
    info = error.info if isinstance(error.info, dict) else {}
    details = info.get("error")
    causes = details.get("root_cause") if isinstance(details, dict) else None
    cause = causes[0] if causes else details
    if isinstance(cause, dict):
        return str(cause.get("reason") or cause.get("type"))[:300]
    return str(details or error.error)


def _cause(error: TransportError) -> str:
    """Return the message of the operating system or of TLS, without the objects around it."""
    match = re.search(r"\[(?:Errno -?\d+|SSL: \w+)\] ([^(\[)]+)", str(error.error))
    return match[1].strip() if match else str(error.error)
