"""The API page: every call of the OpenAPI document, with a form that sends it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from gossamer.model import Value
from gossamer.web.http.templates import html_page

if TYPE_CHECKING:
    from collections.abc import Iterator

router = APIRouter(include_in_schema=False)

FLAGS = ("false", "true")


class ApiParameter(Value, frozen=True, kw_only=True):
    """A parameter of a call, as the page shows it."""

    name: str
    where: str  # "query" or "path"
    required: bool
    type: str
    choices: tuple[str, ...]  # the only values; empty: any of the type
    default: str
    description: str
    example: str


class ApiCall(Value, frozen=True, kw_only=True):
    """A call of the API."""

    verb: str
    path: str
    description: str
    parameters: tuple[ApiParameter, ...]
    body: str | None  # an example of the body, as JSON; None: the call has no body
    needs_token: bool


@router.get("/api")
def api_page(request: Request) -> Response:
    """Show the OpenAPI document as a page."""
    document = request.app.openapi()
    return html_page(request, "api.html", document=document, calls=list(api_calls(document)))


def api_calls(document: dict[str, Any]) -> Iterator[ApiCall]:
    """Yield the calls of an OpenAPI document."""
    for path, verbs in document["paths"].items():
        for verb, call in verbs.items():
            yield ApiCall(
                verb=verb,
                path=path,
                description=call["description"],
                parameters=tuple(map(_parameter, call.get("parameters", ()))),
                body=_example_body(document, call),
                needs_token="401" in call["responses"],
            )


def _parameter(parameter: dict[str, Any]) -> ApiParameter:
    schema = parameter["schema"]
    shapes = [schema, *schema.get("anyOf", ())]
    types = [shape["type"] for shape in shapes if "type" in shape]
    choices = next((tuple(shape["enum"]) for shape in shapes if "enum" in shape), ())
    examples = [*parameter.get("examples", {}).values(), *schema.get("examples", ())]
    return ApiParameter(
        name=parameter["name"],
        where=parameter["in"],
        required=parameter.get("required", False),
        type=" or ".join(dict.fromkeys(types)),
        choices=FLAGS if types == ["boolean"] else choices,
        default=_json_value(schema.get("default")),
        description=parameter.get("description", ""),
        example=str(examples[0]) if examples else "",
    )


def _json_value(value: object) -> str:
    """Return a default as a URL has it: JSON without the quotes of a text."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _example_body(document: dict[str, Any], call: dict[str, Any]) -> str | None:
    """Return a body with all fields of a call: its defaults, else an empty value of the right type."""
    content = call.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    empty = {"string": "", "integer": 0, "array": [], "boolean": False}
    fields = {name: field.get("default", empty.get(field.get("type"))) for name, field in schema["properties"].items()}
    return json.dumps(fields, indent=2)
