"""Links of a report page: the same table on another page, in another order, with another facet or group."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from msgspec.structs import replace

if TYPE_CHECKING:
    from gossamer.web.reports.answers import ReportRequest
    from gossamer.web.reports.table_view import TableFilter

NEAR_PAGES = 2  # page numbers shown on both sides of the current one


class TableLinks:
    """The links of one table."""

    def __init__(self, report: str, wanted: ReportRequest) -> None:
        self._report = report
        self._wanted = wanted

    def page(self, number: int) -> str:
        """Return the link to another page of the table."""
        return self._link(f"/reports/{self._report}", self._wanted.filter, number)

    def sort(self, column: str) -> str:
        """Return the link that sorts by a column; again: in the other direction."""
        wanted = self._wanted.filter
        order = "desc" if column == wanted.sort and wanted.order == "asc" else "asc"
        return self._html(replace(wanted, sort=column, order=order))

    def facet(self, name: str, value: str) -> str:
        """Return the link that shows only rows with a value of a facet; "" for all."""
        others = tuple(pair for pair in self._wanted.filter.facets if pair[0] != name)
        return self._html(replace(self._wanted.filter, facets=(*others, (name, value)) if value else others))

    def without_text(self) -> str:
        """Return the link to the table without the text to find."""
        return self._html(replace(self._wanted.filter, text=""))

    def group(self, name: str) -> str:
        """Return the link that groups the rows by a column; "" for no groups."""
        return self._html(replace(self._wanted.filter, group=name, member=None, sort="", order="asc"))

    def member(self, value: object) -> str:
        """Return the link to the rows of one group."""
        return self._html(replace(self._wanted.filter, member=str(value), sort="", order="asc"))

    def groups(self) -> str:
        """Return the link from the rows of one group back to all groups."""
        return self._html(replace(self._wanted.filter, member=None, sort="", order="asc"))

    def csv(self) -> str:
        """Return the link to the same rows as CSV."""
        return self._link(f"/api/reports/{self._report}.csv", self._wanted.filter, 1)

    def json(self) -> str:
        """Return the link to the same page as JSON."""
        return self._link(f"/api/reports/{self._report}", self._wanted.filter, self._wanted.page)

    def page_numbers(self, last: int) -> list[int]:
        """Return the page numbers to show; 0 stands for a gap."""
        current = self._wanted.page
        near = range(current - NEAR_PAGES, current + NEAR_PAGES + 1)
        numbers = sorted({1, last, *(number for number in near if 1 <= number <= last)})
        shown: list[int] = []
        for number in numbers:
            if shown and number > shown[-1] + 1:
                shown.append(0)
            shown.append(number)
        return shown

    def _html(self, wanted: TableFilter) -> str:
        return self._link(f"/reports/{self._report}", wanted, 1)

    def _link(self, path: str, wanted: TableFilter, page: int) -> str:
        pairs = [
            ("url", self._wanted.url), ("since", self._wanted.since or ""), ("filter", wanted.text),
            *(("facet", f"{name}:{value}") for name, value in wanted.facets), ("group", wanted.group),
            ("sort", wanted.sort), ("order", wanted.order if wanted.sort else ""), ("page", page if page > 1 else ""),
        ]  # fmt: skip
        given = [(name, value) for name, value in pairs if value]
        if wanted.group and wanted.member is not None:
            given.append(("member", wanted.member))
        return f"{path}?{urlencode(given)}" if given else path
