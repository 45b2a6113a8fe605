"""`gossamer search` and `open_web(...).search(...)`: what people and programs get; nothing of it acts on them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from gossamer import open_web
from gossamer.basics.display import HIDDEN
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.cli.terminal import gossamer_on_terminal
from webs.served import Answer, Served

if TYPE_CHECKING:
    from pathlib import Path

RIGHT_TO_LEFT = "\u202e"
TITLE = f"Trap &lt;script&gt;alert(1)&lt;/script&gt; &#27;[31mred {RIGHT_TO_LEFT}exe.egg &amp; ham"
TEXT = (
    "A trap with &lt;script&gt;alert(2)&lt;/script&gt;, \x1b]0;owned\x07 \x1b[2J,"
    f" {RIGHT_TO_LEFT}gnirts\u202c and \u2066more\u2069."
)
FILLER = " ".join(f"word{number}" for number in range(80))
PAGES: dict[str, str | Answer] = {
    "/": "<html lang=en><title>Start</title><p>Here it begins."
    + "".join(f"<a href='/{name}'>{name}</a> " for name in ("trap", "one", "two", "guide", "old", "plain.txt")),
    "/trap": f"<html lang=en><title>{TITLE}</title><p>{TEXT}</p>",
    "/one": f"<html lang=en><title>Twins</title><p>Exactly the same spaghetti. {FILLER}</p>",
    "/two": f"<html lang=en><title>Twins</title><p>Exactly the same spaghetti. {FILLER}</p>",
    "/guide": "<html lang=en><title>A guide to spiders</title><h1>Spiders</h1><p>How spiders crawl.</p>",
    "/old": Answer(
        "<html lang=en><title>Old spiders</title><p>Spiders of old.</p>",
        headers={"Content-Type": "text/html", "Last-Modified": "Sat, 01 Jan 2011 00:00:00 GMT"},
    ),
    "/plain.txt": Answer("Plain spiders, as text.", headers={"Content-Type": "text/plain"}),
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("search") / "web"
    with Served(PAGES) as site:
        crawl(site.url, place, *FAST)
    return place


def answer(web: Path, *arguments: str) -> dict[str, Any]:
    done = gossamer("search", *arguments, "--store", web, "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def paths(told: dict[str, Any]) -> list[str]:
    return ["/" + hit["url"].split("/", 3)[3] for hit in told["hits"]]


# -- programs ----------------------------------------------------------------------------------------------------------


def test_the_answer_has_the_shape_that_programs_rely_on(web: Path) -> None:
    told = answer(web, "spiders", "--limit", "2", "--page", "2")
    assert {"query", "total", "page", "limit", "took_ms", "suggestion", "hits"} <= set(told)
    assert (told["query"], told["total"], told["page"], told["limit"]) == ("spiders", 3, 2, 2)
    (hit,) = told["hits"]
    assert {"url", "title", "snippet", "score", "host", "visited_at"} <= set(hit)


def test_an_explanation_adds_up_to_the_score(web: Path) -> None:
    for hit in answer(web, "spiders guide", "--explain")["hits"]:
        told = hit["explanation"]
        summed = sum(value * told["weights"][name] for name, value in told["parts"].items())
        assert summed * told["spread"] == pytest.approx(hit["score"], abs=0.001)


def test_a_title_that_is_the_question_comes_first(web: Path) -> None:
    assert paths(answer(web, "old spiders"))[0] == "/old"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("spiders before:2012", {"/old"}),
        ("spiders after:2012", {"/guide", "/plain.txt"}),
        ("spiders type:text", {"/plain.txt"}),
        ("spiders inurl:guide", {"/guide"}),
        ("spiders lang:en -old", {"/guide"}),
        ("spiders site:127.0.0.1/guide", {"/guide"}),
        ("site:example.org spiders", set()),
    ],
)
def test_operators(web: Path, asked: str, found: set[str]) -> None:
    told = answer(web, asked)
    assert set(paths(told)) == found
    assert told["total"] == len(found)


def test_exact_duplicates_fold_into_one_hit_that_says_how_many(web: Path) -> None:
    told = answer(web, "spaghetti")
    assert told["total"] == 2
    (hit,) = told["hits"]
    assert hit["duplicates"] == 1


def test_did_you_mean_keeps_the_operators(web: Path) -> None:
    assert answer(web, "spagetti site:127.0.0.1")["suggestion"] == "spaghetti site:127.0.0.1"


def test_words_that_look_like_options_are_words(web: Path) -> None:
    assert set(paths(answer(web, "spiders", "-guide", "-how"))) == {"/old", "/plain.txt"}


def test_programs_search_and_complete_with_the_library(web: Path) -> None:
    with open_web(web) as opened:
        assert opened.search("spaghetti").total == 2
        assert opened.complete("spag") == ["spaghetti"]


# -- people ------------------------------------------------------------------------------------------------------------


def test_people_see_title_url_and_snippet_and_how_to_go_on(web: Path) -> None:
    shown = gossamer_on_terminal("search", "spiders", "--limit", "1", "--store", str(web)).shown
    assert "A guide to spiders" in shown
    assert "How spiders crawl." in shown
    assert "1 of 3 pages" in shown
    assert "--page 2" in shown


def test_nothing_found_is_said_with_a_suggestion(web: Path) -> None:
    shown = gossamer_on_terminal("search", "spagetti", "--store", str(web)).shown
    assert "Nothing found" in shown
    assert "Did you mean: spaghetti?" in shown


def test_a_question_without_words_finds_nothing_and_says_so(web: Path) -> None:
    told = answer(web, '"..." ?!')
    assert (told["total"], told["hits"], told["notes"]) == (0, [], ["There is no word in the question."])


def test_a_page_of_an_answer_far_behind_its_end_is_empty(web: Path) -> None:
    told = answer(web, "spiders", "--page", "1000000000")
    assert (told["total"], told["hits"]) == (3, [])


@pytest.mark.parametrize("words", [(), ("  ",)])
def test_nothing_to_search_for_is_a_wrong_usage(web: Path, words: tuple[str, ...]) -> None:
    done = gossamer("search", *words, "--store", web)
    assert done.returncode == 2
    assert "gossamer search WORDS" in done.stderr


def test_a_web_without_an_index_says_how_to_make_one(tmp_path: Path) -> None:
    with Served({"/": "<p>egg"}) as site:
        crawl(site.url, tmp_path / "web", *FAST, "--no-index")
    done = gossamer("search", "egg", "--store", tmp_path / "web")
    assert done.returncode == 2
    assert "gossamer index" in done.stderr


# -- harmless ----------------------------------------------------------------------------------------------------------


def assert_harmless(text: str) -> None:
    hidden = [match[1] for match in HIDDEN.finditer(text) if match[1] and match[1] not in "\n\t\r"]
    assert not hidden


def test_hostile_titles_and_texts_come_out_harmless_as_json(web: Path) -> None:
    done = gossamer("search", "trap intitle:trap", "--store", web, "--json")
    assert_harmless(done.stdout)
    (hit,) = json.loads(done.stdout)["hits"]
    assert_harmless(hit["title"])
    assert_harmless(hit["snippet"])
    assert re.findall("<[^>]*>", hit["snippet"]) == ["<mark>", "</mark>"]
    assert "&lt;script&gt;" in hit["snippet"]


def test_hostile_titles_and_texts_come_out_harmless_for_people_and_pipes(web: Path) -> None:
    assert_harmless(gossamer("search", "trap", "--store", web).stdout)
    shown = gossamer_on_terminal("search", "trap", "--store", str(web)).shown
    assert_harmless(shown)
    assert "<script>" in shown  # what a terminal shows is text, not HTML
