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
    from webs.walk import Found

PARSED = HTML | {"text/plain", "text/xml", "application/pdf", "application/rss+xml", "application/atom+xml"}


def outcome_of(found: Found) -> str:
    """What a crawl must make of an answer."""
    if found.status in {301, 302, 303, 307, 308}:
        return "redirected"
    if found.status in {404, 410}:
        return "not found"
    if found.status >= 400:
        return "http error"
    return "fetched" if found.media_type in PARSED else "refused type"


@pytest.mark.parametrize("site", debian.DOCUMENTATION)
def test_documentation_is_crawled_as_an_independent_walk_finds_it(
    documentation_webs: Nginx, site: str, tmp_path: Path
) -> None:
    start = documentation_webs.url(site, "/index.html")
    crawl(start, tmp_path / "web", *FAST, "--no-index")
    walked = walk(start)
    assert outcomes(tmp_path / "web") == {url: outcome_of(found) for url, found in walked.items()}
    links = hyperlinks(tmp_path / "web")
    differing = {
        url: (links.get(url, Counter()) - found.links, found.links - links.get(url, Counter()))
        for url, found in walked.items()
        if links.get(url, Counter()) != found.links
    }
    assert not differing
    assert sum(map(len, links.values())) > 1000


ORDER = "the order"

# Set aside, and why: the sites' pages are asked for all the same.
ASIDE = {
    "BackgroundImageExtractionSelfTestCase": {"example-background-image.jpeg"},  # an embed: recorded, not fetched
    "Precedence1SelfTest": {ORDER},  # Heritrix's own settings say which folder comes first; we have none for that
}


@pytest.mark.shared
def test_heritrix_sites_give_their_expected_pages(nginx_binary: Path, tmp_path: Path) -> None:
    folder = suite("crawl-sites") / "heritrix"
    config = tmp_path / "gossamer.toml"
    with heritrix.serve(nginx_binary, folder, tmp_path) as sites:
        for number, case in enumerate(heritrix.cases(folder)):
            start = sites.url(case.name, case.seed)
            place = start.removeprefix("http://").partition("/")[0]
            config.write_text(f'[hosts."{place}"]\nusername = "{heritrix.USER}"\npassword_env = "HERITRIX_PASSWORD"\n')
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
                asked.path.lstrip("/") for asked in sites.asked() if asked.site == case.name and asked.status != 401
            ]
            asked, aside = set(in_order), ASIDE.get(case.name, set())
            assert asked - {"robots.txt"} >= case.expected - aside, case
            if case.order and ORDER not in aside:
                assert [path for path in in_order if path in case.order] == list(case.order), case
            assert not asked & case.forbidden, case
            extra = asked - case.expected - {"robots.txt"}
            assert all(url_is_missing(sites, case.name, path) for path in extra), (case, extra)


def url_is_missing(sites: Nginx, site: str, path: str) -> bool:
    """Whether a path that the suite does not list is one its pages do link to, and that is not there (404)."""
    return all(asked.status == 404 for asked in sites.asked() if asked.site == site and asked.path == f"/{path}")
