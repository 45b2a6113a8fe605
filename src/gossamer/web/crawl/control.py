"""Actions that change a web: pause, resume, stop and start crawlers, set their parsers, add seeds, forget pages.

Orders to crawlers go through the store, so they reach crawlers on all machines. New crawlers start on this machine.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import threading
import time
from contextlib import closing
from http import HTTPStatus
from typing import IO, TYPE_CHECKING

import msgspec

from gossamer.errors import UsageError
from gossamer.indexing import start_index_update
from gossamer.lookup import stored_url_rules
from gossamer.parse.pool import most_parsers
from gossamer.processes.exit_report import wait_or_kill
from gossamer.processes.start import start_python
from gossamer.urls.canonical import url_digest, urls_from_input
from gossamer.web.crawl.answers import crawlers
from gossamer.web.http.problems import NotFound, RequestRefused
from gossamer.web.pages.answers import require_resource
from gossamer.wiring import has_index, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.store.protocol import Store
    from gossamer.web.crawl.answers import CrawlerStatus

WANTED_STATES = {"pause": "pause", "resume": "run", "stop": "stop"}
REPLIES = {"pause": "will pause", "resume": "will go on", "stop": "will stop"}
# Fields of a crawler to start, and the flags of `gossamer crawl` that they become.
START_FLAGS = {"max_pages": "--max-pages", "delay": "--delay", "scope": "--scope", "parsers": "--parsers"}
START_NOUNS = {"max_pages": "number of pages", "delay": "number of seconds"}
SCOPES = ("host", "domain", "prefix", "any")
NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)
MAX_STARTED = 4  # running crawlers that this server started
START_SECONDS = 2.0  # a crawl that cannot start exits within this time
END_SECONDS = 5.0  # for its crawlers to finish when the server ends


class ControlResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an action."""

    done: str  # a sentence for people


