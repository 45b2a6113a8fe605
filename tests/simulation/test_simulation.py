"""No seed breaks a rule, a seed replays exactly, and planted faults are found.

A failure names its seed and the command that replays it with the trace: `python -m simulation SEED`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from gossamer.basics.cores import available_cores
from simulation.checker import Violation
from simulation.planted import PLANTED_BUGS, planted_bug
from simulation.run import Summary, run_seed

TESTS = Path(__file__).parents[1]
SEEDS = 100  # of `make test`
FULL_SEEDS = 10_000  # of `make test-full`, other ones
SEEDS_UNTIL_FOUND = 400  # within which a planted fault shows
RARE_BUG = "a visit is written without its lease"  # shows only after hundreds of seeds


def test_no_seed_breaks_a_rule() -> None:
    summaries = [run_seed(seed) for seed in range(SEEDS)]
    _check_variety(summaries)


@pytest.mark.full
@pytest.mark.timeout(7200)  # twenty minutes of processor time on one core, more on a busy machine
def test_no_seed_of_many_breaks_a_rule() -> None:
    with ProcessPoolExecutor(available_cores(), get_context("spawn")) as processes:
        summaries = list(processes.map(run_seed, range(SEEDS, SEEDS + FULL_SEEDS), chunksize=100))
    assert len(summaries) == FULL_SEEDS
    _check_variety(summaries)


def _check_variety(summaries: list[Summary]) -> None:
    """Check that the seeds reached what they are for: every end of a crawl, and crawlers that met each other."""
    reasons = {reason for summary in summaries for reason in summary.reasons}
    assert reasons >= {
        "complete",
        "page limit reached",
        "stopped",
        "stopped by request",
        "other crawlers took over its work",
        "nothing can be visited within 5 s",
        "StoreFull",
        "StoreUnreachable",
    }
    assert {summary.crawlers for summary in summaries} >= {2, 3, 4, 5}


def test_a_seed_replays_in_another_process() -> None:
    seeds = [3, 44, 987]  # with a disk that is full, a crawler that hangs, and a stop
    ran = [run_seed(seed).trace_digest for seed in seeds]
    assert [run_seed(seed).trace_digest for seed in seeds] == ran
    code = f"from simulation.run import run_seed; print(*(run_seed(seed).trace_digest for seed in {seeds}))"
    environ = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": "7"}
    replayed = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert replayed.stdout.split() == ran


@pytest.mark.parametrize(
    "bug", [pytest.param(bug, marks=[pytest.mark.full] if bug == RARE_BUG else []) for bug in PLANTED_BUGS]
)
def test_a_planted_bug_is_found_and_its_seed_named(bug: str) -> None:
    with planted_bug(bug):
        violation, seed = _first_violation()
    assert violation.startswith(f"seed {seed}: ")
    assert f"python -m simulation {seed}\n" in violation
    run_seed(seed)  # without the fault, the same seed breaks no rule


def _first_violation() -> tuple[str, int]:
    for seed in range(SEEDS_UNTIL_FOUND):
        try:
            run_seed(seed)
        except Violation as violation:
            return str(violation), seed
    raise AssertionError(f"{SEEDS_UNTIL_FOUND} seeds did not find the planted fault")
