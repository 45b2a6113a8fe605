"""The results of reading a file or an archive record: a page, or the reason why it has none."""

from __future__ import annotations

from gossamer.model import FetchResult, Outcome, Request, Role, Value


class FilePage(Value, frozen=True, kw_only=True):
    """A response read from a file or an archive record."""

    fetched: FetchResult
    fetched_at: float | None = None  # Unix time of the original fetch; None: unknown

    @property
    def url(self) -> str:
        """The URL of the response."""
        return self.fetched.request.url


class SkippedItem(Value, frozen=True, kw_only=True):
    """A file or record that was not imported, and the reason."""

    path: str
    reason: str


class Refusal(Exception):
    """A file or record that cannot be imported; the text is the reason."""


def make_file_page(
    url: str, body: bytes, status: int, headers: dict[str, str], *, fetched_at: float | None = None
) -> FilePage:
    """Return a page from its bytes and known headers; without `content-type` the parser detects the type."""
    fetched = FetchResult(
        request=Request(id=0, url=url, role=Role.PAGE), outcome=Outcome.FETCHED, reason="", status=status,
        headers={name: value for name, value in headers.items() if value}, body=body, milliseconds=0, address="",
    )  # fmt: skip
    return FilePage(fetched=fetched, fetched_at=fetched_at)
