"""The fetcher against servers that misbehave: each case ends with its outcome and reason, within its limits."""

from __future__ import annotations

import gzip
import json
import math
import socket
import time
import tracemalloc
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest
from msgspec.structs import replace

from gossamer.config import FetchSettings
from gossamer.fetch.response import ROBOTS_BYTES
from gossamer.model import Outcome, Request, Role
from helpers.fetch.fetch_loop import LIMITS, FetchLoop
from helpers.patience import PATIENCE, slowness
from hostile import PAGE, WIRE, HostileServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.model import FetchResult


class HastyLoop(NamedTuple):
    """A loop that gives up after some seconds: more, if the machine is slow now."""

    loop: FetchLoop
    seconds: int


@pytest.fixture
def hasty(server: HostileServer) -> Iterator[HastyLoop]:
    seconds = math.ceil(slowness())
    loop = FetchLoop(replace(LIMITS, connect_timeout=seconds, timeout=5 * seconds, min_rate_seconds=seconds))
    loop.fetcher.allow_private(server.url())
    yield HastyLoop(loop, seconds)
    loop.close()


# -- successful responses --------------------------------------------------------------------------------------------


def test_a_page_is_fetched(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("page"))
    assert (fetched.outcome, fetched.reason, fetched.status) == (Outcome.FETCHED, "", 200)
    assert fetched.body == PAGE
    assert fetched.headers == {"content-type": "text/html", "content-length": str(len(PAGE))}
    assert fetched.address == "127.0.0.1"
    assert fetched.location == ""


def test_the_duration_of_a_transfer_is_reported(loop: FetchLoop, server: HostileServer) -> None:
    started = time.monotonic()
    milliseconds = loop.fetch(server.url("slow?seconds=0.3")).milliseconds
    assert 300 <= milliseconds <= 1 + 1000 * (time.monotonic() - started)


def test_a_response_without_content_is_an_empty_page(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("no-content"))
    assert (fetched.outcome, fetched.status, fetched.body) == (Outcome.FETCHED, 204, b"")


def test_interim_responses_are_skipped(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("interim"))
    assert (fetched.outcome, fetched.headers["content-type"]) == (Outcome.FETCHED, "text/html")


def test_a_compressed_body_is_returned_compressed(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("zipped"))
    assert fetched.headers["content-encoding"] == "gzip"
    assert gzip.decompress(fetched.body) == PAGE


def test_the_crawler_identifies_itself(server: HostileServer) -> None:
    loop = FetchLoop(FetchSettings(contact="https://example.org/bot"))
    loop.fetcher.allow_private(server.url())
    headers = json.loads(loop.fetch(server.url("echo")).body)
    loop.close()
    assert headers["user-agent"].startswith("Gossamer/")
    assert headers["user-agent"].endswith(" (+https://example.org/bot)")
    assert headers["accept-encoding"] == "gzip, deflate, br, zstd"
    assert headers["accept"].startswith("text/html, application/xhtml+xml, ")


def test_a_revisit_sends_a_conditional_request(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("conditional"), etag='"v1"', last_modified="Sun, 06 Nov 1994 08:49:37 GMT")
    assert (fetched.outcome, fetched.reason, fetched.status) == (Outcome.NOT_MODIFIED, "", 304)
    assert server.requests[0].headers["if-modified-since"] == "Sun, 06 Nov 1994 08:49:37 GMT"


def test_a_condition_is_not_sent_with_the_next_request(loop: FetchLoop, server: HostileServer) -> None:
    loop.fetch(server.url("conditional"), etag='"v1"')
    assert loop.fetch(server.url("conditional")).outcome is Outcome.FETCHED


def test_a_stored_etag_cannot_smuggle_a_header(loop: FetchLoop, server: HostileServer) -> None:
    loop.fetch(server.url("echo"), etag='"x"\r\nX-Evil: 1')
    assert not {"if-none-match", "x-evil"} & server.requests[0].headers.keys()


def test_one_connection_serves_pages_redirects_errors_and_small_refusals(
    loop: FetchLoop, server: HostileServer
) -> None:
    for path in ("page", "redirect?to=/page", "missing", "typed?of=image/png&bytes=9000", "status?of=500 Oh", "page"):
        loop.fetch(server.url(path))
    assert server.connections == 1


