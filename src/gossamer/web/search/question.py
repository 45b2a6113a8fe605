"""The question of a search request: words, filters, page and limit."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from gossamer.web.http.parameters import ChangedBefore, ChangedSince, PageNumber, ShortText, Words
from gossamer.web.search.facets import Filters, SearchQuestion

PER_PAGE = 10  # hits on a page by default
MAX_HITS = 100  # on one page


async def search_filters(
    host: ShortText = "",
    language: ShortText = "",
    type: ShortText = "",  # noqa: A002 - the name of the parameter
    since: ChangedSince = "",
    until: ChangedBefore = "",
) -> Filters:
    """Return the filters of a request. `async` because FastAPI runs a plain function in a thread."""
    return Filters(host=host, language=language, type=type, since=since, until=until)


async def search_question(
    filters: Annotated[Filters, Depends(search_filters)],
    q: Words = "",
    page: PageNumber = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_HITS)] = PER_PAGE,
    explain: bool = False,
) -> SearchQuestion:
    """Return the question of a request."""
    return SearchQuestion(q=q, page=page, limit=limit, explain=explain, filters=filters)


Question = Annotated[SearchQuestion, Depends(search_question)]
