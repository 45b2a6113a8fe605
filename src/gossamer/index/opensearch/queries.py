"""The query tree in OpenSearch's terms.

A page matches by its own words: those of `body` (the title among them) and of its URL. Title and headings only add to
the score. Pages with all that is wanted come first because they get a constant on top that no BM25 score reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from gossamer.index import protocol
from gossamer.index.opensearch.mapping import signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Tree = dict[str, Any]

WHOLE = 1024.0  # on top for pages with all that is wanted; a power of two, so that little of the score is rounded away
NOTHING: Tree = {"match_none": {}}
DOCUMENTS: Tree = {"exists": {"field": "id"}}  # and not what stands in the place of those that could not be taken


def any_of(trees: Sequence[Tree]) -> Tree:
    """One of these at least."""
    if not trees:
        return NOTHING
    return trees[0] if len(trees) == 1 else {"bool": {"should": list(trees), "minimum_should_match": 1}}


def all_of(trees: Sequence[Tree]) -> Tree:
    """All of these."""
    return trees[0] if len(trees) == 1 else {"bool": {"must": list(trees)}}


def constant(tree: Tree, score: float = 0.0) -> Tree:
    """A condition that says the same about every page that fulfils it."""
    return {"constant_score": {"filter": tree, "boost": score}}


def term(field: str, value: str, weight: float = 1.0) -> Tree:
    """A term in a field."""
    return {"term": {field: {"value": value, "boost": weight}}}


def phrase(field: str, words: Sequence[str], weight: float = 1.0) -> Tree:
    """Terms one behind the other; the field's analysis splits them at blanks again."""
    if not words:
        return NOTHING
    return {"match_phrase": {field: {"query": " ".join(words), "boost": weight}}}


class Translator:
    """Makes OpenSearch's queries for the index of pages."""

    def __init__(self, weights: protocol.Weights) -> None:
        given = (("body", weights.body), ("title", weights.title), ("headings", weights.headings), ("url", weights.url))
        self._fields = [(name, weight) for name, weight in given if weight > 0 or name in {"body", "url"}]
        self._body, self._title = weights.body, weights.title

    def whole(self, query: protocol.Query) -> Tree:
        """The first pass: what matches, those with all that is wanted on top."""
        wanted = [self._node(node) for node in query.telling]
        must = [self._node(node) for node in query.required]
        must.append(any_of(wanted) if wanted else constant({"match_all": {}}, WHOLE))
        return {
            "bool": {
                "must": must,
                "must_not": [self._node(node) for node in query.excluded],
                "filter": [DOCUMENTS],
                "should": [constant(all_of(wanted), WHOLE)] if wanted else [],
            }
        }

    def among(self, query: protocol.Query, ids: Sequence[int]) -> Tree:
        """The same, only for these documents."""
        return {"bool": {"must": [self.whole(query)], "filter": [{"terms": {"id": list(ids)}}]}}

    def _node(self, node: protocol.Node) -> Tree:  # noqa: PLR0911 - one line for each kind
        match node:
            case protocol.Word(terms=terms):
                return any_of([term(field, one, weight) for one in terms for field, weight in self._fields])
            case protocol.Phrase(alternatives=alternatives, title_only=title_only):
                return self._phrase(alternatives, title_only=title_only)
            case protocol.InTitle(terms=terms):
                return any_of([term("title", one, self._title) for one in terms])
            case protocol.InUrl(words=words):
                found = [any_of([term("url", word), term("host_words", word)]) for word in words]
                return constant(all_of(found)) if found else NOTHING
            case protocol.Site(host=host, path=path):
                inside = [term("path", "/" + path.strip("/"))] if path.strip("/") else []
                return constant(all_of([term("site", host.lower()), *inside]))
            case protocol.Language(name=name):
                return constant(term("language", name))
            case protocol.Type(media_type=media_type):
                return constant(term("media_type", media_type))
            case protocol.Changed(since=since, until=until):
                bounds = {name: at for name, at in (("gte", since), ("lt", until)) if at is not None}
                return constant({"range": {"changed": bounds}} if bounds else {"match_all": {}})
            case protocol.Twin(value=value):
                return _twins([value])
            case protocol.AnyOf(children=children):
                return self._any_of(children)
        assert_never(node)

    def _any_of(self, children: Sequence[protocol.Node]) -> Tree:
        """Texts in one condition, however many: a query may not have more than some hundred conditions."""
        twins = [child.value for child in children if isinstance(child, protocol.Twin)]
        others = [self._node(child) for child in children if not isinstance(child, protocol.Twin)]
        return any_of([*others, *([_twins(twins)] if twins else [])])

    def _phrase(self, alternatives: Iterable[Sequence[str]], *, title_only: bool) -> Tree:
        fields = [("title", self._title)] if title_only else [("body", self._body), ("title", self._title)]
        return any_of([phrase(field, words, weight) for words in alternatives for field, weight in fields])


def _twins(values: Iterable[int]) -> Tree:
    return constant({"terms": {"twin": [signed(value) for value in values]}})


def anchor_tree(query: protocol.Query) -> Tree:
    """The wanted words and all phrases, in the index of anchor texts."""
    return any_of([tree for node in (*query.telling, *query.required) for tree in _names(node)])


def _names(node: protocol.Node) -> list[Tree]:
    """What others may call a page by; other nodes say nothing about its name."""
    match node:
        case protocol.Word(terms=terms) | protocol.InTitle(terms=terms):
            return [term("text", one) for one in terms]
        case protocol.Phrase(alternatives=alternatives):
            return [phrase("text", words) for words in alternatives]
        case protocol.AnyOf(children=children):
            return [tree for child in children for tree in _names(child)]
        case _:
            return []
