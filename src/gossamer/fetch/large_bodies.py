"""Memory for large bodies, shared between hosts: a slow host holds what it has sent, and never all there is.

Every body may hold `SMALL_BODY` bytes. More comes step by step from one store of memory for all transfers. A host may
hold as much of it as is left, so that some is always left for the next host. With k greedy hosts, each holds a share of
1 / (k + 1), and another host finds as much.

Bodies that all stopped at their share would wait for each other for ever. So one transfer at a time, the leader, may
grow beyond the share of its host, up to the limit of its body. Its memory is set apart.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pycurl

from gossamer.urls.canonical import authority

if TYPE_CHECKING:
    from gossamer.fetch.transfer import Transfer

SMALL_BODY = 1 << 20  # bytes that every body may hold in memory ...
MAX_LARGE_BODIES = 8  # ... and the number of bodies of the greatest size that fit into the memory for larger ones
STEP_BYTES = 1 << 20  # by which a body may grow at a time


class LargeBodyLimiter:
    """Decides which bodies may grow; the other transfers wait with paused connections.

    It bounds the memory of a crawler: 128 transfers of 32 MiB would take 4 GiB. With 1 MiB for each and eight times
    32 MiB for what is larger, they take 384 MiB at most.
    """

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes`: the greatest size of a body."""
        self._free = (MAX_LARGE_BODIES - 1) * max_bytes  # the leader has the rest
        self._held: dict[Transfer, int] = {}
        self._held_by_host: Counter[str] = Counter()
        self._waiting: dict[Transfer, str] = {}  # with their hosts, in the order in which they came
        self._leader: Transfer | None = None

    def grow(self, transfer: Transfer, size: int, limit: int) -> int:
        """Return up to which size a body may grow now, at least `size`; 0: the transfer has to wait.

        `limit` is the limit of its kind, and greater than `SMALL_BODY`.
        """
        host = authority(transfer.attempt.url)
        missing = -(-(size - SMALL_BODY) // STEP_BYTES) * STEP_BYTES - self._held.get(transfer, 0)
        if transfer is not self._leader and self._held_by_host[host] + missing <= self._free:
            self._free -= missing
            self._held_by_host[host] += missing
            held = self._held[transfer] = self._held.get(transfer, 0) + missing
            return min(limit, SMALL_BODY + held)
        if self._leader is None:
            self._leader = transfer
        if transfer is self._leader:
            return limit
        self._waiting[transfer] = host
        return 0

    def release(self, transfer: Transfer) -> None:
        """Take back the memory of a transfer that ended, and let others grow, those of hosts that hold little first."""
        is_leader = transfer is self._leader
        held = self._held.pop(transfer, 0)
        self._waiting.pop(transfer, None)
        if not held and not is_leader:
            return
        if is_leader:
            self._leader = None
        if held:
            host = authority(transfer.attempt.url)
            self._free += held
            self._held_by_host[host] -= held
            if not self._held_by_host[host]:
                del self._held_by_host[host]
        for waiting in sorted(self._waiting, key=lambda other: self._held_by_host[self._waiting[other]]):
            if self._waiting.pop(waiting, None) is not None:  # an earlier one may have ended it
                waiting.handle.pause(pycurl.PAUSE_CONT)  # libcurl passes its chunk again, which may make it wait again
