"""Parse the text that a person typed into a query that every index back-end runs.

    crawl "link graph" -draft site:example.org intitle:guide lang:en type:pdf after:2024-05 cats OR dogs

No text is an error. The parser reads an unknown operator, or one with an invalid value, as words, and names the latter.
It cuts a text that is too long, and adds a note. Words joined without a space (`os.path`, `client/server`) match as a
phrase in the text, or all of them in the URL.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from ada_url import URL

from gossamer.index.analyze import LANGUAGES, NO_LANGUAGE, get_analyzer
from gossamer.index.protocol import (
    AnyOf,
    ChangeDateFilter,
    InTitle,
    InUrl,
    LanguageFilter,
    MediaTypeFilter,
    Phrase,
    Query,
    QueryNode,
    SiteFilter,
    Word,
)
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MOST_CHARACTERS = 2_000  # enough for a pasted paragraph
MOST_WORDS = 64  # each costs a lookup in every field; the longest queries of test collections have 40

TOKEN_PATTERN = re.compile(
    r'(?P<minus>(?<!\S)-(?=[^\s-]))?(?:(?P<name>[A-Za-z]+):(?=\S))?(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+))'
)
QUOTES = str.maketrans("“”„‟«»\uff02", '"""""""')  # quotes that keyboards and word processors produce
OR = frozenset({"OR", "|"})

MEDIA_TYPES = {
    "html": ("text/html", "application/xhtml+xml"),
    "xhtml": ("application/xhtml+xml",),
    "htm": ("text/html", "application/xhtml+xml"),
    "pdf": ("application/pdf",),
    "text": ("text/plain",),
    "txt": ("text/plain",),
    "xml": ("text/xml", "application/xml"),
    "rss": ("application/rss+xml",),
    "atom": ("application/atom+xml",),
    "feed": ("application/rss+xml", "application/atom+xml"),
}
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")
DATE = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?")


class TypedWord(Value, frozen=True, kw_only=True):
    """A plain word as typed, and its position, where a suggestion can replace it."""

    text: str
    terms: tuple[str, ...]
    start: int
    end: int


class IgnoredFilter(Value, frozen=True, kw_only=True):
    """A filter with an invalid value, which the search reads as words."""

    filter: str  # as typed
    reason: str  # a sentence for the person who typed it


class ParsedQuery(Value, frozen=True, kw_only=True):
    """A typed text and its query. An empty query matches nothing, not everything."""

    text: str  # as typed, cut if too long
    query: Query
    words: tuple[TypedWord, ...]
    notes: tuple[str, ...]  # sentences for the person who typed it
    ignored: tuple[IgnoredFilter, ...] = ()


def parse_query(text: str, languages: Mapping[str, int]) -> ParsedQuery:
    """Parse a typed text; `languages` has the number of pages by language."""
    notes: list[str] = []
    typed = text.encode("utf-8", "replace").decode()  # replaces lone surrogates, which no index contains
    if len(typed) > MOST_CHARACTERS:
        typed = _truncate(typed)
        notes.append(f"The search used only the first {len(typed):,} characters.")
    tokens = list(_tokens(typed))
    node_builder = _NodeBuilder(_filter_languages(tokens) or languages or {"": 1})
    items, left_out = _limit_words([node_builder.item(token) for token in tokens])
    if typed.strip() and not any(item.node for item in items):
        notes.append("The query contains no word.")
    if left_out:
        notes.append(f"The search used only the first {MOST_WORDS} words.")
    ignored = tuple(_ignored_filters(items))
    notes += [one.reason for one in ignored]
    words = tuple(
        TypedWord(text=item.token.plain, terms=item.node.terms, start=item.token.start, end=item.token.end)
        for item in items
        if isinstance(item.node, Word) and not item.is_required and not item.token.minus
    )
    return ParsedQuery(text=typed, query=_query(items), words=words, notes=tuple(notes), ignored=ignored)


# -- tokens ------------------------------------------------------------------------------------------------------------


class QueryToken(NamedTuple):
    """A piece of the typed text."""

    minus: bool
    name: str  # of the operator, in lower case; "" for none
    value: str
    quoted: bool
    plain: str  # the piece without its minus
    start: int  # position of `plain` in the text
    end: int


def _tokens(text: str) -> Iterator[QueryToken]:
    for match in TOKEN_PATTERN.finditer(text.translate(QUOTES)):
        start = match.start() + bool(match["minus"])
        quoted = match["quoted"] is not None
        value = match["quoted"] if quoted else match["plain"]
        plain = text[start : match.end()]
        yield QueryToken(bool(match["minus"]), (match["name"] or "").lower(), value, quoted, plain, start, match.end())


def _truncate(text: str) -> str:
    """Return the beginning of a text, cut at a space if there is one."""
    start = text[:MOST_CHARACTERS]
    return start[: start.rfind(" ")] if " " in start else start


def _filter_languages(tokens: Sequence[QueryToken]) -> dict[str, int]:
    """Return the languages of `lang:` filters, because only their analyses can match then."""
    names = (_language_name(token.value) for token in tokens if token.name == "lang" and not token.minus)
    return {language: 1 for language in names if language}


# -- one token -> a node -----------------------------------------------------------------------------------------------


class QueryItem(NamedTuple):
    """A token and its query node."""

    token: QueryToken
    node: QueryNode | None  # None: the token contains no word
    is_required: bool  # quoted or an operator, not only wanted


# Operator -> what its value must be.
FILTER_VALUES = {
    "site": "a host",
    "lang": "a known language (en, english)",
    "type": "a known type (html, pdf, text, xml, feed)",
    "before": "a date (2024, 2024-05 or 2024-05-17)",
    "after": "a date (2024, 2024-05 or 2024-05-17)",
}


def _ignored_filters(items: Iterable[QueryItem]) -> Iterator[IgnoredFilter]:
    for token, _, is_required in items:
        if token.name in FILTER_VALUES and not is_required:
            reason = f"{token.plain} is not {FILTER_VALUES[token.name]}; it counts as words."
            yield IgnoredFilter(filter=token.plain, reason=reason)


class _NodeBuilder:
    """Turns tokens into query nodes, with the analyses of the web's languages."""

    def __init__(self, languages: Mapping[str, int]) -> None:
        self._languages = sorted(languages, key=lambda language: (-languages[language], language))
        self._documents_by_language = languages
        self._operators: dict[str, Callable[[QueryToken], QueryNode | None]] = {
            "site": _site_filter,
            "intitle": self._title_node,
            "inurl": _url_node,
            "lang": _language_filter,
            "type": _media_type_filter,
            "before": lambda token: _change_date_filter(token, "until"),
            "after": lambda token: _change_date_filter(token, "since"),
        }

    def item(self, token: QueryToken) -> QueryItem:
        """Return the token with its query node."""
        operator = self._operators.get(token.name)
        if operator and (node := operator(token)):
            return QueryItem(token, node, is_required=True)
        if token.quoted and not token.name:
            return QueryItem(token, self._phrase_node(token.value), is_required=True)
        return QueryItem(token, self._words_node(token.plain), is_required=False)

    def _term_sequences(self, text: str) -> tuple[tuple[str, ...], ...]:
        """Return the terms of a text in every analysis, without repeats, the language of most pages first."""
        sequences = (tuple(get_analyzer(language).terms(text).split()) for language in self._languages)
        return tuple(dict.fromkeys(terms for terms in sequences if terms))

    def _is_stop(self, text: str) -> bool:
        """Return whether a text is stop words in the languages of most pages."""
        stop_documents = sum(
            self._documents_by_language[language]
            for language in self._languages
            if all(token.stop for token in get_analyzer(language).tokens(text))
        )
        return stop_documents * 2 > sum(self._documents_by_language.values())

    def _words_node(self, text: str) -> QueryNode | None:
        sequences = self._term_sequences(text)
        if not sequences:
            return None
        if all(len(terms) == 1 for terms in sequences):
            return Word(text=text, terms=tuple(terms[0] for terms in sequences), stop=self._is_stop(text))
        phrase = Phrase(text=text, alternatives=sequences)
        in_url = _url_words(text)
        return AnyOf(children=(phrase, InUrl(text=text, words=in_url))) if in_url else phrase

    def _phrase_node(self, text: str) -> QueryNode | None:
        sequences = self._term_sequences(text)
        if sequences and all(len(terms) == 1 for terms in sequences):
            return Word(text=text, terms=tuple(terms[0] for terms in sequences))
        return Phrase(text=text, alternatives=sequences) if sequences else None

    def _title_node(self, token: QueryToken) -> QueryNode | None:
        sequences = self._term_sequences(token.value)
        if sequences and all(len(terms) == 1 for terms in sequences):
            return InTitle(text=token.value, terms=tuple(terms[0] for terms in sequences))
        return Phrase(text=token.value, alternatives=sequences, title_only=True) if sequences else None


