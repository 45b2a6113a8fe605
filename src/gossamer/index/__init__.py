"""Pages -> documents: the full-text index, derived from the store.

In: changed resources and anchor texts, read from `gossamer.store`. Out: an `IndexReader` that `gossamer.search` asks.
The index can catch up with the store at any time, and a rebuild needs nothing but the store.

    protocol     IndexReader, IndexWriter, Document, Query: what every back-end offers and takes
    analyze      text -> terms, the same for pages and queries
    pieces       LanguagePieces: pieces of text -> their terms and word numbers, with a kernel or without
    documents    DocumentMaker: stored pages -> documents
    build        IndexBuilder: brings an index up to the version of the store
    word_table   WordTable: one word, its documents and positions
    dictionary   every word with every position, for export
    url_parts    the parts of a URL that `site:` filters use
    tantivy      the index in a directory
    opensearch   the index in a cluster
"""
