"""Rules of the web app that need no server: host names, rates, encodings, tags, hostile text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.store.values import Round
from gossamer.web.crawl.answers import crawl_history, rate_history
from gossamer.web.http.compression import best_encoding, has_matching_tag
from gossamer.web.http.security import BURST_SECONDS, AccessRules, RateLimiter, access_rules, is_own_name
from gossamer.web.http.templates import FrontendAssets, breadcrumb, href, link, snippet_html
from gossamer.web.search.facets import Filters, with_filters
from gossamer.web.search.marks import mark_runs, question_terms

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.store.protocol import Store


@pytest.mark.parametrize(
    ("host", "listening", "accepted"),
    [
        ("127.0.0.1:8080", "127.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("LOCALHOST.:80", "127.0.0.1", True),
        ("[::1]:8080", "127.0.0.1", True),
        ("192.168.1.5", "127.0.0.1", False),
        ("evil.example:8080", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("192.168.1.5:8080", "0.0.0.0", True),
        ("evil.example", "0.0.0.0", False),
        ("search.example", "0.0.0.0", True),
    ],
)
def test_only_our_own_host_names_are_accepted(host: str, listening: str, accepted: bool) -> None:
    assert is_own_name(host, AccessRules(host=listening, names=frozenset({"search.example"}))) is accepted


def test_a_token_is_generated_on_loopback_only() -> None:
    tokens = [access_rules(host, None, frozenset(), 0).token for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0")]
    assert [len(token) > 20 for token in tokens] == [True, True, True, False]
    assert tokens[0] != tokens[1]
    assert access_rules("0.0.0.0", "chosen", frozenset(), 0).token == "chosen"


def test_the_rate_limit_of_a_remote_address_refills() -> None:
    rates = RateLimiter(10)
    burst = int(10 * BURST_SECONDS)
    assert [rates.allow("192.0.2.1", 0.0) for _ in range(burst + 1)] == [True] * burst + [False]
    assert rates.allow("192.0.2.2", 0.0)
    assert rates.allow("192.0.2.1", 0.1)
    assert not rates.allow("192.0.2.1", 0.1)
    assert all(rates.allow("127.0.0.1", 0.0) for _ in range(1000))


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [("gzip, deflate, br, zstd", "zstd"), ("gzip", "gzip"), ("zstd;q=0, gzip", "gzip"), ("br", None), ("", None)],
)
def test_the_fastest_accepted_encoding_is_chosen(accepted: str, chosen: str | None) -> None:
    assert best_encoding(accepted) == chosen


def test_tags_are_compared_weakly() -> None:
    assert has_matching_tag('W/"a"', '"b", "a"')
    assert has_matching_tag('"a"', "*")
    assert not has_matching_tag('W/"a"', 'W/"b"')
    assert not has_matching_tag('W/"a"', "")


@given(st.text())
def test_a_snippet_allows_only_mark_tags(text: str) -> None:
    shown = str(snippet_html(text))
    assert "<" not in shown.replace("<mark>", "").replace("</mark>", "")
    assert shown == str(snippet_html(shown.replace("&#39;", "'").replace("&#34;", '"')))


@given(st.text(), st.text())
def test_marked_text_is_escaped(text: str, question: str) -> None:
    [(_, shown)] = mark_runs([("text", text)], question_terms(question, {"english": 1}))
    assert "<" not in str(shown).replace("<mark>", "").replace("</mark>", "")


def test_words_of_a_query_are_marked_in_all_their_forms() -> None:
    [(field, shown)] = mark_runs([("h1", "Spiders & a <b>spider's</b> web")], question_terms("spider", {"english": 1}))
    assert field == "h1"
    assert str(shown) == ("<mark>Spiders</mark> &amp; a &lt;b&gt;<mark>spider&#39;s</mark>&lt;/b&gt; web")


def test_hrefs_lead_to_http_only() -> None:
    assert [href(url) for url in ("https://a/", "http://a/", "javascript:alert(1)", "data:,x")] == [
        "https://a/", "http://a/", "about:blank", "about:blank",
    ]  # fmt: skip


def test_breadcrumbs_and_links_are_escaped() -> None:
    assert "<b>" not in str(breadcrumb("https://example.org/<b>/\u202ex"))
    assert link("/search", q="a&b", page=2, host="", explain=False) == "/search?q=a%26b&page=2"


def test_filters_become_operators_and_cannot_break_out_of_their_quotes() -> None:
    filters = Filters(host='example.org" -silk', since="2024-05")
    assert with_filters("silk", filters) == 'silk site:"example.org -silk" after:"2024-05"'


def test_scripts_come_from_the_manifest_with_their_styles(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    entries = {
        "src/graph.ts": {"file": "graph-1.js", "imports": ["_shared.js"], "css": ["graph-1.css"]},
        "_shared.js": {"file": "shared-2.js", "css": ["shared-2.css"]},
    }
    manifest.write_text(json.dumps(entries))
    scripts = FrontendAssets(manifest)
    assert scripts.script_url("src/graph.ts") == "/static/dist/graph-1.js"
    assert scripts.style_urls("src/graph.ts") == ["/static/dist/graph-1.css", "/static/dist/shared-2.css"]
    assert FrontendAssets(tmp_path / "none.json").missing_hint


class StoreOfTwoSeconds:
    """A store with visits in two seconds."""

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        return [row for row in ((103, 7, 700), (105, 2, 50)) if row[0] >= since]


class RoundOfVisits:
    """A store with one round and one visit a second."""

    def __init__(self, seconds: int, *, finished: bool) -> None:
        self.end = 1_000 + seconds
        self.finished = finished

    def current_round(self) -> Round:
        return Round(
            id=1, started_at=1_000.0, finished_at=float(self.end) if self.finished else None, settings="{}", seeds=(),
            joined=(), max_pages=None, max_pages_per_host=None, pages=0,
        )  # fmt: skip

    def visits_by_second(self, since: float) -> list[tuple[int, int, int]]:
        return [(second, 1, 10) for second in range(int(since), self.end)]


@pytest.mark.parametrize(("seconds", "step"), [(60, 1), (599, 1), (1_100, 2), (86_400, 145)])
def test_the_history_of_a_crawl_covers_all_of_it_in_few_steps(seconds: int, step: int) -> None:
    store: Any = RoundOfVisits(seconds, finished=True)
    history = crawl_history(store, 1_000_000.0)
    assert (history.step, history.seconds[0]) == (step, 1_000)
    assert len(history.seconds) <= 600
    assert sum(history.pages) * step == pytest.approx(seconds)
    assert sum(history.bytes) * step == pytest.approx(seconds * 10)


def test_the_history_of_a_running_crawl_ends_now() -> None:
    store: Any = RoundOfVisits(50, finished=False)
    assert crawl_history(store, 1_030.5).seconds[-1] == 1_030


def test_the_rate_history_has_every_second_even_without_visits() -> None:
    store: Store = StoreOfTwoSeconds()  # type: ignore[assignment]
    history = rate_history(store, 4, 106.5)
    assert (history.seconds, history.pages, history.bytes) == ([102, 103, 104, 105], [0, 7, 0, 2], [0, 700, 0, 50])
