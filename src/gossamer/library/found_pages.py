"""The answer to a query, to iterate over and for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from gossamer.basics.display import escape_hidden, pluralize
from gossamer.search.service import Answer, Hit

if TYPE_CHECKING:
    from collections.abc import Iterator


class FoundPages(Answer, frozen=True, kw_only=True):
    """The answer to a query: iterating gives its hits."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        return f"<FoundPages {self.query!r}: {pluralize(self.total, 'page')}, {len(self.hits)} here>"

    def _repr_html_(self) -> str:
        """Return the hits as a notebook shows them; snippets are HTML, escaped by the search."""
        items = "".join(
            f'<li><a href="{html.escape(hit.url)}" rel="noreferrer">{_escape(hit.title or hit.url)}</a>'
            f"<br>{hit.snippet}</li>"
            for hit in self.hits
        )
        return f"<p>{_escape(self.query)}: {pluralize(self.total, 'page')}</p><ol>{items}</ol>"


def _escape(text: str) -> str:
    return html.escape(escape_hidden(text))
