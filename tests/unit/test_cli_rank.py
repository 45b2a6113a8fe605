"""Commands about the link graph: what they tell people and programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli import rank as commands
from gossamer.cli.main import run
from gossamer.graph.ranking.rank_web import MEASURES
from gossamer.library import open_web
from gossamer.store.follow.graph import Ranks
from helpers.store.small_web import SEED, build

if TYPE_CHECKING:
    from pathlib import Path

PAGE = f"{SEED}a"


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small web in ./web: the seed and /a link to one another, everything else was not visited."""
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "web").close()
    return tmp_path / "web"


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    answer = capsys.readouterr()
    assert end.value.code == code, answer.err
    return answer.out, answer.err


def told_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(told(capsys, *arguments, "--json")[0])


@pytest.mark.usefixtures("web")
def test_rank_tells_programs_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told_json(capsys, "rank")
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
    assert (ranking["visited"], ranking["known"], ranking["visited_share"]) == (2, 6, 0.3333)


@pytest.mark.usefixtures("web")
def test_rank_says_that_ranks_of_part_of_a_web_are_estimates(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = told(capsys, "rank", "--only", "hits")
    assert out.splitlines()[0].split("\t")[:3] == ["score", "pagerank", "in"]
    assert SEED in out
    assert "\x1b" not in out
    assert "33 % of the 6 known pages were visited: ranks are estimates." in err


@pytest.mark.usefixtures("web")
def test_page_shows_the_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    assert told_json(capsys, "page", SEED)["ranks"] is None
    told(capsys, "rank")
    assert told_json(capsys, "page", SEED)["ranks"]["pagerank"] == pytest.approx(0.5)
    assert "rank" in told(capsys, "page", SEED)[0]


@pytest.mark.usefixtures("web")
def test_only_what_is_asked_for_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "rank", "--only", "pagerank")
    ranks = told_json(capsys, "page", SEED)["ranks"]
    assert {name for name, value in ranks.items() if value is None} == {
        "hub", "authority", "harmonic", "depth", "component", "bowtie", "community", "core",
    }  # fmt: skip
    told(capsys, "rank", "--only", "hits", "--only", "cores", "--by", "core")
    ranks = told_json(capsys, "page", SEED)["ranks"]
    assert ranks["hub"] is not None
    assert ranks["core"] == 1
    assert ranks["community"] is None


@pytest.mark.usefixtures("web")
def test_ordering_by_what_is_not_computed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = told(capsys, "rank", "--only", "harmonic", "--by", "hub", code=2)
    assert err == "gossamer: --by hub needs --only hits as well.\n"


@pytest.mark.usefixtures("web")
def test_what_was_not_visited_is_ranked_when_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told_json(capsys, "rank", "--include-unvisited", "--only", "pagerank")
    assert len(answer["pages"]) == 6
    assert {host["name"] for host in answer["hosts"]} == {"example.org", "other.example"}


@pytest.mark.usefixtures("web")
def test_near_shows_a_page_s_surroundings_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told_json(capsys, "rank", "--near", PAGE)
    assert answer["near"] == [PAGE]
    assert [page["url"] for page in answer["pages"]] == [PAGE, SEED]
    assert answer["pages"][0]["pagerank"] == pytest.approx(1 / 1.85)
    assert told_json(capsys, "page", SEED)["ranks"] is None


@pytest.mark.usefixtures("web")
def test_near_a_page_that_was_not_visited_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = told(capsys, "rank", "--near", f"{SEED}missing", code=2)
    assert "None of these pages was visited" in err


@pytest.mark.usefixtures("web")
def test_shape_tells_what_hangs_together(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told_json(capsys, "shape")
    assert (answer["components"], answer["biggest_component"], answer["bowtie"]["core"]) == (1, 2, 2)
    assert answer["depths"] == {"0": 1, "1": 1}
    assert (answer["unreached"], answer["deepest_core"], answer["deepest_core_pages"]) == (0, 1, 2)
    assert answer["communities"] == [{"pages": 2, "examples": [SEED, PAGE]}]
    out, _ = told(capsys, "shape")
    assert "0: 1, 1: 1" in out


@pytest.mark.usefixtures("web")
def test_shape_of_a_host_tells_its_neighbours_visited_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("example.org", SEED):
        answer = told_json(capsys, "shape", name)
        assert (answer["host"], answer["pages"]) == ("example.org", 2)
        assert answer["neighbours"] == [
            {"host": "other.example", "links_out": 1, "weight_out": 1, "links_in": 0, "weight_in": 0}
        ]
    assert told_json(capsys, "shape", "other.example")["neighbours"][0]["links_in"] == 1
    assert "other.example" in told(capsys, "shape", "example.org")[0]
    assert "nobody.example is not known in this web" in told(capsys, "shape", "nobody.example", code=2)[1]


@pytest.mark.usefixtures("web")
def test_related_pages_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert told_json(capsys, "related", PAGE) == {"url": PAGE, "related": []}
    _, err = told(capsys, "related", f"{SEED}missing", code=2)
    assert "was not visited" in err


def test_the_library_ranks_too(web: Path) -> None:
    with open_web(web) as opened:
        assert opened.ranking() is None
        made = opened.rank(measures=["hits"], weighted=True)
        assert (made.pages, made.weighted, made.measures) == (2, True, ("hits",))
        assert opened.ranking() == made
        ranks = opened.ranks(SEED)
        assert isinstance(ranks, Ranks)
        assert ranks.out_weight == 2
        assert list(opened.graph().urls()) == [SEED, PAGE]


def test_ranks_that_are_up_to_date_are_not_computed_again(web: Path) -> None:
    with open_web(web) as opened:
        made = opened.rank(measures=["hits"])
        assert opened.rank(measures=["hits"]).made_at == made.made_at
        assert opened.rank(measures=[]).made_at != made.made_at


def test_the_command_knows_all_measures() -> None:
    assert commands.MEASURES == MEASURES
    assert set(commands.ORDERS) <= set(Ranks.__struct_fields__)