class ControlConflict(RequestRefused):
    """The state of the web does not allow the action now."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, HTTPStatus.CONFLICT)


class Control:
    """Runs the actions of one server, and owns the crawlers that it started."""

    def __init__(self, location: str, on_forget: Callable[[], None]) -> None:
        self._location = location
        self._on_forget = on_forget  # called after a page or host is forgotten
        self._processes: list[subprocess.Popen[bytes]] = []
        self._index_updates: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self.most_parsers = most_parsers()

    def run_action(self, path: str, fields: Mapping[str, str]) -> str:
        """Run the action that a path names; return a sentence about its result."""
        match path.split("/"):
            case ["crawlers", name, ("pause" | "resume" | "stop") as verb]:
                return self._request_state(name, verb)
            case ["crawlers", name, "parsers"]:
                return self._request_parsers(name, fields.get("parsers", ""))
            case ["crawlers"]:
                return self._start(fields.get("url", ""), fields)
            case ["seeds"]:
                if not fields.get("url", "").strip():
                    raise UsageError("Give the URL to add.")
                return self._start(fields["url"], {})
            case ["forget"]:
                done = self._forget(fields.get("url", "").strip(), fields.get("host", "").strip())
                self._on_forget()
                self._update_index()
                return done
        raise NotFound("There is no such action.")

    def close(self) -> None:
        """Stop the crawlers that this server started; SIGTERM lets them commit their work."""
        with self._lock:
            running = [process for process in self._processes if process.poll() is None]
            for process in running:
                process.terminate()
            until = time.monotonic() + END_SECONDS
            for process in running:
                wait_or_kill(process, max(0.0, until - time.monotonic()))

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

    def _start(self, url: str, fields: Mapping[str, str]) -> str:
        urls = [url.strip()] if url.strip() else []
        for each in urls:
            urls_from_input(each)  # raises UsageError for a malformed URL
            if not is_argument(each):
                raise UsageError("The URL holds a NUL or half a character; no program can be given it.")
        flags = self._start_flags(fields)
        with self._lock:
            self._processes = [process for process in self._processes if process.poll() is None]
            if len(self._processes) >= MAX_STARTED:
                raise ControlConflict(f"This server already runs {MAX_STARTED} crawlers: stop one first.")
            with tempfile.TemporaryFile() as output:
                process = self._spawn([*flags, "--", *urls], output)
                self._processes.append(process)
                return _start_message(process, output)

    def _spawn(self, arguments: list[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
        return start_python(  # user input follows `--`
            "-m", "gossamer", "crawl", "--quiet", "--store", self._location, *arguments,
            stderr=output, own_session=True,  # Ctrl-C reaches only the server; `close` ends the crawlers
        )  # fmt: skip

    def _start_flags(self, fields: Mapping[str, str]) -> list[str]:
        """Return the flags for the fields that are given; the crawl itself checks what a number may be."""
        given = {name: text.strip() for name in START_FLAGS if (text := fields.get(name, "")).strip()}
        if "parsers" in given:
            _parse_count(given["parsers"], self.most_parsers)
        if "scope" in given and given["scope"] not in SCOPES:
            raise UsageError(f"There is no scope {given['scope']}; there are {', '.join(SCOPES)}.")
        for name in ("max_pages", "delay"):
            if name in given and not _is_number(given[name]):
                raise UsageError(f"{given[name]} is not a number; give a {START_NOUNS[name]}.")
        return [part for name, text in given.items() for part in (START_FLAGS[name], text)]

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def _forget(self, url: str, host: str) -> str:
        if bool(url) == bool(host):
            raise UsageError("Give a URL or a host to forget.")
        with closing(open_store(self._location)) as store:
            if url:
                row = require_resource(store, url)
                store.forget(url_digest=url_digest(row.url, stored_url_rules(store)))
                return f"Forgot {row.url}."
            return _forget_host(store, host)

    def _update_index(self) -> None:
        """Let the index drop what was forgotten, in a process that ends by itself."""
        if has_index(self._location):
            with self._lock:
                running = [process for process in self._index_updates if process.poll() is None]
                self._index_updates = [*running, start_index_update(self._location)]


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None


def is_argument(text: str) -> bool:
    """Whether a text can be an argument of a program."""
    return "\x00" not in text and text == text.encode("utf-8", "replace").decode()


def _crawler_at_work(store: Store, name: str) -> CrawlerStatus:
    at_work = {each.name.casefold(): each for each in crawlers(store) if each.at_work}
    if name.casefold() not in at_work:
        raise _no_such_crawler(name)
    return at_work[name.casefold()]


def _no_such_crawler(name: str) -> NotFound:
    return NotFound(f"No crawler called {name} is at work.")


def _parse_count(text: str, most: int) -> int:
    typed = text.strip()
    if not (typed.isascii() and typed.isdecimal()) or not 1 <= int(typed[:9]) <= most:
        raise UsageError(f"Give a number of parsers from 1 to {most}.")
    return int(typed)


def _forget_host(store: Store, name: str) -> str:
    host_row = next((each for each in store.every_host() if each.name == name.lower()), None)
    if host_row is None:
        raise NotFound(f"{name} is not a host of this web.")
    at_work = {each.name for each in crawlers(store) if each.at_work}
    if host_row.holder in at_work:
        raise ControlConflict(f"{host_row.holder} is visiting {host_row.name}: stop this crawler first.")
    return f"Forgot {host_row.name} and {store.forget(host=host_row.name):,} resources."


def _start_message(process: subprocess.Popen[bytes], output: IO[bytes]) -> str:
    """Wait `START_SECONDS`; a crawler that cannot start has exited by then, with the reason on stderr."""
    try:
        code = process.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        return "A crawler was started on this machine."
    output.seek(0)
    lines = output.read().decode("utf-8", "replace").strip().splitlines()
    last = next((line for line in reversed(lines) if line.strip()), "It exited at once.").removeprefix("gossamer: ")
    if code:
        raise UsageError(last)
    return next((line for line in lines if "pages/s" in line), last)  # the summary of a crawl that is already complete
