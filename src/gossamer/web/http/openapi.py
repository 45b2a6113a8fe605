"""The OpenAPI 3.1 document, with schemas from the structs that routes send. `api_page` shows it."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec
from fastapi.openapi.utils import get_openapi

from gossamer.web.http.problems import Problem

if TYPE_CHECKING:
    from fastapi import FastAPI

REFERENCE = "#/components/schemas/{name}"
DESCRIPTION = """Everything the pages show, as JSON. Reading needs no token. Control needs the token that
`gossamer serve` prints, as `Authorization: Bearer TOKEN`. Errors come as `application/problem+json` (RFC 9457).
Responses have an ETag and are compressed (zstd, gzip) for clients that accept it. Times are Unix seconds."""

# Descriptions of parameters that mean the same in every route and that the route does not describe.
PARAMETERS = {
    "by": "The measure to order by.",
    "direction": "Links in, links out, or both.",
    "explain": "Whether each hit says how its score comes about.",
    "facets": "Whether to count the hits by host, language and type.",
    "hops": "How many links away from the focus.",
    "host": "Only this host.",
    "include_unvisited": "Whether to include resources that nobody visited.",
    "language": "Only pages in this language, such as `en`.",
    "limit": "The largest number of rows to return.",
    "name": "The name of a report, such as `broken`, or its code.",
    "nodes": "The largest number of nodes.",
    "order": "The order of the rows.",
    "outcome": "Only resources whose last visit ended so, such as `not found`.",
    "seconds": "How many of the last seconds.",
    "size": "The size of the drawing: `full`, `small` or `phone`.",
    "snippets": "Whether each page has the lines of its text that match.",
    "sort": "The column to sort by.",
    "theme": "Whether the drawing is light or dark.",
    "type": "Only this kind of document, such as `html` or `pdf`.",
}

Responses = dict[int | str, dict[str, Any]]
_schemas: dict[str, type] = {"Problem": Problem}


def json_responses(kind: Any, example: object, *faults: HTTPStatus, status: HTTPStatus = HTTPStatus.OK) -> Responses:
    """Describe a JSON route: its struct, an example, and its error statuses."""
    _schemas[kind.__name__] = kind
    content = {"application/json": {"schema": {"$ref": REFERENCE.format(name=kind.__name__)}, "example": example}}
    return {int(status): {"description": (kind.__doc__ or "").strip(), "content": content}} | problem_responses(*faults)


def media_responses(media_type: str, what: str, *faults: HTTPStatus, kind: str = "string") -> Responses:
    """Describe a route that returns another media type than JSON."""
    content = {media_type: {"schema": {"type": kind}}}
    return {200: {"description": what, "content": content}} | problem_responses(*faults)


def problem_responses(*statuses: HTTPStatus) -> Responses:
    """Describe the errors of a route; 422 and 503 belong to all."""
    every = {HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE, *statuses}
    content = {"application/problem+json": {"schema": {"$ref": REFERENCE.format(name="Problem")}}}
    return {int(status): {"description": status.phrase, "content": content} for status in sorted(every)}


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an app."""

    @cache
    def document() -> dict[str, Any]:
        spec = get_openapi(
            title="Gossamer",
            version=version("gossamer"),
            description=DESCRIPTION,
            routes=app.routes,
            openapi_version="3.1.0",
        )
        _, shapes = msgspec.json.schema_components(list(_schemas.values()), ref_template=REFERENCE)
        spec.setdefault("components", {}).setdefault("schemas", {}).update(shapes)
        for call in (call for verbs in spec["paths"].values() for call in verbs.values()):
            _drop_guessed_schema(call)
            _describe_parameters(call)
        spec["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        return spec

    return document()


def _drop_guessed_schema(call: dict[str, Any]) -> None:
    """Remove the empty schema that FastAPI adds to every response; `json_responses` gives the real one."""
    for answer in call["responses"].values():
        if answer.get("content", {}).get("application/json", {}).get("schema") == {}:
            del answer["content"]["application/json"]


def _describe_parameters(call: dict[str, Any]) -> None:
    for parameter in call.get("parameters", ()):
        if not parameter.get("description") and parameter["name"] in PARAMETERS:
            parameter["description"] = PARAMETERS[parameter["name"]]
