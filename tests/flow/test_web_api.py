"""The web app's API over HTTP: responses, refusals and permissions."""

from __future__ import annotations

import gzip
import json
from functools import partial
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import httpx
import pytest
import zstandard

from helpers.cli.commands import gossamer
from helpers.patience import until
from helpers.web.browser import TOKEN, AppServer
from helpers.web.served_app import App, served_app, site
from webs.served import EndlessSite

if TYPE_CHECKING:
    from collections.abc import Iterator

ATOM = "{http://www.w3.org/2005/Atom}"
PAGES = ("/", "/search?q=gossamer", "/page?url={web}", "/word/gossamer", "/source?url={web}", "/hosts", "/errors",
         "/graph", "/crawl", "/reports", "/reports/broken", "/reports/depth", "/api", "/control")  # fmt: skip


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with served_app(tmp_path_factory.mktemp("app"), site()) as served:
        yield served


# -- responses ---------------------------------------------------------------------------------------------------------


def test_a_search_response_has_the_documented_keys(app: App) -> None:
    body = app.get("/api/search", params={"q": "spider gossamer", "limit": 3}).json()
    assert {"query", "total", "page", "limit", "took_ms", "suggestion", "hits"} <= body.keys()
    assert (body["query"], body["page"], body["limit"], len(body["hits"])) == ("spider gossamer", 1, 3, 3)
    assert body["hits"][0].keys() >= {"url", "title", "snippet", "score", "host", "visited_at"}
    assert body["hits"][0]["title"] == "The spider"


def test_result_pages_do_not_overlap(app: App) -> None:
    urls = [
        hit["url"]
        for page in (1, 2, 3, 4)
        for hit in app.get("/api/search", params={"q": "gossamer", "limit": 4, "page": page}).json()["hits"]
    ]
    assert len(urls) == len(set(urls)) == 14


def test_filters_narrow_a_search_to_the_counts_of_its_facets(app: App) -> None:
    every = app.get("/api/search", params={"q": "gossamer", "facets": True}).json()
    counts = {choice["value"]: choice["count"] for choice in every["facets"]["type"]}
    assert counts == {"html": 13, "text": 1}
    for kind, count in counts.items():
        assert app.get("/api/search", params={"q": "gossamer", "type": kind}).json()["total"] == count
    hosts = every["facets"]["host"]
    assert app.get("/api/search", params={"q": "gossamer", "host": hosts[0]["value"]}).json()["total"] == 14


def test_a_cached_search_response_equals_the_first(app: App) -> None:
    first, second = (app.get("/api/search", params={"q": "silk thread"}).json() for _ in range(2))
    assert {**first, "took_ms": 0} == {**second, "took_ms": 0}


@pytest.mark.parametrize("plain", ["q=silk+thread", "q=gossamer&limit=3&page=2", "q=", "q=%22silk", "q=nowhere"])
def test_the_fast_path_answers_plain_searches_like_the_framework(app: App, plain: str) -> None:
    short, long = app.get(f"/api/search?{plain}"), app.get(f"/api/search?{plain}&explain=false")
    assert {**short.json(), "took_ms": 0} == {**long.json(), "took_ms": 0}
    names = short.headers.keys() - {"date", "content-length"}
    assert {name: short.headers[name] for name in names} == {name: long.headers[name] for name in names}
    counted = app.get("/metrics").text
    assert 'gossamer_http_requests_total{route="/api/search",status="200"}' in counted


def test_completions_are_words_of_the_web(app: App) -> None:
    body = app.get("/api/complete", params={"q": "autumn goss"}).json()
    assert "autumn gossamer" in body["completions"]
    assert app.get("/api/suggest", params={"q": "goss"}).json()[0] == "goss"


def test_a_word_has_its_documents_and_positions(app: App) -> None:
    body = app.get("/api/word/Funnel").json()
    assert body.keys() >= {"word", "word_id", "df", "idf", "documents", "next", "forms"}
    assert body["df"] == len(body["documents"]) == 3  # its own page, the one before it, the home page
    assert all(len(each["positions"]) == each["tf"] for each in body["documents"])


def test_a_page_has_its_links_ranks_and_visits(app: App) -> None:
    body = app.get("/api/page", params={"url": f"{app.web}silk"}).json()
    assert body["title"] == "The silk"
    assert {link["anchor"] for link in body["inlinks"]} == {"silk", "on to silk"}
    assert {link["url"] for link in body["outlinks"]} == {app.web, f"{app.web}orb"}
    assert body["ranks"]["indegree"] == 2
    assert len(body["visits"]) == 1


