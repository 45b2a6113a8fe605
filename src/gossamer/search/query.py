"""What a person typed -> a tree that every index back-end runs.

    crawl "link graph" -draft site:example.org intitle:guide lang:en type:pdf after:2024-05 cats OR dogs

Nothing typed is an error. An operator that is unknown, or whose value makes no sense, is read as words; what is too
long is cut, and a note says so. Words that stand together without a blank (`os.path`, `client/server`) belong together:
one behind the other in the text, or all of them in the URL.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from ada_url import URL

from gossamer.index.analyze import LANGUAGES, NONE, analysis
from gossamer.index.protocol import AnyOf, Changed, InTitle, InUrl, Language, Node, Phrase, Query, Site, Type, Word
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MOST_CHARACTERS = 2_000  # a pasted paragraph is read whole, a pasted book is not
MOST_WORDS = 64  # each is looked for in every field; the longest questions of test collections have 40

TOKEN = re.compile(
    r'(?P<minus>(?<!\S)-(?=[^\s-]))?(?:(?P<name>[A-Za-z]+):(?=\S))?(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+))'
)
QUOTES = str.maketrans("“”„‟«»\uff02", '"""""""')  # what keyboards and word processors make of "
OR = frozenset({"OR", "|"})

TYPES = {
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


class Typed(Value, frozen=True, kw_only=True):
    """A plain word as it was typed, and where: what a suggestion puts another in the place of."""

    text: str
    terms: tuple[str, ...]
    start: int
    end: int


class Asked(Value, frozen=True, kw_only=True):
    """A question as it was understood. A query without anything in it asks for nothing, not for everything."""

    text: str  # as typed; cut when it was too long
    query: Query
    words: tuple[Typed, ...]
    notes: tuple[str, ...]  # sentences for the person who asked


def parse(text: str, languages: Mapping[str, int]) -> Asked:
    """Read what was typed; `languages` are the analyses of the web's pages, and how many went through each."""
    notes: list[str] = []
    typed = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be looked for
    if len(typed) > MOST_CHARACTERS:
        typed = _cut(typed)
        notes.append(f"Only the first {len(typed):,} characters were looked for.")
    tokens = list(_tokens(typed))
    reading = _Reading(_asked_language(tokens) or languages or {"": 1})
    items, left_out = _within_limit([reading.item(token) for token in tokens])
    if typed.strip() and not any(item.node for item in items):
        notes.append("There is no word in the question.")
    if left_out:
        notes.append(f"Only the first {MOST_WORDS} words were looked for.")
    words = tuple(
        Typed(text=item.token.plain, terms=item.node.terms, start=item.token.start, end=item.token.end)
        for item in items
        if isinstance(item.node, Word) and not item.demanded and not item.token.minus
    )
    return Asked(text=typed, query=_query(items), words=words, notes=tuple(notes))


# -- tokens ------------------------------------------------------------------------------------------------------------


class Token(NamedTuple):
    """A piece of what was typed."""

    minus: bool
    name: str  # of an operator, in lower case; "" when there is none
    value: str
    quoted: bool
    plain: str  # the piece without its minus
    start: int  # of `plain`
    end: int


def _tokens(text: str) -> Iterator[Token]:
    for match in TOKEN.finditer(text.translate(QUOTES)):
        start = match.start() + bool(match["minus"])
        quoted = match["quoted"] is not None
        value = match["quoted"] if quoted else match["plain"]
        plain = text[start : match.end()]
        yield Token(bool(match["minus"]), (match["name"] or "").lower(), value, quoted, plain, start, match.end())


def _cut(text: str) -> str:
    """The beginning of a text, up to a blank where there is one."""
    start = text[:MOST_CHARACTERS]
    return start[: start.rfind(" ")] if " " in start else start


def _asked_language(tokens: Sequence[Token]) -> dict[str, int]:
    """With `lang:` only that language's pages can answer, so that only its analysis is asked for."""
    named = (_language_named(token.value) for token in tokens if token.name == "lang" and not token.minus)
    return {language: 1 for language in named if language}


# -- one token -> a node -----------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """A token and what it looks for."""

    token: Token
    node: Node | None  # None: there is no word in it
    demanded: bool  # quoted or an operator: not merely wanted


