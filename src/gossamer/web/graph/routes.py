"""Routes of the graph explorer: its page, and the views, neighbours and files that it fetches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from gossamer.errors import GossamerError
from gossamer.store.follow.graph import RankedPage, Ranking
from gossamer.store.read.rank_state import RankState, read_rank_state
from gossamer.web.graph.drawing import Size, Theme, render_gexf, render_svg
from gossamer.web.graph.find_nodes import FoundNodes, NodeFinder
from gossamer.web.graph.graph_cache import RelatedPages
from gossamer.web.graph.views import MAX_NODES, GraphView, NeighbourOptions, Neighbours, ViewOptions, neighbours
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses, media_responses
from gossamer.web.http.parameters import BAD_REQUEST, NOT_FOUND, ShortText, Url, Words
from gossamer.web.http.templates import html_page

if TYPE_CHECKING:
    from collections.abc import Iterable

router = APIRouter(tags=["graph"])

TABLE_ROWS = 50  # nodes in the table below the picture
ORDERS = Literal["pagerank", "authority", "hub", "harmonic", "indegree", "outdegree", "in_weight", "core"]
LevelName = Annotated[
    Literal["hosts", "pages"] | None, Query(description="Default: hosts if there are enough of them.")
]
Key = Annotated[str, Query(max_length=4_096, description="A URL, or the name of a host.")]
Direction = Annotated[Literal["both", "in", "out"], Query()]


async def view_options(
    level: LevelName = None,
    nodes: Annotated[int, Query(ge=1, le=MAX_NODES)] = 300,
    host: ShortText = "",
    focus: Key = "",
    hops: Annotated[int, Query(ge=1, le=3)] = 1,
    direction: Direction = "both",
    include_unvisited: bool = False,
) -> ViewOptions:
    """Return the options of a request for a view."""
    return ViewOptions(
        level=level, nodes=nodes, host=host, focus=focus, hops=hops, direction=direction,
        include_unvisited=include_unvisited,
    )  # fmt: skip


ViewQuery = Annotated[ViewOptions, Depends(view_options)]


def _view(request: Request, options: ViewOptions) -> GraphView:
    with request.app.state.sessions.open() as session:
        view: GraphView = request.app.state.graph_cache.view(session, options)
        return view


@router.get("/api/graph", responses=json_responses(GraphView, api_examples.VIEW, NOT_FOUND, BAD_REQUEST))
def graph(request: Request, options: ViewQuery) -> Response:
    """Return a part of the link graph with coordinates: the nodes of highest rank, or those around one node."""
    return JsonResponse(_view(request, options))


@router.get(
    "/api/graph.svg", responses=media_responses("image/svg+xml", "A picture of the view.", NOT_FOUND, BAD_REQUEST)
)
def graph_svg(request: Request, options: ViewQuery, theme: Theme = "light", size: Size = "full") -> Response:
    """Return the same view as a picture: in the colours of a theme, and smaller for a place of 640 or 360 pixels."""
    return Response(render_svg(_view(request, options), theme, size), media_type="image/svg+xml")


@router.get(
    "/api/graph.gexf", responses=media_responses("application/gexf+xml", "The view for Gephi.", NOT_FOUND, BAD_REQUEST)
)
def graph_gexf(request: Request, options: ViewQuery) -> Response:
    """Return the same view for Gephi."""
    headers = {"Content-Disposition": 'attachment; filename="graph.gexf"'}
    return Response(render_gexf(_view(request, options)), media_type="application/gexf+xml", headers=headers)


class NeighboursRequest(BaseModel):
    """A node to expand, and the nodes that the explorer shows already."""

    level: Literal["hosts", "pages"] = "pages"
    key: Annotated[str, Field(max_length=4_096)] = ""
    id: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None
    shown: Annotated[list[Annotated[int, Field(ge=0, le=2**31 - 1)]], Field(max_length=MAX_NODES)] = []
    limit: Annotated[int, Field(ge=1, le=500)] = 40
    direction: Literal["both", "in", "out"] = "both"
    include_unvisited: bool = False


@router.post(
    "/api/graph/neighbours", responses=json_responses(Neighbours, api_examples.NEIGHBOURS, NOT_FOUND, BAD_REQUEST)
)
def expand(request: Request, body: NeighboursRequest) -> Response:
    """Return the neighbours of a node that are not shown yet, highest rank first. Needs no token: it only reads."""
    options = NeighbourOptions(**body.model_dump(exclude={"shown"}), shown=frozenset(body.shown))
    with request.app.state.sessions.open() as session:
        snapshot = request.app.state.graph_cache.snapshot(
            session.store, options.level, include_unvisited=options.include_unvisited
        )
        return JsonResponse(neighbours(session.store, snapshot, options))


@router.get("/api/graph/find", responses=json_responses(FoundNodes, api_examples.NODES))
def find(
    request: Request, q: Words = "", level: LevelName = None, limit: Annotated[int, Query(ge=1, le=50)] = 10
) -> Response:
    """Find nodes to focus on: hosts by a part of their name, pages by URL and words."""
    state = request.app.state
    with state.sessions.open() as session:
        finder = NodeFinder(state.graph_cache.snapshot(session.store, level), session.store, state.search_client)
        return JsonResponse(finder.find(q, limit))


@router.get(
    "/api/related",
    operation_id="related_api_related_get",  # generated clients use this name
    summary="Related",
    responses=json_responses(RelatedPages, api_examples.RELATED, NOT_FOUND, BAD_REQUEST),
)
def related_pages(request: Request, url: Url, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Response:
    """Return pages that the same pages link to."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(request.app.state.graph_cache.related_pages(session, url, limit))


