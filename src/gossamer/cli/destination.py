"""Where an export goes, and what is said about it at its end."""

from __future__ import annotations

import codecs
import io
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.output import (
    escape_hidden_lines,
    format_bytes,
    format_duration,
    is_terminal,
    json_text,
    print_line,
    print_message,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from _typeshed import ReadableBuffer

STDOUT = Path("-")

out_option = click.option(
    "--out", type=click.Path(path_type=Path), default="-", metavar="FILE", help="Where to; - (the default) is stdout."
)


class _TerminalStream(io.BufferedIOBase):
    """A terminal as a place to write to: nothing from the web acts on it."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        sys.stdout.write(escape_hidden_lines(self._decode(bytes(data)).replace("\r\n", "\n")))
        return memoryview(data).nbytes


@contextmanager
def open_output(out: Path, *, binary: bool = False) -> Iterator[Any]:
    """The stream for `--out`."""
    from gossamer.files.atomic_file import open_atomic

    if out != STDOUT:
        with open_atomic(out) as stream:
            yield stream
        return
    if not is_terminal(sys.stdout):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif binary:
        raise UsageError("This format is not for a terminal; give --out FILE.")
    else:
        yield _TerminalStream()


def choose_format(out: Path, known: Sequence[str]) -> str:
    """The format that a file's name asks for; without an ending of these it is the first."""
    suffix = out.suffix.lower().removeprefix(".")
    return suffix if suffix in known else known[0]


class ExportSummary:
    """The last words of an export: for people on stderr, with --json as numbers on stdout."""

    def __init__(self, out: Path, *, as_json: bool) -> None:
        if as_json and out == STDOUT:
            raise UsageError(
                "With --json the answer goes to stdout, where the export itself would go; give --out FILE."
            )
        self._out, self._as_json = out, as_json
        self._started = time.monotonic()

    def report(self, sentence: str, **numbers: object) -> None:
        """Say what was written."""
        seconds = time.monotonic() - self._started
        size = self._out.stat().st_size if self._out.is_file() else None
        if self._as_json:
            print_line(json_text({"out": str(self._out), **numbers, "bytes": size, "seconds": round(seconds, 3)}))
        where = "" if self._out == STDOUT else f" to {self._out}"
        amount = "" if size is None else f" ({format_bytes(size)})"
        print_message(f"Wrote {sentence}{where}{amount} in {format_duration(seconds)}.")
