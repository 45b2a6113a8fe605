"""How far a long command is, told while it works."""

from __future__ import annotations

import sys
import time

from gossamer.cli.output import is_terminal, printable, shortened


class Ticker:
    """How far a long command is, on stderr: a line that changes on a terminal, one every 5 seconds elsewhere."""

    def __init__(self) -> None:
        self._live = is_terminal(sys.stderr)
        self._pause = 0.1 if self._live else 5.0
        self._next = time.monotonic() + self._pause

    def tell(self, text: str) -> None:
        """Show how far it is, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._pause
        sys.stderr.write(f"\r{shortened(printable(text), 79)}\x1b[K" if self._live else f"{printable(text)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
