"""The pure parts of rendering: which requests are answered how, what a page may take, messages of the browser."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.model import Kind
from gossamer.render.browser_command import browser_command, browser_environment
from gossamer.render.browser_search import find_browser, find_program
from gossamer.render.homes import make_home, remove_homes, remove_old_homes
from gossamer.render.isolation import IsolationReport
from gossamer.render.options import RenderOptions
from gossamer.render.pages.budget import RenderBudget
from gossamer.render.pages.cdp import CdpBroken, CdpClosed, CdpConnection, CdpMessage
from gossamer.render.pages.page_requests import PausedRequest, Treatment, treatment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_PROCESS = 2**22 + 1  # no process can have this number
DEEP = b'{"params":{"x":' + b"[" * 5000 + b"]" * 5000 + b"}}\0"
OPTIONS = RenderOptions(browser="/browser", max_requests=3, max_dialogs=1)


def paused(url: str = "http://site.test/x", method: str = "GET", kind: str = "Fetch", **headers: str) -> PausedRequest:
    request = {"url": url, "method": method, "headers": headers}
    return PausedRequest.from_event({"requestId": "1", "request": request, "resourceType": kind, "frameId": "f"})


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (paused(), Treatment.ASK),
        (paused(method="HEAD"), Treatment.ASK),
        (paused(kind="Document"), Treatment.ASK),
        (paused(kind="Image"), Treatment.EMPTY),
        (paused(kind="Font"), Treatment.EMPTY),
        (paused(kind="Ping", method="POST"), Treatment.REFUSE),
        (paused(kind="EventSource"), Treatment.REFUSE),
        (paused("file:///etc/passwd"), Treatment.REFUSE),
        (paused("chrome://settings"), Treatment.REFUSE),
        (paused(**{"Service-Worker": "script"}), Treatment.REFUSE),
        (paused(method="OPTIONS"), Treatment.PREFLIGHT),
        (paused(method="POST"), Treatment.METHOD),
        (paused("http://writes.test/", method="DELETE"), Treatment.ASK),
        (paused("http://writes.test.evil.test/", method="POST"), Treatment.METHOD),
        (paused("http://ports.test:8080/", method="POST"), Treatment.ASK),
        (paused("http://ports.test/", method="POST"), Treatment.METHOD),
        (paused("http://writes.test:8080/", method="POST"), Treatment.METHOD),
    ],
)
def test_each_kind_of_request_has_its_treatment(request_: PausedRequest, expected: Treatment) -> None:
    assert treatment(request_, frozenset({"writes.test", "ports.test:8080"})) is expected


def test_only_headers_of_scripts_reach_the_fetcher() -> None:
    own = {"User-Agent": "u", "Sec-Fetch-Mode": "cors", "If-None-Match": "1", "Accept-Language": "en"}
    request = paused(Accept="a", Cookie="c", Authorization="b", Referer="r", Origin="p", ApiKey="k", **own)
    assert request.passed_headers() == {"accept": "a", "authorization": "b", "origin": "p", "apikey": "k"}


def test_kinds_of_links_follow_the_types_of_the_browser() -> None:
    kinds = [paused(kind=kind).kind for kind in ("Script", "Stylesheet", "XHR", "Document", "Manifest")]
    assert kinds == [Kind.SCRIPT, Kind.STYLE, Kind.DATA, Kind.FRAME, Kind.OTHER]


def test_a_budget_names_what_was_over_it_and_when_to_stop() -> None:
    budget = RenderBudget(OPTIONS)
    assert [budget.take("requests") for _ in range(4)] == [True, True, True, False]
    assert budget.cut == "requests"
    before = budget.is_excessive
    for _ in range(3):
        budget.take("requests")
    assert (before, budget.is_excessive, budget.is_flooded) == (False, True, False)
    budget.take("dialogs")
    budget.take("dialogs")
    assert budget.cut == "requests, dialogs"


# -- the pipes ---------------------------------------------------------------------------------------------------------


class Pipes:
    """A connection, and the browser's ends of its pipes."""

    def __init__(self) -> None:
        self.events: list[CdpMessage] = []
        incoming, self.to_us = os.pipe()
        self.from_us, outgoing = os.pipe()
        self.connection = CdpConnection(incoming, outgoing, self.events.append, 1000)

    def close(self) -> None:
        for end in (self.connection.incoming, self.connection.outgoing, self.from_us):
            os.close(end)


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    pipes = Pipes()
    yield pipes
    pipes.close()
    os.close(pipes.to_us)


