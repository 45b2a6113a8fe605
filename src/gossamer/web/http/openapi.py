"""The API's description of itself: OpenAPI 3.1, its shapes made from the very structs that are sent."""

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
DESCRIPTION = """Everything the pages show, as JSON. Reading needs nothing; what changes something needs the token that
`gossamer serve` prints, as `Authorization: Bearer TOKEN`. Faults come as `application/problem+json` (RFC 9457). Answers
have an ETag and are compressed (zstd, gzip) for those who accept it. Times are Unix seconds."""

Responses = dict[int | str, dict[str, Any]]
_schemas: dict[str, type] = {"Problem": Problem}


def json_responses(kind: Any, example: object, *faults: HTTPStatus, status: HTTPStatus = HTTPStatus.OK) -> Responses:
    """What a route answers with: a struct, with an example of it, and the faults it may have."""
    _schemas[kind.__name__] = kind
    content = {"application/json": {"schema": {"$ref": REFERENCE.format(name=kind.__name__)}, "example": example}}
    return {int(status): {"description": (kind.__doc__ or "").strip(), "content": content}} | problem_responses(*faults)


def media_responses(media_type: str, what: str, *faults: HTTPStatus, kind: str = "string") -> Responses:
    """What a route answers with that is no JSON."""
    content = {media_type: {"schema": {"type": kind}}}
    return {200: {"description": what, "content": content}} | problem_responses(*faults)


def problem_responses(*statuses: HTTPStatus) -> Responses:
    """The faults of a route."""
    every = {HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE, *statuses}
    content = {"application/problem+json": {"schema": {"$ref": REFERENCE.format(name="Problem")}}}
    return {int(status): {"description": status.phrase, "content": content} for status in sorted(every)}


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The document."""

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
        spec["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        return spec

    return document()


def _drop_guessed_schema(call: dict[str, Any]) -> None:
    """FastAPI takes every answer for JSON of any shape; ours are described where they are made."""
    for answer in call["responses"].values():
        if answer.get("content", {}).get("application/json", {}).get("schema") == {}:
            del answer["content"]["application/json"]
