"""Tables as files: the same rows in every format, exact in JSON lines and Parquet, harmless in CSV."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.files import tables
from gossamer.files.tables import (
    WRITERS,
    Column,
    Table,
    safe_cell,
    write_csv,
    write_jsonl,
    write_parquet,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COLUMNS = (
    Column("name"), Column("count", "integer"), Column("share", "number"), Column("good", "flag"), Column("at", "time"),
)  # fmt: skip
ROWS: list[tuple[Any, ...]] = [
    ("plain", 1, 0.1, True, 1763190911.25),
    ('quote " comma , café', -2, -1e-300, False, 0.0),
    ("", 2**60, 12345.678, None, None),
]
HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\uff1d1", "a\r\n=b", "nul\0", "\x1b[2J", "\u202egpj.exe", ""]


def table(rows: Iterable[Sequence[Any]] = ROWS) -> Table:
    return Table(columns=COLUMNS, rows=iter(rows))


def csv_cells(*cells: str) -> list[str]:
    out = io.BytesIO()
    write_csv(Table(columns=(Column("cell"),), rows=[(cell,) for cell in cells]), out)
    _, *rows = csv.reader(io.StringIO(out.getvalue().decode(), newline=""))
    return [row[0] if row else "" for row in rows]


def test_csv_has_a_header_and_a_line_for_each_row() -> None:
    out = io.BytesIO()
    assert write_csv(table(), out) == 3
    assert out.getvalue().decode().split("\r\n") == [
        "name,count,share,good,at",
        "plain,1,0.1,true,2025-11-15T07:15:11.250Z",
        '"quote "" comma , café",-2,-1e-300,false,',
        ",1152921504606846976,12345.678,,",
        "",
    ]


def test_json_lines_carry_every_column_of_every_row() -> None:
    out = io.BytesIO()
    assert write_jsonl(table(), out) == 3
    first, second, third = map(json.loads, out.getvalue().splitlines())
    assert first == {"name": "plain", "count": 1, "share": 0.1, "good": True, "at": "2025-11-15T07:15:11.250Z"}
    assert (second["share"], second["at"]) == (-1e-300, None)
    assert third == {"name": "", "count": 2**60, "share": 12345.678, "good": None, "at": None}


def test_parquet_has_typed_columns() -> None:
    out = io.BytesIO()
    assert write_parquet(table(), out) == 3
    parquet = pq.read_table(io.BytesIO(out.getvalue()))
    assert [str(field.type) for field in parquet.schema] == [
        "string",
        "int64",
        "double",
        "bool",
        "timestamp[ms, tz=UTC]",
    ]
    assert parquet.column("name").to_pylist() == [row[0] for row in ROWS]
    assert parquet.column("count").to_pylist() == [1, -2, 2**60]
    assert parquet.column("share").to_pylist() == [0.1, -1e-300, 12345.678]
    assert parquet.column("good").to_pylist() == [True, False, None]
    assert parquet.column("at").to_pylist()[0].timestamp() == 1763190911.25


@pytest.mark.parametrize("form", WRITERS)
def test_a_table_without_rows_is_written(form: str) -> None:
    out = io.BytesIO()
    assert WRITERS[form](table([]), out) == 0
    if form == "parquet":
        assert pq.read_table(io.BytesIO(out.getvalue())).num_rows == 0
    else:
        assert out.getvalue() == (b"name,count,share,good,at\r\n" if form == "csv" else b"")


@pytest.mark.parametrize("form", WRITERS)
def test_the_stream_stays_open_for_more_output(form: str) -> None:
    out = io.BytesIO()
    WRITERS[form](table(), out)
    out.write(b"more")
    assert out.getvalue().endswith(b"more")


def test_no_cell_of_a_csv_is_a_formula_or_breaks_its_line() -> None:
    assert csv_cells(*HOSTILE) == [
        "'=1+1", "'+1", "'-1", "'@SUM(A1)", "' =1", "' =1", "'\uff1d1", "a =b", "nul ", " [2J", "gpj.exe", "",
    ]  # fmt: skip


@given(st.text())
def test_no_text_makes_a_csv_cell_begin_like_a_formula(text: str) -> None:
    cell = safe_cell(text)
    assert cell.strip()[:1] not in set("=+-@\uff1d\uff0b\uff0d\uff20")
    assert not set(cell) & set(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F)]))


@given(st.text(st.characters(exclude_categories=["C"])).filter(lambda text: text.strip()[:1].isalnum()))
def test_ordinary_text_is_unchanged_in_a_csv(text: str) -> None:
    cell = safe_cell(text)
    assert cell == text.replace("\u2028", " ").replace("\u2029", " ")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_json_lines_and_parquet_are_exact(texts: list[str]) -> None:
    lines, parquet = io.BytesIO(), io.BytesIO()
    columns, rows = (Column("cell"),), [(text,) for text in texts]
    write_jsonl(Table(columns=columns, rows=rows), lines)
    write_parquet(Table(columns=columns, rows=rows), parquet)
    # Split at \n only, because \u2028 and the like end no line in JSON lines.
    assert [json.loads(line)["cell"] for line in lines.getvalue().split(b"\n")[:-1]] == texts
    assert pq.read_table(io.BytesIO(parquet.getvalue())).column("cell").to_pylist() == texts


@pytest.mark.parametrize("form", WRITERS)
def test_memory_does_not_grow_with_the_rows(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks show it with few rows; held rows would take four times the memory of the chunks."""
    monkeypatch.setattr(tables, "CHUNK_ROWS", 512)
    monkeypatch.setattr(tables, "CHUNKS_IN_GROUP", 4)

    class NullStream(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            return len(memoryview(data))  # type: ignore[arg-type]

    def peak(rows: int) -> int:
        generated = ((f"https://example.org/{n}", n, n / 7, True, n) for n in range(rows))
        tracemalloc.start()
        WRITERS[form](Table(columns=COLUMNS, rows=generated), io.BufferedWriter(NullStream()))
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    peak(10)  # imports on first use
    row_count = 512 * 4 * 2
    assert peak(8 * row_count) < 1.5 * peak(row_count) + 100_000


def test_without_pyarrow_the_error_says_what_to_install() -> None:
    code = (
        "import sys, io; sys.modules['pyarrow'] = None\n"
        "from gossamer.errors import UsageError\n"
        "from gossamer.files.tables import Column, Table, write_parquet\n"
        "try: write_parquet(Table(columns=[Column('a')], rows=[]), io.BytesIO())\n"
        "except UsageError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "Parquet needs pyarrow: pip install 'gossamer[parquet]'.\n"
