"""The frames between the coordinator and a renderer process. Each holds one message, msgpack with a tag.

The process gets `RenderOptions` and `IsolationReport` in its first two frames. It sends an empty frame once its browser
takes commands.
"""

from __future__ import annotations

import msgspec

from gossamer.model import PageRequest, PageResponse, RenderedPage, RenderJob  # noqa: TC001 - msgspec looks at annotations


class RunPage(msgspec.Struct, array_like=True, frozen=True, tag="run"):
    """A page to render. Pages of one host share cookies and storage, those of two hosts share nothing."""

    job: RenderJob
    host: int


class AnswerRequest(msgspec.Struct, array_like=True, frozen=True, tag="answer"):
    """The answer to a request of a page, by the number that the process gave it."""

    response: PageResponse


class AskRequest(msgspec.Struct, array_like=True, frozen=True, tag="ask"):
    """A request of a page."""

    request: PageRequest


class FinishPage(msgspec.Struct, array_like=True, frozen=True, tag="finish"):
    """A rendered page, or the reason why there is none."""

    page: RenderedPage


class LosePages(msgspec.Struct, array_like=True, frozen=True, tag="lose"):
    """The pages of a browser that died."""

    jobs: list[int]
    reason: str
    is_suspicious: bool  # one of them may be the cause
    is_tainted: bool  # or a page before them, which had to be stopped


ToRenderer = RunPage | AnswerRequest
FromRenderer = AskRequest | FinishPage | LosePages
