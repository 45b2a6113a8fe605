"""The names of crawlers, and crawlers from their rows."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from gossamer.store.values import CrawlerRow

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

LOST = "lost"
STOPPED = "stopped"
MOONS = (
    "Naiad", "Thalassa", "Despina", "Galatea", "Larissa", "Hippocamp", "Proteus", "Triton", "Nereid", "Halimede", "Sao",
    "Laomedeia", "Psamathe", "Neso",
)  # fmt: skip


def crawler_names() -> Iterator[str]:
    """Yield the names in the order of their use."""
    yield from MOONS
    for number in count(2):
        yield from (f"{moon} {number}" for moon in MOONS)


def build_crawlers(rows: Iterable[Sequence[Any]], dead: Container[int]) -> list[CrawlerRow]:
    """Build crawlers from rows with the fields of `CrawlerRow`; dead ones get the state "lost"."""
    columns = (dict(zip(CrawlerRow.__struct_fields__, row, strict=True)) for row in rows)
    return [CrawlerRow(**{**one, "state": LOST if one["id"] in dead else one["state"]}) for one in columns]
