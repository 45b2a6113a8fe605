"""Views of report rows in the web app: text, facets, groups, order, and links between views."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.errors import UsageError
from gossamer.graph.reports.registry import REPORTS, select_reports
from gossamer.web.reports.answers import ReportRequest
from gossamer.web.reports.table_links import TableLinks
from gossamer.web.reports.table_view import (
    TableFilter,
    make_view,
    matching_rows,
    row_cells,
    table_facets,
    table_groups,
)

(BROKEN,) = select_reports(["broken"])
SITE = "https://a.example"


def row(source: str, url: str, status: int = 404, position: str = "content", anchor: str = "more") -> tuple[Any, ...]:
    return f"{SITE}/{source}", f"{SITE}/{url}", status, "not found", anchor, position, "hyperlink", 1, "404 Not Found"


ROWS = [
    *(row(f"page-{number}", "gone", position="footer") for number in range(581)),
    row("one", "lost", 410), row("two", "lost", 410, "nav", "Über uns"), row("one", "away", 500),
]  # fmt: skip


def shown(**wanted: Any) -> list[dict[str, Any]]:
    view = make_view(BROKEN, ROWS, TableFilter(**wanted))
    return [dict(row_cells(view.columns, each)) for each in view.rows]


def facets(**wanted: Any) -> dict[str, dict[str, int]]:
    view = make_view(BROKEN, ROWS, TableFilter(**wanted))
    return {facet.name: {choice.value: choice.rows for choice in facet.values} for facet in view.facets}


def test_a_text_is_found_in_any_column_and_any_case() -> None:
    assert [each["source"] for each in shown(text="ÜBER")] == [f"{SITE}/two"]
    assert len(shown(text="page-58")) == 2
    assert shown(text="nowhere") == []


def test_facets_count_the_rows_that_each_value_would_leave() -> None:
    assert facets() == {
        "status": {"404": 581, "410": 2, "500": 1},
        "position": {"footer": 581, "content": 2, "nav": 1},
    }
    assert facets(facets=(("status", "410"),)) == {
        "status": {"404": 581, "410": 2, "500": 1},  # the other choices of the chosen facet stay
        "position": {"content": 1, "nav": 1},
    }


def test_chosen_facets_apply_together() -> None:
    assert [each["anchor"] for each in shown(facets=(("status", "410"), ("position", "nav")))] == ["Über uns"]


def test_the_host_of_a_row_is_that_of_its_target() -> None:
    other = ("https://b.example/x", "https://c.example/y", *ROWS[0][2:])
    view = make_view(BROKEN, [*ROWS, other], TableFilter(facets=(("host", "c.example"),)))
    assert view.rows == [other]


def test_one_error_of_a_template_is_one_row_with_all_its_sources() -> None:
    first, second, third = shown(group="url")
    assert (first["url"], first["rows"], first["sources"], first["status"]) == (f"{SITE}/gone", 581, 581, 404)
    assert (second["url"], second["rows"], second["position"]) == (f"{SITE}/lost", 2, None)  # its rows differ
    assert third["rows"] == 1


def test_the_rows_of_one_group_can_be_shown() -> None:
    assert [each["source"] for each in shown(group="url", member=f"{SITE}/lost")] == [f"{SITE}/one", f"{SITE}/two"]


def test_groups_are_sorted_by_their_own_columns() -> None:
    assert [each["rows"] for each in shown(group="url", sort="rows")] == [1, 2, 581]
    assert [each["rows"] for each in shown(group="url")] == [581, 2, 1]


def test_a_stream_of_rows_fits_the_same_conditions_as_a_view() -> None:
    for wanted in (TableFilter(text="lost"), TableFilter(facets=(("position", "nav"),)), TableFilter()):
        assert list(matching_rows(BROKEN, iter(ROWS), wanted)) == make_view(BROKEN, ROWS, wanted).rows


@pytest.mark.parametrize(
    "wanted",
    [{"facets": (("depth", "1"),)}, {"group": "status"}, {"sort": "nothing"}, {"group": "url", "sort": "source"}],
)
def test_a_column_that_the_table_lacks_is_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="only"):
        shown(**wanted)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_every_report_can_be_filtered_and_grouped_by_what_it_offers(report: Any) -> None:
    rows = [tuple(f"https://{column}.example/" for column in report.columns)] * 3
    for name in table_facets(report):
        assert make_view(report, rows, TableFilter(facets=((name, "none"),))).found == 0
    for name in table_groups(report):
        (group,) = make_view(report, rows, TableFilter(group=name)).rows
        assert group[1] == 3


# -- links -------------------------------------------------------------------------------------------------------------


def links(page: int = 1, **wanted: Any) -> TableLinks:
    return TableLinks("broken", ReportRequest(url="", since=0.0, page=page, limit=100, filter=TableFilter(**wanted)))


def test_links_keep_everything_but_what_they_change() -> None:
    table = links(3, text="a b", facets=(("status", "404"),), sort="url")
    assert table.page(2) == "/reports/broken?filter=a+b&facet=status%3A404&sort=url&order=asc&page=2"
    assert table.sort("url") == "/reports/broken?filter=a+b&facet=status%3A404&sort=url&order=desc"
    assert table.facet("status", "") == "/reports/broken?filter=a+b&sort=url&order=asc"
    assert table.csv() == "/api/reports/broken.csv?filter=a+b&facet=status%3A404&sort=url&order=asc"
    assert table.json() == "/api/reports/broken?filter=a+b&facet=status%3A404&sort=url&order=asc&page=3"


def test_links_lead_into_a_group_and_back() -> None:
    assert links(group="anchor").member("") == "/reports/broken?group=anchor&member="
    assert links(group="anchor", member="x").groups() == "/reports/broken?group=anchor"


@pytest.mark.parametrize(
    ("page", "last", "numbers"),
    [
        (1, 1, [1]),
        (1, 3, [1, 2, 3]),
        (1, 9, [1, 2, 3, 0, 9]),
        (5, 9, [1, 0, 3, 4, 5, 6, 7, 0, 9]),
        (9, 9, [1, 0, 7, 8, 9]),
    ],
)
def test_page_numbers_are_those_near_the_current_page_and_the_ends(page: int, last: int, numbers: list[int]) -> None:
    assert links(page).page_numbers(last) == numbers