def test_an_answer_reaches_the_command_with_its_number(pipes: Pipes) -> None:
    answers: list[Any] = []
    pipes.connection.send("A.a", then=lambda answer: answers.append(("a", answer.result)))
    pipes.connection.send("B.b", {"x": 1}, "tab", lambda answer: answers.append(("b", answer.result)))
    assert os.read(pipes.from_us, 1000) == (
        b'{"id":1,"method":"A.a","params":{}}\0{"id":2,"method":"B.b","params":{"x":1},"sessionId":"tab"}\0'
    )
    os.write(pipes.to_us, b'{"id":2,"result":{"y":2}}\0{"id":1,"result":{}}\0{"id":9,"result":{}}\0')
    pipes.connection.read()
    assert answers == [("b", {"y": 2}), ("a", {})]


def test_a_message_may_come_in_pieces(pipes: Pipes) -> None:
    for piece in (b'{"method":"Page.', b'loadEventFired","sessionId":"t"', b'}\0{"method":"B"}\0{"me'):
        os.write(pipes.to_us, piece)
        pipes.connection.read()
    assert [(event.method, event.session) for event in pipes.events] == [("Page.loadEventFired", "t"), ("B", "")]


def test_answers_of_a_closed_tab_are_forgotten(pipes: Pipes) -> None:
    answers: list[CdpMessage] = []
    pipes.connection.send("A", session="tab", then=answers.append)
    pipes.connection.forget("tab")
    os.write(pipes.to_us, b'{"id":1,"result":{}}\0')
    pipes.connection.read()
    assert answers == []


@pytest.mark.parametrize("nonsense", [b"no json\0", b"[]\0", b'{"id":"x"}\0', b"x" * 1001, DEEP])
def test_nonsense_of_a_browser_breaks_the_connection(pipes: Pipes, nonsense: bytes) -> None:
    os.write(pipes.to_us, nonsense)
    with pytest.raises(CdpBroken):
        pipes.connection.read()


def test_the_end_of_the_pipe_is_the_end_of_the_browser() -> None:
    pipes = Pipes()
    os.close(pipes.to_us)
    with pytest.raises(CdpClosed):
        pipes.connection.read()
    pipes.close()


# -- the browser -------------------------------------------------------------------------------------------------------


def test_a_browser_gets_no_variable_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_STORE", "secret")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test")
    environment = browser_environment(tmp_path)
    assert environment["HOME"] == environment["TMPDIR"] == str(tmp_path)
    assert not {"GOSSAMER_STORE", "HTTP_PROXY"} & set(environment)


def test_the_sandbox_is_off_only_where_it_is_missing(tmp_path: Path) -> None:
    assert "--no-sandbox" not in browser_command(OPTIONS, tmp_path, sandbox=True)
    assert "--no-sandbox" in browser_command(OPTIONS, tmp_path, sandbox=False)


def test_a_program_behind_a_script_of_a_package_is_found(tmp_path: Path) -> None:
    script = tmp_path / "usr/bin/chromium"
    program = tmp_path / "usr/lib/chromium/chromium"
    for file, content in ((script, b"#!/bin/sh\n"), (program, b"\x7fELF")):
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        file.chmod(0o755)
    assert find_program(script) == program
    assert find_program(program) == program
    program.unlink()
    assert find_program(script) == script


def test_a_browser_that_is_named_must_be_there(tmp_path: Path) -> None:
    assert find_browser(str(tmp_path / "none")) is None
    assert find_browser("/bin/sh") is not None


def test_homes_go_with_their_process_and_without_it() -> None:
    (mine, lock), (gone, lock_of_gone) = make_home(os.getpid()), make_home(NO_PROCESS)
    os.close(lock_of_gone)
    (gone / "file").write_text("left")
    remove_old_homes()
    assert mine.exists()
    assert not gone.exists()
    os.close(lock)
    remove_homes(os.getpid())
    assert not mine.exists()


def test_the_home_of_a_browser_in_another_container_stays() -> None:
    home, lock = make_home(NO_PROCESS)  # as a process that only the other container sees
    remove_old_homes()
    remove_homes(NO_PROCESS)
    assert home.exists()
    os.close(lock)  # as its end does
    remove_old_homes()
    assert not home.exists()


def test_a_report_says_which_layer_is_missing() -> None:
    assert IsolationReport().is_complete
    assert IsolationReport(files="no Landlock").is_complete
    report = IsolationReport(network="refused", sandbox="")
    assert not report.is_complete
    assert report.reason == "a network namespace is not to be had: refused"
