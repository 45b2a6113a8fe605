"""How fast and how big the link graph is, beside networkx and NetworKit.

    python bench/graph.py           # 200,000 pages, 4,000,000 links; two to three minutes
    python bench/graph.py --full    # and ten times as much: another ten minutes, 6 GB of disk
    python bench/graph.py --crawl   # what keeping the graph up to date costs a crawl (needs nginx, openjdk-17-doc)

The web is generated: hosts of Zipf's sizes, power-law degrees both ways, two links in three within the host, a third of
the pages without links. It is written into a store by plain SQL, without the index by target, which the graph does not
use. Every measurement runs in a process of its own; memory is its peak resident set, mapped files included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.graph.bonds import open_bonds
from gossamer.graph.ranking.algorithms import TOLERANCE, pagerank
from gossamer.graph.ranking.rank_web import RankOptions, rank_web
from gossamer.graph.snapshot import open_graph
from gossamer.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

HERE = Path(__file__).resolve().parent
SIZES = {"tiny": (50_000, 1_000_000), "small": (200_000, 4_000_000), "big": (2_000_000, 40_000_000)}
PAGES_A_HOST = 50
ROWS_AT_ONCE = 500_000
TURNS = {"build": 3, "ranks": 5}  # in which growth is measured
KEPT_EVERY = 5.0  # seconds between two updates beside a crawl

# The aims of issue 4.
MOST_TIME_OF_NETWORKX = 1 / 8
MOST_MEMORY_OF_NETWORKX = 1 / 4
MOST_BUILD_SECONDS = 10.0
MOST_CRAWL_SHARE = 0.05
MOST_BIG_MEGABYTES = 4_000


# -- the web -----------------------------------------------------------------------------------------------------------


def generate(pages: int, links: int) -> tuple[Numbers, Numbers]:
    """Sources (sorted) and targets of different links, as page numbers from 0; hosts are ranges of pages."""
    chance = np.random.default_rng(7)
    linking = np.sort(chance.permutation(pages)[: pages * 65 // 100])
    shares = (1 - chance.random(len(linking))) ** (-1 / 1.7)  # Pareto: out-degrees with gamma 2.7
    shares = np.minimum(shares, len(linking) / 100)
    drawn = links * 14 // 10  # some come twice
    source = np.repeat(linking, np.diff(np.round(np.cumsum(shares) / shares.sum() * drawn).astype(np.int64), prepend=0))
    near = _same_host(chance, source, pages)
    target = np.where(chance.random(len(source)) < 0.65, near, _other_host(chance, len(source), pages))
    keys = np.unique(source[source != target] * pages + target[source != target])
    keys = np.sort(chance.permutation(keys)[:links])
    return keys // pages, keys % pages


def _same_host(chance: np.random.Generator, source: Numbers, pages: int) -> Numbers:
    """Half of the links lead to what every page of a host links to, half to pages near by."""
    first = starts_of_hosts(pages)
    host = np.searchsorted(first, source, side="right") - 1
    width = np.append(first[1:], pages)[host] - first[host]
    top = (chance.random(len(source)) ** 3 * width).astype(np.int64)
    by = source - first[host] + (chance.normal(0, 50, len(source))).astype(np.int64)
    return first[host] + np.where(chance.random(len(source)) < 0.5, top, by % width)


def _other_host(chance: np.random.Generator, links: int, pages: int) -> Numbers:
    """Links to other hosts lead to well-known ones, and there mostly to the first pages."""
    first = starts_of_hosts(pages)
    host = (chance.random(links) ** 3 * len(first)).astype(np.int64)
    width = np.append(first[1:], pages)[host] - first[host]
    return first[host] + (chance.random(links) ** 6 * width).astype(np.int64)


def starts_of_hosts(pages: int) -> Numbers:
    """The first page of each host, sizes by Zipf's law."""
    sizes = 1 / np.arange(1, pages // PAGES_A_HOST + 1)
    edges = np.round(np.cumsum(sizes) / sizes.sum() * pages).astype(np.int64)
    return np.unique(np.concatenate([[0], edges[:-1]]))


def url_of(page: int, host: int) -> str:
    return f"https://www.site-{host}.example/documentation/section-{page % 97}/page-{page}.html"


def fill(directory: Path) -> dict[str, Any]:
    """Write the web into a store."""
    pages, links = SIZES[directory.name]
    started = time.perf_counter()
    SqliteStore.open(directory, create=True).close()
    source, target = generate(pages, links)
    first = starts_of_hosts(pages)
    host_of = np.searchsorted(first, np.arange(pages), side="right")
    db = sqlite3.connect(directory / "web.db", isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    db.execute("DROP INDEX links_target")
    db.executemany("INSERT INTO hosts (id, name) VALUES (?, ?)",
                   ((n, f"www.site-{n}.example") for n in range(1, len(first) + 1)))  # fmt: skip
    rows = (
        (page + 1, page.to_bytes(16, "big"), host, page // 256 + 1, url_of(page, host))
        for page, host in enumerate(host_of.tolist())
    )
    db.executemany(
        "INSERT INTO resources (id, digest, host, state, outcome, depth, asked, visits, version, kind, follow, url,"
        " discovered_at, content_digest) VALUES (?, ?, ?, 'visited', 'fetched', 1, 63, 1, ?, 1, 1, ?, 0, x'01')",
        rows,
    )
    for start in range(0, len(source), ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        seq = range(start, start + len(source[block]))
        db.executemany("INSERT INTO links VALUES (?, ?, ?, 1, 1, 1, 0, '', 'some words of an anchor')",
                       zip((source[block] + 1).tolist(), seq, (target[block] + 1).tolist(), strict=True))  # fmt: skip
    db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (pages // 256 + 1,))
    db.execute("COMMIT")
    db.close()
    seconds, size = time.perf_counter() - started, (directory / "web.db").stat().st_size / 1e6
    return {"seconds": seconds, "megabytes": 0, "pages": pages, "links": len(source), "disk": size}


# -- what is measured, each in a process of its own --------------------------------------------------------------------


def build(directory: Path) -> dict[str, Any]:
    """The graph from the store, anew."""
    shutil.rmtree(directory / "graph", ignore_errors=True)
    return catch_up(directory)


def catch_up(directory: Path) -> dict[str, Any]:
    store = SqliteStore.open(directory, create=False)
    return timed(lambda: {"edges": open_graph(store, directory / "graph").pages.edges})


def update(directory: Path) -> dict[str, Any]:
    """The graph after one page in a hundred was visited again."""
    with sqlite3.connect(directory / "web.db", isolation_level=None) as db:
        (version,) = db.execute("SELECT value + 1 FROM meta WHERE key = 'version'").fetchone()
        db.execute("UPDATE resources SET version = ? WHERE id % 100 = 0", (version,))
        db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))
    return catch_up(directory)


def ranks(directory: Path) -> dict[str, Any]:
    """From an up-to-date graph to written ranks."""
    with sqlite3.connect(directory / "web.db", isolation_level=None) as db:
        db.execute("DELETE FROM rankings")  # those of a run before are right already, and would not be made again
    store = SqliteStore.open(directory, create=False)
    options = RankOptions(measures=("hits", "components"))
    return timed(lambda: {"rounds": rank_web(store, directory / "graph", options).iterations})


def everything(directory: Path) -> dict[str, Any]:
    """The same with harmonic centrality, communities, cores and depth."""
    store = SqliteStore.open(directory, create=False)
    return timed(lambda: {"harmonic": rank_web(store, directory / "graph", RankOptions()).harmonic})


def ours(directory: Path) -> dict[str, Any]:
    """PageRank alone, from the files on disk."""
    store = SqliteStore.open(directory, create=False)
    return timed(lambda: {"rounds": pagerank(open_graph(store, directory / "graph").pages).iterations})


def networkit(directory: Path) -> dict[str, Any]:
    """PageRank of NetworKit from edges in memory, with the building of its graph."""
    import networkit as kit  # noqa: PLC0415

    source, target, nodes = edges_in_memory(directory)

    def run() -> dict[str, Any]:
        ends = source.astype(np.uint64), target.astype(np.uint64)
        graph = kit.GraphFromCoo(ends, n=nodes, directed=True)
        algorithm = kit.centrality.PageRank(graph, damp=0.85, tol=TOLERANCE)
        algorithm.norm = kit.centrality.Norm.L1_NORM
        algorithm.run()
        return {"rounds": algorithm.numberOfIterations()}

    return timed(run)


def networkx(directory: Path) -> dict[str, Any]:
    """PageRank of networkx from edges in memory; the building of its graph is told apart."""
    import networkx as nx  # noqa: PLC0415

    source, target, nodes = edges_in_memory(directory)
    started = time.perf_counter()
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    building = time.perf_counter() - started
    measured = timed(lambda: {"first": max(nx.pagerank(graph, tol=TOLERANCE / nodes).items(), key=lambda it: it[1])[0]})
    return measured | {"building": building}


def igraph(directory: Path) -> dict[str, Any]:
    """PageRank of igraph (PRPACK, to machine precision) from edges in memory, with the building of its graph."""
    import igraph as ig  # noqa: PLC0415

    source, target, nodes = edges_in_memory(directory)

    def run() -> dict[str, Any]:
        graph = ig.Graph(n=nodes, edges=np.column_stack((source, target)), directed=True)
        return {"first": int(np.argmax(graph.pagerank(damping=0.85)))}

    return timed(run)


def edges_in_memory(directory: Path) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], int]:
    links = open_graph(SqliteStore.open(directory, create=False), directory / "graph").pages
    source = np.repeat(np.arange(links.nodes, dtype=np.int32), np.diff(links.starts))
    return source, np.array(links.targets), links.nodes


def timed(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    told = run()
    helper = resource.getrusage(resource.RUSAGE_CHILDREN)  # a process that it started, if it did
    seconds, worked = time.perf_counter() - wall, time.process_time() - cpu + helper.ru_utime + helper.ru_stime
    return {"seconds": seconds, "cpu": worked, "megabytes": _peak_megabytes() + helper.ru_maxrss / 1024, **told}


def _peak_megabytes() -> float:
    """The peak resident set of this program. Not `ru_maxrss`: that begins with what the parent had when it forked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


PARTS = {each.__name__: each for each in (fill, build, update, ranks, everything, ours, networkit, networkx, igraph)}


def apart(part: str, directory: Path) -> dict[str, Any]:
    """Run one part in a process of its own."""
    command = [sys.executable, __file__, "--part", part, "--directory", str(directory)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    facts = ", ".join(f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}"
                      for name, value in told.items() if name not in {"seconds", "megabytes"})  # fmt: skip
    print(f"  {part:<12} {told['seconds']:8.2f} s {told['megabytes']:8.0f} MB  {facts}", flush=True)
    return told


# -- what a crawl pays -------------------------------------------------------------------------------------------------


def beside_a_crawl() -> bool:
    """The CPU time of keeping the graph up to date while a crawl goes on, as a share of the crawl's own."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from webs import debian  # noqa: PLC0415
    from webs.nginx import Nginx, Site  # noqa: PLC0415

    binary, root = debian.find("nginx"), debian.find("openjdk-17-doc")
    if binary is None or root is None:
        sys.exit("nginx or openjdk-17-doc is not here: run `make test-packages`")
    with tempfile.TemporaryDirectory() as folder, Nginx(binary, {"java": Site(root)}, log=False) as nginx:
        web = Path(folder, "web")
        command = [sys.executable, "-m", "gossamer", "crawl", nginx.url("java", "/index.html"), "--store", str(web)]
        command += ["--delay", "0", "--connections", "32", "--quiet"]
        crawl = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        keeping, updates = 0.0, 0
        while os.waitid(os.P_PID, crawl.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            time.sleep(KEPT_EVERY)
            if (web / "web.db").exists():
                keeping += kept(web)
                updates += 1
        _, _, usage = os.wait4(crawl.pid, 0)
        crawl.returncode = 0
        links = SqliteStore.open(web, create=False).counts().links
    share = keeping / (usage.ru_utime + usage.ru_stime)
    print(
        f"crawl of {links:,} links: {usage.ru_utime + usage.ru_stime:.1f} s of CPU; {updates} updates of the graph:"
        f" {keeping:.2f} s, {100 * share:.1f} %"
    )
    return share <= MOST_CRAWL_SHARE


def kept(web: Path) -> float:
    started = time.process_time()
    store = SqliteStore.open(web, create=False, read_only=True)
    open_bonds(store, web / "graph")
    store.close()
    return time.process_time() - started


# -- all of it ---------------------------------------------------------------------------------------------------------


def compare(size: str, folder: Path) -> dict[str, dict[str, Any]]:
    directory = folder / size
    parts = ["fill", "build", "update", "ranks", "everything", "ours", "networkit"]
    return {part: apart(part, directory) for part in (*parts, *(["networkx"] if size == "small" else []))}


def in_turn(part: str, turns: int, folder: Path) -> list[dict[str, float]]:
    """A part on the small web and on the big one, several times; of each figure the median.

    What it shares the machine with makes the big web slower, which fills the cache, and the small one not.
    """
    told = [[apart(part, folder / size) for size in ("small", "big")] for _ in range(turns)]
    return [
        {what: statistics.median(one[what] for one in runs) for what in ("seconds", "cpu", "megabytes")}
        for runs in zip(*told, strict=True)
    ]


def verdicts(small: dict[str, dict[str, Any]], big: dict[str, dict[str, Any]] | None) -> list[tuple[str, bool]]:
    peer, own = small["networkx"], small["ranks"]
    time_share, memory_share = own["seconds"] / peer["seconds"], own["megabytes"] / peer["megabytes"]
    told = [
        (f"ranks take {time_share:.3f} of networkx' time for PageRank alone (at most 1/8)",
         time_share <= MOST_TIME_OF_NETWORKX),
        (f"ranks take {memory_share:.3f} of its memory (at most 1/4)", memory_share <= MOST_MEMORY_OF_NETWORKX),
        (f"PageRank takes {small['ours']['seconds']:.2f} s, NetworKit's {small['networkit']['seconds']:.2f} s",
         small["ours"]["seconds"] <= small["networkit"]["seconds"]),
        (f"building from the store takes {small['build']['seconds']:.1f} s (at most {MOST_BUILD_SECONDS:.0f})",
         small["build"]["seconds"] <= MOST_BUILD_SECONDS),
    ]  # fmt: skip
    if big is not None:
        growth = SIZES["big"][1] / SIZES["small"][1]
        for part in ("build", "ranks"):
            factor, work = (big[part][what] / small[part][what] for what in ("seconds", "cpu"))
            sentence = f"{growth:.0f} times the links: {factor:.2f} times the time, {work:.2f} times the CPU's ({part})"
            told.append((sentence, factor <= growth))
        most = max(big[part]["megabytes"] for part in ("build", "update", "ranks"))
        told.append((f"and {most:,.0f} MB (at most {MOST_BIG_MEGABYTES:,})", most <= MOST_BIG_MEGABYTES))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also ten times the size")
    parser.add_argument("--crawl", action="store_true", help="what keeping the graph costs a crawl, and nothing else")
    parser.add_argument("--directory", type=Path, help="where to put the stores (the disk matters)")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part](options.directory)))
        return
    if options.crawl:
        sys.exit(0 if beside_a_crawl() else 1)
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        small = compare("small", Path(folder))
        big = compare("big", Path(folder)) if options.full else None
        if big is not None:
            for part, turns in TURNS.items():
                small[part], big[part] = in_turn(part, turns, Path(folder))
    good = True
    for sentence, held in verdicts(small, big):
        print(f"{'good' if held else 'BAD '}  {sentence}")
        good &= held
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
