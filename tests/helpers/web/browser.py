"""Looking at the web app in a real browser: Debian's Chromium, driven by Playwright.

A page is watched while a test uses it. Whatever a page of ours must never do fails the test: errors on the console
(violations of the content security policy are told there), exceptions, dialogs, requests to other hosts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import sync_playwright

from helpers.cli.commands import command, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

ROOT = Path(__file__).resolve().parents[3]
MANIFEST = ROOT / "src/gossamer/web/static/dist/.vite/manifest.json"
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
PICTURES = ROOT / "docs/pictures"
PICTURED = {"width": 1200, "height": 760}  # the size of pages in the documentation's pictures
TOKEN = "only-for-tests"
START_SECONDS = 30.0
WAIT_SECONDS = 45.0  # for what a page does; moments, where nothing else runs
# Without a graphics card WebGL is computed. Chromium wants to be told that this is meant, and says that it is slow.
FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
DRIVER = "GL Driver Message"


class Serving:
    """`gossamer serve` for a web, as long as the context lasts."""

    def __init__(self, store: Path, *, host: str = "127.0.0.1", port: int = 0, token: str = TOKEN) -> None:
        self.store = store
        self._arguments = ("serve", "--store", store, "--host", host, "--port", port)
        self._token = token
        self.url = ""  # known once entered

    def __enter__(self) -> Self:
        self._said = tempfile.NamedTemporaryFile("r+")
        self._process = subprocess.Popen(
            command(*self._arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said,
            env=environment({"GOSSAMER_TOKEN": self._token}),
        )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while not self.url:
            said = Path(self._said.name).read_text()
            assert time.monotonic() < until, said
            assert self._process.poll() is None, said
            self.url = next((line.split()[1] for line in said.splitlines() if line.startswith("Ready: ")), "")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._said.close()

    def end(self) -> None:
        """End it, as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        finally:
            self._process.kill()
            self._process.wait()

    def cpu_seconds(self) -> float:
        """The processor time it has taken so far."""
        taken = psutil.Process(self._process.pid).cpu_times()
        return float(taken.user + taken.system)

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.url).port or 0

    @property
    def control(self) -> str:
        """The URL that lets a browser steer crawlers."""
        return f"{self.url}control?token={self._token}"


@contextmanager
def chromium(binary: Path) -> Iterator[Browser]:
    """A browser."""
    with sync_playwright() as playwright:
        sandbox = os.geteuid() != 0  # Chromium's own does not work for root
        browser = playwright.chromium.launch(executable_path=binary, args=list(FLAGS), chromium_sandbox=sandbox)
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """What a page did that it must not do."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []
        self.hosts: set[str] = set()  # asked
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and DRIVER not in message.text:
            self.faults.append(f"console: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if request.url.startswith(("http:", "https:", "ws:", "wss:")):
            self.hosts.add(urlsplit(request.url).netloc)


@contextmanager
def looking(browser: Browser, url: str, *, expected: tuple[str, ...] = (), **options: Any) -> Iterator[Page]:
    """A page that is watched. `expected` are parts of what the console may say; options are those of a new page."""
    page = browser.new_page(**options)
    page.set_default_timeout(WAIT_SECONDS * 1000)
    watch = Watch(page)
    try:
        page.goto(url)
        yield page
        faults = [fault for fault in watch.faults if not any(part in fault for part in expected)]
        assert not faults, faults
        assert watch.hosts == {urlsplit(url).netloc}, watch.hosts
    finally:
        page.close()


def axe(page: Page) -> list[str]:
    """The serious accessibility faults of a page, as axe-core finds them."""
    page.evaluate(AXE.read_text())  # not a script of the page: its policy would forbid it
    found = page.evaluate("axe.run(document, {iframes: false})")  # a stored page in its sandbox is not ours
    return [
        f"{fault['id']}: {fault['help']} {node['target']} {node['html'][:200]}"
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"]
    ]


def picture(page: Page, name: str, seconds: float = 0.5) -> None:
    """Keep what a page looks like for the documentation, when GOSSAMER_PICTURES=1: no two runs give the same bytes."""
    if os.environ.get("GOSSAMER_PICTURES") == "1":
        page.wait_for_timeout(1000 * seconds)  # for what there is to see
        page.screenshot(path=PICTURES / f"{name}.png")


def until(condition: Any, seconds: float = WAIT_SECONDS) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "It did not happen in time."
        time.sleep(0.1)
