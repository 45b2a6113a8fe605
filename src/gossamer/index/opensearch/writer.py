"""The one writer of an index on OpenSearch.

What is put or removed is collected and sent when it is much, and everything with a commit; but it is seen only from the
commit on, for nothing else refreshes the index. A writer that is killed may leave behind what it had sent. That is the
truth of the store, only newer than the last commit, and the next writer comes to the same changes again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.errors import IndexBusy, IndexFault, IndexUnreachable
from gossamer.index.opensearch import mapping
from gossamer.index.opensearch.bulk import BULK_SECONDS, BulkWriter
from gossamer.index.opensearch.forms import FormCounts
from gossamer.index.opensearch.lease import WriterLease

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gossamer.index.opensearch.location import OpenSearchLocation
    from gossamer.index.protocol import AnchorDocument, Document


class OpenSearchWriter:
    """Writes the generation that counts, or a new one that counts from its completion on."""

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
            if current is None:  # nothing is there to be read meanwhile
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
        self._index_names = {kind: self._location.index_name(self._generation, kind) for kind in mapping.KINDS}
        self._pages = BulkWriter(self._cluster, self._index_names["pages"], self._lease)
        self._anchors = BulkWriter(self._cluster, self._index_names["anchors"], self._lease)
        self._forms = FormCounts(self._cluster, self._index_names["forms"], self._lease, empty=self._is_new)
        self._uncommitted: dict[int, str | None] = {}  # since the last commit: DocID -> language, None when it is out
        if not self._is_new:
            self._refresh("pages")  # what a writer before left behind is held, and its signatures count

    @property
    def attempts(self) -> int:
        """How many writers in a row were opened without a commit of documents, this one among them."""
        return self._lease.attempts

    def complete(self) -> None:
        """Let a new generation count, and remove the old one."""
        if self._is_new:
            self._lease.renew(now=True)
            if self._state_document.revision is None:
                self._write_state()
            self._location.activate(self._generation)
            self._location.remove_other_generations(keep=self._generation)
            self._is_new = False

    def close(self) -> None:
        """Let go of it; what was not committed comes again."""
        self._lease.release()
        self._cluster.close()

    # -- what is held --------------------------------------------------------------------------------------------------

    def signatures(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Of those that are held and were not touched since the last commit."""
        self._lease.renew()
        committed = [doc for doc in ids if doc not in self._uncommitted]
        hits = self._stored_fields(committed, {"stored_fields": ["signature"]})
        return {doc: msgspec.convert(fields["signature"][0], bytes) for doc, fields in hits}

    def languages(self, ids: Sequence[int]) -> dict[int, str]:
        """The analysis of those that are held."""
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
        """Add documents; returns those that could not be taken as they are. What the cluster refuses is set aside."""
        refused = {}
        for document in documents:
            try:
                source = mapping.page_document(document)
            except (ValueError, TypeError, OverflowError) as error:  # no text (a lone surrogate), a number too big
                refused[document.id] = f"{type(error).__name__}: {error}"
                self._put_page(document.id, None, None)
            else:
                self._put_page(document.id, source, document.language)
        self._send_if_due()
        return refused

    def remove(self, ids: Iterable[int]) -> None:
        """Take documents and their anchors out."""
        for doc in ids:
            self._put_page(doc, None, None)
            self._anchors.put(str(doc), None)
        self._send_if_due()

    def set_aside(self, reasons: Mapping[int, str]) -> None:
        """Remember documents that could not be taken, and why: the reason stands in the document's place."""
        for doc, reason in reasons.items():
            self._put_page(doc, mapping.set_aside_document(doc, reason), None)

    def _put_page(self, doc: int, source: bytes | None, language: str | None) -> None:
        self._pages.put(str(doc), source)
        self._uncommitted[doc] = language

    def put_anchors(self, anchors: Sequence[AnchorDocument]) -> None:
        """Replace what is known of these targets' anchor texts."""
        for one in anchors:
            self._anchors.put(str(one.target), mapping.anchor_document(one) if one.texts else None)
        self._send_if_due()

    def note_forms(self, forms: Mapping[tuple[str, str], int]) -> None:
        """Remember words with their terms."""
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
                f"The index at {self._cluster.address} refuses everything ({next(iter(refused_again.values()))})."
            )

    def _send_anchors(self) -> None:
        self._anchors.send()  # anchor texts that are refused only help less

    # -- committing ----------------------------------------------------------------------------------------------------

    def commit(self, version: int) -> None:
        """Make it durable: documents and words, then the version they are of."""
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
        """Let what was sent be seen, in every shard: one whose node just died is waited for."""
        names, backoff = ",".join(self._index_names[kind] for kind in kinds), self._cluster.start_backoff()
        while self._cluster.request("POST", f"/{names}/_refresh", timeout_seconds=BULK_SECONDS)["_shards"]["failed"]:
            if backoff.is_over:
                raise IndexUnreachable(f"The index at {self._cluster.address} cannot commit: shards are missing.")
            backoff.wait()
            self._lease.renew()

    def _write_state(self) -> None:
        if not self._state_document.write({"version": self.version, "anchors_version": self.anchors_version}):
            raise IndexBusy(f"Another process has taken over the writing of the index at {self._cluster.address}.")
