"""Crawlers on the same site in the same run: Gossamer with all features, with fewer, and its peers."""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import site_sample
from bench.harness.contest import Contestant, ContestantFailed, Spread, in_turn, ratio
from bench.harness.report import Aim, Section
from bench.races import peers

from webs import debian
from webs.generated import GeneratedWeb, Shape
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.harness.contest import Run

ALL, LESS, BARE = "gossamer, all on", "gossamer, no index", "gossamer, no index, links, source"
FAST = ("--delay", "0", "--connections", "32")
AIMS = {"scrapy": 25.0, "ht://Dig": 30.0, "wget2": 0.4}  # all features on, to each peer
MIN_SHARE = 0.98  # share of the pages that a contestant must visit
MAX_SHARE = 1.02  # a contestant with more fetches fetched some pages again
PACKAGE = "openjdk-17-doc"
NO_SUFFIX = frozenset({"wget2", "ht://Dig"})  # configured for names ending in .html, which generated pages lack


def gossamer(name: str, *options: str, does: str) -> Contestant:
    """Return Gossamer as people call it on their own server."""
    program = [str(Path(sys.executable).with_name("gossamer")), "crawl", "--no-rank"]
    return Contestant(
        name=name,
        command=lambda url, folder: [
            *program,
            url,
            "--json",
            "--render",
            "never",
            *FAST,
            "--store",
            str(folder / "web"),
            *options,
        ],
        does=does,
        version=_version(),
    )


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("gossamer")


def ours() -> list[Contestant]:
    """Return Gossamer with fewer and fewer features."""
    return [
        gossamer(ALL, does="robots.txt, links, text and source in a database, every word and position in an index"),
        gossamer(LESS, "--no-index", does="the same without the index"),
        gossamer(BARE, "--no-index", "--no-links", "--no-source", does="links followed; a row for every page"),
    ]  # fmt: skip


def race(pages: int, runs: int, patience: float, *, full: bool) -> Section:
    """Race on real documentation, served by nginx; 0 pages: all of it."""
    binary = debian.find("nginx")
    if binary is None:
        sys.exit("nginx is missing: run `make test-packages`")
    root = site_sample.site(PACKAGE, pages)
    site_sample.read_all(root)
    number = site_sample.pages_of(root)
    contestants, absent = _split_absent(peers.crawlers(full=full))
    with Nginx(binary, {"site": Site(root)}, log=False) as nginx:
        measured, faults = in_turn([*ours(), *contestants], nginx.url("site", "/index.html"), runs, patience)
    part = "The whole of" if not pages else f"A part of {number:,} pages of"
    work = (
        f"{part} Debian's `{PACKAGE}` ({_megabytes(root):,.0f} MB) from nginx, all of it, from start to end of the"
        f" process; 32 connections (Scrapy: 100; wget2: 16 threads; ht://Dig has one). {_in_turn(runs, patience)}"
    )
    absent += _failure_sentences(faults)
    return _section("A site of real pages", work, number, [*ours(), *contestants], measured, absent, aims=AIMS)


def race_generated(shape: Shape, runs: int, patience: float, *, full: bool) -> Section:
    """Race on a generated web, whose server waits and fails as configured."""
    contestants, absent = _split_absent(peers.crawlers(full=full))
    able_contestants = [gossamer(ALL, does="as above"), *(each for each in contestants if each.name not in NO_SUFFIX)]
    with GeneratedWeb(shape) as web:
        measured, faults = in_turn(able_contestants, web.url, runs, patience)
    work = (
        f"A generated web of {shape.pages:,} pages with {shape.links} new links and {shape.back} others each,"
        f" {shape.size:,} characters of text, {1000 * shape.latency:.0f} ms before an answer, {shape.errors:.1%} of"
        f" answers a 500. {_in_turn(runs, patience)}"
    )
    absent += [f"{name}, which is configured for names ending in .html: these have none" for name in sorted(NO_SUFFIX)]
    absent += _failure_sentences(faults)
    expected_pages = round(shape.pages * (1 - shape.errors))
    return _section("A generated web", work, expected_pages, able_contestants, measured, absent, aims={})


def _in_turn(runs: int, patience: float) -> str:
    return f"{runs} runs in turn; a contestant that needs more than {patience:.0f} s for them runs less often."


def _failure_sentences(faults: Mapping[str, str]) -> list[str]:
    return [f"{name}, which failed: {' '.join(fault.split())[-200:]}" for name, fault in faults.items()]


def _split_absent(found: Iterable[Contestant | peers.Absent]) -> tuple[list[Contestant], list[str]]:
    contestants, absent = [], []
    for each in found:
        if isinstance(each, Contestant):
            contestants.append(each)
        else:
            absent.append(f"{each.name}, by {each.why}")
    return contestants, absent


def _megabytes(root: Path) -> float:
    return sum(file.stat().st_size for file in root.rglob("*.html")) / 1e6


def _section(
    name: str,
    work: str,
    pages: int,
    contestants: Sequence[Contestant],
    measured: Sequence[Run],
    absent: Sequence[str],
    *,
    aims: Mapping[str, float],
) -> Section:
    runs = defaultdict(list)
    for run in measured:
        runs[run.contestant].append(run)
    if ALL not in runs:
        raise ContestantFailed("\n".join(absent))
    rates = {system: [_rate(run, pages) for run in same] for system, same in runs.items()}
    rows = [
        _row(each, runs[each.name], pages, ratio(rates[ALL], rates[each.name]) if each.name != ALL else None)
        for each in contestants
        if each.name in runs
    ]
    return Section(
        name=name,
        work=work,
        columns=(
            "system",
            "runs",
            "pages",
            "pages/s",
            "gossamer, all on, is",
            "CPU ms a page",
            "MB (PSS)",
            "what it did",
        ),
        rows=rows,
        measured=[dataclasses.asdict(run) for run in measured],
        aims=[
            Aim(name=f"all on, to {peer}", measured=ratio(rates[ALL], rates[peer]), least=least)
            for peer, least in aims.items()
            if peer in rates
        ],
        left_out=absent,
    )


def _rate(run: Run, pages: int) -> float:
    """Return pages of the site per second; repeated fetches of a page do not count."""
    return min(run.pages, pages) / run.seconds


def _row(contestant: Contestant, runs: Sequence[Run], pages: int, times: Spread | None) -> list[str]:
    return [
        f"{contestant.name} {contestant.version}",
        str(len(runs)),
        _format_visited([run.pages for run in runs], pages),
        Spread.of(_rate(run, pages) for run in runs).describe(",.0f"),
        f"{times.describe('.2f')} times" if times else "",
        Spread.of(1000 * run.cpu_seconds / min(run.pages, pages) for run in runs).describe(".2f"),
        Spread.of(run.megabytes for run in runs).describe(",.0f"),
        contestant.does,
    ]


def _format_visited(visited: Sequence[int], pages: int) -> str:
    """Format the number of visited pages, and of fetches if that differs."""
    if min(visited) < MIN_SHARE * pages:
        return f"**only {min(visited):,} of {pages:,}**"
    if max(visited) > MAX_SHARE * pages:
        return f"{pages:,}, by {Spread.of(visited).describe()} fetches"
    return f"{min(visited):,}"
