"""`gossamer ARGUMENTS` that also reports each stored visit and each forgotten host to the file MARKS, one JSON a line.

The store reports a visit when `submit` returns. From then on a crash must not lose it.
"""

from __future__ import annotations

import functools
import json
import os
from typing import TYPE_CHECKING, Any

from gossamer.cli.main import run
from gossamer.store.sql_store import SqlStore

if TYPE_CHECKING:
    from collections.abc import Callable


def mark(**facts: object) -> None:
    handle = os.open(os.environ["MARKS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(handle, json.dumps(facts).encode() + b"\n")
    os.close(handle)


def with_marks(
    method: Callable[..., Any], before: Callable[..., None], after: Callable[..., None]
) -> Callable[..., Any]:
    @functools.wraps(method)
    def marked(*arguments: Any, **named: Any) -> Any:
        before(*arguments, **named)
        result = method(*arguments, **named)
        after(*arguments, **named)
        return result

    return marked


def mark_visits(_store: SqlStore, _crawler: int, batch: Any, *_: object) -> None:
    mark(event="stored", visits=[[visit.lease.url, visit.visited_at] for visit in batch.visits])


def mark_forgetting(_store: SqlStore, url_digest: bytes | None = None, host: str | None = None) -> None:
    mark(event="forgetting", host=host)


def mark_forgotten(_store: SqlStore, url_digest: bytes | None = None, host: str | None = None) -> None:
    mark(event="forgotten", host=host)


if __name__ == "__main__":
    SqlStore.submit = with_marks(SqlStore.submit, lambda *_: None, mark_visits)  # type: ignore[method-assign]
    SqlStore.forget = with_marks(SqlStore.forget, mark_forgetting, mark_forgotten)  # type: ignore[method-assign]
    run()
