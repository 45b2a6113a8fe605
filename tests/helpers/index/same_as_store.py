"""Compare an index with its store: the documents, and every word at every position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.index.documents import DocumentMaker
from gossamer.store.follow.changes import ChangeCursor

if TYPE_CHECKING:
    from gossamer.index.protocol import Document, IndexReader
    from gossamer.store.follow.changes import IndexableResource
    from gossamer.store.protocol import Store


def expected_documents(store: Store) -> dict[int, Document]:
    """Return the documents of the store that belong in the index."""
    cursor = ChangeCursor()
    resources: dict[int, IndexableResource] = {}
    while True:
        changes = store.changes(cursor, 1_000)
        resources |= {one.id: one for one in changes.resources}
        cursor = changes.cursor
        if changes.version == changes.latest:
            break
    batch = DocumentMaker(store).make([one for one in resources.values() if one.text is not None])
    assert not batch.unreadable
    return {document.id: document for document in batch.documents}


def check_documents(store: Store, reader: IndexReader) -> dict[int, Document]:
    """Check that the index holds exactly the documents of the store; return them."""
    documents = expected_documents(store)
    assert reader.version == reader.anchors_version == store.version()
    assert sorted(reader.ids()) == sorted(documents)
    assert reader.count() == len(documents)
    assert reader.set_aside_documents() == {}
    sequences = reader.word_sequences(list(documents))
    assert sequences.keys() == documents.keys()
    for number, sequence in sequences.items():
        assert sequence.words.tobytes() == documents[number].words
        assert sequence.runs.tobytes() == documents[number].runs
    return documents