class RankedPageList(msgspec.Struct, frozen=True, kw_only=True):
    """The pages with the highest values of a measure."""

    ranking: Ranking | None  # null: the web has no ranks, `gossamer rank` computes them
    rank_state: RankState | None  # how current they are
    pages: list[RankedPage]


@router.get("/api/ranks", responses=json_responses(RankedPageList, api_examples.RANKS))
def ranks(request: Request, by: ORDERS = "pagerank", limit: Annotated[int, Query(ge=1, le=1_000)] = 20) -> Response:
    """Return the pages with the highest values of a measure of the link graph."""
    with request.app.state.sessions.open() as session:
        store = session.store
        return JsonResponse(
            RankedPageList(
                ranking=store.ranking(), rank_state=read_rank_state(store), pages=store.ranked_pages(by, limit)
            )
        )


@router.get("/graph", include_in_schema=False)
def explorer(
    request: Request, options: ViewQuery, colour: ShortText = "community", size: ShortText = "score"
) -> Response:
    """Show the explorer; without scripts, a picture and a table."""
    try:
        view, fault = _view(request, options), ""
    except GossamerError as error:
        view, fault = None, str(error)
    link_parameters = {
        name: value for name, value in msgspec.structs.asdict(options).items() if value not in {None, False, ""}
    }
    return html_page(
        request,
        "graph.html",
        options=options,
        view=view,
        fault=fault,
        link_parameters=link_parameters,
        rows=list(_table_rows(view)),
        colour=colour,
        size=size,
    )


def _table_rows(view: GraphView | None) -> Iterable[tuple[object, ...]]:
    if view is None:
        return ()
    nodes, names = view.nodes, {None: ""} | {one.community: f"{one.community} · {one.name}" for one in view.communities}
    communities = [names[community] for community in nodes.community]
    rows = zip(
        nodes.key, nodes.label, nodes.score, nodes.indegree, nodes.outdegree, nodes.host, communities, nodes.depth,
        nodes.status, strict=True,
    )  # fmt: skip
    return sorted(rows, key=lambda row: -row[2])[:TABLE_ROWS]
