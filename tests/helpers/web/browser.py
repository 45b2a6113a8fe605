"""Open the web app in a real browser: Debian's Chromium without windows, driven by Playwright.

Every page is watched while a test uses it. These fail the test: errors on the console (the browser also reports
violations of the content security policy there), exceptions, dialogs, and requests to other hosts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest
from playwright.sync_api import ViewportSize, expect, sync_playwright

from helpers.cli.commands import command, environment
from helpers.patience import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request

ROOT = Path(__file__).resolve().parents[3]
MANIFEST = ROOT / "src/gossamer/web/static/dist/.vite/manifest.json"
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
PICTURES = ROOT / "docs/pictures"
PICTURE_SIZE = {"width": 1200, "height": 760}  # size of pages in the documentation's pictures
TOKEN = "only-for-tests"
# Without a graphics card Chromium draws WebGL in software if this flag allows it, and warns that it is slow. Drawing
# whole pages that way (--use-angle=swiftshader) takes three times the processor time.
FLAGS = ("--enable-unsafe-swiftshader",)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DESK, PHONE = ViewportSize(width=1400, height=900), ViewportSize(width=390, height=800)
Look = dict[str, Any]  # options of `open_page`
LOOKS: dict[str, Look] = {
    f"{scheme}, {size['width']} px": {"viewport": size, "color_scheme": scheme}
    for scheme in SCHEMES
    for size in (DESK, PHONE)
}
in_every_look = pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
expect.set_options(timeout=PATIENCE * 1000)
DRIVER = "GL Driver Message"


class AppServer:
    """`gossamer serve` for a web, as a context manager."""

    def __init__(self, store: Path, *options: str, host: str = "127.0.0.1", port: int = 0, token: str = TOKEN) -> None:
        self.store = store
        self._arguments = ("serve", "--store", store, "--host", host, "--port", port, *options)
        self._token = token
        self.url = ""  # set by __enter__

    def __enter__(self) -> Self:
        self._output = tempfile.NamedTemporaryFile("r+")
        self._process = subprocess.Popen(
            command(*self._arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._output,
            env=environment({"GOSSAMER_TOKEN": self._token}),
        )  # fmt: skip
        until(self._is_ready, "the server to be ready")
        return self

    def _is_ready(self) -> bool:
        output = Path(self._output.name).read_text()
        assert self._process.poll() is None, output
        self.url = next((line.split()[1] for line in output.splitlines() if line.startswith("Ready: ")), "")
        return bool(self.url)

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._output.close()

    def stop(self) -> None:
        """Stop the server with SIGINT, as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()

    def cpu_seconds(self) -> float:
        """Return the processor time used so far."""
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return urlsplit(self.url).port or 0

    @property
    def control_url(self) -> str:
        """Return the URL that lets a browser control crawlers."""
        return f"{self.url}control?token={self._token}"


@contextmanager
def chromium(binary: Path) -> Iterator[Browser]:
    """Start a browser."""
    with sync_playwright() as playwright:
        sandbox = os.geteuid() != 0  # Chromium's sandbox does not work for root
        browser = playwright.chromium.launch(executable_path=binary, args=list(FLAGS), chromium_sandbox=sandbox)
        try:
            yield browser
        finally:
            browser.close()


class PageWatch:
    """Records faults of a page and the hosts it asks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []
        self.hosts: set[str] = set()  # that the page sent requests to
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
def open_page(
    browser: Browser, url: str, *, expected: tuple[str, ...] = (), others: tuple[str, ...] = (), **options: Any
) -> Iterator[Page]:
    """Open a watched page. The console may contain `expected` texts; options go to `new_page`.

    The page must ask its own host and the hosts of the URLs `others`, and no further ones.
    """
    page = browser.new_page(**options)
    page.set_default_timeout(PATIENCE * 1000)
    watch = PageWatch(page)
    try:
        page.goto(url)
        yield page
        faults = [fault for fault in watch.faults if not any(part in fault for part in expected)]
        assert not faults, faults
        assert watch.hosts == {urlsplit(one).netloc for one in (url, *others)}, watch.hosts
    finally:
        page.close()


def accessibility_faults(page: Page) -> list[str]:
    """Return the accessibility faults that axe-core finds on a page, also the minor ones."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())  # not as a script of the page, because its policy forbids that
    # Stored pages in their sandbox are not ours. axe-core describes the nodes without faults only if asked to.
    result = page.evaluate("axe.run(document, {iframes: false, resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {fault['help']} {node['target']} {node['html'][:200]}"
        for fault in result["violations"]
        for node in fault["nodes"]
    ]


def questions_of(page: Page) -> list[str]:
    """Return a list that gets each text for which a search box asks from now on."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if "/api/complete" in request.url:
            asked.append(parse_qs(urlsplit(request.url).query)["q"][0])

    page.on("request", note)
    return asked


def check_appearances(page: Page) -> None:
    """Check that a page fits and is accessible on a desk and a phone, in light and dark mode."""
    for size in (PHONE, DESK):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], (page.url, size)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            assert accessibility_faults(page) == [], (page.url, size, scheme)


def save_picture(page: Page, name: str, seconds: float = 0.5) -> None:
    """Save a screenshot for the documentation if GOSSAMER_PICTURES=1; no two runs give the same bytes."""
    if os.environ.get("GOSSAMER_PICTURES") == "1":
        page.wait_for_timeout(1000 * seconds)  # let the page settle
        page.screenshot(path=PICTURES / f"{name}.png")
