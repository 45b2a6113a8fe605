"""Examples in the OpenAPI document: answers from a small web, cut to one row per list."""

from __future__ import annotations

from typing import Any

URL = "https://example.org/guide"
SEARCH: dict[str, Any] = {
    "query": "link graph",
    "total": 12,
    "page": 1,
    "limit": 10,
    "took_ms": 1.4,
    "suggestion": None,
    "hits": [
        {
            "url": URL,
            "title": "A guide to the link graph",
            "snippet": "How the <mark>link</mark> <mark>graph</mark> of a web is made.",
            "score": 1.83,
            "host": "example.org",
            "visited_at": 1_760_000_000.0,
        }
    ],
    "notes": [],
    "ignored": [],
    "facets": None,
}
COMPLETE = {
    "query": "link gr",
    "completions": ["link graph", "link gradient"],
    "pages": [{"url": URL, "title": "A guide to the link graph"}],
}
LINK = {
    "url": "https://example.org/", "state": "visited", "status": 200, "kind": "hyperlink", "follow": True,
    "anchor": "the guide", "weight": 2, "rel": "", "position": "content",
}  # fmt: skip
PAGE: dict[str, Any] = {
    "url": URL,
    "title": "A guide to the link graph",
    "status": 200,
    "inlinks": [LINK],
    "outlinks": [],
    "ranks": None,
    "rank_state": None,
}
TEXT = {"url": URL, "text": [{"field": "title", "text": "A guide to the link graph"}]}
STATUS: dict[str, Any] = {
    "resources": {"visited": 359, "queued": 0},
    "hosts": 1,
    "links": 2_574,
    "documents": 359,
    "crawlers": [],
    "rate": 0.0,
}
HOSTS = {
    "total": 1, "visited": {"pages": 359, "hosts": 1, "linked_hosts": 0},
    "hosts": [{"name": "example.org", "pages": 359, "queued": 0, "known": 837, "failed": 0}],
}  # fmt: skip
ERRORS = {
    "errors": [
        {
            "url": "https://example.org/gone", "state": "gone", "outcome": "not found", "status": 404,
            "reason": "Not Found", "source": URL, "anchor": "the old page", "inlinks": 3,
        }
    ],
    "more": False,
}  # fmt: skip
REPORTS: dict[str, Any] = {
    "score": 87, "complete": True, "score_change": 2, "pages": 359, "counted_before": 1_760_000_000.0,
    "crawling": False, "counting": False,
    "reports": [
        {
            "code": "LNK001", "report": "broken", "severity": "error", "theme": "links",
            "finds": "Links that lead nowhere",
            "why": "Readers end up nowhere.", "fix": "Correct or remove the link.", "needs": ["links"], "takes": [],
            "columns": [{"name": "source", "type": "text"}, {"name": "status", "type": "integer"}], "unavailable": "",
            "incomplete": "", "inspects": False, "findings": 12, "change": -3, "counted_at": 1_760_000_000.0,
            "current": True,
        }
    ]
}  # fmt: skip
REPORT: dict[str, Any] = {
    "report": "broken", "code": "LNK001", "severity": "error", "columns": [{"name": "source", "type": "text"}],
    "rows": [{"source": URL}], "page": 1, "limit": 100, "total": 1, "more": False, "found": 1, "all_rows": 12,
    "cut": False, "groups": ["url", "source", "anchor"],
    "facets": [{"name": "status", "chosen": "404", "values": [{"value": "404", "rows": 1}], "more": 0}],
}  # fmt: skip
VISIT = {
    "url": URL, "title": "A guide to the link graph", "visited_at": 1_760_000_000.0, "crawler": "Naiad",
    "outcome": "fetched", "status": 200, "reason": "", "bytes": 12_345, "milliseconds": 12,
}  # fmt: skip
LIVE: dict[str, Any] = {
    "resources": {"visited": 359, "queued": 12}, "hosts": 1, "links": 2_574, "documents": 359, "now": 1_760_000_001.0,
    "rate": 74.0, "bytes_rate": 1.9e6, "limit": "network", "crawlers": [], "waiting": [], "pages": [VISIT],
    "errors": [], "tick": {"second": 1_760_000_000, "pages": 74, "bytes": 1_900_000},
    "summary": "359 pages on 1 host",
}  # fmt: skip
PACE = {"now": 1_760_000_001.0, "step": 1, "seconds": [1_760_000_000], "pages": [74], "bytes": [1_900_000]}
NODE: dict[str, Any] = {
    "id": [7], "key": [URL], "label": ["A guide"], "x": [0.0], "y": [0.0], "score": [64.2], "community": [0],
    "host": ["example.org"], "depth": [1], "status": [200], "pages": [None], "in": [12], "out": [5],
}  # fmt: skip
VIEW: dict[str, Any] = {
    "level": "pages", "version": 28, "known": {"nodes": 359, "edges": 2_574}, "focus": None, "unranked": False,
    "nodes": NODE, "edges": {"source": [], "target": [], "weight": []},
}  # fmt: skip
NEIGHBOURS = VIEW | {"omitted": 0}
NODES = {"nodes": [{"id": 7, "key": URL, "label": "A guide", "score": 64.2, "host": "example.org"}]}
RELATED = {"url": URL, "related": [{"url": "https://example.org/", "title": "Home", "together": 4, "similarity": 0.61}]}
RANKS: dict[str, Any] = {"ranking": None, "rank_state": None, "pages": []}
WORD: dict[str, Any] = {
    "word": "graph", "word_id": 412, "df": 31, "idf": 2.45, "forms": ["graph", "graphs"],
    "documents": [{"url": URL, "doc_id": 7, "tf": 2, "positions": [1, 18], "fields": ["title", "text"]}], "next": 2,
}  # fmt: skip
SQL_SCHEMA: dict[str, Any] = {
    "tables": [{"name": "hosts", "columns": {"id": "integer", "name": "text", "pages": "integer"}}],
    "examples": {"Hosts": "SELECT name, pages FROM hosts"},
}
SQL_ROWS: dict[str, Any] = {
    "columns": ["name", "pages"],
    "rows": [["example.org", 359]],
    "more": False,
    "took_ms": 0.4,
}