def _site_filter(token: QueryToken) -> QueryNode | None:
    host_and_path = token.value.strip().removeprefix("*.").strip(".")
    host_and_path = re.sub(r"^https?://", "", host_and_path, flags=re.IGNORECASE)
    try:
        url = URL(f"http://{host_and_path}")
    except ValueError:
        return None
    path = url.pathname.rstrip("/")
    return SiteFilter(host=url.host, path=path) if url.host else None


def _url_node(token: QueryToken) -> QueryNode | None:
    words = _url_words(token.value)
    return InUrl(text=token.value, words=words) if words else None


def _url_words(text: str) -> tuple[str, ...]:
    """Return the words without stemming, because a URL has no language."""
    return tuple(get_analyzer(NO_LANGUAGE).terms(unquote(text)).split())


def _language_filter(token: QueryToken) -> QueryNode | None:
    name = _language_name(token.value)
    return LanguageFilter(name=name) if name else None


def _language_name(text: str) -> str:
    """Return the analysis of `en`, `en-GB` or `english`; "" when there is none."""
    name = text.strip().lower()
    return name if name in LANGUAGES.values() else LANGUAGES.get(re.split("[-_]", name, maxsplit=1)[0], "")


def _media_type_filter(token: QueryToken) -> QueryNode | None:
    value = token.value.lower().removeprefix(".")
    types = MEDIA_TYPES.get(value) or ((value,) if MEDIA_TYPE.fullmatch(value) else ())
    nodes = tuple(MediaTypeFilter(media_type=each) for each in types)
    return (nodes[0] if len(nodes) == 1 else AnyOf(children=nodes)) if nodes else None