def test_an_unknown_page_is_a_problem_with_a_sentence(app: App) -> None:
    response = app.get("/api/page", params={"url": "https://example.org/nowhere"})
    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")
    assert response.json()["detail"] == "https://example.org/nowhere is not known in this web."


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/page?url=", 400), ("/api/page", 422), ("/api/search?page=0", 422), ("/api/search?limit=9999", 422),
        ("/api/nothing", 404), ("/api/reports/nothing", 404), ("/api/word/two%20words", 400),
        ("/api/graph?focus=https://example.org/", 404), ("/api/reports/inlinks", 400),
    ],
)  # fmt: skip
def test_an_invalid_request_is_refused_in_one_shape(app: App, path: str, status: int) -> None:
    response = app.get(path)
    assert response.status_code == status, response.text
    assert response.json().keys() == {"type", "title", "status", "detail"}
    assert response.json()["status"] == status


def test_status_hosts_and_errors_equal_the_output_of_the_commands(app: App) -> None:
    for name, command_line in (("status", ["status"]), ("hosts", ["hosts"]), ("errors", ["errors"])):
        printed = json.loads(gossamer(*command_line, "--json", "--store", app.store).stdout)
        body = app.get(f"/api/{name}").json()
        printed.pop("freshness", None)
        assert {key: body[key] for key in printed} == printed


def test_dashboard_and_hosts_say_the_size_of_the_web_as_status_does(app: App) -> None:
    sentence = gossamer("status", "--store", app.store).stdout.splitlines()[0]
    assert sentence == "14 pages on 1 host"
    assert app.get("/api/now").json()["summary"] == sentence
    assert f'<span data-count="summary">{sentence}</span>' in app.get("/crawl").text
    hosts = app.get("/hosts").text
    assert f"<p>{sentence}</p>" in hosts
    assert ">failed or gone</th>" in hosts


def test_reports_have_sorted_rows_and_a_csv(app: App) -> None:
    body = app.get("/api/reports/broken").json()
    assert [row["url"] for row in body["rows"]] == [f"{app.web}missing"]
    rows = app.get("/api/reports/most-linked", params={"sort": "url", "order": "desc"}).json()["rows"]
    assert [row["url"] for row in rows] == sorted((row["url"] for row in rows), reverse=True)
    table = app.get("/api/reports/broken.csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert f"{app.web}missing" in table.text


def test_the_graph_has_the_best_ranked_pages_with_positions(app: App) -> None:
    body = app.get("/api/graph", params={"nodes": 5}).json()
    nodes, edges = body["nodes"], body["edges"]
    assert nodes["key"][0] == app.web
    assert body["known"]["nodes"] == 14
    assert len(nodes["id"]) == len(nodes["x"]) == len(set(zip(nodes["x"], nodes["y"], strict=True))) == 5
    assert all(0 <= end < 5 for end in (*edges["source"], *edges["target"]))
    assert body == app.get("/api/graph", params={"nodes": 5}).json()


def test_a_node_is_found_and_its_neighbours_follow_its_links(app: App) -> None:
    matches = app.get("/api/graph/find", params={"q": "silk", "level": "pages"}).json()["nodes"]
    assert matches[0]["key"] == f"{app.web}silk"
    whole = app.get("/api/graph/find", params={"q": f"{app.web}dew", "level": "pages"}).json()["nodes"]
    assert whole[0]["key"] == f"{app.web}dew"
    assert app.get("/api/graph/find", params={"q": "notes txt", "level": "pages"}).json()["nodes"][0]["key"] == (
        f"{app.web}notes.txt"
    )
    around = app.get("/api/graph", params={"focus": f"{app.web}silk", "level": "pages"}).json()
    assert set(around["nodes"]["key"]) == {f"{app.web}{path}" for path in ("", "silk", "spider", "orb")}
    assert around["focus"] == matches[0]["id"]
    more = app.post("/api/graph/neighbours", {"level": "pages", "id": matches[0]["id"], "limit": 2}, token=None).json()
    assert len(more["nodes"]["id"]) == 3  # the node and two of its three neighbours
    assert more["omitted"] == 1
    assert {*more["edges"]["source"], *more["edges"]["target"]} <= {*more["nodes"]["id"]}


def test_a_graph_view_is_exported_as_svg_and_gexf(app: App) -> None:
    svg = ET.fromstring(app.get("/api/graph.svg").text)
    assert len(svg.findall(".//{http://www.w3.org/2000/svg}circle")) == 14
    gexf = ET.fromstring(app.get("/api/graph.gexf").content)
    assert len(gexf.findall(".//{http://gexf.net/1.3}node")) == 14


def test_related_pages_are_linked_from_the_same_pages(app: App) -> None:
    body = app.get("/api/related", params={"url": f"{app.web}silk"}).json()
    assert body["related"]
    assert all(each["together"] >= 1 for each in body["related"])


def test_search_has_an_atom_feed_and_an_opensearch_description(app: App) -> None:
    feed = ET.fromstring(app.get("/search.atom", params={"q": "silk"}).text)
    entries = feed.findall(f"{ATOM}entry")
    assert entries[0].findtext(f"{ATOM}title") == "The silk"
    described = ET.fromstring(app.get("/opensearch.xml").text)
    templates = [each.get("template", "") for each in described if each.tag.endswith("Url")]
    assert any(each.startswith(f"{app.url}search?q={{searchTerms}}") for each in templates)


def test_metrics_are_in_the_text_format_of_prometheus(app: App) -> None:
    lines = app.get("/metrics").text.splitlines()
    assert 'gossamer_resources{state="visited"} 14' in lines
    assert any(line.startswith('gossamer_http_requests_total{route="/api/search",status="200"} ') for line in lines)
    assert app.get("/healthz").json()["status"] == "ok"


def test_every_page_has_a_heading_without_scripts(app: App) -> None:
    for path in PAGES:
        response = app.get(path.format(web=app.web))
        assert response.status_code == 200, path
        assert "<h1" in response.text, path


# -- HTTP --------------------------------------------------------------------------------------------------------------


def test_an_unchanged_response_is_not_sent_again(app: App) -> None:
    for path in ("/api/search?q=gossamer", "/api/page?url=" + app.web, "/static/app.css"):
        first = app.get(path)
        again = app.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), path