def test_many_requests_run_at_once(loop: FetchLoop, server: HostileServer) -> None:
    requests = [Request(id=number, url=server.url(f"slow/{number}?seconds=0.5"), role=Role.PAGE) for number in range(8)]
    assert {fetched.request.id for fetched in loop.fetch_all(*requests)} == set(range(8))
    assert server.connections == 8, "requests one after another would use one connection"


def test_all_hostile_behaviours_at_once_end_with_a_reason(hasty: HastyLoop, server: HostileServer) -> None:
    names = list(WIRE)
    requests = [Request(id=number, url=server.url(name), role=Role.PAGE) for number, name in enumerate(names)]
    results = {names[fetched.request.id]: fetched for fetched in hasty.loop.fetch_all(*requests)}
    assert results.keys() == set(names)
    for name, fetched in results.items():
        succeeded = fetched.outcome in {Outcome.FETCHED, Outcome.REDIRECTED}
        assert bool(fetched.reason) is not succeeded, f"{name}: {fetched}"
    assert results["page"].body == PAGE


# -- statuses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("missing", Outcome.NOT_FOUND, "404 Not Found"),
        ("status?of=410 Gone", Outcome.NOT_FOUND, "410 Gone"),
        ("status?of=429 Too Many Requests", Outcome.THROTTLED, "429 Too Many Requests"),
        ("status?of=503 Busy&retry=7", Outcome.THROTTLED, "503 Service Unavailable"),
        ("status?of=503 Busy", Outcome.HTTP_ERROR, "503 Service Unavailable"),
        ("status?of=401 Who", Outcome.HTTP_ERROR, "401 Unauthorized"),
        ("status?of=500 Oh", Outcome.HTTP_ERROR, "500 Internal Server Error"),
        ("endless-missing", Outcome.NOT_FOUND, "404 Not Found"),
        ("false-trailer", Outcome.NOT_FOUND, "404 Not Found"),
    ],
)
def test_an_error_status_is_reported_without_its_body(
    loop: FetchLoop, server: HostileServer, path: str, outcome: Outcome, reason: str
) -> None:
    fetched = loop.fetch(server.url(path.replace(" ", "%20")))
    assert (fetched.outcome, fetched.reason, fetched.body) == (outcome, reason, b"")


def test_retry_after_is_passed_on(loop: FetchLoop, server: HostileServer) -> None:
    assert loop.fetch(server.url("status?of=503%20Busy&retry=7")).headers["retry-after"] == "7"


def test_a_reason_contains_no_terminal_escapes(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("escapes"))
    assert fetched.outcome is Outcome.HTTP_ERROR
    assert fetched.reason.startswith("599 [2J ]0;owned long")
    assert fetched.reason.isprintable()
    assert len(fetched.reason) <= 200


# -- types and sizes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 10_000_000])
def test_an_unwanted_type_is_refused_without_its_body(loop: FetchLoop, server: HostileServer, size: int) -> None:
    fetched = loop.fetch(server.url(f"typed?of=image/png&bytes={size}"))
    assert (fetched.outcome, fetched.reason, fetched.body) == (Outcome.TYPE, "image/png", b"")


def test_a_response_without_a_type_is_accepted(loop: FetchLoop, server: HostileServer) -> None:
    assert loop.fetch(server.url("typed")).outcome is Outcome.FETCHED


@pytest.mark.parametrize("path", ["endless", "endless-chunked"])
def test_an_endless_body_is_cut_off(loop: FetchLoop, server: HostileServer, path: str) -> None:
    fetched = loop.fetch(server.url(path))
    assert (fetched.outcome, fetched.reason, fetched.body) == (Outcome.TOO_BIG, "more than 1048576 bytes", b"")


def test_a_declared_size_above_the_limit_is_refused_at_once(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("sized"))
    assert (fetched.outcome, fetched.reason) == (Outcome.TOO_BIG, "100000000 bytes, at most 1048576 are taken")


