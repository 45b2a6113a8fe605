"""The web app and the crawlers at work: API, pages, metrics, and the commands that steer crawlers."""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import httpx

from frozen.collect_commands import key_paths, log_events
from frozen.kept_web import command, environment, output, run
from frozen.small_site import GARDEN, MUSEUM, Proxy, later_pages
from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "only-for-tests"
ROSES = quote(f"{GARDEN}roses", safe="")
# Path of a page -> a request for it. OpenAPI does not list these. The first lets us control the crawl: only then do the
# pages show their forms.
PAGES = {
    "/control": f"/control?token={TOKEN}",
    "/": "/",
    "/search": "/search?q=roses",
    "/page": f"/page?url={ROSES}",
    "/word": "/word?q=roses",
    "/word/{word}": "/word/roses",
    "/source": f"/source?url={ROSES}",
    "/source/raw": f"/source/raw?url={ROSES}",
    "/hosts": "/hosts",
    "/errors": "/errors",
    "/crawl": "/crawl",
    "/graph": "/graph",
    "/reports": "/reports",
    "/reports/{name}": "/reports/broken",
    "/api": "/api",
    "/opensearch.xml": "/opensearch.xml",
    "/openapi.json": "/openapi.json",
    "/static": "/static/combobox.js",
}
# Path of the API -> a request for it: real answers also show keys that the description leaves open.
REQUESTS = {
    "/api/search": "/api/search?q=roses&facets=true&explain=true",
    "/api/complete": "/api/complete?q=ro",
    "/api/page": f"/api/page?url={quote(f'{GARDEN}orchids', safe='')}",
    "/api/text": f"/api/text?url={ROSES}",
    "/api/word/{word}": "/api/word/roses",
    "/api/status": "/api/status",
    "/api/hosts": "/api/hosts",
    "/api/errors": "/api/errors",
    "/api/now": "/api/now",
    "/api/pace": "/api/pace",
    "/api/graph": "/api/graph",
    "/api/graph/find": "/api/graph/find?q=roses",
    "/api/related": f"/api/related?url={ROSES}",
    "/api/ranks": "/api/ranks",
    "/api/reports": "/api/reports",
    "/api/reports/{name}": "/api/reports/broken",
    "/api/sql": "/api/sql",
    "/healthz": "/healthz",
    "a problem": "/api/page?url=http%3A%2F%2Fnowhere.example%2F",
}


