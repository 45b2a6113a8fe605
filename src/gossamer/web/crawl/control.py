"""What changes something: crawlers are paused, resumed, stopped, started and given more or fewer parsers, seeds added,
pages and hosts forgotten.

Crawlers are steered through the store, wherever they run; a start is on this machine. Every action is one POST, from a
form of the crawl's page (`/control/...`) or as JSON (`/api/...`), and needs the token (`security`).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Annotated
from urllib.parse import parse_qsl, quote

import msgspec
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from gossamer.errors import UsageError
from gossamer.lookup import stored_url_rules
from gossamer.parse.pool import most_parsers
from gossamer.urls.canonical import url_digest, urls_from_input
from gossamer.web import answers
from gossamer.web.api import BAD_REQUEST, NOT_FOUND
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses
from gossamer.web.http.problems import NotFound, RequestRefused
from gossamer.web.http.security import cookie_name, has_token, is_token, require_control
from gossamer.wiring import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.store.protocol import Store

router = APIRouter(tags=["control"])

WANTED_STATES = {"pause": "pause", "resume": "run", "stop": "stop"}
REPLIES = {"pause": "will pause", "resume": "will go on", "stop": "will stop"}
MAX_STARTED = 4  # crawlers at work that were started from here
START_SECONDS = 2.0  # in which a crawl that cannot begin has ended
END_SECONDS = 5.0  # for crawlers started here to finish, when the server ends
FAULTS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, NOT_FOUND, BAD_REQUEST, HTTPStatus.CONFLICT)


class ControlResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    done: str  # a sentence


class ControlConflict(RequestRefused):
    """It cannot be done just now."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, HTTPStatus.CONFLICT)


