"""The seeds of a crawl that has many of them: each is looked at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from gossamer.config import Settings
from gossamer.crawl.loop import CrawlPlan
from gossamer.crawl.outbox import Outbox
from gossamer.crawl.round_settings import RoundSettings
from gossamer.crawl.seeds import Seeds
from gossamer.model import State
from gossamer.store.values import Round
from helpers.fetch.fetch_loop import Loop
from helpers.store.crawl_steps import candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NEW = "https://new.example/"


@pytest.fixture
def loop() -> Iterator[Loop]:
    with_network = Loop()
    yield with_network
    with_network.close()


def seeds_of(loop: Loop, number: int) -> tuple[Seeds, Round, Outbox]:
    """So many seeds, and their round."""
    settings = Settings()
    asked = msgspec.json.encode(settings.crawl).decode()
    urls = tuple(f"https://{n}.example/" for n in range(number))
    round_ = Round(
        id=1, started_at=0.0, finished_at=None, settings=asked, seeds=urls, joined=(),
        max_pages=None, max_pages_per_host=None, pages=0,
    )  # fmt: skip
    outbox = Outbox(settings.store)
    plan = CrawlPlan(settings=settings, round=round_, product="gossamer")
    return Seeds(plan, RoundSettings(settings), loop.fetcher, outbox), round_, outbox


def is_admitted(seeds: Seeds, url: str) -> bool:
    return seeds.admit([candidate(url, depth=1)])[0].state is State.QUEUED


def calls(do: Callable[[], object]) -> int:
    """How many functions of ours were called."""
    number = 0

    def count(frame: Any, event: str, _: object) -> None:
        nonlocal number
        number += event == "call" and "gossamer" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        do()
    finally:
        sys.setprofile(None)
    return number


def test_one_more_costs_the_same_however_many_there_are(loop: Loop) -> None:
    few, many = (seeds_of(loop, number)[0] for number in (10, 500))
    assert calls(lambda: few.add(NEW)) == calls(lambda: many.add(NEW))
    assert is_admitted(many, f"{NEW}a")
    assert is_admitted(many, "https://0.example/a")
    assert not is_admitted(many, "https://elsewhere.example/a")


def test_a_round_in_which_nothing_is_new_costs_the_same_however_many_there_are(loop: Loop) -> None:
    (few, of_few, _), (many, of_many, _) = (seeds_of(loop, number) for number in (10, 500))
    assert calls(lambda: few.apply_round(of_few)) == calls(lambda: many.apply_round(of_many))


def test_what_another_crawl_starts_from_is_a_seed_here_and_what_was_found_is_judged_by_it(loop: Loop) -> None:
    seeds, round_, outbox = seeds_of(loop, 2)
    seeds.apply_round(msgspec.structs.replace(round_, seeds=(*round_.seeds, NEW)))
    assert is_admitted(seeds, f"{NEW}a")
    assert outbox.readmit
    assert [*seeds.urls] == [*round_.seeds, NEW]


def test_by_what_a_seed_led_another_crawl_to_nothing_is_judged_anew(loop: Loop) -> None:
    seeds, round_, outbox = seeds_of(loop, 2)
    seeds.apply_round(msgspec.structs.replace(round_, joined=(NEW,)))
    assert is_admitted(seeds, f"{NEW}a")
    assert not outbox.readmit
