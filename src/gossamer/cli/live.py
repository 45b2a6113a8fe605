"""The live display of a crawl: a few lines that change in place on a terminal, plain lines elsewhere.

The display writes to stderr; stdout is for data. Callers may pass `CrawlProgress` values as often as they like; the
display draws them at a readable rate. It imports rich when it draws the first frame.
"""

from __future__ import annotations

import sys
import textwrap
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from gossamer.basics.display import escape_hidden, format_bytes, format_duration, pluralize
from gossamer.cli.output import is_terminal, shorten
from gossamer.model import SUCCESSFUL_OUTCOMES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from gossamer.crawl.statistics import CrawlProgress

FRAME_SECONDS = 0.25  # between two frames; people cannot read faster, and a frame costs a few milliseconds
LABEL_WIDTH = 9  # cells of the labels on the left
MIN_WIDTH = 60  # cells; the layout needs these, and cuts its lines on a narrower terminal
HOSTS_SHOWN = 3  # waiting hosts

STATE_STYLE = {"running": "green", "waiting": "yellow", "paused": "yellow", "stopping": "yellow"}
LIMIT_TEXTS = {
    "politeness": "politeness (pauses between requests to a host)",
    "network": "the network",
    "parsing": "parsing",
    "store": "the store",
    "disk": "disk space",
}


class Display(Protocol):
    """Shows the progress and messages of a crawl."""

    def update(self, progress: CrawlProgress) -> None:
        """Take the newest state; callers may call this as often as they like."""
        ...

    def message(self, text: str) -> None:
        """Show a message."""
        ...

    def close(self) -> None:
        """Restore the terminal."""
        ...


def display(*, quiet: bool = False) -> Display:
    """Return the display that suits stderr; a quiet one shows messages only."""
    if quiet:
        return PlainDisplay(sys.stderr, lines=False)
    return LiveDisplay() if is_terminal(sys.stderr) else PlainDisplay(sys.stderr)


