"""A copy of a documentation tree that can be changed: texts, links, pages that come and pages that go.

What changes is chosen so that every page that stays can still be reached: a page that nothing leads to any more is
known to a web crawled before, and to a fresh one it is not, which says nothing about following changes.
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


class Changed(NamedTuple):
    """What was done to the site, as paths below its root."""

    texts: list[str]
    linked: list[str]  # got links: to pages that were there, and to those that are new
    unlinked: list[str]  # lost links
    removed: list[str]
    added: list[str]

    @property
    def bodies(self) -> int:
        """Pages that a second pass must fetch."""
        return len(self.texts) + len(self.linked) + len(self.unlinked) + len(self.added)


def copy_of(tree: Path, place: Path) -> Path:
    """The tree by hard links: what is changed is written anew, so the original stays as it is."""
    shutil.copytree(tree, place, copy_function=os.link, symlinks=True)
    return place


def change(root: Path, links: Mapping[str, set[str]], start: str, share: float, seed: int) -> Changed:
    """Change a share of the pages. `links` are those between its pages, by path."""
    chance = random.Random(seed)
    number = round(len(links) * share)
    removed = _removable(links, start, number // 10, chance)
    rest = sorted(set(links) - set(removed) - {start})
    chosen = chance.sample(rest, number - len(removed))
    third = len(chosen) // 3
    added = [f"/added-{n}.html" for n in range(5)]
    made = Changed(chosen[2 * third :], chosen[:third], [], removed, added)
    for n, path in enumerate(added):
        _write(root / path[1:], f"<title>Added {n}</title><p>Nobody had read of ballooning spider {n} before.</p>")
    for path in made.texts:
        _append(root, path, f"<p>Changed: spiderling {chance.randrange(10**6)} took to the air.</p>")
    for n, path in enumerate(made.linked):
        others = [chance.choice(rest), added[n % len(added)]]
        _append(root, path, " ".join(f'<a href="{other}">gossamer thread {n}</a>' for other in others))
    for path in chosen[third : 2 * third]:
        body = (root / path[1:]).read_bytes()
        if len(LINK.findall(body)) > 3:
            _write(root / path[1:], _without_a_link(body, chance))
            made.unlinked.append(path)
    for path in removed:
        (root / path[1:]).unlink()
    return made


def _without_a_link(body: bytes, chance: random.Random) -> bytes:
    found = chance.choice(list(LINK.finditer(body)))
    return body[: found.start()] + found[1] + body[found.end() :]


def _removable(links: Mapping[str, set[str]], start: str, number: int, chance: random.Random) -> list[str]:
    """Pages without which all others can be reached."""
    removed: list[str] = []
    there = reachable(links, start, ())
    for path in chance.sample(sorted(there - {start}), 10 * number):
        if len(removed) < number and there - reachable(links, start, {*removed, path}) == {*removed, path}:
            removed.append(path)
    return removed


def reachable(links: Mapping[str, set[str]], start: str, without: Iterable[str]) -> set[str]:
    """The pages that can be reached."""
    seen, ahead = {start, *without}, [start]
    while ahead:
        new = links.get(ahead.pop(), set()) - seen
        seen |= new
        ahead += new
    return seen - set(without)


def _append(root: Path, path: str, html: str) -> None:
    body = (root / path[1:]).read_bytes()
    at = body.rfind(BODY_END)
    at = at if at >= 0 else len(body)
    _write(root / path[1:], body[:at] + html.encode() + body[at:])


def _write(file: Path, content: str | bytes) -> None:
    """As another file: the one that is there belongs to the original as well."""
    beside = file.with_suffix(".new")
    beside.write_bytes(content if isinstance(content, bytes) else content.encode())
    beside.replace(file)
