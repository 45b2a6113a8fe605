"""Types of query parameters that several routes share, with their limits and descriptions."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Query

MAX_PAGES = 10_000  # highest page number of an answer
MAX_QUERY_CHARACTERS = 2_000  # length of a search query
NOT_FOUND, BAD_REQUEST = HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST

Words = Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS, description="The search query.", examples=["link graph"])]
Url = Annotated[str, Query(max_length=4_096, description="A URL of this web.", examples=["https://example.org/"])]
PageNumber = Annotated[int, Query(ge=1, le=MAX_PAGES, description="The page of the answer, starting at 1.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="The largest number of rows to return.")]
ShortText = Annotated[str, Query(max_length=300)]
DATE = r"^(\d{4}(-\d{2}(-\d{2})?)?)?$"
ChangedSince = Annotated[
    str, Query(max_length=10, pattern=DATE, description="Only pages changed on or after a day, month or year: 2024-05.")
]
ChangedBefore = Annotated[
    str, Query(max_length=10, pattern=DATE, description="Only pages changed before a day, month or year: 2024-05-17.")
]
