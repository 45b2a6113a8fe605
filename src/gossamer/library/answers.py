"""Answers that programs iterate over, and that tables of other libraries and notebooks take as a whole."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gossamer.files.tables import Table, field_columns
from gossamer.library import frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from gossamer.files.tables import Column
    from gossamer.model import Value

NAMES_SHOWN = 6  # columns in the text of a list of rows
T = TypeVar("T")


class Frames:
    """Gives rows as a whole to other libraries and to notebooks."""

    def _table(self) -> Table:
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Return a table of Arrow (extra `parquet`)."""
        return frames.to_arrow(self._table())

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame of pandas (extra `pandas`)."""
        return frames.to_pandas(self._table())

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of polars (extra `polars`)."""
        return frames.to_polars(self._table())

    def _repr_html_(self) -> str:
        """Return the first rows as a notebook shows them."""
        return frames.to_html(self._table())


class Rows(Frames, Generic[T]):
    """Rows that are read while a program iterates over them, in bounded memory; every loop reads them again."""

    def __init__(
        self,
        name: str,
        read: Callable[[], Iterator[T]],
        columns: Sequence[Column],
        cells: Callable[[T], Sequence[Any]],
    ) -> None:
        self._name = name
        self._read = read
        self._columns = columns
        self._cells = cells
        self._started: Iterator[T] | None = None  # by `next`

    def __iter__(self) -> Iterator[T]:
        return self._read() if self._started is None else self  # a loop that ends resets `_started`

    def __next__(self) -> T:
        if self._started is None:
            self._started = self._read()
        try:
            return next(self._started)
        except StopIteration:
            self._started = None
            raise

    def __repr__(self) -> str:
        return f"<Rows of {self._name}: {', '.join(column.name for column in self._columns)}>"

    def _table(self) -> Table:
        return Table(columns=self._columns, rows=map(self._cells, self._read()))


def struct_rows(name: str, type_: type[Value], read: Callable[[], Iterator[Any]]) -> Rows[Any]:
    """Return rows whose columns are the fields of a struct."""
    columns = field_columns(type_)
    return Rows(name, read, columns, attrgetter(*(column.name for column in columns)))


def dict_rows(
    name: str, columns: Sequence[Column], read: Callable[[], Iterator[dict[str, object]]]
) -> Rows[dict[str, object]]:
    """Return rows that are dictionaries by column."""
    names = [column.name for column in columns]
    return Rows(name, read, columns, lambda row: [row[each] for each in names])


class RowList(Frames, list[T]):
    """Rows in memory."""

    def __init__(self, type_: type[Value], rows: Iterable[T]) -> None:
        super().__init__(rows)
        self._columns = field_columns(type_)
        self._kind = type_.__name__

    def __repr__(self) -> str:
        names = [column.name for column in self._columns]
        more = ", ..." if len(names) > NAMES_SHOWN else ""
        return f"<RowList of {len(self):,} {self._kind}: {', '.join(names[:NAMES_SHOWN])}{more}>"

    def _table(self) -> Table:
        cells = attrgetter(*(column.name for column in self._columns))
        return Table(columns=self._columns, rows=map(cells, self))
