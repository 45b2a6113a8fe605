"""Values that the store and the graph package exchange: links as columns, and ranks.

Columns are `array`s of the standard library, so that reading commands need not import numpy. The graph package views
them as numpy arrays without copying.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import Value

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable


class LinkChanges(NamedTuple):
    """Some resources that changed since a version, by id, with their followed hyperlinks and redirects."""

    gone: array[int]  # ids of resources that stopped being pages, or were removed; sorted
    ids: array[int]  # ids of pages and redirects; sorted
    urls: list[str]  # of these
    links: array[int]  # source, target, weight; source, target, weight ... sorted by source. Weight 0: a redirect


class ResourceHosts(NamedTuple):
    """Resources and the hosts they are on."""

    ids: array[int]  # sorted
    hosts: array[int]


class Ranks(Value, frozen=True, kw_only=True):
    """The measures of a page in the link graph: a row of `ranks`. None: not computed in the last run."""

    pagerank: float  # the share of a random reader's time; the sum over all pages is 1
    score: float  # the same on a logarithmic scale, 0..100
    indegree: int  # pages that link here
    outdegree: int  # pages linked to
    in_weight: int  # bond strength: times they link here
    out_weight: int
    hub: float | None = None  # HITS: how good a list of links it is; the sum over all pages is 1
    authority: float | None = None
    harmonic: float | None = None  # sum of 1 / clicks over all pages that lead here
    depth: int | None = None  # clicks from the seeds; None also when no path leads here
    component: int | None = None  # strongly connected component; 0 is the biggest
    bowtie: str | None = None  # core, in, out, tube, tendril, apart
    community: int | None = None  # 0 is the biggest
    core: int | None = None  # the k of the innermost k-core


class HostRanks(Value, frozen=True, kw_only=True):
    """The measures of a host in the host graph: a row of `host_ranks`."""

    pages: int  # its pages in the graph
    pagerank: float
    score: float
    indegree: int  # hosts that link here
    outdegree: int
    in_weight: int  # links from other hosts, each as often as it occurs
    out_weight: int
    hub: float | None = None
    authority: float | None = None
    harmonic: float | None = None
    component: int | None = None
    community: int | None = None


class Ranking(Value, frozen=True, kw_only=True):
    """How the ranks were computed."""

    made_at: float
    version: int  # of the store
    pages: int  # in the graph
    links: int  # bonds between different pages
    hosts: int
    visited: int  # pages
    known: int  # pages in scope: visited, waiting, failed or refused
    measures: tuple[str, ...]
    alpha: float
    weighted: bool
    include_unvisited: bool
    iterations: int  # of PageRank
    harmonic: str = ""  # "exact", or "estimated from 256 pages"
    modularity: float | None = None  # of the communities

    @property
    def visited_share(self) -> float:
        """The visited share of the pages in scope; below 1, ranks are estimates."""
        return self.visited / self.known if self.known else 1.0


class RankedPage(Value, frozen=True, kw_only=True):
    """A page with its ranks, for reading."""

    url: str
    title: str
    ranks: Ranks


class RankedHost(Value, frozen=True, kw_only=True):
    """A host with its ranks, for reading."""

    name: str
    ranks: HostRanks


class RankColumns(NamedTuple):
    """The ranks of all pages or hosts, as columns in the order of the fields of `Ranks` or `HostRanks`."""

    ids: Iterable[object]
    columns: tuple[Iterable[object] | None, ...]  # None: not computed

    def columns_by_name(self, key: str, fields: Iterable[str]) -> dict[str, Iterable[object]]:
        """Return the computed columns by name, the ids first."""
        pairs = zip(fields, self.columns, strict=True)
        return {key: self.ids} | {name: column for name, column in pairs if column is not None}
