"""Speed and memory of the link graph, beside networkx and NetworKit.

    python bench/graph.py           # 200,000 pages, 4,000,000 links; two to three minutes
    python bench/graph.py --full    # also ten times as much: another ten minutes, 6 GB of disk
    python bench/graph.py --crawl   # cost of graph updates during a crawl (needs nginx, openjdk-17-doc)

The web is generated: host sizes by Zipf's law, power-law degrees both ways, two links in three within the host, a third
of the pages without links. Plain SQL writes it into a store, without the index by target, which the graph does not use.
Every measurement runs in its own process; memory is its peak resident set, including mapped files.
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
from gossamer.graph.ranking.pagerank import TOLERANCE, pagerank
from gossamer.graph.ranking.rank_web import RankOptions, rank_web
from gossamer.graph.snapshot import open_graph
from gossamer.store.sqlite import open_sqlite_store

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

HERE = Path(__file__).resolve().parent
SIZES = {"tiny": (50_000, 1_000_000), "small": (200_000, 4_000_000), "big": (2_000_000, 40_000_000)}
PAGES_A_HOST = 50
ROWS_AT_ONCE = 500_000
TURNS = {"build": 3, "ranks": 5}  # runs of each part when measuring growth
UPDATE_SECONDS = 5.0  # seconds between two updates during a crawl

# The aims of issue 4.
MAX_TIME_OF_NETWORKX = 1 / 8
MAX_MEMORY_OF_NETWORKX = 1 / 4
MAX_BUILD_SECONDS = 10.0
MAX_CRAWL_SHARE = 0.05
MAX_BIG_MEGABYTES = 4_000


# -- the web -----------------------------------------------------------------------------------------------------------


def generate(pages: int, links: int) -> tuple[Numbers, Numbers]:
    """Return sources (sorted) and targets of distinct links, as page numbers from 0; hosts are ranges of pages."""
    chance = np.random.default_rng(7)
    linking = np.sort(chance.permutation(pages)[: pages * 65 // 100])
    shares = (1 - chance.random(len(linking))) ** (-1 / 1.7)  # Pareto: out-degrees with gamma 2.7
    shares = np.minimum(shares, len(linking) / 100)
    drawn = links * 14 // 10  # some are drawn twice
    source = np.repeat(linking, np.diff(np.round(np.cumsum(shares) / shares.sum() * drawn).astype(np.int64), prepend=0))
    near = _same_host(chance, source, pages)
    target = np.where(chance.random(len(source)) < 0.65, near, _other_host(chance, len(source), pages))
    keys = np.unique(source[source != target] * pages + target[source != target])
    keys = np.sort(chance.permutation(keys)[:links])
    return keys // pages, keys % pages


def _same_host(chance: np.random.Generator, source: Numbers, pages: int) -> Numbers:
    """Return targets on the same host: half are its top pages, half are nearby pages."""
    first = host_starts(pages)
    host = np.searchsorted(first, source, side="right") - 1
    width = np.append(first[1:], pages)[host] - first[host]
    top = (chance.random(len(source)) ** 3 * width).astype(np.int64)
    by = source - first[host] + (chance.normal(0, 50, len(source))).astype(np.int64)
    return first[host] + np.where(chance.random(len(source)) < 0.5, top, by % width)


def _other_host(chance: np.random.Generator, links: int, pages: int) -> Numbers:
    """Return targets on other hosts: well-known ones, and there mostly the first pages."""
    first = host_starts(pages)
    host = (chance.random(links) ** 3 * len(first)).astype(np.int64)
    width = np.append(first[1:], pages)[host] - first[host]
    return first[host] + (chance.random(links) ** 6 * width).astype(np.int64)


def host_starts(pages: int) -> Numbers:
    """Return the first page of each host, with sizes by Zipf's law."""
    sizes = 1 / np.arange(1, pages // PAGES_A_HOST + 1)
    edges = np.round(np.cumsum(sizes) / sizes.sum() * pages).astype(np.int64)
    return np.unique(np.concatenate([[0], edges[:-1]]))


def url_of(page: int, host: int) -> str:
    return f"https://www.site-{host}.example/documentation/section-{page % 97}/page-{page}.html"


def fill(directory: Path) -> dict[str, Any]:
    """Write the web into a store."""
    pages, links = SIZES[directory.name]
    started = time.perf_counter()
    open_sqlite_store(directory, create=True).close()
    source, target = generate(pages, links)
    first = host_starts(pages)
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


# -- measurements, each in its own process -----------------------------------------------------------------------------


def build(directory: Path) -> dict[str, Any]:
    """Build the graph from the store."""
    shutil.rmtree(directory / "graph", ignore_errors=True)
    return catch_up(directory)


def catch_up(directory: Path) -> dict[str, Any]:
    store = open_sqlite_store(directory, create=False)
    return measure(lambda: {"edges": open_graph(store, directory / "graph").pages.edges})


def update(directory: Path) -> dict[str, Any]:
    """Update the graph after a revisit of one page in a hundred."""
    with sqlite3.connect(directory / "web.db", isolation_level=None) as db:
        (version,) = db.execute("SELECT value + 1 FROM meta WHERE key = 'version'").fetchone()
        db.execute("UPDATE resources SET version = ? WHERE id % 100 = 0", (version,))
        db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))
    return catch_up(directory)


