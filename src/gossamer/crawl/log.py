"""A crawler's log: one JSON object a line. Successful visits are in the store and not repeated here."""

from __future__ import annotations

import time
from typing import IO, TYPE_CHECKING

import msgspec

from gossamer.model import SUCCESSFUL_OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gossamer.model import Visit


class CrawlLog:
    """Appends events to a file. Each write holds whole lines, so that several crawlers may share a file."""

    def __init__(self, path: Path, crawler: str) -> None:
        self.path = path
        self._crawler = crawler
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("ab", buffering=0)
        self._lost_lines = 0  # lines that could not be written, for example to a full disk

    def write(self, event: str, **details: object) -> None:
        """Append one event."""
        line = {"at": round(time.time(), 3), "crawler": self._crawler, "event": event, **details}
        self._append([msgspec.json.encode(line)])

    def write_failed_visits(self, visits: Iterable[Visit]) -> None:
        """Append the unsuccessful visits, in one write."""
        lines = [self._visit_line(visit) for visit in visits if visit.outcome not in SUCCESSFUL_OUTCOMES]
        if lines:
            self._append(lines)

    def _visit_line(self, visit: Visit) -> bytes:
        record = {
            "at": round(visit.visited_at, 3),
            "crawler": self._crawler,
            "event": "visit",
            "url": visit.lease.url,
            "outcome": visit.outcome,
            "state": visit.state,
            "status": visit.status,
            "reason": visit.reason,
        }
        return msgspec.json.encode(record)

    def _append(self, lines: list[bytes]) -> None:
        """Append lines. Lost lines are counted and logged later, because a log failure must not end a crawl."""
        loss_lines = (
            [msgspec.json.encode({"event": "lines lost", "count": self._lost_lines})] if self._lost_lines else []
        )
        try:
            self._file.write(b"\n".join([*loss_lines, *lines]) + b"\n")
        except OSError:
            self._lost_lines += len(lines)
        else:
            self._lost_lines = 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()
