"""The index on OpenSearch, for webs that outgrow one machine: the same terms, query tree and second pass.

`cluster` (requests, patience, faults as sentences), `place` (generations, aliases), `cell` and `lease` (one writer at a
time, and the store version held), `mapping` (a document as OpenSearch takes it), `queries` (the query tree in its
terms), `bulk` (writing in batches), `view` (pages as they were at one moment), `reader` and `writer` (the protocols of
`gossamer.index.protocol`). Why it is so: docs/decisions/0022-index-on-opensearch.md.
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
