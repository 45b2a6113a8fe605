"""The seeds of a crawl: their cost, and seeds that other crawls add."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gossamer.config import Settings
from gossamer.crawl.outbox import Outbox
from gossamer.crawl.plan import CrawlPlan
from gossamer.crawl.round_settings import RoundSettings
from gossamer.crawl.seeds import Seeds
from gossamer.model import State
from gossamer.store.values import Round
from helpers.fetch.fetch_loop import FetchLoop
from helpers.store.crawl_steps import candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NEW = "https://new.example/"


@pytest.fixture
def loop() -> Iterator[FetchLoop]:
    fetch_loop = FetchLoop()
    yield fetch_loop
    fetch_loop.close()


def create_seeds(loop: FetchLoop, number: int) -> tuple[Seeds, Round, Outbox]:
    """Return `number` seeds, their round and the outbox."""
    settings = Settings()
    settings_json = msgspec.json.encode(settings.crawl).decode()
    urls = tuple(f"https://{n}.example/" for n in range(number))
    round_ = Round(
        id=1, started_at=0.0, finished_at=None, settings=settings_json, seeds=urls, joined=(),
        max_pages=None, max_pages_per_host=None, pages=0,
    )  # fmt: skip
    outbox = Outbox(settings.store)
    plan = CrawlPlan(settings=settings, round=round_, product="gossamer")
    return Seeds(plan, RoundSettings(settings), loop.fetcher, outbox), round_, outbox


def is_admitted(seeds: Seeds, url: str) -> bool:
    return seeds.admit([candidate(url, depth=1)])[0].state is State.QUEUED


def count_calls(action: Callable[[], object]) -> int:
    """Return how many functions of Gossamer `action` calls."""
    number = 0

    def count(frame: Any, event: str, _: object) -> None:
        nonlocal number
        number += event == "call" and "gossamer" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return number


def test_adding_a_seed_costs_the_same_with_few_or_many_seeds(loop: FetchLoop) -> None:
    few, many = (create_seeds(loop, number)[0] for number in (10, 500))
    assert count_calls(lambda: few.add(NEW)) == count_calls(lambda: many.add(NEW))
    assert is_admitted(many, f"{NEW}a")
    assert is_admitted(many, "https://0.example/a")
    assert not is_admitted(many, "https://elsewhere.example/a")


def test_an_unchanged_round_costs_the_same_with_few_or_many_seeds(loop: FetchLoop) -> None:
    (few, few_round, _), (many, many_round, _) = (create_seeds(loop, number) for number in (10, 500))
    assert count_calls(lambda: few.apply_round(few_round)) == count_calls(lambda: many.apply_round(many_round))


def test_a_seed_of_another_crawl_joins_and_known_urls_are_readmitted(loop: FetchLoop) -> None:
    seeds, round_, outbox = create_seeds(loop, 2)
    seeds.apply_round(msgspec.structs.replace(round_, seeds=(*round_.seeds, NEW)))
    assert is_admitted(seeds, f"{NEW}a")
    assert outbox.readmit
    assert [*seeds.urls] == [*round_.seeds, NEW]


def test_a_redirect_target_of_another_crawl_joins_without_readmission(loop: FetchLoop) -> None:
    seeds, round_, outbox = create_seeds(loop, 2)
    seeds.apply_round(msgspec.structs.replace(round_, joined=(NEW,)))
    assert is_admitted(seeds, f"{NEW}a")
    assert not outbox.readmit