@contextmanager
def serving(web: Path) -> Iterator[tuple[httpx.Client, dict[str, Any]]]:
    """The web app, and the line of JSON that it printed when it was ready."""
    process = subprocess.Popen(
        command("serve", "--port", 0, "--store", web, "--json"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, env=environment({"GOSSAMER_TOKEN": TOKEN}),
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = json.loads(process.stdout.readline())
        with httpx.Client(base_url=line["url"], timeout=PATIENCE) as client:
            yield client, line
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


def api(client: httpx.Client) -> dict[str, Any]:
    """Every path and method with its parameters, and the keys of what it takes and answers."""
    document = client.get("/openapi.json").json()
    return {
        f"{method.upper()} {path}": _call(document, call)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
    }


def _call(document: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    answers = {
        f"{status} {media_type}": _keys(document, content["schema"])
        for status, answer in call["responses"].items()
        for media_type, content in answer.get("content", {}).items()
    }
    bodies = call.get("requestBody", {}).get("content", {})
    return {
        "operation": call["operationId"],  # the name that generated clients use
        "parameters": {
            each["name"]: f"{each['in']}, {'required' if each.get('required') else 'optional'}"
            for each in call.get("parameters", [])
        },
        "body": {media_type: _keys(document, content["schema"]) for media_type, content in bodies.items()},
        "answers": answers,
    }


def _keys(document: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    return sorted(set(_schema_paths(document, schema, "", ())))


def _schema_paths(
    document: dict[str, Any], schema: dict[str, Any], where: str, within: tuple[str, ...]
) -> Iterator[str]:
    """The names of properties below a schema; the names of the schemas themselves do not count."""
    if reference := schema.get("$ref"):
        if reference in within:  # it contains itself
            return
        schema, within = document["components"]["schemas"][reference.rpartition("/")[2]], (*within, reference)
    for name, inner in schema.get("properties", {}).items():
        below = f"{where}.{name}".removeprefix(".")
        yield below
        yield from _schema_paths(document, inner, below, within)
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from _schema_paths(document, inner, where, within)
    for word, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(word), dict):
            yield from _schema_paths(document, schema[word], f"{where}{mark}", within)
    for inner in schema.get("prefixItems", ()):
        yield from _schema_paths(document, inner, f"{where}[]", within)


def api_answers(client: httpx.Client) -> dict[str, list[str]]:
    """The keys of real answers."""
    found = {path: key_paths(client.get(request).json()) for path, request in REQUESTS.items()}
    # Which spans of time have pages depends on the age of the kept web. OpenAPI has these keys.
    found["/api/search"] = [key for key in found["/api/search"] if not key.startswith("facets.changed[]")]
    neighbours = client.post("/api/graph/neighbours", json={"key": f"{GARDEN}roses"})
    found["/api/graph/neighbours"] = key_paths(neighbours.raise_for_status().json())
    with client.stream("GET", "/api/live") as stream:
        lines = stream.iter_lines()
        event = next(line for line in lines if line.startswith("event:"))
        data = next(line for line in lines if line.startswith("data:"))
    found[f"/api/live {event}"] = key_paths(json.loads(data.removeprefix("data:")))
    return found


def report_columns(client: httpx.Client) -> dict[str, dict[str, str]]:
    """The types of the columns of every report, by its code."""
    reports = client.get("/api/reports").json()["reports"]
    return {each["code"]: {column["name"]: column["type"] for column in each["columns"]} for each in reports}


class _Page(HTMLParser):
    """The links and forms of a page that lead to the app itself."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self._action = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form, its fields, or a link with its query."""
        attributes = dict(attrs)
        if tag == "form":
            action = (attributes.get("action") or "").replace("/Naiad/", "/NAME/")
            self._action = f"{(attributes.get('method') or 'get').upper()} {action}"
            self.targets.add(self._action)
        elif tag in {"input", "select", "textarea", "button"} and attributes.get("name"):
            self.targets.add(f"{self._action} {attributes['name']}")
        elif tag == "a" and (attributes.get("href") or "").startswith("/"):
            parts = urlsplit(attributes["href"] or "")
            if not parts.path.startswith(("/word/", "/static/")):
                self.targets |= {f"GET {parts.path} {name}" for name, _ in parse_qsl(parts.query)}


def pages(client: httpx.Client) -> dict[str, Any]:
    """The pages: status and type of each, and the query parameters and form fields that they use."""
    found: dict[str, str] = {}
    targets: set[str] = set()
    for path, request in PAGES.items():
        reply = client.get(request)
        found[path] = f"{reply.status_code} {reply.headers.get('content-type', '').partition(';')[0]}".strip()
        parser = _Page()
        parser.feed(reply.text if "html" in found[path] and not path.startswith("/source") else "")
        targets |= parser.targets
    own = {target for target in targets if " /api" not in target}  # OpenAPI tells about the others
    forms = {target for target in own if target.startswith("POST ")}
    return {"paths": found, "parameters": sorted(own - forms), "forms": sorted(forms)}


def metrics(client: httpx.Client) -> dict[str, Any]:
    """The metrics with their types and labels."""
    text = client.get("/metrics").text
    labels: dict[str, set[str]] = {}
    for name, inner in re.findall(r"^(\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', inner))
    return {
        "types": dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)),
        "labels": {name: sorted(names) for name, names in sorted(labels.items())},
    }


def crawlers_at_work(scratch: Path) -> dict[str, Any]:
    """The answers that need a crawler at work: commands that steer it, metrics, its log, its last line."""
    web = scratch / "live"
    keys: dict[str, list[str]] = {}
    with Proxy(later_pages()) as proxy:
        flags = ("--store", web, "--json", "--quiet", *proxy.flags)
        # The crawl outlasts everything that looks at it on a busy machine; `stop` ends it.
        with _running("crawl", MUSEUM, "--delay", 15, *flags) as lines:
            _wait_for_crawler(web)
            with serving(web) as (client, line):
                keys["serve"] = key_paths(line)
                found = {
                    "api now": key_paths(client.get("/api/now").json()),
                    "api status": key_paths(client.get("/api/status").json()),
                    "forms": pages(client)["forms"],
                    "metrics": metrics(client),
                }
            keys["crawlers"] = _keys_of("crawlers", "--store", web)
            keys["status at work"] = _keys_of("status", "--store", web)
            for words in (("pause", "--all"), ("resume", "--all"), ("parsers", 1, "--all"), ("stop", "--all")):
                keys[str(words[0])] = _keys_of(*words, "--store", web)
        keys["crawl"] = key_paths(json.loads(lines[-1]))
        with _running("watch", *flags) as lines:
            _wait_for_crawler(web)
            output("stop", "--all", "--store", web)
        keys["watch"] = key_paths(json.loads(lines[-1]))
        gone = run("go", GARDEN, "--no-serve", "--delay", 0, "--store", scratch / "go", *flags[2:])
        keys["go"] = key_paths(json.loads(gone.stdout.splitlines()[-1]))
    return {
        **found,
        "json": keys,
        "log events": log_events(*web.glob("logs/*.jsonl"), *scratch.glob("go/logs/*.jsonl")),
        "files of a web": sorted(
            path.name for path in (scratch / "go").iterdir() if not path.name.startswith("web.db-")
        ),
    }


def _keys_of(*arguments: object) -> list[str]:
    return key_paths(json.loads(output(*arguments, "--json")))


@contextmanager
def _running(*arguments: object) -> Iterator[list[str]]:
    """A command that runs meanwhile; afterwards the lines it printed."""
    lines: list[str] = []
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
        env=environment(),
    )  # fmt: skip
    try:
        yield lines
        lines += process.communicate(timeout=PATIENCE)[0].splitlines()
    finally:
        process.kill()
        process.wait()


def _wait_for_crawler(web: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        said = run("crawlers", "--store", web, "--json")
        if said.returncode == 0 and any(
            each["state"] in {"running", "waiting"} for each in json.loads(said.stdout)["crawlers"]
        ):
            return
        time.sleep(0.2)
    raise AssertionError("no crawler came to work")
