"""A part of a real site that works as a site: its first pages in breadth-first order.

Links that lead out of the sample become fragments (`href="a.html"` -> `href="#a.html"`). So every crawler reaches the
end, no page answers 404, all do the same work, and a page costs as much to parse as before.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))  # tests and benchmarks use the same webs

from webs import debian

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "bench"
START = "index.html"
HREF = re.compile(rb'href="([^"]*)"')
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#|$", re.IGNORECASE)


def site(package: str, pages: int) -> Path:
    """Return the folder with this many pages of a package's documentation, built once; 0: the original folder."""
    tree = debian.find(package)
    if tree is None:
        sys.exit(f"Debian's {package} is missing: run `make test-packages`")
    if not pages:
        return tree
    folder = CACHE / f"{package}-{pages}"
    if not folder.exists():
        unfinished = folder.with_suffix(".tmp")
        shutil.rmtree(unfinished, ignore_errors=True)
        _write(tree, first_pages(tree, pages), unfinished)
        unfinished.rename(folder)
    return folder


def pages_of(root: Path) -> int:
    """Return the number of pages of a site."""
    return sum(1 for _ in root.rglob("*.html"))


def read_all(root: Path) -> None:
    """Read a site into the page cache, so that the first contestant does not pay for the disk."""
    for file in root.rglob("*.html"):
        file.read_bytes()


def first_pages(tree: Path, pages: int) -> set[str]:
    """Return the paths of the pages reached first."""
    pages_found, ahead = {START: None}, deque([START])
    while ahead and len(pages_found) < pages:
        path = ahead.popleft()
        for href in HREF.findall((tree / path).read_bytes()):
            target = target_of(path, href)
            if target and target not in pages_found and len(pages_found) < pages and (tree / target).is_file():
                pages_found[target] = None
                ahead.append(target)
    return set(pages_found)


def target_of(path: str, href: bytes) -> str:
    """Return the target page of an href as a path below the root; empty if it is no page of this site."""
    bare = href.decode("utf-8", "replace").partition("#")[0].partition("?")[0]
    if ELSEWHERE.match(bare):
        return ""
    target = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), bare)).lstrip("/")
    return target if target.endswith(".html") else ""


def _write(tree: Path, chosen: set[str], folder: Path) -> None:
    for file in tree.rglob("*"):
        path = file.relative_to(tree).as_posix()
        if not file.is_file() or (file.suffix == ".html" and path not in chosen):
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".html":
            (folder / path).write_bytes(_without_outside_links(path, file.read_bytes(), chosen))
        else:
            (folder / path).symlink_to(file.resolve())


def _without_outside_links(path: str, page: bytes, chosen: set[str]) -> bytes:
    def replace_href(match: re.Match[bytes]) -> bytes:
        target = target_of(path, match[1])
        return match[0] if not target or target in chosen else b'href="#%b"' % match[1]

    return HREF.sub(replace_href, page)