@pytest.mark.parametrize(("size", "outcome"), [(1 << 20, Outcome.FETCHED), ((1 << 20) + 1, Outcome.TOO_BIG)])
def test_the_size_limit_is_exact(loop: FetchLoop, server: HostileServer, size: int, outcome: Outcome) -> None:
    fetched = loop.fetch(server.url(f"sized?bytes={size}"))
    assert fetched.outcome is outcome
    assert len(fetched.body) == (size if outcome is Outcome.FETCHED else 0)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("long-header", "a line of more than 100 KiB"),
        ("many-headers", "more than 65536 bytes"),
        ("big-headers?count=70", "more than 65536 bytes"),
        ("endless-interim", "more than 65536 bytes"),
        ("endless-trailers", "Too large response headers: 308024 > 307200"),
    ],
)
def test_an_endless_header_is_cut_off(loop: FetchLoop, server: HostileServer, path: str, reason: str) -> None:
    fetched = loop.fetch(server.url(path))
    assert (fetched.outcome, fetched.reason, fetched.body) == (Outcome.HEADERS_TOO_BIG, reason, b"")


def test_a_header_within_the_limit_is_accepted(loop: FetchLoop, server: HostileServer) -> None:
    assert loop.fetch(server.url("big-headers?count=60")).outcome is Outcome.FETCHED


def test_many_large_bodies_do_not_fill_the_memory(server: HostileServer) -> None:
    size, count = 8 << 20, 60  # 480 MiB if all were held at once
    loop = FetchLoop(FetchSettings(max_bytes=size))
    loop.fetcher.allow_private(server.url())
    for number in range(count):
        loop.fetcher.start(Request(id=number, url=server.url(f"sized/{number}?bytes={size}"), role=Role.PAGE))
    arrived = []
    tracemalloc.start()
    while loop.fetcher.active_count:
        arrived += [(fetched.outcome, len(fetched.body)) for fetched in loop.run_once()]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    loop.close()
    assert arrived == [(Outcome.FETCHED, size)] * count
    assert peak < 260 << 20  # 60 MiB for all, 64 MiB for eight bodies, as much again for finished ones


def test_slow_hosts_with_large_bodies_leave_room_for_another_host(server: HostileServer) -> None:
    size = 3 << 20
    loop = FetchLoop(FetchSettings(max_bytes=4 << 20, timeout=PATIENCE, min_rate=0))
    with ExitStack() as stack:
        slow = [stack.enter_context(HostileServer(f"127.0.1.{number}")) for number in range(1, 13)]
        loop.fetcher.allow_private(server.url())
        for number, one in enumerate(slow):
            loop.fetcher.allow_private(one.url())
            loop.fetcher.start(Request(id=number, url=one.url(f"swell?bytes={size}"), role=Role.PAGE))
        large_bodies = 8  # as many as filled all places when each body had one
        while sum(transfer._size > 3 << 19 for transfer in loop.fetcher._active.values()) < large_bodies:
            assert not loop.run_once()
        loop.fetcher.start(Request(id=99, url=server.url(f"sized?bytes={size}"), role=Role.PAGE))
        arrived: list[FetchResult] = []
        while not arrived:
            arrived = loop.run_once()
        assert [(fetched.request.id, len(fetched.body)) for fetched in arrived] == [(99, size)]
        loop.close()


def test_large_bodies_that_fill_all_shares_all_arrive() -> None:
    size = 24 << 20
    loop = FetchLoop(FetchSettings(max_bytes=size, timeout=PATIENCE))
    with ExitStack() as stack:
        servers = [stack.enter_context(HostileServer(f"127.0.1.{number}")) for number in range(1, 13)]
        for number, one in enumerate(servers):
            loop.fetcher.allow_private(one.url())
            loop.fetcher.start(Request(id=number, url=one.url(f"sized?bytes={size}"), role=Role.PAGE))
        sizes = []
        while loop.fetcher.active_count:
            sizes += [len(fetched.body) for fetched in loop.run_once()]
    loop.close()
    assert sizes == [size] * 12


# -- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("stall", Outcome.TIMEOUT, "no answer within {} s"),
        ("drip", Outcome.TOO_SLOW, "less than 100 bytes/s for {} s"),
        ("drip-header", Outcome.TOO_SLOW, "less than 100 bytes/s for {} s"),
        ("stall-in-header", Outcome.TOO_SLOW, "less than 100 bytes/s for {} s"),
        ("stall-in-body", Outcome.TOO_SLOW, "less than 100 bytes/s for {} s"),
    ],
)
def test_a_slow_server_is_given_up(
    hasty: HastyLoop, server: HostileServer, path: str, outcome: Outcome, reason: str
) -> None:
    fetched = hasty.loop.fetch(server.url(path))
    assert (fetched.outcome, fetched.reason, fetched.body) == (outcome, reason.format(hasty.seconds), b"")


