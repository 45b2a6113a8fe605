"""A part of a real site that is a site of its own: the first pages that are reached from its start, breadth first.

Links that lead out of the sample are turned into fragments (`href="a.html"` -> `href="#a.html"`). So every crawler can
go to the end, no page answers 404, all do the same work, and a page costs as much to read as it did before.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # the webs for tests and measuring are the same

from webs import debian

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "bench"
START = "index.html"
HREF = re.compile(rb'href="([^"]*)"')
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#|$", re.IGNORECASE)


def site(package: str, pages: int) -> Path:
    """The folder of so many pages of a package's documentation, made once; 0: all of it, as it is."""
    tree = debian.find(package)
    if tree is None:
        sys.exit(f"Debian's {package} is not here: run `make test-packages`")
    if not pages:
        return tree
    place = CACHE / f"{package}-{pages}"
    if not place.exists():
        unfinished = place.with_suffix(".tmp")
        shutil.rmtree(unfinished, ignore_errors=True)
        _write(tree, first_pages(tree, pages), unfinished)
        unfinished.rename(place)
    return place


def pages_of(root: Path) -> int:
    """How many pages a site has."""
    return sum(1 for _ in root.rglob("*.html"))


def read_all(root: Path) -> None:
    """Bring a site into memory: whoever goes first must not pay for the disk."""
    for file in root.rglob("*.html"):
        file.read_bytes()


def first_pages(tree: Path, pages: int) -> set[str]:
    """Paths of the pages reached first."""
    found, ahead = {START: None}, deque([START])
    while ahead and len(found) < pages:
        path = ahead.popleft()
        for href in HREF.findall((tree / path).read_bytes()):
            target = target_of(path, href)
            if target and target not in found and len(found) < pages and (tree / target).is_file():
                found[target] = None
                ahead.append(target)
    return set(found)


def target_of(path: str, href: bytes) -> str:
    """The page that an href on a page leads to, as a path below the root; nothing when it is no page of this site."""
    bare = href.decode("utf-8", "replace").partition("#")[0].partition("?")[0]
    if ELSEWHERE.match(bare):
        return ""
    target = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), bare)).lstrip("/")
    return target if target.endswith(".html") else ""


def _write(tree: Path, chosen: set[str], place: Path) -> None:
    for file in tree.rglob("*"):
        path = file.relative_to(tree).as_posix()
        if not file.is_file() or (file.suffix == ".html" and path not in chosen):
            continue
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".html":
            (place / path).write_bytes(_closed(path, file.read_bytes(), chosen))
        else:
            (place / path).symlink_to(file.resolve())


def _closed(path: str, page: bytes, chosen: set[str]) -> bytes:
    def kept(found: re.Match[bytes]) -> bytes:
        target = target_of(path, found[1])
        return found[0] if not target or target in chosen else b'href="#%b"' % found[1]

    return HREF.sub(kept, page)