def ranks(directory: Path) -> dict[str, Any]:
    """Compute and write ranks from an up-to-date graph."""
    with sqlite3.connect(directory / "web.db", isolation_level=None) as db:
        db.execute("DELETE FROM rankings")  # current ranks would not be computed again
    store = open_sqlite_store(directory, create=False)
    options = RankOptions(measures=("hits", "components"))
    return measure(lambda: {"rounds": rank_web(store, directory / "graph", options).iterations})


def all_measures(directory: Path) -> dict[str, Any]:
    """Compute all measures: also harmonic centrality, communities, cores and depth."""
    store = open_sqlite_store(directory, create=False)
    return measure(lambda: {"harmonic": rank_web(store, directory / "graph", RankOptions()).harmonic})


def ours(directory: Path) -> dict[str, Any]:
    """Compute PageRank alone, from the files on disk."""
    store = open_sqlite_store(directory, create=False)
    return measure(lambda: {"rounds": pagerank(open_graph(store, directory / "graph").pages).iterations})


def networkit(directory: Path) -> dict[str, Any]:
    """Compute PageRank with NetworKit from edges in memory, including the construction of its graph."""
    import networkit as kit  # noqa: PLC0415

    source, target, nodes = edges_in_memory(directory)

    def run() -> dict[str, Any]:
        ends = source.astype(np.uint64), target.astype(np.uint64)
        graph = kit.GraphFromCoo(ends, n=nodes, directed=True)
        algorithm = kit.centrality.PageRank(graph, damp=0.85, tol=TOLERANCE)
        algorithm.norm = kit.centrality.Norm.L1_NORM
        algorithm.run()
        return {"rounds": algorithm.numberOfIterations()}

    return measure(run)


def networkx(directory: Path) -> dict[str, Any]:
    """Compute PageRank with networkx from edges in memory; report the construction of its graph separately."""
    import networkx as nx  # noqa: PLC0415

    source, target, nodes = edges_in_memory(directory)
    started = time.perf_counter()
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    building = time.perf_counter() - started
    measured = measure(
        lambda: {"first": max(nx.pagerank(graph, tol=TOLERANCE / nodes).items(), key=lambda it: it[1])[0]}
    )
    return measured | {"building": building}


def igraph(directory: Path) -> dict[str, Any]:
    """Compute PageRank with igraph (PRPACK, machine precision) from edges in memory, including its graph."""
    import igraph as ig  # noqa: PLC0415

    source, target, nodes = edges_in_memory(directory)

    def run() -> dict[str, Any]:
        graph = ig.Graph(n=nodes, edges=np.column_stack((source, target)), directed=True)
        return {"first": int(np.argmax(graph.pagerank(damping=0.85)))}

    return measure(run)


def edges_in_memory(directory: Path) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], int]:
    links = open_graph(open_sqlite_store(directory, create=False), directory / "graph").pages
    source = np.repeat(np.arange(links.nodes, dtype=np.int32), np.diff(links.starts))
    return source, np.array(links.targets), links.nodes


