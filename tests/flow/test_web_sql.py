"""SQL, the tabs of a page, and the forms of the API page, over HTTP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from helpers.web.browser import TOKEN
from helpers.web.served_app import App, served_app, site

if TYPE_CHECKING:
    from collections.abc import Iterator

STATEMENT = "SELECT url, title FROM resources WHERE title = 'The silk'"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with served_app(tmp_path_factory.mktemp("app"), site()) as served:
        yield served


# -- SQL ---------------------------------------------------------------------------------------------------------------


def test_a_statement_returns_its_rows_as_json(app: App) -> None:
    body = app.post("/api/sql", {"sql": STATEMENT}).json()
    assert body["columns"] == ["url", "title"]
    assert body["rows"] == [[f"{app.web}silk", "The silk"]]
    assert body["more"] is False


def test_a_limit_cuts_the_rows_and_says_so(app: App) -> None:
    body = app.post("/api/sql", {"sql": "SELECT url FROM resources", "limit": 2}).json()
    assert (len(body["rows"]), body["more"]) == (2, True)


@pytest.mark.parametrize("headers", [{}, {"X-Forwarded-For": "127.0.0.1"}, {"Host": "localhost"}])
def test_a_statement_needs_the_token_on_loopback_too(app: App, headers: dict[str, str]) -> None:
    response = app.post("/api/sql", {"sql": STATEMENT}, token=None, **headers)
    assert response.status_code == 401
    assert "token" in response.json()["detail"]
    form = app.client.post("/sql", data={"sql": STATEMENT}, headers=headers)
    assert form.status_code == 401
    assert "The silk" not in form.text


def test_a_page_of_another_origin_cannot_run_a_statement(app: App) -> None:
    response = app.post("/api/sql", {"sql": STATEMENT}, Origin="https://evil.example")
    assert response.status_code == 403


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM resources", "Only statements that read"),
        ("SELECT url FROM nowhere", "no such table"),
        ("", "Write a statement first"),
    ],
)
def test_a_refused_statement_is_a_problem_with_a_sentence(app: App, statement: str, sentence: str) -> None:
    response = app.post("/api/sql", {"sql": statement})
    assert response.status_code == 400
    assert sentence in response.json()["detail"]


def test_the_schema_has_tables_and_examples(app: App) -> None:
    body = app.get("/api/sql").json()
    tables = {table["name"]: table["columns"] for table in body["tables"]}
    assert tables["resources"]["url"] == "text"
    assert all(statement.startswith("SELECT") for statement in body["examples"].values())


def test_a_form_returns_the_same_rows_as_csv(app: App) -> None:
    fields = {"sql": "SELECT '=1+1' AS formula, -1 AS number, title FROM resources WHERE title = 'The silk'"}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    response = app.client.post("/sql", data={**fields, "format": "csv"}, headers=headers)
    assert response.headers["content-type"].startswith("text/csv")
    assert response.text.splitlines() == ["formula,number,title", "'=1+1,-1,The silk"]


def test_the_page_runs_nothing_by_a_link(app: App) -> None:
    page = app.get("/sql", params={"q": STATEMENT}).text
    assert "The silk&#39;</textarea>" in page
    assert 'id="answer"' not in page


# -- tabs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tab", "shown", "hidden"),
    [
        ("about", "<dt>Backlinks</dt>", "Text as stored"),
        ("text", "Text as stored", "<dt>Backlinks</dt>"),
        ("links", 'id="inlinks"', "Text as stored"),
        ("visits", "<h2>Visits", 'id="inlinks"'),
        ("source", "<h2>Rendered", "<h2>Visits"),
    ],
)
def test_a_tab_shows_one_part_of_a_page(app: App, tab: str, shown: str, hidden: str) -> None:
    page = app.get("/page", params={"url": f"{app.web}silk", "tab": tab}).text
    assert shown in page
    assert hidden not in page
    assert page.count('aria-current="page">') == 1


def test_a_page_opened_from_a_hit_shows_its_text_with_marks(app: App) -> None:
    page = app.get("/page", params={"url": f"{app.web}silk", "q": "silk"}).text
    assert "<mark>silk</mark>" in page


def test_an_unvisited_page_has_every_tab(app: App) -> None:
    for tab in ("about", "text", "links", "visits", "source"):
        assert app.get("/page", params={"url": f"{app.web}missing", "tab": tab}).status_code == 200


# -- the API page ------------------------------------------------------------------------------------------------------


def test_a_sentence_describes_every_parameter(app: App) -> None:
    paths = app.get("/openapi.json").json()["paths"]
    missing = [
        f"{verb} {path}: {one['name']}"
        for path, verbs in paths.items()
        for verb, call in verbs.items()
        for one in call.get("parameters", ())
        if not re.fullmatch(r"[A-Z].*\.", one.get("description", ""))
    ]
    assert missing == []


def test_the_api_page_has_json_values_and_rendered_code(app: App) -> None:
    page = app.get("/api").text
    assert "False" not in page
    assert "<code>false</code>" in page
    assert "`" not in page