@pytest.mark.parametrize(("encoding", "decode"), [("gzip", gzip.decompress), ("zstd", zstandard.decompress)])
def test_a_response_is_compressed_if_the_client_accepts_it(app: App, encoding: str, decode: object) -> None:
    plain = app.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    with app.client.stream("GET", "/openapi.json", headers={"Accept-Encoding": encoding}) as response:
        packed = b"".join(response.iter_raw())
    assert response.headers["content-encoding"] == encoding
    assert len(packed) < len(plain.content) / 2
    assert decode(packed) == plain.content  # type: ignore[operator]


def test_head_is_answered_like_get_without_the_body(app: App) -> None:
    response = app.client.head("/api/status")
    assert (response.status_code, response.content) == (200, b"")


def test_live_progress_is_sent_as_events(app: App) -> None:
    with app.client.stream("GET", "/api/live") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        event = next(line for line in lines if line.startswith("event:"))
        data = json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data: "))
    assert event == "event: live"
    assert data["resources"]["visited"] == 14
    assert data["pages"][0]["url"].startswith(app.web)


# -- permissions -------------------------------------------------------------------------------------------------------


def test_every_response_forbids_foreign_scripts_frames_and_sniffing(app: App) -> None:
    for path in ("/", "/api/status", "/api/nothing", "/static/app.css"):
        headers = app.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"], path
        assert "'unsafe" not in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "same-origin", path


def test_a_foreign_host_header_is_refused(app: App) -> None:
    assert app.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert app.get("/", headers={"Host": f"localhost:{app.serving.port}"}).status_code == 200


def test_control_needs_the_token(app: App) -> None:
    for token in (None, "", "wrong"):
        response = app.post("/api/forget", {"url": f"{app.web}dew"}, token=token)
        assert response.status_code == 401, token
    assert app.client.post("/control/forget", data={"url": f"{app.web}dew"}).status_code == 401
    assert app.get("/api/page", params={"url": f"{app.web}dew"}).status_code == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}]
)
def test_control_is_refused_to_foreign_pages_even_with_the_token(app: App, headers: dict[str, str]) -> None:
    assert app.post("/api/crawlers/Naiad/stop", **headers).status_code == 403