class PlainDisplay:
    """Writes a line at once, then every 5 seconds, and every minute in a long crawl."""

    def __init__(self, stream: TextIO, *, lines: bool = True) -> None:
        self._stream = stream
        self._lines = lines
        self._next_at = 0.0
        self._note = ""

    def update(self, progress: CrawlProgress) -> None:
        """Write a line if one is due, and the note of the crawl if it is new."""
        if progress.note != self._note:
            self._note = progress.note
            if progress.note:
                self.message(f"{progress.name}: {progress.state}: {progress.note}")
        if self._lines and progress.seconds >= self._next_at:
            self._next_at = progress.seconds + min(max(progress.seconds / 12, 5.0), 60.0)
            for line in plain_lines(progress):
                self.message(line)

    def message(self, text: str) -> None:
        """Write a message as a line."""
        self._stream.write(escape_hidden(text) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Do nothing: lines need no clean-up."""


def plain_lines(progress: CrawlProgress) -> list[str]:
    """Return the state of a crawl as two lines: what it does, and what the web holds."""
    run = [
        f"{pluralize(progress.pages, 'page')} ({progress.pages_per_second:,.1f}/s)",
        f"{format_bytes(progress.bytes)} ({format_bytes(progress.bytes_per_second)}/s)",
    ]
    if progress.failed or progress.refused:
        run.append(progress.describe_errors())
    if progress.limit:
        run.append(f"limit: {progress.limit}")
    web = f"{progress.queued:,} queued of {progress.known:,} known"
    if progress.eta_seconds is not None:
        web += f", about {format_duration(progress.eta_seconds)} left"
    return [f"{progress.name}: {format_duration(progress.seconds)}: {', '.join(run)}", f"  the web: {web}"]


class LiveDisplay:
    """Draws the state of a crawl as lines that change in place."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._live: Live | None = None
        self._drawn_at = float("-inf")

    def update(self, progress: CrawlProgress) -> None:
        """Draw a frame, unless the last one is younger than `FRAME_SECONDS`."""
        now = time.monotonic()
        if now - self._drawn_at < FRAME_SECONDS:
            return
        self._drawn_at = now
        live = self._start_live()
        live.update(frame(progress, live.console.width), refresh=True)

    def message(self, text: str) -> None:
        """Print a message above the frame."""
        from rich.text import Text

        self._start_live().console.print(Text(escape_hidden(text)))

    def close(self) -> None:
        """Remove the frame and show the cursor again."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _start_live(self) -> Live:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = self._console or Console(stderr=True, highlight=False, markup=False, emoji=False)
            # stdout is for data, so rich must not redirect it into the frame.
            self._live = Live(
                console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start(refresh=False)
        return self._live


def frame(progress: CrawlProgress, width: int) -> Text:
    """Return the state of a crawl as a few lines of at most `width` cells."""
    from rich.text import Text

    lines = [_title(progress), *_note_lines(progress, width), *_number_rows(progress), *_waiting_rows(progress)]
    for url, outcome in progress.latest:
        mark, style = ("  ", "") if outcome in SUCCESSFUL_OUTCOMES else ("! ", "red")
        prefix = "" if outcome in SUCCESSFUL_OUTCOMES else f"{escape_hidden(outcome)}: "
        url_width = max(width, MIN_WIDTH) - len(mark) - len(prefix)
        lines.append(Text(f"{mark}{prefix}{shorten(escape_hidden(url), url_width, 'middle')}", style=style))
    for line in lines:
        line.truncate(max(width, 1), overflow="ellipsis")
    return Text("\n").join(lines)


def _title(progress: CrawlProgress) -> Text:
    from rich.text import Text

    line = Text(no_wrap=True)
    line.append(escape_hidden(progress.name), "bold")
    line.append(" is ").append(escape_hidden(progress.state), STATE_STYLE.get(progress.state, ""))
    line.append(f", {format_duration(progress.seconds)}")
    if progress.eta_seconds is not None:
        line.append(f", about {format_duration(progress.eta_seconds)} left")
    return line


def _note_lines(progress: CrawlProgress, width: int) -> list[Text]:
    """Return why the crawl is not running, never cut: the note asks people to do something."""
    from rich.text import Text

    lines = textwrap.wrap(escape_hidden(progress.note), max(width, MIN_WIDTH) - 2)
    return [Text(f"  {line}", style="yellow") for line in lines]


def _number_rows(progress: CrawlProgress) -> list[Text]:
    pages = f"{progress.pages:,}  {progress.pages_per_second:,.1f}/s  (mean {progress.mean_pages_per_second:,.1f}/s)"
    sizes = f"{format_bytes(progress.bytes)}  {format_bytes(progress.bytes_per_second)}/s"
    queue = f"{progress.queued:,} queued of {progress.known:,} known"
    active = f"{pluralize(progress.transfers, 'transfer')}, {pluralize(progress.hosts, 'host')} held"
    rows = [_row("pages", pages), _row("bytes", sizes), _row("the web", queue)]
    rows.append(_row("errors", progress.describe_errors(), "red" if progress.failed else ""))
    rows.append(_row("active", active))
    if progress.limit:
        rows.append(_row("limit", LIMIT_TEXTS.get(progress.limit, escape_hidden(progress.limit))))
    return rows


def _waiting_rows(progress: CrawlProgress) -> list[Text]:
    """Return a line for each waiting host: its name, how long, and why."""
    shown = progress.waiting[:HOSTS_SHOWN]
    rows = []
    for i, (host, seconds, why) in enumerate(shown):
        rows.append(
            _row(
                "waiting" if i == 0 else "",
                f"{escape_hidden(host)} for {format_duration(seconds)}: {escape_hidden(why)}",
            )
        )
    if more := len(progress.waiting) - len(shown):
        rows.append(_row("", f"and {more:,} more"))
    return rows


def _row(label: str, value: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(no_wrap=True).append(f"  {label:<{LABEL_WIDTH}}", "dim").append(value, style)
