"""Translate a query of `gossamer.index.protocol` into OpenSearch's queries.

A page matches by the words of `body` (which includes the title) and of its URL. Title and headings only add to the
score. Pages with everything wanted get a bonus higher than any BM25 score, so that they come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from gossamer.index import protocol
from gossamer.index.opensearch.schema import to_signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Tree = dict[str, Any]

HAS_ALL_BONUS = 1024.0  # for pages with everything wanted; a power of two, to round off little of the score
MATCH_NOTHING: Tree = {"match_none": {}}
IS_DOCUMENT: Tree = {"exists": {"field": "id"}}  # excludes the records of documents that the index could not take


def any_of(trees: Sequence[Tree]) -> Tree:
    """Match at least one of these queries."""
    if not trees:
        return MATCH_NOTHING
    return trees[0] if len(trees) == 1 else {"bool": {"should": list(trees), "minimum_should_match": 1}}


def all_of(trees: Sequence[Tree]) -> Tree:
    """Match all of these queries."""
    return trees[0] if len(trees) == 1 else {"bool": {"must": list(trees)}}


def constant_score(tree: Tree, score: float = 0.0) -> Tree:
    """Match like the query, with the same score for every page."""
    return {"constant_score": {"filter": tree, "boost": score}}


def term_query(field: str, value: str, weight: float = 1.0) -> Tree:
    """Match a term in a field."""
    return {"term": {field: {"value": value, "boost": weight}}}


def phrase_query(field: str, words: Sequence[str], weight: float = 1.0) -> Tree:
    """Match consecutive terms; the field's analyzer splits them at spaces again."""
    if not words:
        return MATCH_NOTHING
    return {"match_phrase": {field: {"query": " ".join(words), "boost": weight}}}


class Translator:
    """Builds queries for the index of pages."""

    def __init__(self, weights: protocol.FieldWeights) -> None:
        weighted_fields = (
            ("body", weights.body),
            ("title", weights.title),
            ("headings", weights.headings),
            ("url", weights.url),
        )
        self._fields = [(name, weight) for name, weight in weighted_fields if weight > 0 or name in {"body", "url"}]
        self._body, self._title = weights.body, weights.title

    def first_pass(self, query: protocol.Query) -> Tree:
        """Return the query of the first pass."""
        wanted = [self._node_query(node) for node in query.effective_wanted]
        must = [self._node_query(node) for node in query.required]
        must.append(any_of(wanted) if wanted else constant_score({"match_all": {}}, HAS_ALL_BONUS))
        return {
            "bool": {
                "must": must,
                "must_not": [self._node_query(node) for node in query.excluded],
                "filter": [IS_DOCUMENT],
                "should": [constant_score(all_of(wanted), HAS_ALL_BONUS)] if wanted else [],
            }
        }

    def first_pass_among(self, query: protocol.Query, ids: Sequence[int]) -> Tree:
        """Return the query of the first pass over these documents only."""
        return {"bool": {"must": [self.first_pass(query)], "filter": [{"terms": {"id": list(ids)}}]}}

    def _node_query(self, node: protocol.QueryNode) -> Tree:  # noqa: PLR0911 - one line for each kind
        match node:
            case protocol.Word(terms=terms):
                return any_of([term_query(field, one, weight) for one in terms for field, weight in self._fields])
            case protocol.Phrase(alternatives=alternatives, title_only=title_only):
                return self._phrase_query(alternatives, title_only=title_only)
            case protocol.InTitle(terms=terms):
                return any_of([term_query("title", one, self._title) for one in terms])
            case protocol.InUrl(words=words):
                conditions = [any_of([term_query("url", word), term_query("host_words", word)]) for word in words]
                return constant_score(all_of(conditions)) if conditions else MATCH_NOTHING
            case protocol.SiteFilter(host=host, path=path):
                path_conditions = [term_query("path", "/" + path.strip("/"))] if path.strip("/") else []
                return constant_score(all_of([term_query("site", host.lower()), *path_conditions]))
            case protocol.LanguageFilter(name=name):
                return constant_score(term_query("language", name))
            case protocol.MediaTypeFilter(media_type=media_type):
                return constant_score(term_query("media_type", media_type))
            case protocol.ChangeDateFilter(since=since, until=until):
                bounds = {name: at for name, at in (("gte", since), ("lt", until)) if at is not None}
                return constant_score({"range": {"changed": bounds}} if bounds else {"match_all": {}})
            case protocol.TwinFilter(value=value):
                return _twins_query([value])
            case protocol.AnyOf(children=children):
                return self._any_of_query(children)
        assert_never(node)

    def _any_of_query(self, children: Sequence[protocol.QueryNode]) -> Tree:
        """Put all twin filters into one condition, because OpenSearch limits the number of conditions."""
        twins = [child.value for child in children if isinstance(child, protocol.TwinFilter)]
        others = [self._node_query(child) for child in children if not isinstance(child, protocol.TwinFilter)]
        return any_of([*others, *([_twins_query(twins)] if twins else [])])

    def _phrase_query(self, alternatives: Iterable[Sequence[str]], *, title_only: bool) -> Tree:
        fields = [("title", self._title)] if title_only else [("body", self._body), ("title", self._title)]
        return any_of([phrase_query(field, words, weight) for words in alternatives for field, weight in fields])


def _twins_query(values: Iterable[int]) -> Tree:
    return constant_score({"terms": {"twin": [to_signed(value) for value in values]}})


def anchor_query(query: protocol.Query) -> Tree:
    """Match the wanted words and all phrases in the index of anchor texts."""
    return any_of([tree for node in (*query.effective_wanted, *query.required) for tree in _anchor_queries(node)])


def _anchor_queries(node: protocol.QueryNode) -> list[Tree]:
    """Return the queries of nodes with words; filters do not apply to anchor texts."""
    match node:
        case protocol.Word(terms=terms) | protocol.InTitle(terms=terms):
            return [term_query("text", one) for one in terms]
        case protocol.Phrase(alternatives=alternatives):
            return [phrase_query("text", words) for words in alternatives]
        case protocol.AnyOf(children=children):
            return [tree for child in children for tree in _anchor_queries(child)]
        case _:
            return []
