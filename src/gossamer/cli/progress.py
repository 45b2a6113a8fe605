"""How far a long command is, told while it works."""

from __future__ import annotations

import sys
import time

from gossamer.cli.output import escape_hidden, is_terminal, shorten


class ProgressLine:
    """How far a long command is, on stderr: a line that changes on a terminal, one every 5 seconds elsewhere."""

    def __init__(self) -> None:
        self._live = is_terminal(sys.stderr)
        self._interval = 0.1 if self._live else 5.0
        self._next_at = time.monotonic() + self._interval

    def update(self, text: str) -> None:
        """Show how far it is, if it is time to."""
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + self._interval
        sys.stderr.write(f"\r{shorten(escape_hidden(text), 79)}\x1b[K" if self._live else f"{escape_hidden(text)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