def test_an_endless_transfer_times_out(server: HostileServer) -> None:
    loop = FetchLoop(FetchSettings(timeout=2.0))
    loop.fetcher.allow_private(server.url())
    fetched = loop.fetch(server.url("steady"))
    loop.close()
    assert (fetched.outcome, fetched.reason, fetched.body) == (Outcome.TIMEOUT, "not complete within 2 s", b"")


def test_a_refusal_by_header_holds_when_the_body_stalls(hasty: HastyLoop, server: HostileServer) -> None:
    fetched = hasty.loop.fetch(server.url("stall-in-body?of=image/png"))
    assert (fetched.outcome, fetched.reason) == (Outcome.TYPE, "image/png")


def test_a_server_that_accepts_no_connection_times_out() -> None:
    with socket.socket() as busy:  # further connections wait while its backlog is full
        busy.bind(("127.0.0.1", 0))
        busy.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(busy.getsockname())
        loop = FetchLoop(replace(LIMITS, connect_timeout=1.0))
        url = f"http://127.0.0.1:{busy.getsockname()[1]}/"
        loop.fetcher.allow_private(url)
        fetched = loop.fetch(url)
        loop.close()
        for client in waiting:
            client.close()
    assert (fetched.outcome, fetched.reason, fetched.address) == (Outcome.TIMEOUT, "no connection within 1 s", "")


# -- broken HTTP, broken connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("cut-short", Outcome.BAD_HTTP, f"end of response with {1000 - len(PAGE)} bytes missing"),
        ("cut-chunks", Outcome.BAD_HTTP, "transfer closed with outstanding read data remaining"),
        ("broken-chunks", Outcome.BAD_HTTP, "chunk hex-length char not a hex digit: 0x7a"),
        ("cut-header", Outcome.BAD_HTTP, "the answer's header ends in the middle"),
        ("garbage", Outcome.BAD_HTTP, "Received HTTP/0.9 when not allowed"),
        ("bare-words", Outcome.BAD_HTTP, "Received HTTP/0.9 when not allowed"),
        ("switching", Outcome.BAD_HTTP, "101 Switching Protocols"),
        ("two-lengths", Outcome.BAD_HTTP, "Invalid Content-Length: value"),
        ("unasked-304", Outcome.BAD_HTTP, "304 Not Modified, but no condition was set"),
        ("reset", Outcome.CONNECT, "Connection reset by peer"),
        ("reset-in-body", Outcome.CONNECT, "Connection reset by peer"),
        ("hang-up", Outcome.CONNECT, "Empty reply from server"),
    ],
)
def test_broken_responses_have_distinct_reasons(
    loop: FetchLoop, server: HostileServer, path: str, outcome: Outcome, reason: str
) -> None:
    fetched = loop.fetch(server.url(path))
    assert (fetched.outcome, fetched.reason, fetched.body) == (outcome, reason, b"")


def test_an_unrequested_transfer_coding_is_refused(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("coded-transfer"))
    assert fetched.outcome is Outcome.BAD_HTTP
    assert "Transfer-Encoding" in fetched.reason


def test_a_closed_port_is_a_refused_connection(loop: FetchLoop, server: HostileServer) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    loop.fetch(server.url("page"))  # no part of an earlier result may appear in a later one
    loop.fetcher.allow_private(url)
    fetched = loop.fetch(url)
    assert (fetched.outcome, fetched.reason) == (Outcome.CONNECT, "Connection refused")
    assert (fetched.status, fetched.headers, fetched.body, fetched.address) == (0, {}, b"", "")
    assert loop.fetch(server.url("broken-chunks")).outcome is Outcome.BAD_HTTP


@pytest.mark.parametrize("url", ["http://nothing.invalid/", "http://not,a,name/"])
def test_a_name_that_does_not_resolve_is_a_dns_failure(loop: FetchLoop, url: str) -> None:
    fetched = loop.fetch(url)
    assert fetched.outcome is Outcome.DNS
    assert fetched.reason


# -- redirects -------------------------------------------------------------------------------------------------------


