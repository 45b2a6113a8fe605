"""Real webs have the same answers with and without compiled kernels: hits, scores, snippets and explanations."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from conftest import skip_without_native
from gossamer.index.documents import indexed_runs
from gossamer.kernels import native
from gossamer.wiring import open_index, open_store
from helpers.cli.commands import FAST, crawl
from helpers.search.answers import answers_both_ways
from webs.served import SiteServer

if TYPE_CHECKING:
    from pathlib import Path

    from helpers.web.browser import AppServer

DRAWN_QUESTIONS = 40  # of each kind
QUESTIONS = (
    *("the", "of the", '"in the"', "list comprehension", "os.path join", "asyncio -task", "intitle:string format"),
    *("string site:127.0.0.1", "inurl:library json", "café OR json", "lang:en regex", "type:html dict"),
    *("after:2000 bytes", "don't", "naïve", "xyzzyplugh"),
)
PAGES = {
    "/": "<html lang=en><title>Crawl</title><a href=/de>a</a><a href=/fr>b</a><a href=/ja>c</a><a href=/long>d</a>",
    "/de": "<html lang=de><title>Straßen</title><p>Die Straßen der Stadt sind schön. Über Größe und Maß der Straße.",
    "/fr": "<html lang=fr><title>Été</title><p>L\u2019été de l'homme naïf : les étés d\u2019autrefois, Œuvre et cœur.",
    "/ja": "<html lang=ja><title>東京</title><p>東京都の天気は晴れです。京都も東京も。<p>カタカナ、한국어 語。",
    "/long": "<html lang=en><title>Long</title><p>" + "word " * 6_000 + "needle in a crawl. " + "word " * 900,
}
PAGE_QUESTIONS = (
    *("strasse", "Straße Stadt", "été", "l'homme", "oeuvre coeur", "東京", "京都 天気", "カタカナ", "한국", "needle"),
    *("needle crawl",),
)


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    if native is None:
        skip_without_native()


@pytest.fixture(scope="module")
def language_web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crawl pages in several languages, one of them very long."""
    store = tmp_path_factory.mktemp("languages")
    pages = {path: f"<!doctype html><meta charset=utf-8>{page}" for path, page in PAGES.items()}
    with SiteServer(pages) as site:
        crawl(site.url, store, *FAST)
    return store


def draw_questions(web: str) -> list[str]:
    """Return neighbouring words of the pages: one, two, three, and phrases."""
    store, index = open_store(web, read_only=True), open_index(web)
    rows = store.documents(list(index.ids()))
    index.close()
    store.close()
    chance = random.Random(3)
    texts = [text.split() for row in rows.values() for _, text in indexed_runs(row.text)]
    long_texts = [words for words in texts if len(words) > 3]
    questions = []
    for number in range(4 * DRAWN_QUESTIONS):
        words, count = chance.choice(long_texts), 1 + number % 3
        start = chance.randrange(len(words) - count)
        question = " ".join(words[start : start + count])
        questions.append(f'"{question}"' if number % 4 == 3 else question)
    return questions


def test_answers_about_documentation(documentation: AppServer) -> None:
    web = str(documentation.store)
    ours, python = answers_both_ways(web, [*QUESTIONS, *draw_questions(web)])
    assert sum(len(answer["hits"]) for answer in ours) > 1_000
    for answer, expected in zip(ours, python, strict=True):
        assert answer == expected, answer["query"]


def test_answers_in_several_languages(language_web: Path) -> None:
    ours, python = answers_both_ways(str(language_web), PAGE_QUESTIONS)
    assert sum(bool(answer["hits"]) for answer in ours) >= len(PAGE_QUESTIONS)
    for answer, expected in zip(ours, python, strict=True):
        assert answer == expected, answer["query"]
