"""Quality of search results for any weights: Cranfield, titles and held-out anchor texts, through the real path.

python bench/quality.py                        the weights of `gossamer.search.weights`, beside the aims
python bench/quality.py titles=.4 titles=.6    the same with a changed weight, one line each
python bench/quality.py --sweep                the neighbourhood of every weight

Cranfield needs the external test data beside the project (../shared/suites); titles and anchors need Debian's
documentation packages (`make test-packages`). The webs stay in .cache/quality; remove it to build them again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # tests and benchmarks judge results with the same code

from gossamer.search.weights import SECOND_PASS_WEIGHTS, RankWeights  # noqa: E402
from helpers.search import quality as judging  # noqa: E402
from helpers.suites import SUITES  # noqa: E402
from webs import debian  # noqa: E402
from webs.nginx import Nginx, Site  # noqa: E402

CACHE = HERE.parent / ".cache" / "quality"
ITEMS = 400  # number of titles, and of anchor texts
FAST = ("--delay", "0", "--connections", "16", "--no-source")

# The aims of issue 3.
LEAST_MAP, LEAST_NDCG10 = 0.315, 0.40
LEAST_FIRST, LEAST_TEN = 0.90, 0.98
LEAST_ANCHOR_GAIN = 1.15

SWEEP = {
    "proximity": (0.0, 0.1, 0.4),
    "titles": (0.0, 0.4, 1.2),
    "anchors": (0.0, 0.25, 1.0),
    "pagerank": (0.0, 0.2),
    "saturation": (1.2, 3.0),
    "length": (0.5, 0.9),
    "title": (1.0, 5.0),
    "heading": (2.0,),
    "nearness": (0.5, 2.0),
    "anchor_saturation": (0.5, 2.0),
    "spread": (1.0, 0.8),
}


class Row(NamedTuple):
    """Weights and the scores they reach."""

    weights: str
    cranfield: judging.Figures
    titles: judging.KnownItemScores
    anchors: judging.KnownItemScores
    without_anchors: judging.KnownItemScores  # scores without anchor texts

    @property
    def gain(self) -> float:
        """Return the gain from anchor texts."""
        return self.anchors.mrr / self.without_anchors.mrr


def gossamer(*arguments: str) -> None:
    subprocess.run([str(Path(sys.executable).with_name("gossamer")), *arguments], check=True, stdout=subprocess.DEVNULL)


def nginx() -> Path:
    binary = debian.find("nginx")
    if binary is None or any(debian.find(package) is None for package in debian.DOCUMENTATION):
        sys.exit("nginx or Debian's documentation is missing: run `make test-packages`")
    return binary


def cranfield_web() -> tuple[judging.Collection, Path, str]:
    """Return the collection, its web, and the address of its pages."""
    collection, web, root = judging.cranfield(SUITES / "ir-cranfield"), CACHE / "cranfield", CACHE / "root"
    url_file = CACHE / "cranfield.url"
    if not url_file.exists():
        shutil.rmtree(web, ignore_errors=True)
        root.mkdir(parents=True, exist_ok=True)
        for path, page in collection.pages.items():
            (root / (path.removeprefix("/") or "index.html")).write_text(page)
        with Nginx(nginx(), {"cranfield": Site(root)}, log=False) as server:
            gossamer("crawl", server.url("cranfield"), "--store", str(web), *FAST)
            url_file.write_text(server.url("cranfield").rstrip("/"))
    gossamer("index", "--store", str(web))  # the cached index may have an older format
    return collection, web, url_file.read_text()


def documentation_web() -> tuple[Path, list[judging.Item], list[judging.Item]]:
    """Return the web of Debian's documentation, its titles, and the anchor texts held out of its index."""
    web, items_file = CACHE / "documentation", CACHE / "items.json"
    if not items_file.exists():
        shutil.rmtree(web, ignore_errors=True)
        sites = {package: Site(root) for package in debian.DOCUMENTATION if (root := debian.find(package))}
        with Nginx(nginx(), sites, log=False) as server:
            urls = [server.url(site, "/index.html") for site in sites]
            gossamer("crawl", *urls, "--store", str(web), "--no-index", *FAST)
        items = [judging.titles(web, ITEMS), judging.hold_out_anchors(web, ITEMS)]
        gossamer("rank", "--store", str(web))
        items_file.write_bytes(msgspec.json.encode(items))
    gossamer("index", "--store", str(web))
    titles, anchors = msgspec.json.decode(items_file.read_bytes(), type=list[list[judging.Item]])
    return web, titles, anchors


def judge(weights: str, blend: RankWeights) -> Row:
    """Score the results with these weights."""
    collection, cranfield, site = cranfield_web()
    with judging.searcher_for(cranfield, blend) as searcher:
        figures = judging.score_collection(collection, searcher, site)
    web, titles, anchors = documentation_web()

    def score(items: list[judging.Item], with_: RankWeights) -> judging.KnownItemScores:
        with judging.searcher_for(web, with_) as searcher:
            return judging.score_known_items(items, searcher)

    without = msgspec.structs.replace(blend, anchors=0.0)
    return Row(weights, figures, score(titles, blend), score(anchors, blend), score(anchors, without))


def variants(arguments: argparse.Namespace) -> list[tuple[str, RankWeights]]:
    """Return the weights to judge."""
    changes = arguments.weights or (
        [f"{name}={value}" for name in SWEEP for value in SWEEP[name]] if arguments.sweep else []
    )
    changed = [(each, *each.split("=", 1)) for each in changes]
    return [("as they are", SECOND_PASS_WEIGHTS)] + [
        (each, msgspec.structs.replace(SECOND_PASS_WEIGHTS, **{name: float(value)})) for each, name, value in changed
    ]


def to_json(row: Row) -> dict[str, object]:
    """Return a row as JSON."""
    return {
        "weights": row.weights,
        "cranfield": row.cranfield._asdict(),
        "titles": row.titles._asdict(),
        "anchors": row.anchors._asdict(),
        "without_anchors": row.without_anchors._asdict(),
        "anchor_gain": row.gain,
    }


def line(row: Row) -> str:
    """Return a row as a line of text."""
    figures = (*row.cranfield[:3], row.titles.first, row.titles.ten, row.anchors.mrr, row.gain)
    return f"{row.weights:16}" + "".join(f"{figure:9.4f}" for figure in figures)


def is_enough(row: Row) -> bool:
    """Return whether the aims are reached."""
    return (
        row.cranfield.map >= LEAST_MAP
        and row.cranfield.ndcg10 >= LEAST_NDCG10
        and row.titles.first >= LEAST_FIRST
        and row.titles.ten >= LEAST_TEN
        and row.gain >= LEAST_ANCHOR_GAIN
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", nargs="*", metavar="NAME=VALUE", help="a weight to change")
    parser.add_argument("--sweep", action="store_true", help="judge the neighbourhood of every weight")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    if not arguments.json:
        columns = ("MAP", "nDCG@10", "MRR", "title@1", "title@10", "anchors", "gain")
        print("weights".ljust(16) + "".join(f"{column:>9}" for column in columns))
    rows = []
    for name, blend in variants(arguments):
        rows.append(judge(name, blend))
        print(json.dumps(to_json(rows[-1])) if arguments.json else line(rows[-1]), flush=True)
    return 0 if is_enough(rows[0]) else 1


if __name__ == "__main__":
    sys.exit(main())
