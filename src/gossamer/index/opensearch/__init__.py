"""The index on OpenSearch, for webs too large for one machine: the same terms, queries and second pass.

In: documents and queries of `gossamer.index.protocol`. Out: matches, word sequences, postings. The decision:
docs/decisions/0022-index-on-opensearch.md

    cluster         Cluster: requests, retries, and errors as sentences
    location        OpenSearchLocation: generations and aliases
    cas_document    CasDocument: a document with compare-and-set writes
    lease           WriterLease: one writer at a time
    schema          the fields of the indexes, and documents in them
    queries         Translator: a query as an OpenSearch query
    bulk            BulkWriter: versioned writes in batches
    forms           FormCounts: document counts of written words
    point_in_time   PointInTime: the pages as they were at one moment
    reader          OpenSearchReader, an `IndexReader`
    writer          OpenSearchWriter, an `IndexWriter`
"""

from gossamer.index.opensearch.cluster import READER_RETRY_SECONDS, WRITER_RETRY_SECONDS, Cluster, ClusterAddress
from gossamer.index.opensearch.location import OpenSearchLocation
from gossamer.index.opensearch.reader import OpenSearchReader
from gossamer.index.opensearch.writer import OpenSearchWriter

__all__ = [
    "READER_RETRY_SECONDS",
    "WRITER_RETRY_SECONDS",
    "Cluster",
    "ClusterAddress",
    "OpenSearchLocation",
    "OpenSearchReader",
    "OpenSearchWriter",
]
