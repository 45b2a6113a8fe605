"""Silent crawlers, found without a database: a watch over the heartbeats of the others.

A stopped or frozen process still holds its lock, so only its missing heartbeats show that it does no work. A crawler
counts the seconds by its own clock, from one of its heartbeats to the next. It compares no times of other clocks,
because a clock of a machine that slept may be wrong for the rest of the crawl.

A crawler that was held up itself may not judge: its machine slept, or a long transaction blocked everyone. Then it
watches again from the start, and the others have `LEASE_SECONDS` for their next heartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.store.protocol import LEASE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

# Longest time between two heartbeats of a watcher. Half a lease: a pause that all crawlers share and that no watcher
# notices is shorter than this, so nobody is silent for a whole lease because of it.
MAX_WATCH_GAP_SECONDS = LEASE_SECONDS / 2


class HeartbeatWatch(NamedTuple):
    """The heartbeats of other crawlers that one crawler has seen."""

    seen_at: float  # of the watcher's last heartbeat
    heartbeats: Mapping[int, tuple[float, float]]  # crawler -> its last heartbeat, and when the watcher saw it first

    def look(self, heartbeats: Mapping[int, float], now: float) -> HeartbeatWatch:
        """Return the watch after another look at the crawlers at work."""
        is_continuous = 0 <= now - self.seen_at <= MAX_WATCH_GAP_SECONDS
        known = self.heartbeats if is_continuous else {}
        seen = {}
        for crawler, heartbeat in heartbeats.items():
            before = known.get(crawler)
            seen[crawler] = before if before is not None and before[0] == heartbeat else (heartbeat, now)
        return HeartbeatWatch(now, seen)

    def silent_crawlers(self) -> set[int]:
        """Return the crawlers that sent no heartbeat for a whole lease."""
        return {
            crawler for crawler, (_, first_seen) in self.heartbeats.items() if self.seen_at - first_seen > LEASE_SECONDS
        }
