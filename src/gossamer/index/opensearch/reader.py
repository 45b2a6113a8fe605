"""Read one commit of an index on OpenSearch: first-pass matches with their scores, frequencies, postings.

Queries for pages use a point in time. Queries for anchor texts and written words do not, because these only help to
order hits and to suggest words.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.index.opensearch.point_in_time import HITS_AT_ONCE, PointInTime
from gossamer.index.opensearch.queries import HAS_ALL_BONUS, IS_DOCUMENT, Translator, anchor_query, term_query
from gossamer.index.opensearch.schema import MATCH_COLUMNS, stored_numbers, to_signed, word_sequence
from gossamer.index.protocol import Matches, Posting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.opensearch.location import OpenSearchLocation
    from gossamer.index.protocol import FieldWeights, Query, WordSequence

MOST_FORMS = 50_000  # words returned without a limit; rarer ones make no good suggestion
SEQUENCES_AT_ONCE = 200  # documents whose words one answer holds, a few megabytes
TERM_FREQUENCY = "termFreq(params.field, params.term)"


class OpenSearchReader:
    """Documents, anchor texts and word sequences of the current generation."""

    def __init__(self, location: OpenSearchLocation) -> None:
        self._location = location
        try:
            self._point_in_time = PointInTime(location)
        except BaseException:
            location.cluster.close()
            raise
        self._document_frequencies: dict[str, int] = {}
        self._languages: dict[str, int] | None = None
        self._average_length: float | None = None

    @property
    def version(self) -> int:
        """The store version that the documents have."""
        return self._point_in_time.version

    @property
    def anchors_version(self) -> int:
        """The store version that the anchor texts have."""
        return self._point_in_time.anchors_version

    def close(self) -> None:
        """Release the point in time and close the connections."""
        self._point_in_time.close()
        self._location.cluster.close()

    def is_current(self) -> bool:
        """Return whether this is still the last commit."""
        return self._point_in_time.is_current()

    def count(self) -> int:
        """Return the number of documents."""
        return sum(self.languages().values())

    def ids(self) -> Iterator[int]:
        """Yield every DocID in order, read in batches."""
        return self._point_in_time.matching_ids(IS_DOCUMENT)

    def languages(self) -> dict[str, int]:
        """Return the number of documents by language; one request, because a reader's documents do not change."""
        if self._languages is None:
            aggregations = {
                "by": {"terms": {"field": "language", "size": 100}},
                "none": {"missing": {"field": "language"}},
            }
            response = self._point_in_time.search({"query": IS_DOCUMENT, "size": 0, "aggs": aggregations})
            groups = response["aggregations"]
            counts = {one["key"]: one["doc_count"] for one in groups["by"]["buckets"]}
            counts[""] = groups["none"]["doc_count"]
            self._languages = {name: number for name, number in counts.items() if number}
        return self._languages

    def average_length(self) -> float:
        """Return the average number of words of a document, in one request."""
        if self._average_length is None:
            request = {"query": IS_DOCUMENT, "size": 0, "aggs": {"average": {"avg": {"field": "length"}}}}
            self._average_length = self._point_in_time.search(request)["aggregations"]["average"]["value"] or 0.0
        return self._average_length

    # -- matching ------------------------------------------------------------------------------------------------------

    def match(self, query: Query, weights: FieldWeights, *, limit: int, offset: int = 0) -> Matches:
        """Run the first pass."""
        return self._matches(Translator(weights).first_pass(query), limit, offset)

    def score(self, query: Query, weights: FieldWeights, ids: Sequence[int]) -> Matches:
        """Run the first pass over these documents only."""
        return self._matches(Translator(weights).first_pass_among(query, ids), max(len(ids), 1), 0)

    def _matches(self, tree: dict[str, Any], limit: int, offset: int) -> Matches:
        order: list[object] = [{"_score": "desc"}, {"id": "asc"}]
        body = {"query": tree, "sort": order, "docvalue_fields": list(MATCH_COLUMNS), "stored_fields": "_none_"}
        total, hits = self._point_in_time.hits(body, offset=offset, limit=limit)
        scores = np.fromiter((hit["sort"][0] for hit in hits), np.float64, len(hits))
        has_all = scores >= HAS_ALL_BONUS
        columns = {name: [hit["fields"][name][0] for hit in hits] for name in MATCH_COLUMNS}
        return Matches(
            total,
            np.fromiter((hit["sort"][1] for hit in hits), np.int64, len(hits)),
            scores - HAS_ALL_BONUS * has_all,
            has_all,
            np.array(columns["twin"], np.int64).view(np.uint64),
            np.array(columns["host"], np.int64),
            np.array(columns["changed"], np.float64),
            np.array(columns["steps"], np.int64),
        )

    def has_twins(self, twins: Sequence[int]) -> bool:
        """Return whether several documents have one of these texts."""
        texts = {to_signed(twin) for twin in twins}
        body = {"query": {"terms": {"twin": sorted(texts)}}, "size": 0, "track_total_hits": True}
        total: int = self._point_in_time.search(body)["hits"]["total"]["value"]
        return total > len(texts)

    def best_by_anchor(self, query: Query, limit: int) -> list[int]:
        """Return the targets whose anchor texts fit best."""
        body = {"query": anchor_query(query), "size": limit, "sort": [{"_score": "desc"}, {"id": "asc"}]}
        return [hit["sort"][1] for hit in self._search_index("anchors", {**body, "stored_fields": "_none_"})]

    def anchor_terms(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """Return the words of the anchor texts of each document."""
        body = {"query": {"terms": {"id": list(ids)}}, "size": len(ids), "sort": [{"id": "asc"}]}
        hits = self._search_index("anchors", {**body, "stored_fields": ["words"]}) if ids else []
        return {hit["sort"][0]: stored_numbers(hit["fields"], "words") for hit in hits}

    def _search_index(self, kind: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return hits of the anchors or forms; none when a rebuilt index has just replaced them."""
        index = self._location.index_name(self._point_in_time.generation, kind)
        response = self._location.cluster.request(
            "POST", f"/{index}/_search", {"track_total_hits": False, **body}, ignore_faults=(404,),
            search_type="dfs_query_then_fetch", allow_partial_search_results="false",
        )  # fmt: skip
        hits: list[dict[str, Any]] = response["hits"]["hits"] if response else []
        return hits

    # -- words ---------------------------------------------------------------------------------------------------------

    def word_sequences(self, ids: Sequence[int], *, whole: bool = True) -> dict[int, WordSequence]:
        """Return the words of each document in order."""
        sequences: dict[int, WordSequence] = {}
        for first in range(0, len(ids), SEQUENCES_AT_ONCE):
            some = list(ids[first : first + SEQUENCES_AT_ONCE])
            body = {
                "query": {"terms": {"id": some}}, "size": len(some), "sort": [{"id": "asc"}], "track_total_hits": False,
                "stored_fields": ["words", "runs", *(["more"] if whole else [])], "docvalue_fields": ["language"],
            }  # fmt: skip
            sequences |= {
                hit["sort"][0]: word_sequence(hit["fields"]) for hit in self._point_in_time.search(body)["hits"]["hits"]
            }
        return sequences

    def forms(self, term: str) -> list[str]:
        """Return the written words that have a term."""
        body = {"query": {"term": {"term": term}}, "sort": _MOST_FREQUENT, "size": HITS_AT_ONCE, "_source": ["form"]}
        return [hit["_source"]["form"] for hit in self._search_index("forms", body)]

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Return written words, the most frequent first; the counts of all terms of a word are added."""
        filters = [{"range": {"length": {"gte": shortest, "lte": longest}}}, {"prefix": {"form": prefix}}]
        body: dict[str, Any] = {"query": {"bool": {"filter": filters}}, "sort": _MOST_FREQUENT, "_source": False}
        # A word with several terms comes several times.
        size = HITS_AT_ONCE if limit is None else min(HITS_AT_ONCE, 2 * limit + 8)
        counts: Counter[str] = Counter()
        while hits := self._search_index("forms", {**body, "size": size}):
            for hit in hits:
                number, form = hit["sort"]
                counts[form] += number
            if limit is not None or len(hits) < size or len(counts) >= MOST_FORMS:
                break
            body["search_after"] = hits[-1]["sort"]
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def set_aside_documents(self) -> dict[int, str]:
        """Return the documents that the index could not take, and why."""
        body: dict[str, Any] = {
            "query": {"exists": {"field": "aside_id"}}, "sort": [{"aside_id": "asc"}], "size": HITS_AT_ONCE,
            "docvalue_fields": ["aside"], "track_total_hits": False,
        }  # fmt: skip
        reasons: dict[int, str] = {}
        while hits := self._point_in_time.search(body)["hits"]["hits"]:
            reasons |= {hit["sort"][0]: hit["fields"]["aside"][0] for hit in hits}
            body["search_after"] = hits[-1]["sort"]
        return reasons

    def document_frequency(self, term: str) -> int:
        """Return the number of documents that hold a term, in one request per term."""
        if term not in self._document_frequencies:
            response = self._point_in_time.search(
                {"query": term_query("body", term), "size": 0, "track_total_hits": True}
            )
            self._document_frequencies[term] = response["hits"]["total"]["value"]
        return self._document_frequencies[term]

    def postings(self, term: str, *, by_frequency: bool, offset: int, limit: int) -> list[Posting]:
        """Return documents that hold a term; a script makes its frequency their score."""
        script = {"source": TERM_FREQUENCY, "params": {"field": "body", "term": term}}
        tree = {"script_score": {"query": {"constant_score": {"filter": {"term": {"body": term}}}}, "script": script}}
        order: list[object] = [{"_score": "desc"}, {"id": "asc"}] if by_frequency else [{"id": "asc"}]
        body = {"query": tree, "sort": order, "track_scores": True, "stored_fields": "_none_"}
        _, hits = self._point_in_time.hits(body, offset=offset, limit=limit)
        return [Posting(id=hit["sort"][-1], frequency=round(hit["_score"])) for hit in hits]


_MOST_FREQUENT: list[object] = [{"documents": "desc"}, {"form": "asc"}]
