"""Answer questions about a web in a process of its own, with or without compiled kernels.

python answers.py WEB < questions.json > answers.json
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.kernels import SWITCH
from gossamer.wiring import open_searcher, open_store
from helpers.cli.commands import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).resolve().parents[2]
CLOCK = 2e9  # Unix time of the answers
FURTHER_PAGE = 4  # its hits come after those of the second pass


def answers_both_ways(web: str, questions: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Return the answers of the kernels, and those of Python."""
    native, python = (_answers(web, questions, value) for value in ("1", "0"))
    return native, python


def _answers(web: str, questions: Sequence[str], switch: str) -> list[Any]:
    done = subprocess.run(
        [sys.executable, __file__, web], input=json.dumps(list(questions)), capture_output=True, text=True, check=True,
        env=environment({SWITCH: switch, "PYTHONPATH": str(TESTS)}),
    )  # fmt: skip
    answers: list[Any] = json.loads(done.stdout)
    return answers


def main(web: str) -> None:
    """Print the answers to the questions on standard input, without the times that they took."""
    time.time = lambda: CLOCK  # scores depend on the age of pages
    answers = []
    with closing(open_store(web, read_only=True)) as store, closing(open_searcher(store, web)) as searcher:
        for question in json.load(sys.stdin):
            found = [searcher.search(question, explain=True), searcher.search(question, page=FURTHER_PAGE, limit=20)]
            answers += [msgspec.structs.replace(answer, took_ms=0.0) for answer in found]
    sys.stdout.buffer.write(msgspec.json.encode(answers))


if __name__ == "__main__":
    main(sys.argv[1])
