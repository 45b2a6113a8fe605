"""Requests to an OpenSearch cluster: patience with what passes, and one clear sentence for what does not.

A node that dies is left out by the client, which asks the next one. What a cluster cannot do while it sorts itself out
(503), or because it has too much to do (429), is asked again for a while, with jitter so that many do not come back at
once. User name and password come from the environment alone and are sent over https, or to this machine.
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

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

USER, PASSWORD = "GOSSAMER_INDEX_USER", "GOSSAMER_INDEX_PASSWORD"
REQUEST_SECONDS = 30.0  # for one answer
CONNECTIONS_PER_NODE = 8  # to one node that are kept open: readers are used from several threads
WRITER_RETRY_SECONDS = 30.0  # seconds: a cluster that lost a node has chosen who takes over long before
READER_RETRY_SECONDS = 10.0  # seconds: somebody waits for an answer
FIRST_CONTACT_SECONDS = 3.0  # seconds for nodes that never answered yet: more likely the URL is wrong
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds between tries; each is up to twice the one before
TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})
_INDEX_NAME = re.compile(
    r"[a-z0-9][a-z0-9_-]{0,99}"
)  # OpenSearch takes more; dots are for us, so that no two names meet
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")

logging.getLogger("opensearch").addHandler(logging.NullHandler())  # it tells of every retry; faults are told by us


class ClusterAddress(Value, frozen=True, kw_only=True):
    """Where an index is: the nodes to ask, and what the names of its indexes begin with."""

    nodes: tuple[str, ...]  # "https://search.example:9200"
    name: str

    @classmethod
    def parse(cls, url: str) -> ClusterAddress:
        """Of what a person writes: https://one.example:9200,https://two.example:9200/name."""
        head, _, last = url.rpartition(",")
        parts = urlsplit(last)
        name = parts.path.strip("/")
        nodes = tuple(filter(None, (*head.split(","), f"{parts.scheme}://{parts.netloc}")))
        if "@" in url:
            raise UsageError(f"A user name and a password do not belong into an index URL: set {USER} and {PASSWORD}.")
        if not _INDEX_NAME.fullmatch(name) or parts.query or parts.fragment or not all(map(_is_node, nodes)):
            raise UsageError(f"{url} is no index URL such as https://search.example:9200/name.")
        return cls(nodes=nodes, name=name)

    def __str__(self) -> str:
        return f"{self.nodes[0]}/{self.name}"


def _is_node(url: str) -> bool:
    parts = urlsplit(url)
    try:
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.path and parts.port != 0
    except ValueError:  # a port that is none
        return False


class Backoff:
    """The waits between tries: longer each time, with jitter, until it is over."""

    def __init__(self, seconds: float) -> None:
        self._deadline, self._wait = time.monotonic() + seconds, FIRST_WAIT

    @property
    def is_over(self) -> bool:
        """Whether there is no time left for another try."""
        return time.monotonic() + self._wait > self._deadline

    def wait(self) -> None:
        """Until the next try."""
        time.sleep(self._wait * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        self._wait = min(2 * self._wait, LONGEST_WAIT)


class Cluster:
    """The nodes of one cluster, for asking. Safe to use from several threads."""

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
        """Let go of the connections."""
        self._transport.close()

    def request(
        self, method: str, path: str, body: object = None, *, ignore_faults: Collection[int | str] = (),
        before_retry: Callable[[], None] = lambda: None, timeout_seconds: float = REQUEST_SECONDS, retry: bool = True,
        **parameters: object,
    ) -> Any:  # fmt: skip
        """The answer; None when its status or the name of its fault is one of `but`.

        `meanwhile` is called before every further try.
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
        """For what the cluster cannot do just now."""
        return Backoff(self._retry_seconds)

    def _fault(self, error: OpenSearchException) -> IndexFault:
        where = f"The index at {self.address}"
        match error:
            case SSLError():
                return IndexUnreachable(
                    f"{where} cannot be reached securely ({_cause(error)}); index.ca_file names the certificate "
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
        if parts.scheme != "https" and not _LOOPBACK.fullmatch(parts.hostname or ""):
            raise UsageError(f"{node} would get the password of {USER} unencrypted: use https.")
    return user, password


def _is_transient(error: OpenSearchException) -> bool:
    """Whether it may go well in a moment."""
    if isinstance(error, SSLError) or not isinstance(error, TransportError):
        return False
    return isinstance(error, Unreachable) or (error.status_code in TRANSIENT_STATUSES and not is_full(error.info))


def is_full(error: object) -> bool:
    """Whether writing is forbidden, as OpenSearch does with indexes on a disk that is nearly full."""
    return re.search(r"read-only.{1,3}allow.delete", str(error)) is not None


def _refusal(where: str, error: TransportError) -> IndexFault:
    if is_full(error.info):
        return IndexFull(f"{where} takes nothing any more: its disk is nearly full, and OpenSearch made it read-only.")
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
    """OpenSearch's own words, of the innermost cause."""
    info = error.info if isinstance(error.info, dict) else {}
    why = info.get("error")
    causes = why.get("root_cause") if isinstance(why, dict) else None
    cause = causes[0] if causes else why
    return str(cause.get("reason") or cause.get("type"))[:300] if isinstance(cause, dict) else str(why or error.error)


def _cause(error: TransportError) -> str:
    """What the operating system or TLS said, without the objects around it."""
    match = re.search(r"\[(?:Errno -?\d+|SSL: \w+)\] ([^(\[)]+)", str(error.error))
    return match[1].strip() if match else str(error.error)