class _Reading:
    """Turns tokens into nodes, by the analyses that the web's languages call for."""

    def __init__(self, languages: Mapping[str, int]) -> None:
        self._languages = sorted(languages, key=lambda language: (-languages[language], language))
        self._documents = languages
        self._operators: dict[str, Callable[[Token], Node | None]] = {
            "site": _site,
            "intitle": self._in_title,
            "inurl": _in_url,
            "lang": _language,
            "type": _type,
            "before": lambda token: _changed(token, "until"),
            "after": lambda token: _changed(token, "since"),
        }

    def item(self, token: Token) -> Item:
        """What a token looks for."""
        operator = self._operators.get(token.name)
        if operator and (node := operator(token)):
            return Item(token, node, demanded=True)
        if token.quoted and not token.name:
            return Item(token, self._phrase(token.value), demanded=True)
        return Item(token, self._words(token.plain), demanded=False)

    def _sequences(self, text: str) -> tuple[tuple[str, ...], ...]:
        """The terms of a text, in every analysis; equal ones once, those of most pages first."""
        read = (tuple(analysis(language).terms(text).split()) for language in self._languages)
        return tuple(dict.fromkeys(terms for terms in read if terms))

    def _is_stop(self, text: str) -> bool:
        """Whether a word says nothing in the languages of most pages."""
        silent = sum(
            self._documents[language]
            for language in self._languages
            if all(token.stop for token in analysis(language).tokens(text))
        )
        return silent * 2 > sum(self._documents.values())

    def _words(self, text: str) -> Node | None:
        found = self._sequences(text)
        if not found:
            return None
        if all(len(terms) == 1 for terms in found):
            return Word(text=text, terms=tuple(terms[0] for terms in found), stop=self._is_stop(text))
        together = Phrase(text=text, alternatives=found)
        in_url = _url_words(text)
        return AnyOf(children=(together, InUrl(text=text, words=in_url))) if in_url else together

    def _phrase(self, text: str) -> Node | None:
        found = self._sequences(text)
        if found and all(len(terms) == 1 for terms in found):
            return Word(text=text, terms=tuple(terms[0] for terms in found))
        return Phrase(text=text, alternatives=found) if found else None

    def _in_title(self, token: Token) -> Node | None:
        found = self._sequences(token.value)
        if found and all(len(terms) == 1 for terms in found):
            return InTitle(text=token.value, terms=tuple(terms[0] for terms in found))
        return Phrase(text=token.value, alternatives=found, title_only=True) if found else None


def _site(token: Token) -> Node | None:
    place = token.value.strip().removeprefix("*.").strip(".")
    place = re.sub(r"^https?://", "", place, flags=re.IGNORECASE)
    try:
        url = URL(f"http://{place}")
    except ValueError:
        return None
    path = url.pathname.rstrip("/")
    return Site(host=url.host, path=path) if url.host else None


def _in_url(token: Token) -> Node | None:
    words = _url_words(token.value)
    return InUrl(text=token.value, words=words) if words else None


def _url_words(text: str) -> tuple[str, ...]:
    """A URL is in no language: its words are looked for as they are."""
    return tuple(analysis(NONE).terms(unquote(text)).split())


def _language(token: Token) -> Node | None:
    name = _language_named(token.value)
    return Language(name=name) if name else None


def _language_named(text: str) -> str:
    """`en`, `en-GB` and `english` alike; "" when there is no such analysis."""
    name = text.strip().lower()
    return name if name in LANGUAGES.values() else LANGUAGES.get(re.split("[-_]", name, maxsplit=1)[0], "")


def _type(token: Token) -> Node | None:
    value = token.value.lower().removeprefix(".")
    types = TYPES.get(value) or ((value,) if MEDIA_TYPE.fullmatch(value) else ())
    nodes = tuple(Type(media_type=each) for each in types)
    return (nodes[0] if len(nodes) == 1 else AnyOf(children=nodes)) if nodes else None


def _changed(token: Token, edge: str) -> Node | None:
    """`after:2024-05` is from the first of May on, `before:2024-05` is until the end of April."""
    found = DATE.fullmatch(token.value.strip())
    if found is None:
        return None
    try:
        day = datetime(int(found[1]), int(found[2] or 1), int(found[3] or 1), tzinfo=UTC)
    except ValueError:
        return None
    return Changed(since=day.timestamp()) if edge == "since" else Changed(until=day.timestamp())


# -- nodes -> a query --------------------------------------------------------------------------------------------------


def _size(node: Node | None) -> int:
    """Words to look for."""
    match node:
        case Phrase():
            return max(map(len, node.alternatives))
        case AnyOf():
            return sum(map(_size, node.children))
        case Word() | InTitle():
            return 1
        case InUrl():
            return len(node.words)
        case _:
            return 0


def _within_limit(items: Sequence[Item]) -> tuple[list[Item], bool]:
    """As many items from the first on as have no more words than allowed, and whether some were left out."""
    room, kept = MOST_WORDS, list[Item]()
    for item in items:
        room -= _size(item.node)
        if room < 0:
            return kept, True
        kept.append(item)
    return kept, False


def _query(items: Sequence[Item]) -> Query:
    wanted: list[Node] = []
    required: list[Node] = []
    excluded: list[Node] = []
    for group in _groups(items):
        nodes = _once([item.node for item in group])
        if group[0].token.minus:
            excluded.extend(nodes)
        elif len(nodes) > 1:
            required.append(AnyOf(children=nodes))
        elif len(group) > 1 or group[0].demanded:
            required.extend(nodes)
        else:
            wanted.extend(nodes)
    return Query(wanted=_once(wanted), required=_once(required), excluded=_once(excluded))


def _groups(items: Sequence[Item]) -> Iterator[list[Item]]:
    """What is joined by OR, together; all else alone. OR joins only where it stands between two things to look for."""
    group: list[Item] = []
    joined = False
    for i, item in enumerate(items):
        if (
            item.token.plain in OR
            and group
            and not joined
            and _can_join(group[-1])
            and _can_join(*items[i + 1 : i + 2])
        ):
            joined = True
        elif item.node is not None:
            if group and not joined:
                yield group
                group = []
            group.append(item)
            joined = False
    if group:
        yield group


def _can_join(item: Item | None = None) -> bool:
    return item is not None and item.node is not None and not item.token.minus and item.token.plain not in OR


def _once(nodes: Sequence[Node | None]) -> tuple[Node, ...]:
    return tuple(dict.fromkeys(node for node in nodes if node is not None))
