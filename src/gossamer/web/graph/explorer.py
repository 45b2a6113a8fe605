"""The graph explorer: its page, and the views, neighbours and files it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from gossamer.errors import GossamerError
from gossamer.store.follow.graph import RankedPage, Ranking
from gossamer.web.api import BAD, NOT_FOUND, Short, Url, Words
from gossamer.web.graph.drawing import as_gexf, as_svg
from gossamer.web.graph.snapshots import FoundNodes, Related, find_nodes
from gossamer.web.graph.views import MOST_NODES, Asked, Expand, Neighbours, View, neighbours
from gossamer.web.http import api_examples
from gossamer.web.http.compression import Told
from gossamer.web.http.openapi import answers as answering
from gossamer.web.http.openapi import sends

if TYPE_CHECKING:
    from collections.abc import Iterable

router = APIRouter(tags=["graph"])

LISTED = 50  # nodes in the table of the page
ORDERS = Literal["pagerank", "authority", "hub", "harmonic", "indegree", "outdegree", "in_weight", "core"]
LevelName = Annotated[
    Literal["hosts", "pages"] | None, Query(description="Default: hosts if there are enough of them.")
]
Key = Annotated[str, Query(max_length=4_096, description="A URL, or the name of a host.")]
Direction = Annotated[Literal["both", "in", "out"], Query()]


async def which(
    level: LevelName = None,
    nodes: Annotated[int, Query(ge=1, le=MOST_NODES)] = 300,
    host: Short = "",
    focus: Key = "",
    hops: Annotated[int, Query(ge=1, le=3)] = 1,
    direction: Direction = "both",
    include_unvisited: bool = False,
) -> Asked:
    """The view that a query asks for."""
    return Asked(
        level=level, nodes=nodes, host=host, focus=focus, hops=hops, direction=direction,
        include_unvisited=include_unvisited,
    )  # fmt: skip


Which = Annotated[Asked, Depends(which)]


def _view(request: Request, asked: Asked) -> View:
    with request.app.state.desks.open() as desk:
        view: View = request.app.state.graphs.view(desk, asked)
        return view


@router.get("/api/graph", responses=answering(View, api_examples.VIEW, NOT_FOUND, BAD))
def graph(request: Request, asked: Which) -> Response:
    """A part of the link graph: the best nodes by rank, or what is around one, with places for them."""
    return Told(_view(request, asked))


@router.get("/api/graph.svg", responses=sends("image/svg+xml", "A picture of the view.", NOT_FOUND, BAD))
def graph_svg(request: Request, asked: Which) -> Response:
    """The same as a picture."""
    return Response(as_svg(_view(request, asked)), media_type="image/svg+xml")


@router.get("/api/graph.gexf", responses=sends("application/gexf+xml", "The view for Gephi.", NOT_FOUND, BAD))
def graph_gexf(request: Request, asked: Which) -> Response:
    """The same for Gephi."""
    headers = {"Content-Disposition": 'attachment; filename="graph.gexf"'}
    return Response(as_gexf(_view(request, asked)), media_type="application/gexf+xml", headers=headers)


class Expansion(BaseModel):
    """A node whose neighbours are wanted, and what is shown already."""

    level: Literal["hosts", "pages"] = "pages"
    key: Annotated[str, Field(max_length=4_096)] = ""
    id: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None
    shown: Annotated[list[Annotated[int, Field(ge=0, le=2**31 - 1)]], Field(max_length=MOST_NODES)] = []
    limit: Annotated[int, Field(ge=1, le=500)] = 40
    direction: Literal["both", "in", "out"] = "both"
    include_unvisited: bool = False


@router.post("/api/graph/neighbours", responses=answering(Neighbours, api_examples.NEIGHBOURS, NOT_FOUND, BAD))
def expand(request: Request, body: Expansion) -> Response:
    """What is around a node and not shown yet, the best by rank. Reads only: no token is needed."""
    asked = Expand(**body.model_dump(exclude={"shown"}), shown=frozenset(body.shown))
    with request.app.state.desks.open() as desk:
        snapshot = request.app.state.graphs.snapshot(desk.store, asked.level, include_unvisited=asked.include_unvisited)
        return Told(neighbours(desk.store, snapshot, asked))


@router.get("/api/graph/find", responses=answering(FoundNodes, api_examples.NODES))
def find(
    request: Request, q: Words = "", level: LevelName = None, limit: Annotated[int, Query(ge=1, le=50)] = 10
) -> Response:
    """Nodes to focus on: hosts by a part of their name, pages as the search finds them."""
    with request.app.state.desks.open() as desk:
        return Told(find_nodes(request.app.state.graphs, desk, q, level, limit))


@router.get("/api/related", responses=answering(Related, api_examples.RELATED, NOT_FOUND, BAD))
def related(request: Request, url: Url, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Response:
    """Pages that are linked from the same pages as one."""
    with request.app.state.desks.open() as desk:
        return Told(request.app.state.graphs.related(desk, url, limit))


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """The first pages by a measure of the link graph."""

    ranking: Ranking | None  # how the ranks were made; null: there are none, `gossamer rank` makes them
    pages: list[RankedPage]


@router.get("/api/ranks", responses=answering(Ranked, api_examples.RANKS))
def ranks(request: Request, by: ORDERS = "pagerank", limit: Annotated[int, Query(ge=1, le=1_000)] = 20) -> Response:
    """The first pages by a measure of the link graph."""
    with request.app.state.desks.open() as desk:
        return Told(Ranked(ranking=desk.store.ranking(), pages=desk.store.ranked(by, limit)))


@router.get("/graph", include_in_schema=False)
def page(request: Request, asked: Which, colour: Short = "community", size: Short = "score") -> Response:
    """The explorer. Without scripts: a picture and a list."""
    try:
        view, fault = _view(request, asked), ""
    except GossamerError as error:
        view, fault = None, str(error)
    kept = {name: value for name, value in msgspec.structs.asdict(asked).items() if value not in {None, False, ""}}
    answer: Response = request.app.state.look.page(
        request, "graph.html", asked=asked, view=view, fault=fault, kept=kept, listed=list(_listed(view)),
        colour=colour, size=size,
    )  # fmt: skip
    return answer


def _listed(view: View | None) -> Iterable[tuple[object, ...]]:
    if view is None:
        return ()
    nodes = view.nodes
    rows = zip(
        nodes.key, nodes.label, nodes.score, nodes.indegree, nodes.outdegree, nodes.host, nodes.depth, nodes.status,
        strict=True,
    )  # fmt: skip
    return sorted(rows, key=lambda row: -row[2])[:LISTED]
