"""The destination of an export (`--out`) and its summary."""

from __future__ import annotations

import codecs
import io
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import escape_hidden_lines, format_bytes, format_duration
from gossamer.cli.output import is_terminal, json_text, print_line, print_message
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from _typeshed import ReadableBuffer

STDOUT = Path("-")

out_option = click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default="-",
    metavar="FILE",
    help="File to write; - (the default) is stdout.",
)


class _TerminalStream(io.BufferedIOBase):
    """Writes to the terminal with hidden characters escaped, so that no text from the web controls it."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        sys.stdout.write(escape_hidden_lines(self._decode(bytes(data)).replace("\r\n", "\n")))
        return memoryview(data).nbytes


@contextmanager
def open_output(out: Path, *, binary: bool = False) -> Iterator[Any]:
    """Open the stream for `--out`; a file appears under its name only when it is complete."""
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
        raise UsageError("A terminal cannot show this format; give --out FILE.")
    else:
        yield _TerminalStream()


def choose_format(out: Path, known: Sequence[str]) -> str:
    """Return the format of a file by its suffix; the first known format if the suffix is none of them."""
    suffix = out.suffix.lower().removeprefix(".")
    return suffix if suffix in known else known[0]


class ExportSummary:
    """Prints the summary of an export: a sentence on stderr, and JSON on stdout with --json."""

    def __init__(self, out: Path, *, as_json: bool) -> None:
        if as_json and out == STDOUT:
            raise UsageError(
                "With --json the answer goes to stdout, where the export itself would go too; give --out FILE."
            )
        self._out, self._as_json = out, as_json
        self._started = time.monotonic()

    def report(self, sentence: str, **numbers: object) -> None:
        """Print size and duration of the export; `numbers` are further keys of the JSON."""
        seconds = time.monotonic() - self._started
        size = self._out.stat().st_size if self._out.is_file() else None
        if self._as_json:
            print_line(json_text({"out": str(self._out), **numbers, "bytes": size, "seconds": round(seconds, 3)}))
        where = "" if self._out == STDOUT else f" to {self._out}"
        amount = "" if size is None else f" ({format_bytes(size)})"
        print_message(f"Wrote {sentence}{where}{amount} in {format_duration(seconds)}.")