def _change_date_filter(token: QueryToken, edge: str) -> QueryNode | None:
    """Return the filter: `after:2024-05` begins on 1 May, `before:2024-05` ends on 30 April."""
    match = DATE.fullmatch(token.value.strip())
    if match is None:
        return None
    try:
        day = datetime(int(match[1]), int(match[2] or 1), int(match[3] or 1), tzinfo=UTC)
    except ValueError:
        return None
    return ChangeDateFilter(since=day.timestamp()) if edge == "since" else ChangeDateFilter(until=day.timestamp())


# -- nodes -> a query --------------------------------------------------------------------------------------------------


def _word_count(node: QueryNode | None) -> int:
    """Return the number of words of a node."""
    match node:
        case Phrase():
            return max(map(len, node.alternatives))
        case AnyOf():
            return sum(map(_word_count, node.children))
        case Word() | InTitle():
            return 1
        case InUrl():
            return len(node.words)
        case _:
            return 0


def _limit_words(items: Sequence[QueryItem]) -> tuple[list[QueryItem], bool]:
    """Return the first items with at most MOST_WORDS words, and whether some are left out."""
    words_left, kept = MOST_WORDS, list[QueryItem]()
    for item in items:
        words_left -= _word_count(item.node)
        if words_left < 0:
            return kept, True
        kept.append(item)
    return kept, False


def _query(items: Sequence[QueryItem]) -> Query:
    wanted: list[QueryNode] = []
    required: list[QueryNode] = []
    excluded: list[QueryNode] = []
    for group in _groups(items):
        nodes = _unique_nodes([item.node for item in group])
        if group[0].token.minus:
            excluded.extend(nodes)
        elif len(nodes) > 1:
            required.append(AnyOf(children=nodes))
        elif len(group) > 1 or group[0].is_required:
            required.extend(nodes)
        else:
            wanted.extend(nodes)
    return Query(wanted=_unique_nodes(wanted), required=_unique_nodes(required), excluded=_unique_nodes(excluded))


def _groups(items: Sequence[QueryItem]) -> Iterator[list[QueryItem]]:
    """Yield items joined by OR as one group, others alone; OR joins only two items that it stands between."""
    group: list[QueryItem] = []
    after_or = False
    for i, item in enumerate(items):
        if (
            item.token.plain in OR
            and group
            and not after_or
            and _can_join(group[-1])
            and _can_join(*items[i + 1 : i + 2])
        ):
            after_or = True
        elif item.node is not None:
            if group and not after_or:
                yield group
                group = []
            group.append(item)
            after_or = False
    if group:
        yield group


def _can_join(item: QueryItem | None = None) -> bool:
    return item is not None and item.node is not None and not item.token.minus and item.token.plain not in OR


def _unique_nodes(nodes: Sequence[QueryNode | None]) -> tuple[QueryNode, ...]:
    return tuple(dict.fromkeys(node for node in nodes if node is not None))
