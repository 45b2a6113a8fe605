"""What one page may take: each limit with its name, which a reason shows to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.render.options import RenderOptions

MAX_NAVIGATIONS = 20  # that a page tries; each becomes a route, and a loop of them ends here
MAX_ROUTES = 1_000  # distinct URLs of history.pushState and the like; real pages make a handful
MAX_FRAMES = 20  # whose documents join the snapshot
# Requests above the limit are refused; at this multiple the page stops. Refusing 100,000 takes seconds of our time.
_REQUESTS_BEFORE_STOP = 2
# At this multiple the browser is replaced: it takes seconds to report 100,000 requests, while other pages wait.
FLOOD = 4


class RenderBudget:
    """Counts what a page takes, and remembers the limits that cut it."""

    def __init__(self, options: RenderOptions) -> None:
        self._limits = {
            "requests": options.max_requests,
            "dialogs": options.max_dialogs,
            "popups": options.max_popups,
            "navigations": MAX_NAVIGATIONS,
            "routes": MAX_ROUTES,
        }
        self._answer_bytes_left = options.max_answer_bytes
        self._flood = FLOOD * options.max_requests
        self._counts = dict.fromkeys(self._limits, 0)
        self._cuts: dict[str, None] = {}  # names in the order in which the limits were met

    @property
    def cut(self) -> str:
        """The limits that cut the page, for `RenderedPage.cut`."""
        return ", ".join(self._cuts)

    def note(self, name: str) -> None:
        """Remember that a limit cut the page."""
        if name:
            self._cuts[name] = None

    def take(self, name: str) -> bool:
        """Count one request, dialog, popup, navigation or route; False: it is over the limit."""
        self._counts[name] += 1
        if self._counts[name] <= self._limits[name]:
            return True
        self.note(name)
        return False

    def take_answer(self, size: int) -> bool:
        """Count the bytes of a response; False: all of them together are over the limit."""
        self._answer_bytes_left -= size
        if self._answer_bytes_left >= 0:
            return True
        self.note("response bytes")
        return False

    @property
    def is_flooded(self) -> bool:
        """Whether the page makes so many requests that the browser has no time for other pages."""
        return self._counts["requests"] > self._flood

    @property
    def is_excessive(self) -> bool:
        """Whether the page goes on after a limit: its scripts must end."""
        return any(
            self._counts[name] > limit * (_REQUESTS_BEFORE_STOP if name == "requests" else 1)
            for name, limit in self._limits.items()
        )
