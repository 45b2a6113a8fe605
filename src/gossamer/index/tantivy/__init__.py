"""The index in a directory: Tantivy for matching and ranking, SQLite for the words of each document in order.

`place` (the directory), `schema` (a document as Tantivy takes it), `sequences` (words in order), `queries` (the query
tree in Tantivy's terms), `reader` and `writer` (the two protocols of `gossamer.index.protocol`).
"""

from gossamer.index.tantivy.location import TantivyLocation
from gossamer.index.tantivy.reader import TantivyReader
from gossamer.index.tantivy.writer import TantivyWriter

__all__ = ["TantivyLocation", "TantivyReader", "TantivyWriter"]
