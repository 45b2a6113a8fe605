"""`gossamer search` and `open_web(...).search(...)`: what people and programs get, with hostile text escaped."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from gossamer import open_web
from gossamer.basics.display import HIDDEN
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.cli.terminal import gossamer_on_terminal
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from pathlib import Path

RIGHT_TO_LEFT = "\u202e"
TITLE = f"Trap &lt;script&gt;alert(1)&lt;/script&gt; &#27;[31mred {RIGHT_TO_LEFT}exe.egg &amp; ham"
TEXT = (
    "A trap with &lt;script&gt;alert(2)&lt;/script&gt;, \x1b]0;owned\x07 \x1b[2J,"
    f" {RIGHT_TO_LEFT}gnirts\u202c and \u2066more\u2069."
)
FILLER = " ".join(f"word{number}" for number in range(80))
PAGES: dict[str, str | SiteResponse] = {
    "/": "<html lang=en><title>Start</title><p>Here it begins."
    + "".join(f"<a href='/{name}'>{name}</a> " for name in ("trap", "one", "two", "guide", "old", "plain.txt")),
    "/trap": f"<html lang=en><title>{TITLE}</title><p>{TEXT}</p>",
    "/one": f"<html lang=en><title>Twins</title><p>Exactly the same spaghetti. {FILLER}</p>",
    "/two": f"<html lang=en><title>Twins</title><p>Exactly the same spaghetti. {FILLER}</p>",
    "/guide": "<html lang=en><title>A guide to spiders</title><h1>Spiders</h1><p>How spiders crawl.</p>",
    "/old": SiteResponse(
        "<html lang=en><title>Old spiders</title><p>Spiders of old.</p>",
        headers={"Content-Type": "text/html", "Last-Modified": "Sat, 01 Jan 2011 00:00:00 GMT"},
    ),
    "/plain.txt": SiteResponse("Plain spiders, as text.", headers={"Content-Type": "text/plain"}),
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("search") / "web"
    with SiteServer(PAGES) as site:
        crawl(site.url, store, *FAST)
    return store


def search_json(web: Path, *arguments: str) -> dict[str, Any]:
    done = gossamer("search", *arguments, "--store", web, "--json")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def paths(result: dict[str, Any]) -> list[str]:
    return ["/" + hit["url"].split("/", 3)[3] for hit in result["hits"]]


# -- programs ----------------------------------------------------------------------------------------------------------


def test_the_json_answer_has_the_documented_keys(web: Path) -> None:
    result = search_json(web, "spiders", "--limit", "2", "--page", "2")
    assert {"query", "total", "page", "limit", "took_ms", "suggestion", "hits"} <= set(result)
    assert (result["query"], result["total"], result["page"], result["limit"]) == ("spiders", 3, 2, 2)
    (hit,) = result["hits"]
    assert {"url", "title", "snippet", "score", "host", "visited_at"} <= set(hit)


def test_an_explanation_adds_up_to_the_score(web: Path) -> None:
    for hit in search_json(web, "spiders guide", "--explain")["hits"]:
        explanation = hit["explanation"]
        summed = sum(value * explanation["weights"][name] for name, value in explanation["parts"].items())
        assert summed * explanation["spread"] == pytest.approx(hit["score"], abs=0.001)


def test_a_title_equal_to_the_query_comes_first(web: Path) -> None:
    assert paths(search_json(web, "old spiders"))[0] == "/old"


@pytest.mark.parametrize(
    ("question", "expected"),
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
def test_operators_restrict_the_hits(web: Path, question: str, expected: set[str]) -> None:
    result = search_json(web, question)
    assert set(paths(result)) == expected
    assert result["total"] == len(expected)


def test_exact_duplicates_fold_into_one_hit_with_their_number(web: Path) -> None:
    result = search_json(web, "spaghetti")
    assert result["total"] == 2
    (hit,) = result["hits"]
    assert hit["duplicates"] == 1


def test_did_you_mean_keeps_the_operators(web: Path) -> None:
    assert search_json(web, "spagetti site:127.0.0.1")["suggestion"] == "spaghetti site:127.0.0.1"


def test_excluded_words_are_not_read_as_options(web: Path) -> None:
    assert set(paths(search_json(web, "spiders", "-guide", "-how"))) == {"/old", "/plain.txt"}


@pytest.mark.parametrize("word", ["-moon", "-rank", "-news", "-note", "-n-gram", '-"nine lives"', "-site:nowhere.org"])
def test_an_excluded_word_with_an_n_is_no_limit(web: Path, word: str) -> None:
    result = search_json(web, "spiders", word, "guide")
    assert (result["query"], result["limit"]) == (f"spiders {word} guide", 10)


@pytest.mark.parametrize("flags", [("-n", "2"), ("-n2",), ("--limit", "2"), ("--limit=2",)])
def test_short_and_long_limits_are_flags(web: Path, flags: tuple[str, ...]) -> None:
    result = search_json(web, "-moon", *flags, "spiders")
    assert (result["query"], len(result["hits"])) == ("-moon spiders", 2)


def test_words_after_two_dashes_and_values_of_flags_stay_as_they_are(web: Path) -> None:
    done = gossamer("search", "--json", "--store", web, "--", "spiders", "-n")
    assert json.loads(done.stdout)["query"] == "spiders -n"
    assert "-1 is not in" in gossamer("search", "spiders", "--page", "-1", "--store", web).stderr


def test_programs_search_and_complete_with_the_library(web: Path) -> None:
    with open_web(web) as opened:
        assert opened.search("spaghetti").total == 2
        assert opened.complete("spag") == ["spaghetti"]


# -- people ------------------------------------------------------------------------------------------------------------


def test_a_terminal_shows_title_snippet_and_the_next_page(web: Path) -> None:
    shown = gossamer_on_terminal("search", "spiders", "--limit", "1", "--store", str(web)).output
    assert "A guide to spiders" in shown
    assert "How spiders crawl." in shown
    assert "1 of 3 pages" in shown
    assert f"More: gossamer search spiders --page 2 --limit 1 --store {web}" in shown


def test_the_next_page_is_asked_for_with_the_same_flags(web: Path) -> None:
    shown = gossamer_on_terminal("search", "spiders", "-moon", "-n1", "--explain", "--store", str(web), columns=400)
    assert f"More: gossamer search 'spiders -moon' --page 2 --limit 1 --explain --store {web}" in shown.output


def test_an_empty_result_is_printed_with_a_suggestion(web: Path) -> None:
    shown = gossamer_on_terminal("search", "spagetti", "--store", str(web)).output
    assert "Nothing found" in shown
    assert "Did you mean: spaghetti?" in shown


def test_a_word_that_does_not_occur_is_said_not_to(web: Path) -> None:
    shown = gossamer_on_terminal("word", "zzzzqqqq", "--store", str(web))
    assert (shown.code, "This word does not occur in the index." in shown.output) == (0, True)
    assert "documents" not in shown.output
    assert "does not occur" not in gossamer_on_terminal("word", "spiders", "--store", str(web)).output


def test_a_query_without_words_finds_nothing_and_says_why(web: Path) -> None:
    result = search_json(web, '"..." ?!')
    assert (result["total"], result["hits"], result["notes"]) == (0, [], ["The query contains no word."])


def test_a_result_page_far_past_the_end_is_empty(web: Path) -> None:
    result = search_json(web, "spiders", "--page", "1000000000")
    assert (result["total"], result["hits"]) == (3, [])


@pytest.mark.parametrize("words", [(), ("  ",)])
def test_an_empty_query_is_a_usage_error(web: Path, words: tuple[str, ...]) -> None:
    done = gossamer("search", *words, "--store", web)
    assert done.returncode == 2
    assert "gossamer search WORDS" in done.stderr


def test_a_search_without_an_index_prints_how_to_build_one(tmp_path: Path) -> None:
    with SiteServer({"/": "<p>egg"}) as site:
        crawl(site.url, tmp_path / "web", *FAST, "--no-index")
    done = gossamer("search", "egg", "--store", tmp_path / "web")
    assert done.returncode == 2
    assert "gossamer index" in done.stderr


# -- harmless ----------------------------------------------------------------------------------------------------------


def assert_harmless(text: str) -> None:
    hidden = [match[1] for match in HIDDEN.finditer(text) if match[1] and match[1] not in "\n\t\r"]
    assert not hidden


def test_hostile_titles_and_texts_are_escaped_in_json(web: Path) -> None:
    done = gossamer("search", "trap intitle:trap", "--store", web, "--json")
    assert_harmless(done.stdout)
    (hit,) = json.loads(done.stdout)["hits"]
    assert_harmless(hit["title"])
    assert_harmless(hit["snippet"])
    assert re.findall("<[^>]*>", hit["snippet"]) == ["<mark>", "</mark>"]
    assert "&lt;script&gt;" in hit["snippet"]


def test_hostile_titles_and_texts_are_escaped_on_terminals_and_in_pipes(web: Path) -> None:
    assert_harmless(gossamer("search", "trap", "--store", web).stdout)
    shown = gossamer_on_terminal("search", "trap", "--store", str(web)).output
    assert_harmless(shown)
    assert "<script>" in shown  # what a terminal shows is text, not HTML