class Control:
    """Does what was asked for."""

    def __init__(self, location: str, on_forget: Callable[[], None]) -> None:
        self._location = location
        self._on_forget = on_forget  # told when something was removed
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self.most_parsers = most_parsers()

    def run_action(self, path: str, fields: Mapping[str, str]) -> str:
        """Do what a path names; a sentence says what was done."""
        match path.split("/"):
            case ["crawlers", name, ("pause" | "resume" | "stop") as verb]:
                return self._request_state(name, verb)
            case ["crawlers", name, "parsers"]:
                return self._request_parsers(name, fields.get("parsers", ""))
            case ["crawlers"]:
                return self._start(fields.get("url", ""), fields.get("parsers", ""))
            case ["seeds"]:
                if not fields.get("url", "").strip():
                    raise UsageError("Which URL is to be added?")
                return self._start(fields["url"], "")
            case ["forget"]:
                done = self._forget(fields.get("url", "").strip(), fields.get("host", "").strip())
                self._on_forget()
                return done
        raise NotFound("There is nothing of that name to be done.")

    def close(self) -> None:
        """Stop the crawlers that were started from here; what they have is committed."""
        with self._lock:
            running = [process for process in self._processes if process.poll() is None]
            for process in running:
                process.terminate()
            until = time.monotonic() + END_SECONDS
            for process in running:
                try:
                    process.wait(max(0.0, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    # -- crawlers ------------------------------------------------------------------------------------------------------

    def _request_state(self, name: str, verb: str) -> str:
        with closing(open_store(self._location)) as store:
            known = _crawler_at_work(store, name)
            if not store.set_wanted_state(known.name, WANTED_STATES[verb]):
                raise _no_such_crawler(name)
        return f"{known.name} {REPLIES[verb]} within a few seconds."

    def _request_parsers(self, name: str, text: str) -> str:
        with closing(open_store(self._location)) as store:
            known = _crawler_at_work(store, name)
            if not known.most_parsers:
                raise UsageError(f"The parsers of {known.name} cannot be changed.")
            number = _parse_count(text, known.most_parsers)
            if not store.set_wanted_parsers(known.name, number):
                raise _no_such_crawler(name)
        return f"{known.name} will have {number} parser{'s'[: number > 1]} within a few seconds."

    def _start(self, url: str, parsers: str) -> str:
        urls = (
            [urls_from_input(url.strip())[0] and url.strip()] if url.strip() else []
        )  # says what is wrong with it, if anything
        number = self._parser_count(parsers)
        with self._lock:
            self._processes = [process for process in self._processes if process.poll() is None]
            if len(self._processes) >= MAX_STARTED:
                raise ControlConflict(f"{MAX_STARTED} crawlers that were started from here are at work already.")
            with tempfile.TemporaryFile() as output:
                process = self._spawn([*(["--parsers", str(number)] if number else []), "--", *urls], output)
                self._processes.append(process)
                return _start_message(process, output)

    def _spawn(self, arguments: list[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and command; what was typed stands behind `--`
            [sys.executable, "-P", "-m", "gossamer", "crawl", "--quiet", "--store", self._location, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            start_new_session=True,  # a Ctrl-C for the server is not for them: `close` tells them
        )

    def _parser_count(self, text: str) -> int:
        return _parse_count(text, self.most_parsers) if text.strip() else 0

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def _forget(self, url: str, host: str) -> str:
        if bool(url) == bool(host):
            raise UsageError("Give a URL or a host to forget.")
        with closing(open_store(self._location)) as store:
            if url:
                row = answers.resource(store, url)
                store.forget(url_digest=url_digest(row.url, stored_url_rules(store)))
                return f"Forgot {row.url}."
            return _forget_host(store, host)


def _crawler_at_work(store: Store, name: str) -> answers.CrawlerStatus:
    at_work = {each.name.casefold(): each for each in answers.crawlers(store) if each.at_work}
    if name.casefold() not in at_work:
        raise _no_such_crawler(name)
    return at_work[name.casefold()]


def _no_such_crawler(name: str) -> NotFound:
    return NotFound(f"No crawler called {name} is at work.")


def _parse_count(text: str, most: int) -> int:
    typed = text.strip()
    if not (typed.isascii() and typed.isdecimal()) or not 1 <= int(typed[:9]) <= most:
        raise UsageError(f"The number of parsers is from 1 to {most} here.")
    return int(typed)


def _forget_host(store: Store, name: str) -> str:
    host_row = next((each for each in store.every_host() if each.name == name.lower()), None)
    if host_row is None:
        raise NotFound(f"{name} is no host of this web.")
    at_work = {each.name for each in answers.crawlers(store) if each.at_work}
    if host_row.holder in at_work:
        raise ControlConflict(f"{host_row.name} is being visited by {host_row.holder}: stop it first.")
    return f"Forgot {host_row.name} and {store.forget(host=host_row.name):,} resources."


def _start_message(process: subprocess.Popen[bytes], output: IO[bytes]) -> str:
    """Wait a moment: what cannot begin ends at once, and says why."""
    try:
        code = process.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        return "A crawler was started on this machine."
    output.seek(0)
    lines = output.read().decode("utf-8", "replace").strip().splitlines()
    last = next((line for line in reversed(lines) if line.strip()), "It ended at once.").removeprefix("gossamer: ")
    if code:
        raise UsageError(last)
    return next((line for line in lines if "pages/s" in line), last)  # how the crawl went


# -- the token ---------------------------------------------------------------------------------------------------------


@router.get("/control", include_in_schema=False)
def enter(request: Request, token: Annotated[str, Query(max_length=500)] = "") -> Response:
    """Let a browser in: the token becomes a cookie that only our own pages send."""
    rules = request.app.state.access_rules
    if not token and not has_token(request, rules):
        answer: Response = request.app.state.templates.page(request, "control.html")
        return answer
    if token and not is_token(token, rules):
        raise RequestRefused("That is not the token.", HTTPStatus.UNAUTHORIZED)
    response = RedirectResponse("/crawl", HTTPStatus.SEE_OTHER)
    if token:
        secure = request.url.scheme == "https"
        response.set_cookie(cookie_name(request), token, httponly=True, samesite="strict", secure=secure)
    return response


@router.post("/control/{path:path}", include_in_schema=False)
async def control_form(request: Request, path: str) -> Response:
    """An action from a form; back to the crawl's page, which says what was done."""
    require_control(request, request.app.state.access_rules)
    fields = dict(parse_qsl((await request.body()).decode("utf-8", "replace"), max_num_fields=20))
    done = await run_in_threadpool(request.app.state.control.run_action, path, fields)
    return RedirectResponse(f"/crawl?done={quote(done[:400])}", HTTPStatus.SEE_OTHER)


# -- the API -----------------------------------------------------------------------------------------------------------

Name = Annotated[str, Path(max_length=100, description="The crawler's name.", examples=["Naiad"])]
Url = Annotated[str, Field(max_length=4_096, description="A URL, with or without a scheme.")]


class StartRequest(BaseModel):
    """A crawler to start on the serving machine."""

    url: Url = ""
    parsers: Annotated[int | None, Field(ge=1, le=1_000, description="Parser processes; default: one per core.")] = None


class ParsersRequest(BaseModel):
    """With how many parser processes a crawler shall work."""

    parsers: Annotated[int, Field(ge=1, le=1_000, description="At most the crawler's `most_parsers`.")]


class SeedRequest(BaseModel):
    """A URL to crawl from as well."""

    url: Url


class ForgetRequest(BaseModel):
    """A page or a host to remove, with all that hangs on it."""

    url: Url = ""
    host: Annotated[str, Field(max_length=300)] = ""


PAUSE_EXAMPLE = {"done": "Naiad will pause within a few seconds."}


def _run_action(request: Request, path: str, fields: Mapping[str, str]) -> Response:
    require_control(request, request.app.state.access_rules)
    return JsonResponse(ControlResult(done=request.app.state.control.run_action(path, fields)))


@router.post("/api/crawlers/{name}/pause", responses=json_responses(ControlResult, PAUSE_EXAMPLE, *FAULTS))
def pause(request: Request, name: Name) -> Response:
    """Ask a crawler to finish what is in flight and start nothing new."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/pause", {})


@router.post("/api/crawlers/{name}/resume", responses=json_responses(ControlResult, PAUSE_EXAMPLE, *FAULTS))
def resume(request: Request, name: Name) -> Response:
    """Ask a paused crawler to go on."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/resume", {})


@router.post("/api/crawlers/{name}/stop", responses=json_responses(ControlResult, PAUSE_EXAMPLE, *FAULTS))
def stop(request: Request, name: Name) -> Response:
    """Ask a crawler to finish what is in flight and end."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/stop", {})


@router.post(
    "/api/crawlers/{name}/parsers",
    responses=json_responses(ControlResult, {"done": "Naiad will have 3 parsers within a few seconds."}, *FAULTS),
)
def parsers(request: Request, name: Name, body: ParsersRequest) -> Response:
    """Ask a crawler to work with more or fewer parser processes, within its limit."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/parsers", {"parsers": str(body.parsers)})


@router.post(
    "/api/crawlers",
    responses=json_responses(ControlResult, {"done": "A crawler was started on this machine."}, *FAULTS),
)
def start(request: Request, body: StartRequest) -> Response:
    """Start a crawler on the serving machine: it goes on with the web, or from a new URL as well."""
    return _run_action(request, "crawlers", {"url": body.url, "parsers": str(body.parsers or "")})


@router.post(
    "/api/seeds", responses=json_responses(ControlResult, {"done": "A crawler was started on this machine."}, *FAULTS)
)
def add_seed(request: Request, body: SeedRequest) -> Response:
    """Crawl from a further URL."""
    return _run_action(request, "seeds", {"url": body.url})


@router.post(
    "/api/forget", responses=json_responses(ControlResult, {"done": "Forgot https://example.org/gone."}, *FAULTS)
)
def forget(request: Request, body: ForgetRequest) -> Response:
    """Remove a page or a host with all that hangs on it: text, source, links, visits."""
    return _run_action(request, "forget", {"url": body.url, "host": body.host})