def test_the_token_of_the_printed_link_becomes_a_same_site_cookie(app: App) -> None:
    with httpx.Client(base_url=app.url) as client:
        assert client.get("/control", params={"token": "wrong"}).status_code == 401
        response = client.get("/control", params={"token": TOKEN})
        assert (response.status_code, response.headers["location"]) == (303, "/crawl")
        cookie = response.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert 'data-control="on"' in client.get("/crawl").text
        origin = {"Origin": app.url.rstrip("/")}
        assert (
            client.post("/api/crawlers/Naiad/stop", headers=origin).status_code == 404
        )  # allowed, but the crawler has ended


def test_control_beyond_loopback_needs_a_chosen_token(app: App) -> None:
    with AppServer(app.store, token="", host="0.0.0.0") as everywhere:
        url = f"http://127.0.0.1:{everywhere.port}/"
        response = httpx.post(f"{url}api/forget", json={"url": app.web}, headers={"Authorization": "Bearer x"})
        assert (response.status_code, "Control is off" in response.json()["detail"]) == (403, True)
        assert httpx.get(f"{url}api/status").status_code == 200


def test_oversized_queries_and_bodies_are_refused(app: App) -> None:
    assert app.get("/api/search", params={"q": "x" * 9_000}).status_code == 414
    assert app.post("/api/forget", {"url": "x" * 70_000}).status_code == 413
    chunked = app.client.post("/api/forget", content=iter([b"{}"]), headers={"Authorization": f"Bearer {TOKEN}"})
    assert chunked.status_code == 413


def test_a_stored_source_is_served_in_a_sandbox(app: App) -> None:
    response = app.get("/source/raw", params={"url": app.web})
    policy = response.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy
    text = app.get("/source/raw", params={"url": f"{app.web}notes.txt"})
    assert text.headers["content-disposition"] == "attachment"


# -- control -----------------------------------------------------------------------------------------------------------


def test_a_crawler_is_started_with_a_new_seed_paused_resumed_and_stopped(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with served_app(tmp_path_factory.mktemp("control"), site()) as app, EndlessSite(seconds=0.1) as other:
        assert app.post("/api/seeds", {"url": "not a url"}).status_code == 400
        done = app.post("/api/seeds", {"url": other.url})
        assert done.json() == {"done": "A crawler was started on this machine."}, done.text
        until(lambda: bool(_crawlers(app)), "the crawler to join")
        name = _crawlers(app)[0]["name"]
        for verb, state in (("pause", {"paused"}), ("resume", {"running", "waiting"})):
            assert app.post(f"/api/crawlers/{name}/{verb}").status_code == 200
            until(partial(_has_crawler, app, state))
        most = _crawlers(app)[0]["most_parsers"]
        assert app.post(f"/api/crawlers/{name}/parsers", {"parsers": int(most) + 1}).status_code == 400
        assert app.post(f"/api/crawlers/{name}/parsers", {"parsers": 1}).json() == {
            "done": f"{name} will have 1 parser within a few seconds."
        }
        until(lambda: int(_crawlers(app)[0]["parsers"]) == 1)
        assert app.post(f"/api/crawlers/{name}/stop").status_code == 200
        until(lambda: not _crawlers(app))
        assert app.get("/api/page", params={"url": f"{other.url}1"}).status_code == 200


def test_a_page_and_a_host_are_forgotten(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served_app(tmp_path_factory.mktemp("forget"), site()) as app:
        host = app.get("/api/page", params={"url": app.web}).json()["host"]
        assert app.post("/api/forget", {"url": f"{app.web}dew"}).json() == {"done": f"Forgot {app.web}dew."}
        assert app.get("/api/text", params={"url": f"{app.web}dew"}).status_code == 404
        assert app.post("/api/forget", {"host": "nowhere.example"}).status_code == 404
        assert app.post("/api/forget", {}).status_code == 400
        assert app.post("/api/forget", {"host": host}).json()["done"].startswith(f"Forgot {host} and ")
        assert app.get("/api/status").json()["documents"] == 0


def _has_crawler(app: App, states: set[str]) -> bool:
    return any(each["state"] in states for each in _crawlers(app))


def _crawlers(app: App) -> list[dict[str, str]]:
    crawlers: list[dict[str, str]] = app.get("/api/status").json()["crawlers"]
    return crawlers