def test_a_redirect_is_returned_with_its_canonical_target(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("redirect?to=./A/../page%23part"))
    assert (fetched.outcome, fetched.location) == (Outcome.REDIRECTED, server.url("page"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("redirect", Outcome.BAD_REDIRECT, "302 Found without a Location"),
        ("redirect?to=file:///etc/passwd", Outcome.BAD_REDIRECT, "redirects to file:"),
        ("redirect?to=gopher://127.0.0.1:70/_x", Outcome.BAD_REDIRECT, "redirects to gopher:"),
        ("loop", Outcome.REDIRECT_LOOP, "redirects to itself"),
    ],
)
def test_a_bad_redirect_is_reported(
    loop: FetchLoop, server: HostileServer, path: str, outcome: Outcome, reason: str
) -> None:
    fetched = loop.fetch(server.url(path))
    assert (fetched.outcome, fetched.reason, fetched.location) == (outcome, reason, "")


# -- robots.txt ------------------------------------------------------------------------------------------------------


def test_robots_are_followed_over_five_redirects(loop: FetchLoop, server: HostileServer) -> None:
    server.robots = "robots-5-hops"
    request = Request(id=7, url=server.url("robots.txt"), role=Role.ROBOTS)
    [fetched] = loop.fetch_all(request)
    assert (fetched.outcome, fetched.reason, fetched.status) == (Outcome.FETCHED, "", 200)
    assert (fetched.request, fetched.body) == (request, b"User-agent: *\nDisallow: /private\n")


def test_robots_are_not_followed_over_six_redirects(loop: FetchLoop, server: HostileServer) -> None:
    server.robots = "robots-6-hops"
    fetched = loop.fetch(server.url("robots.txt"), Role.ROBOTS)
    assert (fetched.outcome, fetched.reason) == (Outcome.TOO_MANY_REDIRECTS, "more than 5 redirects")
    assert (fetched.location, len(server.requests)) == ("", 6)


def test_only_the_start_of_huge_robots_is_used(loop: FetchLoop, server: HostileServer) -> None:
    server.robots = "huge-robots"
    fetched = loop.fetch(server.url("robots.txt"), Role.ROBOTS)
    assert (fetched.outcome, fetched.reason, len(fetched.body)) == (Outcome.FETCHED, "", ROBOTS_BYTES)
    assert fetched.body.startswith(b"User-agent: *\nDisallow: /private\n")


def test_truncated_robots_are_a_failure(loop: FetchLoop, server: HostileServer) -> None:
    server.robots = "cut-short"
    assert loop.fetch(server.url("robots.txt"), Role.ROBOTS).outcome is Outcome.BAD_HTTP


def test_robots_redirected_to_another_loopback_port_are_refused(loop: FetchLoop, server: HostileServer) -> None:
    with HostileServer() as other:
        fetched = loop.fetch(server.url(f"redirect?to={other.url('rules')}"), Role.ROBOTS)
        assert other.connections == 0
    assert (fetched.outcome, fetched.reason) == (Outcome.ADDRESS, "127.0.0.1 is a loopback address")


# -- link checks -----------------------------------------------------------------------------------------------------


def test_a_check_sends_head(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("typed?of=image/png&bytes=100000"), Role.CHECK)
    assert (fetched.outcome, fetched.status, fetched.body) == (Outcome.CHECKED, 200, b"")
    assert [request.method for request in server.requests] == ["HEAD"]


@pytest.mark.parametrize("path", ["no-head", "hang-up-head"])
def test_a_check_sends_get_when_head_fails(loop: FetchLoop, server: HostileServer, path: str) -> None:
    fetched = loop.fetch(server.url(path), Role.CHECK)
    assert (fetched.outcome, fetched.status, fetched.body) == (Outcome.CHECKED, 200, b"")
    assert server.requests[0].method == "HEAD"
    assert server.requests[-1].method == "GET"


def test_a_check_of_a_missing_page_reports_not_found(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("missing"), Role.CHECK)
    assert (fetched.outcome, fetched.reason) == (Outcome.NOT_FOUND, "404 Not Found")
    assert [request.method for request in server.requests] == ["HEAD", "GET"]


def test_a_throttled_check_is_not_repeated(loop: FetchLoop, server: HostileServer) -> None:
    assert loop.fetch(server.url("status?of=429%20Slow"), Role.CHECK).outcome is Outcome.THROTTLED
    assert len(server.requests) == 1


def test_a_check_reports_a_redirect(loop: FetchLoop, server: HostileServer) -> None:
    fetched = loop.fetch(server.url("redirect?to=/page"), Role.CHECK)
    assert (fetched.outcome, fetched.location) == (Outcome.REDIRECTED, server.url("page"))
