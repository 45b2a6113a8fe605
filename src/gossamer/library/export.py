"""What `Web.export` writes: tables, the dictionary, the link graph, a picture, and the pages as files or an archive."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import wiring
from gossamer.errors import UsageError
from gossamer.files.atomic_file import open_atomic
from gossamer.files.tables import WRITERS, Column, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gossamer.index.dictionary import DictionaryRow
    from gossamer.library.link_graph import WebGraph
    from gossamer.store.protocol import Store

TABLES = ("links", "resources", "hosts", "visits", "ranks")
GRAPH_FORMATS = ("gexf", "graphml")
PICTURE_FORMATS = ("svg", "png")
PICTURE_NODES = 300  # as many as `gossamer export picture` draws


def table(store: Store, name: str) -> Table:
    """Return a table of a web, as `gossamer export` writes it."""
    from gossamer.files import export_tables  # noqa: PLC0415

    if name not in TABLES:
        raise UsageError(f"There is no table {name}; there are {', '.join(TABLES)}.")
    made: Table = getattr(export_tables, name)(store)
    return made


def words_table(store: Store, location: str) -> Table:
    """Return the dictionary of a web: every word with its documents and positions."""
    from gossamer.index.dictionary import DictionaryRow, dictionary_rows  # noqa: PLC0415 - numpy and Tantivy

    numbers = {"word_id", "df", "doc_id", "tf"}
    columns = [Column(name, "integer" if name in numbers else "text") for name in DictionaryRow._fields]

    def read_rows() -> Iterator[DictionaryRow]:
        reader = wiring.open_index(location)
        try:
            yield from dictionary_rows(store, reader)
        finally:
            reader.close()

    return Table(columns=columns, rows=read_rows())


def write_table(made: Table, path: str | Path) -> int:
    """Write a table to a file, in the format of its suffix; return the number of rows."""
    form = _format_of(path, WRITERS, "format")
    with open_atomic(Path(path)) as out:
        return WRITERS[form](made, out)


def write_graph(store: Store, graph: WebGraph, path: str | Path) -> int:
    """Write the link graph to a file, in the format of its suffix; return the number of nodes."""
    from gossamer.graph.export import xml_formats  # noqa: PLC0415

    form = _format_of(path, GRAPH_FORMATS, "format of graphs")
    write = xml_formats.write_gexf if form == "gexf" else xml_formats.write_graphml
    with open_atomic(Path(path)) as out:
        write(xml_formats.page_export_graph(store, graph), out, f"Gossamer {version('gossamer')}")
    return graph.pages.nodes


def write_picture(store: Store, graph: WebGraph, path: str | Path) -> int:
    """Draw the best nodes of the link graph; return their number."""
    from gossamer.graph.pictures import draw  # noqa: PLC0415 - matplotlib
    from gossamer.graph.pictures.selection import default_level, picture_title, select_picture  # noqa: PLC0415

    form = _format_of(path, PICTURE_FORMATS, "format of pictures")
    picture = select_picture(store, graph, default_level(graph), PICTURE_NODES)
    with open_atomic(Path(path)) as out:
        draw.draw_graph(picture, picture_title(graph), out, form)
    return len(picture.labels)


def write_files(store: Store, folder: str | Path) -> int:
    """Write the stored pages as files into a new or empty folder; return their number."""
    from gossamer.files.export_files import export_files  # noqa: PLC0415

    return sum(not page.skip_reason for page in export_files(store, Path(folder)))


def write_warc(store: Store, path: str | Path) -> int:
    """Write the stored pages as a WARC archive; return their number."""
    from gossamer.files.export_warc import export_warc  # noqa: PLC0415

    software = f"gossamer/{version('gossamer')}"
    with open_atomic(Path(path)) as out:
        return sum(not page.skip_reason for page in export_warc(store, out, software, Path(path).name))


def _format_of(path: str | Path, formats: Collection[str], what: str) -> str:
    form = Path(path).suffix.removeprefix(".").lower()
    if form not in formats:
        raise UsageError(f"The suffix of {path} names no {what}; there are .{', .'.join(formats)}.")
    return form
