"""The index in a directory: Tantivy matches and ranks, SQLite keeps the words of each document in order.

In: documents and queries of `gossamer.index.protocol`. Out: matches, word sequences, postings.

    location      TantivyLocation: the directory, its generations, the writer's lock
    schema        the fields of Tantivy, and a document in them
    sequences     WordsDatabase: words.db with word sequences, anchor terms and written words
    queries       Translator: a query as a Tantivy query
    frequencies   term frequencies, computed from Tantivy's scores
    reader        TantivyReader, an `IndexReader`
    writer        TantivyWriter, an `IndexWriter`
    disk_space    whether a full disk caused a failure
"""

from gossamer.index.tantivy.location import TantivyLocation
from gossamer.index.tantivy.reader import TantivyReader
from gossamer.index.tantivy.writer import TantivyWriter

__all__ = ["TantivyLocation", "TantivyReader", "TantivyWriter"]
