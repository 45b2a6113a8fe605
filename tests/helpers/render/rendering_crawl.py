"""Crawls with a browser, and what they stored."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from helpers.cli.commands import FAST, gossamer
from helpers.patience import PATIENCE, slowness

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from subprocess import CompletedProcess

    from gossamer.store.protocol import Store

FOLLOWED = {"hyperlink", "frame", "route"}
SCRIPT = {"Content-Type": "text/javascript"}
JSON = {"Content-Type": "application/json"}


def rendering_crawl(
    browser: Path, url: str, store: object, *arguments: object, env: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """Crawl with `--render auto` until the end. Pages get more time on a busy machine."""
    done = gossamer(
        "crawl", url, "--store", store, "--render", "auto", "--browser", browser, "--no-index", "--quiet", "--json",
        *FAST, *arguments, env={"GOSSAMER_RENDER_SECONDS": f"{15 * slowness():g}", **(env or {})},
        timeout=4 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def page(url: str, store: object) -> dict[str, Any]:
    """Return what `gossamer page` says about a URL."""
    done = gossamer("page", url, "--store", store, "--json", "--limit", 0)
    assert done.returncode == 0, done.stderr
    fields: dict[str, Any] = json.loads(done.stdout)
    return fields


def readings(store: Store, site: str = "") -> dict[str, tuple[list[str], list[str]]]:
    """Return the words and the paths that links lead to of every visited page, or of those of a site, by path."""
    found = {}
    for row in store.resources():
        if row.state == "visited" and row.role == "page" and row.url.startswith(site):
            runs = store.text(row.id) or []
            words = [word for _, text in runs for word in re.findall(r"\w+", text.lower())]
            links = {path_of(link.url) for link in store.outlinks(row.id) if link.kind in FOLLOWED}
            found[path_of(row.url)] = sorted(words), sorted(links)
    return found


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]
