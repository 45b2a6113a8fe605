"""The library: the names of `gossamer.__all__`, their parameters and attributes, and the values that they give."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any

import gossamer
from frozen.collect_commands import settings_file
from frozen.small_site import GARDEN, MUSEUM, Proxy, later_pages
from gossamer import errors, model

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The reference page of the library names these.
FAULTS = ("GossamerError", "UsageError", "StoreMissing", "SeedUnreachable")
ENUMERATIONS = ("State", "Role", "Outcome", "Kind", "Position", "Field")
MADE_BY_GOSSAMER = {"VisitedPage", "Web"}  # programs do not call their constructors


def library(web: Path, scratch: Path) -> dict[str, Any]:
    """The names with parameters and public attributes."""
    found: dict[str, Any] = {name: _describe(name, getattr(gossamer, name)) for name in sorted(gossamer.__all__)}
    with Proxy(later_pages()) as proxy:
        crawler = gossamer.Crawler(
            MUSEUM, store=scratch / "library", max_pages=1, delay=0.0, proxy=proxy.flags[1], trust_proxy=True
        )
        for visited in crawler:
            found["Crawler"] |= _attributes(crawler)
            found["Crawler.progress"] = _attributes(crawler.progress)
            found["VisitedPage"] |= _attributes(visited)
            found["Link"] |= _attributes(visited.links[0])
    return {**found, "values of Web": _values(web), "settings of Crawler": _setting_names()}


def _describe(name: str, value: object) -> dict[str, Any]:
    if not callable(value):
        return {"type": type(value).__name__}
    return {} if name in MADE_BY_GOSSAMER else {"parameters": _parameters(value)}


def _parameters(function: Any) -> list[str]:
    """The parameters with their defaults, without annotations: those name internal classes."""
    signature = inspect.signature(function)
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return [str(each) for each in plain if each.name != "self"]


def _attributes(value: object) -> dict[str, Any]:
    """The public attributes and the methods with their parameters."""
    public = {name: getattr(value, name) for name in dir(value) if not name.startswith("_")}
    return {
        "attributes": [name for name, attribute in public.items() if not inspect.isroutine(attribute)],
        "methods": {name: _parameters(method) for name, method in public.items() if inspect.isroutine(method)},
    }


def _values(location: Path) -> dict[str, Any]:
    """The attributes of what a web's methods give."""
    roses, orchids = f"{GARDEN}roses", f"{GARDEN}orchids"
    with gossamer.open_web(location) as web:
        answer, word, graph = web.search("roses", explain=True), web.word("roses"), web.graph()
        values: Mapping[str, object] = {
            "Web": web,
            "counts()": web.counts(),
            "page()": web.page(roses),
            "pages()": next(web.pages()),
            "resources()": next(web.resources()),
            "hosts()": web.hosts()[0],
            "errors()": next(web.errors()),
            "inlinks()": web.inlinks(roses)[0],
            "outlinks()": web.outlinks(roses)[0],
            "visits()": web.visits(orchids)[0],
            "search()": answer,
            "search().hits": answer.hits[0],
            "word()": word,
            "word().documents": word.documents[0],
            "ranking()": web.ranking(),
            "ranks()": web.ranks(roses),
        }
        found: dict[str, Any] = {name: _attributes(value) for name, value in values.items()}
        found["graph()"] = {"attributes": _attributes(graph)["attributes"], "methods": {"url": _parameters(graph.url)}}
        found["graph().pages"] = {
            "attributes": _attributes(graph.pages)["attributes"],
            "methods": {"out_of": _parameters(graph.pages.out_of), "into": _parameters(graph.pages.into)},
        }
        found["report('broken')"] = sorted(next(web.report("broken")))
    return found


def _setting_names() -> list[str]:
    """The settings that `Crawler` takes as keywords."""
    sections = settings_file()
    names = {"hosts", "url_query"} | {
        candidate for section, keys in sections.items() for key in keys for candidate in (key, f"{section}_{key}")
    }
    return sorted(name for name in names if _is_taken(name))


def _is_taken(name: str) -> bool:
    settings: dict[str, Any] = {name: None}
    with contextlib.suppress(errors.UsageError):
        gossamer.Crawler(**settings)
        return True
    return False


def enumerations() -> dict[str, dict[str, Any]]:
    """The words and numbers for states, roles, outcomes, kinds, positions and fields."""
    return {name: {member.name: member.value for member in getattr(model, name)} for name in ENUMERATIONS}


def faults() -> list[str]:
    """The exceptions that programs catch."""
    return [name for name in FAULTS if issubclass(getattr(errors, name, int), errors.GossamerError)]
