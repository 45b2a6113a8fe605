"""The Heritrix self-test sites of ../shared/suites/crawl-sites, each with its expected pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from pathlib import Path

USER, PASSWORD = "reader", "open sesame"  # the suite defines none, so any will do

# The Precedence pages name 127.0.0.1:7777, where Heritrix serves them. Replace it with the port used here.
OWN_PORT = "sub_filter '127.0.0.1:7777' '$http_host'; sub_filter_once off;"


class Case(NamedTuple):
    """A site, its seed, and the paths that the crawl must request."""

    name: str  # name of the site, for Nginx.url
    seed: str
    expected: frozenset[str]  # paths, without the leading slash
    order: tuple[str, ...]  # the order in which the crawl must request them; empty: any
    forbidden: frozenset[str]
    max_depth: int | None
    what: str


def cases(folder: Path) -> list[Case]:
    """Return the cases of `expected.json`, in its order."""
    return [
        Case(
            name=_name(site),
            seed=site["seed"],
            expected=frozenset(site.get("expected") or site["expected_order"]),
            order=tuple(site.get("expected_order", ())),
            forbidden=frozenset(site.get("forbidden", ())),
            max_depth=site.get("max_depth"),
            what=site.get("what", ""),
        )
        for site in _sites(folder)
    ]


def serve(binary: Path, folder: Path, scratch: Path) -> Nginx:
    """Serve all sites with one nginx; /basic/ of the login site needs a password, which lies in `scratch`."""
    passwords = scratch / "passwords"
    passwords.write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
    directives = {
        "HttpAuthSelfTest": f"location /basic/ {{ auth_basic basic; auth_basic_user_file '{passwords}'; }}",
        "Precedence1SelfTest": OWN_PORT,
    }
    return Nginx(
        binary,
        {_name(site): Site(folder / site["root"], directives.get(_name(site), "")) for site in _sites(folder)},
    )


def _sites(folder: Path) -> list[dict[str, Any]]:
    sites: list[dict[str, Any]] = json.loads((folder / "expected.json").read_text())["sites"]
    return sites


def _name(site: dict[str, Any]) -> str:
    """Return the folder that identifies the site: that of its seed, or the one above its `htdocs`."""
    folder, _, _ = site["seed"].strip("/").rpartition("/")
    return str(folder) or str(site["root"].split("/")[-2])
