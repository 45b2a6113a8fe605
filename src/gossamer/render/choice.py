"""Whether pages can be rendered on this machine, with which browser, and why not.

`auto` needs a browser and both layers that keep it off the network. Where one is missing it becomes `never`, with the
reason. Only `always` with `unsafe_browser` goes on without a layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from gossamer.basics.cores import available_cores
from gossamer.errors import UsageError
from gossamer.render.browser_search import BROWSER_NAMES, find_browser
from gossamer.render.isolation import IsolationReport, check_isolation

if TYPE_CHECKING:
    import selectors

    from gossamer.render.options import RenderOptions
    from gossamer.render.pool import RendererPool

RenderMode = Literal["auto", "always", "never"]
NO_BROWSER = f"no browser was found; install {BROWSER_NAMES[0]} or chromium"
MAX_DEFAULT_RENDERERS = 8  # pages; each takes some 100 MB
INSTALL = f"Install {BROWSER_NAMES[0]} or chromium, or name one with --browser PATH."


class BrowserChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What rendering means on this machine."""

    mode: RenderMode  # never: no page is rendered, and `reason` says why
    browser: str = ""  # path of the program
    reason: str = ""
    layers: IsolationReport | None = None  # None: not tried


def choose_browser(wanted: RenderMode, *, named: str = "", unsafe: bool = False) -> BrowserChoice:
    """Find the browser and try the layers; raise `UsageError` where `always` cannot be had."""
    found = look_for_browser(wanted, named=named)
    return found if found.mode == "never" else try_layers(found, unsafe=unsafe)


def look_for_browser(wanted: RenderMode, *, named: str = "") -> BrowserChoice:
    """Find the browser, which takes less than a millisecond; `try_layers` takes some fifty."""
    if wanted == "never":
        return BrowserChoice(mode="never", reason="crawl.render is never")
    browser = find_browser(named)
    if browser is not None:
        return BrowserChoice(mode=wanted, browser=str(browser))
    if wanted == "always":
        raise UsageError(f"--render always needs a browser, and none was found. {INSTALL}")
    return BrowserChoice(mode="never", reason=f"there is no {named}" if named else NO_BROWSER)


def try_layers(found: BrowserChoice, *, unsafe: bool) -> BrowserChoice:
    """Try the layers for a browser that was found."""
    layers = check_isolation()
    tried = msgspec.structs.replace(found, layers=layers)
    if layers.is_complete or (found.mode == "always" and unsafe):
        return tried
    if found.mode == "always":
        raise UsageError(
            f"--render always needs the layers that keep the browser off the network: {layers.reason}."
            " Add --unsafe-browser to go on without, on a machine where that does no harm."
        )
    return msgspec.structs.replace(tried, mode="never", reason=layers.reason)


class RendererSource:
    """The renderers of a crawl. It makes them when the first page needs them, because most crawls have no such page."""

    def __init__(
        self, found: BrowserChoice, options: RenderOptions, renderers: int, selector: selectors.BaseSelector
    ) -> None:
        self._found = found
        self._options = options
        self._renderers = renderers
        self._selector = selector
        self._pool: RendererPool | None = None
        self.refusal = ""  # why there are none, once somebody asked
        self.most_pages = renderers  # rendered at a time

    def open(self) -> RendererPool | None:
        """Return the pool; None where a layer is missing, and `refusal` says which."""
        if self._pool is None and not self.refusal:
            from gossamer.render.pool import RendererPool  # noqa: PLC0415  few crawls need it

            choice = self._found if self._found.layers else try_layers(self._found, unsafe=self._options.unsafe)
            if choice.mode == "never":
                self.refusal = choice.reason
            else:
                self._pool = RendererPool(self._options, self._renderers, self._selector, choice.layers)
        return self._pool

    def refuse(self, reason: str) -> None:
        """End the renderers for good."""
        self.refusal = reason
        self.close()

    def close(self) -> None:
        """End the renderers, if there are any."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def default_renderers() -> int:
    """Return how many pages a machine renders at a time: half of their time they wait for answers."""
    return min(MAX_DEFAULT_RENDERERS, 2 * available_cores())
