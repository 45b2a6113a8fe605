"""Start Chromium without Gossamer, with and without its layers of isolation, so that the canary can be hit."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from helpers.patience import PATIENCE
from webs.canary import NAME_SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from playwright.sync_api import BrowserContext, Route

    from webs.served import SiteResponse

# The headless shell only stays at a page if somebody could debug it.
OPENING_SWITCHES = ("--headless=new", "--no-sandbox", "--disable-popup-blocking", "--remote-debugging-port=0")
# Playwright's own switches that close a way out.
CLOSING_SWITCHES = ("--disable-background-networking", "--disable-component-update")


def browser_script(folder: Path, binary: Path, prefix: Sequence[str] = ()) -> Path:
    """Write a program that starts the browser with the canary's name server, behind the commands of `prefix`."""
    names = folder / "resolv.conf"
    names.write_text(f"nameserver {NAME_SERVER}\n")
    inner = f'mount --bind {shlex.quote(str(names))} /etc/resolv.conf && exec {shlex.join([*prefix, str(binary)])} "$@"'
    script = folder / "browser"
    script.write_text(f'#!/bin/sh\nexec unshare --mount sh -c {shlex.quote(inner)} browser "$@"\n')
    script.chmod(0o755)
    return script


@contextmanager
def browser_by_itself(binary: Path, url: str) -> Iterator[None]:
    """Start Chromium as a person does, at a page, with nobody attached to it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        script = browser_script(Path(home), binary)
        process = subprocess.Popen(
            [script, *OPENING_SWITCHES, f"--user-data-dir={home}/web", url],
            env={**os.environ, "HOME": home}, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def browser_with_given_pages(
    binary: Path,
    origin: str,
    pages: Mapping[str, SiteResponse],
    *,
    prefix: Sequence[str] = (),
    switches: Sequence[str] = (),
) -> Iterator[BrowserContext]:
    """Start Chromium and give it the pages of one origin; whatever else they want goes to the network."""

    def answer(route: Route) -> None:
        url = route.request.url
        page = pages.get(url.removeprefix(origin)) if url.startswith(f"{origin}/") else None
        if page is None:
            route.continue_()
        else:
            route.fulfill(status=page.status, headers=dict(page.headers), body=page.body)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            f"{home}/profile", executable_path=browser_script(Path(home), binary, prefix),
            ignore_default_args=list(CLOSING_SWITCHES), args=list(switches), env={**os.environ, "HOME": home},
        )  # fmt: skip
        try:
            context.set_default_timeout(1000 * PATIENCE)
            context.route("**/*", answer)
            yield context
        finally:
            context.close()
