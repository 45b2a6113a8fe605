"""Correct results: searches on two small sites, compared with a plain scan of their source pages."""

from __future__ import annotations

import random
from contextlib import closing
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.wiring import open_searcher, open_store
from helpers.cli.commands import FAST, crawl
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.search.service import Searcher

# Words with their terms; every other word is its own term.
FORMS = {
    "cats": "cat",
    "dogs": "dog",
    "running": "run",
    "runs": "run",
    "eggs": "egg",
    "Caf\u00e9": "cafe",
    "DOG": "dog",
}
STOPS = ("the", "of", "to", "and")
WORDS = ("cat", "dog", "run", "egg", "ham", "green", "cafe", *FORMS, *STOPS)
PAGES = 70  # of each site
SEED = 11


def term(word: str) -> str:
    return FORMS.get(word, word.lower())


class Page(NamedTuple):
    """A generated page."""

    path: str
    title: tuple[str, ...]
    runs: tuple[tuple[str, ...], ...]

    def html(self, rng: random.Random) -> str:
        """Return headings and paragraphs, one per run, with inline tags around and within words."""
        body = "".join(
            f"<{tag}>{_inline(run, rng)}</{tag}>" for run in self.runs if (tag := rng.choice(["p", "h2", "h5"]))
        )
        return f'<html lang="en"><title>{escape(" ".join(self.title))}</title>{body}</html>'

    def terms(self) -> list[list[str]]:
        return [[term(word) for word in run] for run in (self.title, *self.runs)]

    def url_words(self) -> set[str]:
        return set(self.path.strip("/").replace(".", "-").split("-"))


def _inline(run: Sequence[str], rng: random.Random) -> str:
    return " ".join(
        rng.choice([word, f"<b>{word}</b>", f"<a href='#x'><i>{word[0]}</i>{word[1:]}</a>"]) for word in run
    )


def write_pages(rng: random.Random, site: int) -> list[Page]:
    """Generate pages of few words, so that every query has hits; a unique word keeps each from being a duplicate."""
    return [
        Page(
            path=f"/{rng.choice(['cat', 'ham', 'egg'])}-{number}.html",
            title=tuple(rng.choices(WORDS, k=rng.randint(0, 3))),
            runs=(
                *(tuple(rng.choices(WORDS, k=rng.randint(1, 6))) for _ in range(rng.randint(1, 4))),
                (f"own{site}x{number}",),
            ),
        )
        for number in range(PAGES)
    ]


class IndexedSites(NamedTuple):
    """Both sites, crawled and indexed."""

    searcher: Searcher
    pages: dict[str, Page]  # by URL
    authorities: tuple[str, str]


@pytest.fixture(scope="module")
def indexed_sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexedSites]:
    rng = random.Random(SEED)
    web = tmp_path_factory.mktemp("right") / "web"
    sites = [write_pages(rng, site) for site in range(2)]
    first, second = (SiteServer({page.path: page.html(rng) for page in pages}) for pages in sites)
    for served, pages in zip((first, second), sites, strict=True):
        served.pages["/"] = "<html lang=en>" + "".join(f"<a href='{page.path}'></a>" for page in pages)
    with first, second:
        crawl(first.url, web, second.url, *FAST)
    known = {
        served.url.rstrip("/") + page.path: page
        for served, pages in zip((first, second), sites, strict=True)
        for page in pages
    }
    with closing(open_store(str(web), read_only=True)) as store, closing(open_searcher(store, str(web))) as searcher:
        yield IndexedSites(searcher, known, (first.authority, second.authority))


# -- the plain scan ----------------------------------------------------------------------------------------------------


def has_phrase(page: Page, words: Sequence[str], *, title_only: bool = False) -> bool:
    wanted = [term(word) for word in words]
    runs = page.terms()[:1] if title_only else page.terms()
    return any(run[i : i + len(wanted)] == wanted for run in runs for i in range(len(run)))


def has_word(page: Page, word: str) -> bool:
    return has_phrase(page, [word]) or word.lower() in page.url_words() or term(word) in page.url_words()


