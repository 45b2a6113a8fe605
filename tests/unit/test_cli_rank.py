"""Commands about the link graph: their output for people and programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli import rank as commands
from gossamer.cli.main import run
from gossamer.graph.ranking.rank_web import MEASURES
from gossamer.library import open_web
from gossamer.store.follow.graph import Ranking, Ranks
from helpers.store.small_web import SEED, build

if TYPE_CHECKING:
    from pathlib import Path

PAGE = f"{SEED}a"


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the small web in ./web: the seed and /a link to each other, no other page is visited."""
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "web").close()
    return tmp_path / "web"


def command_output(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    answer = capsys.readouterr()
    assert end.value.code == code, answer.err
    return answer.out, answer.err


def command_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(command_output(capsys, *arguments, "--json")[0])


@pytest.mark.usefixtures("web")
def test_rank_json_holds_pages_hosts_and_ranking(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_json(capsys, "rank")
    assert [page["url"] for page in answer["pages"]] == [SEED, PAGE]
    ranks = answer["pages"][0]["ranks"]
    assert ranks["pagerank"] == pytest.approx(0.5)
    assert (ranks["indegree"], ranks["depth"], ranks["bowtie"], ranks["community"], ranks["core"]) == (
        1,
        0,
        "core",
        0,
        1,
    )
    assert answer["hosts"] == [{"name": "example.org", "ranks": answer["hosts"][0]["ranks"]}]
    ranking = answer["ranking"]
    assert (ranking["pages"], ranking["links"], ranking["harmonic"]) == (2, 2, "exact")
    assert (ranking["visited"], ranking["known"], ranking["visited_share"]) == (2, 4, 0.5)


@pytest.mark.usefixtures("web")
def test_rank_reports_estimates_for_a_partly_visited_web(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = command_output(capsys, "rank", "--only", "hits")
    assert out.splitlines()[0].split("\t")[:3] == ["score", "pagerank", "in"]
    assert SEED in out
    assert "\x1b" not in out
    assert "Of 4 pages in scope, 2 were visited (50 %): ranks are estimates." in err


def test_only_a_whole_web_is_visited_to_100_percent(capsys: pytest.CaptureFixture[str]) -> None:
    ranking = Ranking(
        made_at=0, version=1, pages=999, links=0, hosts=1, visited=999, known=1000, measures=(), alpha=0.85,
        weighted=False, include_unvisited=False, iterations=1,
    )  # fmt: skip
    commands._print_ranking(ranking)
    assert "Of 1,000 pages in scope, 999 were visited (99 %)" in capsys.readouterr().err


@pytest.mark.usefixtures("web")
def test_page_shows_the_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_json(capsys, "page", SEED)["ranks"] is None
    command_output(capsys, "rank")
    assert command_json(capsys, "page", SEED)["ranks"]["pagerank"] == pytest.approx(0.5)
    assert "rank" in command_output(capsys, "page", SEED)[0]


@pytest.mark.usefixtures("web")
def test_rank_only_computes_the_requested_measures(capsys: pytest.CaptureFixture[str]) -> None:
    command_output(capsys, "rank", "--only", "pagerank")
    ranks = command_json(capsys, "page", SEED)["ranks"]
    assert {name for name, value in ranks.items() if value is None} == {
        "hub", "authority", "harmonic", "depth", "component", "bowtie", "community", "core",
    }  # fmt: skip
    command_output(capsys, "rank", "--only", "hits", "--only", "cores", "--by", "core")
    ranks = command_json(capsys, "page", SEED)["ranks"]
    assert ranks["hub"] is not None
    assert ranks["core"] == 1
    assert ranks["community"] is None


@pytest.mark.usefixtures("web")
def test_ordering_by_a_measure_outside_only_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = command_output(capsys, "rank", "--only", "harmonic", "--by", "hub", code=2)
    assert err == "gossamer: --by hub needs --only hits as well.\n"


@pytest.mark.usefixtures("web")
def test_include_unvisited_ranks_unvisited_pages(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_json(capsys, "rank", "--include-unvisited", "--only", "pagerank")
    assert len(answer["pages"]) == 6
    assert {host["name"] for host in answer["hosts"]} == {"example.org", "other.example"}


@pytest.mark.usefixtures("web")
def test_rank_near_shows_neighbouring_pages_and_stores_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_json(capsys, "rank", "--near", PAGE)
    assert answer["near"] == [PAGE]
    assert [page["url"] for page in answer["pages"]] == [PAGE, SEED]
    assert answer["pages"][0]["pagerank"] == pytest.approx(1 / 1.85)
    assert command_json(capsys, "page", SEED)["ranks"] is None


@pytest.mark.usefixtures("web")
def test_rank_near_an_unvisited_page_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = command_output(capsys, "rank", "--near", f"{SEED}missing", code=2)
    assert "None of these pages was visited" in err


@pytest.mark.usefixtures("web")
def test_shape_shows_components_depths_and_communities(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_json(capsys, "shape")
    assert (answer["components"], answer["biggest_component"], answer["bowtie"]["core"]) == (1, 2, 2)
    assert answer["depths"] == {"0": 1, "1": 1}
    assert (answer["unreached"], answer["deepest_core"], answer["deepest_core_pages"]) == (0, 1, 2)
    named = {"number": 0, "name": "Home [31m evil"}
    assert answer["communities"] == [{**named, "pages": 2, "examples": [SEED, PAGE]}]
    out, _ = command_output(capsys, "shape")
    assert "0: 1, 1: 1" in out


@pytest.mark.usefixtures("web")
def test_shape_of_a_host_lists_visited_and_unvisited_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("example.org", SEED):
        answer = command_json(capsys, "shape", name)
        assert (answer["host"], answer["pages"]) == ("example.org", 2)
        assert answer["neighbours"] == [
            {"host": "other.example", "links_out": 1, "weight_out": 1, "links_in": 0, "weight_in": 0}
        ]
    assert command_json(capsys, "shape", "other.example")["neighbours"][0]["links_in"] == 1
    assert "other.example" in command_output(capsys, "shape", "example.org")[0]
    assert "nobody.example is not known in this web" in command_output(capsys, "shape", "nobody.example", code=2)[1]


@pytest.mark.usefixtures("web")
def test_related_prints_the_related_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_json(capsys, "related", PAGE) == {"url": PAGE, "related": []}
    _, err = command_output(capsys, "related", f"{SEED}missing", code=2)
    assert "was not visited" in err


def test_the_library_computes_ranks(web: Path) -> None:
    with open_web(web) as opened:
        assert opened.ranking() is None
        ranking = opened.rank(measures=["hits"], weighted=True)
        assert (ranking.pages, ranking.weighted, ranking.measures) == (2, True, ("hits",))
        assert opened.ranking() == ranking
        ranks = opened.ranks(SEED)
        assert isinstance(ranks, Ranks)
        assert ranks.out_weight == 2
        assert list(opened.graph().urls()) == [SEED, PAGE]


def test_current_ranks_are_not_computed_again(web: Path) -> None:
    with open_web(web) as opened:
        ranking = opened.rank(measures=["hits"])
        assert opened.rank(measures=["hits"]).made_at == ranking.made_at
        assert opened.rank(measures=[]).made_at != ranking.made_at


def test_the_rank_command_knows_all_measures() -> None:
    assert commands.MEASURES == MEASURES
    assert set(commands.ORDERS) <= set(Ranks.__struct_fields__)