def measure(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    facts = run()
    helper = resource.getrusage(resource.RUSAGE_CHILDREN)  # a process that it started, if any
    seconds, worked = time.perf_counter() - wall, time.process_time() - cpu + helper.ru_utime + helper.ru_stime
    return {"seconds": seconds, "cpu": worked, "megabytes": _peak_megabytes() + helper.ru_maxrss / 1024, **facts}


def _peak_megabytes() -> float:
    """Return the peak resident set of this program. `ru_maxrss` would include that of the parent before the fork."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


PARTS = {each.__name__: each for each in (fill, build, update, ranks, all_measures, ours, networkit, networkx, igraph)}


def run_part(part: str, directory: Path) -> dict[str, Any]:
    """Run one part in its own process."""
    command = [sys.executable, __file__, "--part", part, "--directory", str(directory)]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(result.stdout)
    facts = ", ".join(f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}"
                      for name, value in figures.items() if name not in {"seconds", "megabytes"})  # fmt: skip
    print(f"  {part:<12} {figures['seconds']:8.2f} s {figures['megabytes']:8.0f} MB  {facts}", flush=True)
    return figures


# -- cost during a crawl -----------------------------------------------------------------------------------------------


def crawl_cost_is_acceptable() -> bool:
    """Measure the CPU time of graph updates during a crawl, as a share of the crawl's own."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from webs import debian  # noqa: PLC0415
    from webs.nginx import Nginx, Site  # noqa: PLC0415

    binary, root = debian.find("nginx"), debian.find("openjdk-17-doc")
    if binary is None or root is None:
        sys.exit("nginx or openjdk-17-doc is missing: run `make test-packages`")
    with tempfile.TemporaryDirectory() as folder, Nginx(binary, {"java": Site(root)}, log=False) as nginx:
        web = Path(folder, "web")
        command = [sys.executable, "-m", "gossamer", "crawl", nginx.url("java", "/index.html"), "--no-rank"]
        command += ["--store", str(web)]
        command += ["--delay", "0", "--connections", "32", "--quiet"]
        crawl = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        updating, updates = 0.0, 0
        while os.waitid(os.P_PID, crawl.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            time.sleep(UPDATE_SECONDS)
            if (web / "web.db").exists():
                updating += update_seconds(web)
                updates += 1
        _, _, usage = os.wait4(crawl.pid, 0)
        crawl.returncode = 0
        links = open_sqlite_store(web, create=False).counts().links
    share = updating / (usage.ru_utime + usage.ru_stime)
    print(
        f"crawl of {links:,} links: {usage.ru_utime + usage.ru_stime:.1f} s of CPU; {updates} updates of the graph:"
        f" {updating:.2f} s, {100 * share:.1f} %"
    )
    return share <= MAX_CRAWL_SHARE


def update_seconds(web: Path) -> float:
    started = time.process_time()
    store = open_sqlite_store(web, create=False, read_only=True)
    open_bonds(store, web / "graph")
    store.close()
    return time.process_time() - started


# -- main --------------------------------------------------------------------------------------------------------------


def compare(size: str, folder: Path) -> dict[str, dict[str, Any]]:
    directory = folder / size
    parts = ["fill", "build", "update", "ranks", "all_measures", "ours", "networkit"]
    return {part: run_part(part, directory) for part in (*parts, *(["networkx"] if size == "small" else []))}


def in_turn(part: str, turns: int, folder: Path) -> list[dict[str, float]]:
    """Run a part on the small web and the big one in turn; return the medians.

    Other work on the machine slows only the big web, because it fills the cache.
    """
    runs = [[run_part(part, folder / size) for size in ("small", "big")] for _ in range(turns)]
    return [
        {what: statistics.median(one[what] for one in same_size) for what in ("seconds", "cpu", "megabytes")}
        for same_size in zip(*runs, strict=True)
    ]


def verdicts(small: dict[str, dict[str, Any]], big: dict[str, dict[str, Any]] | None) -> list[tuple[str, bool]]:
    peer, own = small["networkx"], small["ranks"]
    time_share, memory_share = own["seconds"] / peer["seconds"], own["megabytes"] / peer["megabytes"]
    sentences = [
        (f"ranks take {time_share:.3f} of networkx' time for PageRank alone (at most 1/8)",
         time_share <= MAX_TIME_OF_NETWORKX),
        (f"ranks take {memory_share:.3f} of its memory (at most 1/4)", memory_share <= MAX_MEMORY_OF_NETWORKX),
        (f"PageRank takes {small['ours']['seconds']:.2f} s, NetworKit's {small['networkit']['seconds']:.2f} s",
         small["ours"]["seconds"] <= small["networkit"]["seconds"]),
        (f"building from the store takes {small['build']['seconds']:.1f} s (at most {MAX_BUILD_SECONDS:.0f})",
         small["build"]["seconds"] <= MAX_BUILD_SECONDS),
    ]  # fmt: skip
    if big is not None:
        growth = SIZES["big"][1] / SIZES["small"][1]
        for part in ("build", "ranks"):
            factor, work = (big[part][what] / small[part][what] for what in ("seconds", "cpu"))
            sentence = f"{growth:.0f} times the links: {factor:.2f} times the time, {work:.2f} times the CPU's ({part})"
            sentences.append((sentence, factor <= growth))
        most = max(big[part]["megabytes"] for part in ("build", "update", "ranks"))
        sentences.append((f"and {most:,.0f} MB (at most {MAX_BIG_MEGABYTES:,})", most <= MAX_BIG_MEGABYTES))
    return sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also ten times the size")
    parser.add_argument("--crawl", action="store_true", help="only the cost of graph updates during a crawl")
    parser.add_argument("--directory", type=Path, help="where to put the stores (the disk matters)")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part](options.directory)))
        return
    if options.crawl:
        sys.exit(0 if crawl_cost_is_acceptable() else 1)
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
