"""Which hosts are away for a while: they answered a few minutes ago and cannot be reached now."""

from __future__ import annotations

from collections import OrderedDict

from gossamer.crawl import policy


class Outages:
    """Remembers the last answers of hosts, also of released ones."""

    def __init__(self) -> None:
        # Unix time of the last answer by host and scheme (and so by port), latest last.
        self._answered_at: OrderedDict[tuple[int, str], float] = OrderedDict()
        self._away_until = 0.0  # until then every unreachable host counts as away; any answer resets it

    def __len__(self) -> int:
        return len(self._answered_at)

    def is_away(self, host: int, scheme: str, now: float) -> bool:
        """Return whether an unreachable host is likely to come back, because it answered a few minutes ago.

        The network itself may be down, so hosts never met count as away too until any host answers. This state ends:
        a host counts as away for at most `OUTAGE_SECONDS` after an answer.
        """
        answered_at = self._answered_at.get((host, scheme))
        if answered_at is not None:
            self._away_until = max(self._away_until, answered_at + policy.OUTAGE_SECONDS)
        return now < self._away_until

    def record_answer(self, host: int, scheme: str, now: float) -> None:
        """Remember that a host answered, and forget answers that are too old to count."""
        self._answered_at[host, scheme] = now
        self._answered_at.move_to_end((host, scheme))
        while next(iter(self._answered_at.values())) <= now - policy.OUTAGE_SECONDS:
            self._answered_at.popitem(last=False)
        self._away_until = 0.0
