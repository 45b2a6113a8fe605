"""The statement process: it runs one SQL statement, writes the answer to stdout, and exits.

    python -P -m gossamer.web.sql.statement_process < question > reply

A statement can take any time and memory, and SQLite's limit of memory holds for a whole process. So every statement
gets a process, with limits that it sets itself. The kernel ends it at its deadline, even when the server is gone.
Question and reply are msgpack. It imports no FastAPI.
"""

from __future__ import annotations

import sys
from contextlib import suppress

import msgspec

from gossamer.errors import GossamerError, UsageError
from gossamer.processes.limits import cap_data, disable_core_dumps, ignore_interrupts, set_job_timer
from gossamer.store.read.statements import StatementAnswer, StatementLimits, TableColumns
from gossamer.wiring import list_tables, run_statement

GRACE_SECONDS = 2.0  # beyond the limit of the statement, to start, connect and write the answer
PROCESS_MIB = 192  # private memory beside SQLite's heap: Python, the driver, and the rows of one answer


class StatementQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A statement to run; without one, the tables are asked for."""

    location: str
    statement: str = ""
    limits: StatementLimits = StatementLimits()


class StatementReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, or why there is none."""

    answer: StatementAnswer | None = None
    tables: list[TableColumns] = []
    fault: str = ""  # a sentence
    refused: bool = False  # the fault is one of the statement or its role


def main() -> None:
    """Answer the question on stdin."""
    ignore_interrupts()
    disable_core_dumps()
    question = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=StatementQuestion)
    cap_data(question.limits.heap_mib + PROCESS_MIB << 20)
    set_job_timer(question.limits.seconds + GRACE_SECONDS)
    with suppress(BrokenPipeError):  # the server is gone
        sys.stdout.buffer.write(msgspec.msgpack.encode(_reply(question)))
        sys.stdout.buffer.flush()


def _reply(question: StatementQuestion) -> StatementReply:
    try:
        if not question.statement:
            return StatementReply(tables=list_tables(question.location))
        return StatementReply(answer=run_statement(question.location, question.statement, question.limits))
    except GossamerError as error:
        return StatementReply(fault=str(error), refused=isinstance(error, UsageError))


if __name__ == "__main__":
    main()
