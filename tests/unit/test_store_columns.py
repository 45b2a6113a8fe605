"""The declared columns of `resources` and the groups that statements are made of."""

from __future__ import annotations

import pytest

from gossamer.model import Outcome, Page, Visit
from gossamer.store import columns
from gossamer.store.values import ResourceRow


@pytest.mark.parametrize(
    ("writer", "group"),
    [("outcome", columns.OUTCOME), ("revisit", columns.REVISIT), ("response", columns.RESPONSE),
     ("content", columns.CONTENT)],
)  # fmt: skip
def test_a_group_has_exactly_the_columns_of_its_step(writer: str, group: tuple[str, ...]) -> None:
    assert sorted(group) == sorted(column.name for column in columns.COLUMNS if column.written == writer)


def test_columns_with_an_origin_are_fields_of_that_value() -> None:
    fields = {"visit": Visit.__struct_fields__, "page": Page.__struct_fields__}
    for column in columns.COLUMNS:
        assert not column.origin or column.name in fields[column.origin], column.name


def test_fields_are_read_in_the_order_of_their_columns() -> None:
    page = Page(1, Outcome.FETCHED, "", title="T", charset="utf-8", content_digest=b"d")
    values = dict(zip(columns.CONTENT[2:], columns.content_of_page(page), strict=True))
    assert (values["title"], values["charset"], values["topic"]) == ("T", "utf-8", 0.0)
    assert columns.response_of_page(page) == (b"d", "", "")


def test_every_field_of_a_resource_row_can_be_read() -> None:
    names = {column.name for column in columns.COLUMNS} | {"backlinks"}
    assert names.issuperset(ResourceRow.__struct_fields__)
