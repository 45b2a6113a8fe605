"""A crawl finds exactly what an independent walk finds: pages, redirects, broken links, every link with its text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from helpers.cli.commands import FAST, crawl, hyperlinks, outcomes
from helpers.suites import suite
from webs import debian, heritrix
from webs.walk import HTML, walk

if TYPE_CHECKING:
    from pathlib import Path

    from webs.nginx import Nginx
    from webs.walk import WalkedPage

PARSED = HTML | {"text/plain", "text/xml", "application/pdf", "application/rss+xml", "application/atom+xml"}


def expected_outcome(response: WalkedPage) -> str:
    """Return the outcome that a crawl must record for a response."""
    if response.status in {301, 302, 303, 307, 308}:
        return "redirected"
    if response.status in {404, 410}:
        return "not found"
    if response.status >= 400:
        return "http error"
    return "fetched" if response.media_type in PARSED else "refused type"


@pytest.mark.parametrize(
    "site",
    [
        "python3.11-doc",
        "postgresql-doc-15",
        *(pytest.param(name, marks=pytest.mark.full) for name in (debian.JAVA_MODULE, debian.JAVA)),
    ],
)
def test_a_crawl_of_documentation_equals_an_independent_walk(
    documentation_webs: Nginx, site: str, tmp_path: Path
) -> None:
    start = documentation_webs.url(site, "/index.html")
    crawl(start, tmp_path / "web", *FAST, "--no-index")
    walked = walk(start)
    assert outcomes(tmp_path / "web") == {url: expected_outcome(response) for url, response in walked.items()}
    links = hyperlinks(tmp_path / "web")
    differing = {
        url: (links.get(url, Counter()) - response.links, response.links - links.get(url, Counter()))
        for url, response in walked.items()
        if links.get(url, Counter()) != response.links
    }
    assert not differing
    assert sum(map(len, links.values())) > 1000


ORDER = "the order"

# What is not checked, and why. The crawl visits these sites all the same.
UNCHECKED = {
    "BackgroundImageExtractionSelfTestCase": {"example-background-image.jpeg"},  # an embed: recorded, not fetched
    "Precedence1SelfTest": {ORDER},  # Heritrix has a setting for the folder that comes first, Gossamer has none
}


@pytest.mark.shared
def test_heritrix_sites_give_their_expected_pages(nginx_binary: Path, tmp_path: Path) -> None:
    folder = suite("crawl-sites") / "heritrix"
    config = tmp_path / "gossamer.toml"
    with heritrix.serve(nginx_binary, folder, tmp_path) as sites:
        for number, case in enumerate(heritrix.cases(folder)):
            start = sites.url(case.name, case.seed)
            authority = start.removeprefix("http://").partition("/")[0]
            config.write_text(
                f'[hosts."{authority}"]\nusername = "{heritrix.USER}"\npassword_env = "HERITRIX_PASSWORD"\n'
            )
            depth = () if case.max_depth is None else ("--max-depth", case.max_depth)
            store = tmp_path / f"web{number}"
            crawl(
                start,
                store,
                *FAST,
                *depth,
                "--config",
                config,
                "--product",
                "heritrix_selftest",
                "--no-index",
                env={"HERITRIX_PASSWORD": heritrix.PASSWORD},
            )
            in_order = [
                request.path.lstrip("/")
                for request in sites.requests()
                if request.site == case.name and request.status != 401
            ]
            requested, unchecked = set(in_order), UNCHECKED.get(case.name, set())
            assert requested - {"robots.txt"} >= case.expected - unchecked, case
            if case.order and ORDER not in unchecked:
                assert [path for path in in_order if path in case.order] == list(case.order), case
            assert not requested & case.forbidden, case
            extra = requested - case.expected - {"robots.txt"}
            assert all(url_is_missing(sites, case.name, path) for path in extra), (case, extra)


def url_is_missing(sites: Nginx, site: str, path: str) -> bool:
    """Return whether a path that the suite does not list answered 404: a page links to it, but it is missing."""
    return all(
        request.status == 404 for request in sites.requests() if request.site == site and request.path == f"/{path}"
    )
