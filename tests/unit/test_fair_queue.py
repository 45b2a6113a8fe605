"""Jobs of several hosts share the parsers' time."""

from __future__ import annotations

from gossamer.parse import fair_queue
from gossamer.parse.fair_queue import FairQueue, HostJob
from helpers.parse.jobs import job


def put(queue: FairQueue, host: int, *numbers: int) -> None:
    for number in numbers:
        queue.put(HostJob(job("x", number=number), host))


def take(queue: FairQueue) -> tuple[int, int]:
    taken = queue.take()
    assert taken is not None
    return taken.host, taken.job.id


def serve(queue: FairQueue, seconds: dict[int, float], jobs: int) -> list[int]:
    """Take jobs, charge each host what its pages cost, and return the hosts in order."""
    hosts = []
    for _ in range(jobs):
        host, _ = take(queue)
        queue.charge(host, seconds[host])
        hosts.append(host)
    return hosts


def test_jobs_of_one_host_come_in_their_order() -> None:
    queue = FairQueue()
    put(queue, 1, 1, 2, 3)
    assert [take(queue) for _ in range(3)] == [(1, 1), (1, 2), (1, 3)]
    assert queue.take() is None
    assert not queue


def test_a_host_with_costly_pages_gets_few_turns() -> None:
    queue = FairQueue()
    put(queue, 1, *range(1000))
    put(queue, 2, *range(1000))
    order = serve(queue, {1: 1.0, 2: 0.01}, 500)
    assert order.count(1) <= 6, "a hundred pages of the other host cost as much as one of its pages"


def test_a_host_that_rested_does_not_save_time_up() -> None:
    queue = FairQueue()
    put(queue, 1, *range(100))
    serve(queue, {1: 1.0}, 50)
    put(queue, 2, *range(100))
    assert 8 <= serve(queue, {1: 1.0, 2: 1.0}, 20).count(2) <= 12


def test_a_host_keeps_its_debt_while_it_has_no_job() -> None:
    queue = FairQueue()
    put(queue, 1, 1)
    serve(queue, {1: 20.0}, 1)
    put(queue, 1, 2)
    put(queue, 2, *range(100))
    assert serve(queue, {1: 20.0, 2: 0.1}, 100) == [2] * 100


def test_a_host_on_hold_gets_no_turn() -> None:
    queue = FairQueue()
    put(queue, 1, 1, 2)
    queue.hold(1)
    assert queue.take() is None
    put(queue, 2, 3)
    assert take(queue) == (2, 3)
    queue.unhold(1)
    assert [take(queue), take(queue)] == [(1, 1), (1, 2)]


def test_a_returned_job_comes_first_again() -> None:
    queue = FairQueue()
    put(queue, 1, 1, 2)
    returned = queue.take()
    assert returned is not None
    queue.put(returned, first=True)
    assert [take(queue), take(queue)] == [(1, 1), (1, 2)]


def test_hosts_without_jobs_are_forgotten() -> None:
    queue = FairQueue()
    for host in range(2 * fair_queue.MAX_IDLE_HOSTS):
        put(queue, host, host)
        serve(queue, {host: 0.0}, 1)
    assert len(queue._shares) <= fair_queue.MAX_IDLE_HOSTS
