"""Jobs that wait for a parser, in a fair order between hosts: the host that has used the least parser time is next.

The time of a job is known only after it, so hosts pay afterwards (start-time fair queueing). A host that comes back
after a rest starts at the time of the others: it cannot save up time, and it keeps its debts.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.model import ParseJob

MAX_IDLE_HOSTS = 10_000  # hosts without jobs whose times are kept; about 2 MB


class HostJob(NamedTuple):
    """A job, and the host that pays for its time."""

    job: ParseJob
    host: int


class _HostShare:
    """The jobs of a host and the parser time that it has used. Mutable; only the queue uses it."""

    __slots__ = ("holds", "is_in_heap", "jobs", "used")

    def __init__(self, used: float) -> None:
        self.jobs: deque[HostJob] = deque()
        self.used = used  # seconds, on the common scale of all hosts
        self.holds = 0  # reasons to give it no parser
        self.is_in_heap = False


class FairQueue:
    """Waiting jobs by host. Every operation takes logarithmic time at most."""

    def __init__(self) -> None:
        self._shares: dict[int, _HostShare] = {}
        self._heap: list[tuple[float, int, _HostShare]] = []  # hosts with jobs and without holds, by their time
        self._ticket = count()
        self._now = 0.0  # the time of the host that was served last
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[HostJob]:
        return (job for share in self._shares.values() for job in share.jobs)

    def put(self, job: HostJob, *, first: bool = False) -> None:
        """Add a job behind those of its host, or before them."""
        share = self._share_of(job.host)
        if not share.jobs:
            share.used = max(share.used, self._now)
        (share.jobs.appendleft if first else share.jobs.append)(job)
        self._length += 1
        self._enter(share)

    def take(self) -> HostJob | None:
        """Return the next job; None if there is none, or only jobs of hosts on hold."""
        heap = self._heap
        while heap:
            at, ticket, share = heap[0]
            if share.holds:
                self._leave(share)
                continue
            if share.used > at:  # charged since
                heapq.heapreplace(heap, (share.used, ticket, share))
                continue
            self._now = at
            self._length -= 1
            job = share.jobs.popleft()
            if not share.jobs:
                self._leave(share)
            return job
        return None

    def charge(self, host: int, seconds: float) -> None:
        """Add parser time that a host has used."""
        self._share_of(host).used += seconds

    def hold(self, host: int) -> None:
        """Give a host no parser until `unhold`, because it has one for long already."""
        self._share_of(host).holds += 1

    def unhold(self, host: int) -> None:
        """Take a hold back."""
        share = self._share_of(host)
        share.holds -= 1
        self._enter(share)

    def has_jobs_of_others(self, host: int) -> bool:
        """Return whether another host than this one has a job here."""
        own = self._shares.get(host)
        return self._length > (len(own.jobs) if own is not None else 0)

    def clear(self) -> None:
        """Drop all jobs and forget all times."""
        self._shares.clear()
        self._heap.clear()
        self._length = 0

    def _enter(self, share: _HostShare) -> None:
        if share.jobs and not share.holds and not share.is_in_heap:
            share.is_in_heap = True
            heapq.heappush(self._heap, (share.used, next(self._ticket), share))

    def _leave(self, share: _HostShare) -> None:
        """Remove the first host of the heap."""
        heapq.heappop(self._heap)
        share.is_in_heap = False

    def _share_of(self, host: int) -> _HostShare:
        share = self._shares.get(host)
        if share is None:
            if len(self._shares) >= MAX_IDLE_HOSTS:
                self._forget_idle_hosts()
            share = self._shares[host] = _HostShare(self._now)
        return share

    def _forget_idle_hosts(self) -> None:
        """Forget hosts without jobs: first those without debts, and the rest only if that is not enough."""
        busy = {host: share for host, share in self._shares.items() if share.jobs or share.holds}
        debtors = {host: share for host, share in self._shares.items() if share.used > self._now}
        kept = busy | debtors
        self._shares = kept if len(kept) < MAX_IDLE_HOSTS else busy
