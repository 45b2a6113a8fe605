"""What is taken in: an answer that came out of a file instead of the network, or the reason why there is none."""

from __future__ import annotations

from gossamer.model import FetchResult, Outcome, Request, Role, Value


class FilePage(Value, frozen=True, kw_only=True):
    """An answer from a file."""

    fetched: FetchResult
    fetched_at: float | None = None  # when it was fetched (Unix time), if the file tells

    @property
    def url(self) -> str:
        """Whose answer it is."""
        return self.fetched.request.url


class SkippedItem(Value, frozen=True, kw_only=True):
    """Something that is no page, and why."""

    path: str
    reason: str


def make_file_page(
    url: str, body: bytes, status: int, headers: dict[str, str], *, fetched_at: float | None = None
) -> FilePage:
    """A page from its bytes and what is known of its header; no `content-type`: the parser tells by the bytes."""
    fetched = FetchResult(
        request=Request(id=0, url=url, role=Role.PAGE), outcome=Outcome.FETCHED, reason="", status=status,
        headers={name: value for name, value in headers.items() if value}, body=body, milliseconds=0, address="",
    )  # fmt: skip
    return FilePage(fetched=fetched, fetched_at=fetched_at)
