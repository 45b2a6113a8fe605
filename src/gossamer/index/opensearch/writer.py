"""Write an index on OpenSearch.

The writer collects changes, sends them in large requests, and sends the rest with a commit. Readers see them only from
the commit on, because nothing else refreshes the index. A killed writer may leave changes that are newer than its last
commit. They are consistent with the store, and the next writer repeats them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.errors import IndexBusy, IndexFault, IndexUnreachable
from gossamer.index.opensearch import schema
from gossamer.index.opensearch.bulk import BULK_SECONDS, BulkWriter
from gossamer.index.opensearch.forms import FormCounts
from gossamer.index.opensearch.lease import WriterLease

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gossamer.index.opensearch.location import OpenSearchLocation
    from gossamer.index.protocol import AnchorDocument, Document


class OpenSearchWriter:
    """Writes the current generation, or a new one that `complete` makes current."""

    def __init__(self, location: OpenSearchLocation, *, rebuild: bool = False) -> None:
        self._location, self._cluster = location, location.cluster
        try:
            self._lease = WriterLease(location)
        except BaseException:
            self._cluster.close()
            raise
        try:
            current = location.current()
            self._is_new = rebuild or current is None
            self._generation = location.create_generation() if current is None or rebuild else current
            self._open_indexes()
            if current is None:  # readers have no older generation to use meanwhile
                self.complete()
            elif not self._is_new:
                location.remove_other_generations(keep=self._generation)
        except BaseException:
            self.close()
            raise

    def _open_indexes(self) -> None:
        self._state_document = self._location.state_document(self._generation)
        state = self._state_document.read() or {}
        self.version: int = state.get("version", 0)
        self.anchors_version: int = state.get("anchors_version", 0)
        self._index_names = {kind: self._location.index_name(self._generation, kind) for kind in schema.KINDS}
        self._pages = BulkWriter(self._cluster, self._index_names["pages"], self._lease)
        self._anchors = BulkWriter(self._cluster, self._index_names["anchors"], self._lease)
        self._forms = FormCounts(self._cluster, self._index_names["forms"], self._lease, empty=self._is_new)
        # Changes since the last commit: DocID -> language, None for removed.
        self._uncommitted: dict[int, str | None] = {}
        if not self._is_new:
            self._refresh("pages")  # the signatures of a killed writer's documents count too

    @property
    def attempts(self) -> int:
        """How many consecutive writers, this one included, opened the index without committing documents."""
        return self._lease.attempts

    def complete(self) -> None:
        """Make a new generation the current one, and remove the old one."""
        if self._is_new:
            self._lease.renew(now=True)
            if self._state_document.revision is None:
                self._write_state()
            self._location.activate(self._generation)
            self._location.remove_other_generations(keep=self._generation)
            self._is_new = False

    def close(self) -> None:
        """Release the lease; the next writer repeats the uncommitted changes."""
        self._lease.release()
        self._cluster.close()

    # -- documents held ------------------------------------------------------------------------------------------------

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the signatures of those documents that are held and unchanged since the last commit."""
        self._lease.renew()
        committed = [doc for doc in ids if doc not in self._uncommitted]
        hits = self._stored_fields(committed, {"stored_fields": ["signature"]})
        return {doc: msgspec.convert(fields["signature"][0], bytes) for doc, fields in hits}

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the language of those documents that the index holds."""
        self._lease.renew()
        uncommitted = {doc: self._uncommitted[doc] for doc in ids if doc in self._uncommitted}
        hits = self._stored_fields([doc for doc in ids if doc not in uncommitted], {"docvalue_fields": ["language"]})
        languages = {doc: fields.get("language", [""])[0] for doc, fields in hits}
        return languages | {doc: language for doc, language in uncommitted.items() if language is not None}

    def _stored_fields(self, ids: Sequence[int], fields: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        if not ids:
            return []
        body = {
            "query": {"terms": {"id": list(ids)}}, "size": len(ids), "sort": [{"id": "asc"}], "_source": False,
            "track_total_hits": False, **fields,
        }  # fmt: skip
        response = self._cluster.request(
            "POST", f"/{self._index_names['pages']}/_search", body, allow_partial_search_results="false"
        )
        return [(hit["sort"][0], hit.get("fields", {})) for hit in response["hits"]["hits"]]

    # -- writing -------------------------------------------------------------------------------------------------------

    def put(self, documents: Sequence[Document]) -> dict[int, str]:
        """Add documents; return those that cannot be encoded. `_send_pages` sets aside those that are refused later."""
        refused = {}
        for document in documents:
            try:
                source = schema.page_document(document)
            except (ValueError, TypeError, OverflowError) as error:  # a lone surrogate, or a number too big
                refused[document.id] = f"{type(error).__name__}: {error}"
                self._put_page(document.id, None, None)
            else:
                self._put_page(document.id, source, document.language)
        self._send_if_due()
        return refused

    def remove(self, ids: Iterable[int]) -> None:
        """Remove documents and their anchor texts."""
        for doc in ids:
            self._put_page(doc, None, None)
            self._anchors.put(str(doc), None)
        self._send_if_due()

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Replace documents that the index could not take with the reason."""
        for doc, reason in reasons.items():
            self._put_page(doc, schema.set_aside_document(doc, reason), None)

    def _put_page(self, doc: int, source: bytes | None, language: str | None) -> None:
        self._pages.put(str(doc), source)
        self._uncommitted[doc] = language

    def put_anchors(self, anchors: Sequence[AnchorDocument]) -> None:
        """Replace the anchor texts of these targets."""
        for one in anchors:
            self._anchors.put(str(one.target), schema.anchor_document(one) if one.texts else None)
        self._send_if_due()

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Add to the document counts of written words."""
        self._forms.add(forms)

    def _send_if_due(self) -> None:
        self._lease.renew()
        if self._pages.should_send:
            self._send_pages()
        if self._anchors.should_send:
            self._send_anchors()

    def _send_pages(self) -> None:
        refused = self._pages.send()
        self.set_aside({int(doc): reason for doc, reason in refused.items()})
        refused_again = self._pages.send() if refused else {}
        if refused_again:
            raise IndexFault(
                f"The index at {self._cluster.address} refuses all documents ({next(iter(refused_again.values()))})."
            )

    def _send_anchors(self) -> None:
        self._anchors.send()  # refused anchor texts are lost: they only improve the order of hits

    # -- committing ----------------------------------------------------------------------------------------------------

    def commit(self, version: int) -> None:
        """Make documents and words durable, then their store version."""
        self._send_pages()
        self._forms.send()
        self._refresh("pages", "forms")
        self._lease.reset_attempts()
        self.version = version
        self._write_state()
        self._uncommitted = {}

    def commit_anchors(self, version: int) -> None:
        """Make the anchor texts durable."""
        self._send_anchors()
        self._refresh("anchors")
        self._lease.renew(now=True)
        self.anchors_version = version
        self._write_state()

    def _refresh(self, *kinds: str) -> None:
        """Make the sent changes visible in every shard; wait for a shard whose node has just died."""
        names, backoff = ",".join(self._index_names[kind] for kind in kinds), self._cluster.start_backoff()
        while self._cluster.request("POST", f"/{names}/_refresh", timeout_seconds=BULK_SECONDS)["_shards"]["failed"]:
            if backoff.is_over:
                raise IndexUnreachable(f"The index at {self._cluster.address} cannot commit: shards are missing.")
            backoff.wait()
            self._lease.renew()

    def _write_state(self) -> None:
        if not self._state_document.write({"version": self.version, "anchors_version": self.anchors_version}):
            raise IndexBusy(f"Another process has taken over the index at {self._cluster.address}.")
