"""SQL statements that people type: their limits, their answers, and what both back-ends do alike.

A back-end runs one reading statement on a connection of its own (`store/*/read/statements.py`). It can change nothing,
and it stops at a deadline. The caller runs it in a process with limited memory.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gossamer.errors import UsageError
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

# Bytes of texts and numbers in an answer, about as JSON writes them; more would fill the memory of browsers.
MAX_ANSWER_BYTES = 8 << 20
_CELL_BYTES = 8  # that a cell takes beside its text
_PLAIN = (int, float, str, type(None))
ONLY_READS = "Only statements that read are allowed: SELECT, WITH or VALUES."


class StatementRefused(UsageError):
    """A statement has a fault, does more than read, or exceeds its limits."""


class StatementLimits(Value, frozen=True, kw_only=True):
    """What one statement may take."""

    seconds: float = 10.0  # people give up after some seconds, and other statements wait meanwhile
    rows: int = 1_000
    heap_mib: int = 256  # memory of SQLite; PostgreSQL has its own limits


class StatementAnswer(Value, frozen=True, kw_only=True):
    """The rows of a statement."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]  # numbers, texts and None; bytes as hexadecimal digits
    more: bool  # whether the statement has more rows than its limits allow
    milliseconds: float


class TableColumns(Value, frozen=True, kw_only=True):
    """A table or view that statements can read, with its columns."""

    name: str
    columns: list[tuple[str, str]]  # name and type


def collect_answer(
    columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]], limits: StatementLimits, started: float
) -> StatementAnswer:
    """Read rows until they end or reach a limit; `started` is the `time.perf_counter` of the statement's start."""
    kept: list[tuple[Any, ...]] = []
    size = 0
    more = False
    for row in rows:
        values = tuple(map(_plain_value, row))
        size += sum(_CELL_BYTES + len(value) if isinstance(value, str) else _CELL_BYTES for value in values)
        if len(kept) == limits.rows or size > MAX_ANSWER_BYTES:
            more = True
            break
        kept.append(values)
    milliseconds = (time.perf_counter() - started) * 1000
    return StatementAnswer(columns=columns, rows=kept, more=more, milliseconds=milliseconds)


def _plain_value(value: object) -> object:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    return str(value)
