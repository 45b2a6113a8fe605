"""How current the ranks of a web are, in figures and in words; every place that shows ranks uses the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import Value

if TYPE_CHECKING:
    from gossamer.store.protocol import StoreReader


class RankState(Value, frozen=True, kw_only=True):
    """The ranks of a web beside its present state."""

    made_at: float  # Unix time
    pages: int  # ranked
    web_pages: int  # in the web now
    current: bool  # nothing has changed since

    @property
    def note(self) -> str:
        """Say how much of the web the ranks come from; "" if they are current."""
        if self.current:
            return ""
        if self.pages == self.web_pages:
            return f"from {self.pages:,} pages before their last changes"
        return f"from {self.pages:,} of {self.web_pages:,} pages"


def read_rank_state(store: StoreReader) -> RankState | None:
    """Return how current the ranks of a web are; None if it has none."""
    ranking = store.ranking()
    if ranking is None:
        return None
    return RankState(
        made_at=ranking.made_at,
        pages=ranking.pages,
        web_pages=store.visited_totals().pages,
        current=ranking.version == store.version(),
    )
