"""The names that users hold on to are those of 0.1; new ones are allowed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from frozen.collect import NAMES, collect
from frozen.collect_commands import key_paths
from frozen.compare import differences, lost_facts

FROZEN: dict[str, Any] = json.loads(NAMES.read_text("utf-8"))

# The shapes that the design promises, so that a list that was written wrongly is noticed as well.
PROMISED = {
    "crawl": "pages bytes failed refused known queued seconds pages_per_second",
    "search": "query total page limit took_ms suggestion hits hits[].url hits[].title hits[].snippet hits[].score "
    "hits[].host hits[].visited_at",
    "word": "word word_id df idf forms documents documents[].url documents[].doc_id documents[].tf "
    "documents[].positions documents[].fields next",
    "page": "url inlinks outlinks ranks",
    "report of inlinks": "report code severity rows",
    "errors": "errors errors[].url errors[].outcome errors[].reason errors[].source errors[].anchor",
    "status": "resources hosts links documents crawlers rate",
}


@pytest.fixture(scope="module")
def names(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the code at hand has."""
    uri: str = request.getfixturevalue("postgres").get_uri()
    return collect(uri, tmp_path_factory.mktemp("names"))


@pytest.mark.parametrize("subject", FROZEN)
def test_no_name_is_missing_or_changed(names: dict[str, Any], subject: str) -> None:
    found = differences(FROZEN[subject], names[subject], subject)
    assert not found, "\n".join(found)


def test_every_command_with_json_was_asked(names: dict[str, Any]) -> None:
    with_json = {name for name, facts in names["commands"].items() if "--json" in facts["flags"]}
    asked = {name for name in with_json if any(f"{answer} ".startswith(f"{name} ") for answer in names["json"])}
    assert with_json - asked == set()


def test_every_path_of_the_api_that_answers_with_json_was_asked(names: dict[str, Any]) -> None:
    described = {
        call.removeprefix("GET ")
        for call, facts in names["api"].items()
        if call.startswith("GET ") and "200 application/json" in facts["answers"]
    }
    assert described - set(names["api answers"]) == set()


@pytest.mark.parametrize("name", PROMISED)
def test_the_list_has_the_shapes_that_the_design_promises(name: str) -> None:
    assert set(PROMISED[name].split()) - set(FROZEN["json"][name]) == set()


# -- the comparison can fail -------------------------------------------------------------------------------------------


def without(names: dict[str, Any], *path: str) -> dict[str, Any]:
    """The names without one of them."""
    changed = copy.deepcopy(names)
    inner: Any = changed
    for step in path[:-1]:
        inner = inner[step]
    if isinstance(inner, list):
        inner.remove(path[-1])
    else:
        del inner[path[-1]]
    return changed


@pytest.mark.parametrize(
    "path",
    [
        ("tables", "sqlite", "resources", "told_at"),
        ("tables", "postgres", "web"),
        ("settings", "crawl", "max_depth"),
        ("commands", "crawl", "flags", "--max-depth"),
        ("json", "search", "hits[].snippet"),
        ("api", "GET /api/search", "parameters", "facets"),
        ("pages", "paths", "/source/raw"),
        ("metrics", "types", "gossamer_resources"),
        ("exports", "links", "columns", "Alt Text"),
        ("reports", "LNK001"),
        ("library", "open_web", "parameters", "place='web'"),
        ("enumerations", "Outcome", "TOO_SLOW"),
    ],
    ids=lambda path: path[-1],
)
def test_a_removed_name_is_named_with_its_subject(path: tuple[str, ...]) -> None:
    assert differences(FROZEN, without(FROZEN, *path)) == [f"{path[-1]!r} is missing from {' > '.join(path[:-1])}."]


def test_a_changed_value_is_reported_with_both_values() -> None:
    frozen, now = {"columns": {"id": "INTEGER"}}, {"columns": {"id": "TEXT"}}
    assert differences(frozen, now) == ["columns > id changed: 'INTEGER' became 'TEXT'."]


def test_a_renamed_name_counts_as_missing() -> None:
    assert differences({"flags": ["--store"]}, {"flags": ["--web"]}) == ["'--store' is missing from flags."]


def test_columns_must_keep_their_order() -> None:
    assert differences(["a", "b"], ["b", "x", "a"]) == ["The list has another order: ['a', 'b'] became ['b', 'a']."]


def test_new_names_are_allowed_between_the_frozen_ones() -> None:
    assert differences({"a": ["x", "z"], "b": {}}, {"a": ["x", "y", "z"], "b": {"new": 1}, "c": 2}) == []


def test_a_lost_fact_of_an_answer_is_reported_but_a_new_key_is_not() -> None:
    expected = {"rows": [{"url": "a", "depth": 1}]}
    assert lost_facts(expected, {"rows": [{"url": "a", "depth": 1, "new": 0}]}) == []
    assert lost_facts(expected, {"rows": [{"url": "a", "depth": 2}]}) == ["answer.rows[0].depth changed: 1 became 2."]
    assert lost_facts(expected, {"rows": [{"depth": 1}]}) == ["'url' is missing from answer.rows[0]."]
    assert lost_facts(expected, {"rows": []})


def test_keys_that_are_data_have_no_names() -> None:
    assert key_paths({"hits": [{"url": 1}, {"title": 2}], "skipped": {"no source": 3}}) == [
        "hits", "hits[].title", "hits[].url", "skipped", "skipped.*",
    ]  # fmt: skip
