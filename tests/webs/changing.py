"""A copy of a documentation tree that tests change: texts, links, new and removed pages.

Every remaining page stays reachable. An unreachable page would be known to an older web but not to a fresh one, which
says nothing about following changes.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

LINK = re.compile(rb'<a href="(?![a-z]+:|#)[^"]*">([^<]*)</a>')
BODY_END = b"</body>"


class SiteChanges(NamedTuple):
    """The changes to the site, as paths below its root."""

    texts: list[str]
    linked: list[str]  # got links to existing and new pages
    unlinked: list[str]  # lost links
    removed: list[str]
    added: list[str]

    @property
    def bodies(self) -> int:
        """Return the number of pages that a second pass must fetch."""
        return len(self.texts) + len(self.linked) + len(self.unlinked) + len(self.added)


def link_tree(tree: Path, target: Path) -> Path:
    """Copy the tree with hard links; changes write new files, so the original stays as it is."""
    shutil.copytree(tree, target, copy_function=os.link, symlinks=True)
    return target


def change(root: Path, links: Mapping[str, set[str]], start: str, share: float, seed: int) -> SiteChanges:
    """Change a share of the pages. `links` are the links between pages, by path."""
    chance = random.Random(seed)
    number = round(len(links) * share)
    removed = _removable(links, start, number // 10, chance)
    rest = sorted(set(links) - set(removed) - {start})
    chosen = chance.sample(rest, number - len(removed))
    third = len(chosen) // 3
    added = [f"/added-{n}.html" for n in range(5)]
    changes = SiteChanges(chosen[2 * third :], chosen[:third], [], removed, added)
    for n, path in enumerate(added):
        _write(root / path[1:], f"<title>Added {n}</title><p>Nobody had read of ballooning spider {n} before.</p>")
    for path in changes.texts:
        _append(root, path, f"<p>Changed: spiderling {chance.randrange(10**6)} took to the air.</p>")
    for n, path in enumerate(changes.linked):
        others = [chance.choice(rest), added[n % len(added)]]
        _append(root, path, " ".join(f'<a href="{other}">gossamer thread {n}</a>' for other in others))
    for path in chosen[third : 2 * third]:
        body = (root / path[1:]).read_bytes()
        if len(LINK.findall(body)) > 3:
            _write(root / path[1:], _without_a_link(body, chance))
            changes.unlinked.append(path)
    for path in removed:
        (root / path[1:]).unlink()
    return changes


def _without_a_link(body: bytes, chance: random.Random) -> bytes:
    link = chance.choice(list(LINK.finditer(body)))
    return body[: link.start()] + link[1] + body[link.end() :]


def _removable(links: Mapping[str, set[str]], start: str, number: int, chance: random.Random) -> list[str]:
    """Return pages without which all others stay reachable."""
    removed: list[str] = []
    reached = reachable(links, start, ())
    for path in chance.sample(sorted(reached - {start}), 10 * number):
        if len(removed) < number and reached - reachable(links, start, {*removed, path}) == {*removed, path}:
            removed.append(path)
    return removed


def reachable(links: Mapping[str, set[str]], start: str, without: Iterable[str]) -> set[str]:
    """Return the reachable pages."""
    seen, ahead = {start, *without}, [start]
    while ahead:
        new = links.get(ahead.pop(), set()) - seen
        seen |= new
        ahead += new
    return seen - set(without)


def _append(root: Path, path: str, html: str) -> None:
    body = (root / path[1:]).read_bytes()
    offset = body.rfind(BODY_END)
    offset = offset if offset >= 0 else len(body)
    _write(root / path[1:], body[:offset] + html.encode() + body[offset:])


def _write(file: Path, content: str | bytes) -> None:
    """Write a new file, because the existing one is linked to the original."""
    new = file.with_suffix(".new")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    new.replace(file)