class Question(NamedTuple):
    """A search query, and the pages that it must find."""

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    not_words: tuple[str, ...] = ()
    not_phrases: tuple[tuple[str, ...], ...] = ()
    either: tuple[str, ...] = ()
    title: tuple[str, ...] = ()
    in_url: str = ""
    site: int | None = None

    def typed_query(self, authorities: tuple[str, str]) -> str:
        quoted = [f'"{" ".join(phrase)}"' for phrase in self.phrases]
        excluded = [f"-{word}" for word in self.not_words] + [f'-"{" ".join(phrase)}"' for phrase in self.not_phrases]
        title = (
            [f"intitle:{self.title[0]}" if len(self.title) == 1 else f'intitle:"{" ".join(self.title)}"']
            if self.title
            else []
        )
        in_url = [f"inurl:{self.in_url}"] if self.in_url else []
        site = [f"site:{authorities[self.site]}"] if self.site is not None else []
        return " ".join([*self.words, *quoted, *site, *excluded, " OR ".join(self.either), *title, *in_url])

    def selecting_words(self) -> tuple[str, ...]:
        """Return the words that select pages: stop words count only without other text."""
        other = [word for word in self.words if word not in STOPS]
        alone = not (self.phrases or self.either or self.title)
        return tuple(other) or (self.words if alone else ())

    def matches(self, url: str, page: Page, authorities: tuple[str, str]) -> bool:
        return all((
            not self.selecting_words() or any(has_word(page, word) for word in self.selecting_words()),
            all(has_phrase(page, phrase) for phrase in self.phrases),
            not any(has_word(page, word) for word in self.not_words),
            not any(has_phrase(page, phrase) for phrase in self.not_phrases),
            not self.either or any(has_word(page, word) for word in self.either),
            not self.title or has_phrase(page, self.title, title_only=True),
            not self.in_url or self.in_url in page.url_words(),
            self.site is None or url.startswith(f"http://{authorities[self.site]}/"),
        ))  # fmt: skip


word = st.sampled_from(WORDS)
phrase = st.lists(word, min_size=2, max_size=4).map(tuple)
questions = st.builds(
    Question,
    words=st.lists(word, max_size=3, unique=True).map(tuple),
    phrases=st.lists(phrase, max_size=1).map(tuple),
    not_words=st.lists(word, max_size=1).map(tuple),
    not_phrases=st.lists(phrase, max_size=1).map(tuple),
    either=st.one_of(
        st.just(()), st.lists(word.filter(lambda each: each not in STOPS), min_size=2, max_size=3).map(tuple)
    ),
    title=st.one_of(st.just(()), st.lists(word, min_size=1, max_size=2).map(tuple)),
    in_url=st.sampled_from(["", "", "cat", "ham"]),
    site=st.sampled_from([None, None, 0, 1]),
).filter(
    lambda question: bool(
        question.words
        or question.phrases
        or question.either
        or question.title
        or question.in_url
        or question.site is not None
    )
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(question=questions)
def test_a_query_finds_exactly_the_pages_of_a_plain_scan(indexed_sites: IndexedSites, question: Question) -> None:
    expected = {
        url for url, page in indexed_sites.pages.items() if question.matches(url, page, indexed_sites.authorities)
    }
    result = indexed_sites.searcher.search(question.typed_query(indexed_sites.authorities), limit=1000)
    assert {hit.url for hit in result.hits} - {
        f"http://{authority}/" for authority in indexed_sites.authorities
    } == expected
    assert result.total - (len(result.hits) - len(expected)) == len(expected)


@settings(max_examples=100)
@given(words=st.lists(word.filter(lambda each: each not in STOPS), min_size=2, max_size=3, unique=True))
def test_pages_with_all_words_come_first(indexed_sites: IndexedSites, words: list[str]) -> None:
    hits = indexed_sites.searcher.search(" ".join(words), limit=1000).hits
    whole = [
        all(has_word(indexed_sites.pages[hit.url], each) for each in words)
        for hit in hits
        if hit.url in indexed_sites.pages
    ]
    assert whole == sorted(whole, reverse=True)


@settings(max_examples=100)
@given(question=questions, size=st.integers(1, 40))
def test_the_pages_of_a_result_together_are_the_whole_result(
    indexed_sites: IndexedSites, question: Question, size: int
) -> None:
    typed = question.typed_query(indexed_sites.authorities)
    whole = [hit.url for hit in indexed_sites.searcher.search(typed, limit=1000).hits]
    pages = -(-len(whole) // size)
    parts = [
        hit.url
        for page in range(1, pages + 2)
        for hit in indexed_sites.searcher.search(typed, page=page, limit=size).hits
    ]
    assert parts == whole
