"""The benchmarks measure what they claim."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import run, soak, stages, typeahead  # noqa: E402
from bench.harness import report, site_sample  # noqa: E402
from bench.harness.contest import Contestant, Run, Spread, in_turn, measure, ratio  # noqa: E402
from bench.races import crawl as crawl_race  # noqa: E402
from bench.races import limits  # noqa: E402

PROGRAM = "import json, sys; print('noise'); print(json.dumps({'pages': 7})); sys.exit(int(sys.argv[1]))"


def contestant(code: int, name: str = "one") -> Contestant:
    return Contestant(name=name, command=lambda _url, _folder: [sys.executable, "-c", PROGRAM, str(code)])


def test_a_run_is_measured_by_the_parent_process(tmp_path: Path) -> None:
    run = measure(contestant(0), "", tmp_path)
    assert run.pages == 7
    assert 0 < run.cpu_seconds < run.seconds + 1
    assert run.pages_per_second == pytest.approx(7 / run.seconds)


def test_a_failing_run_ends_the_benchmark(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="one ended with code 3"):
        measure(contestant(3), "", tmp_path)


def test_a_failing_contestant_does_not_end_the_race() -> None:
    runs, faults = in_turn([contestant(0), contestant(3, "other")], "", 2, patience=600.0)
    assert [run.contestant for run in runs] == ["one", "one"]
    assert "other ended with code 3" in faults["other"]


def test_slow_contestants_run_less_often() -> None:
    runs, _ = in_turn([contestant(0)], "", 3, patience=0.001)
    assert len(runs) == 1


def test_ratios_pair_consecutive_runs() -> None:
    times = ratio([10.0, 40.0, 90.0], [1.0, 2.0])
    assert (times.least, times.median, times.most, times.runs) == (10.0, 15.0, 20.0, 2)


def test_the_spread_of_several_runs_is_shown() -> None:
    assert Spread.of([3.0, 1.0, 2.0]).describe(".1f") == "2.0 (1.0 to 3.0)"
    assert Spread.of([2.0]).describe(".1f") == "2.0"


def race_run(name: str, pages: int, seconds: float) -> Run:
    return Run(contestant=name, pages=pages, seconds=seconds, cpu_seconds=seconds, megabytes=1.0)


def test_repeated_fetches_do_not_count_as_work() -> None:
    both = [Contestant(name=name, command=lambda _url, _folder: []) for name in (crawl_race.ALL, "twice")]
    runs = [race_run(crawl_race.ALL, 1000, 10.0), race_run("twice", 1900, 20.0)]
    section = crawl_race._section("", "", 1000, both, runs, [], aims={"twice": 1.0})
    assert section.aims[0].measured.median == 2.0
    assert [row[2:5] for row in section.rows] == [
        ["1,000", "100", ""],
        ["1,000, by 1,900 fetches", "50", "2.00 times"],
    ]


def test_an_incomplete_crawl_is_marked_in_the_report() -> None:
    assert crawl_race._format_visited([1000, 500], 1000) == "**only 500 of 1,000**"
    assert crawl_race._format_visited([1000, 1001], 1000) == "1,000"


def test_an_aim_is_missed_below_its_minimum() -> None:
    assert report.Aim(name="", measured=Spread.of([1.7]), least=1.7).is_reached
    assert not report.Aim(name="", measured=Spread.of([1.69]), least=1.7).is_reached
    limit = report.Aim(name="", measured=Spread.of([151.0]), most=150.0)
    assert (limit.is_reached, limit.wanted) == (False, "≤ 150")


def test_a_report_replaces_the_text_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench -->\nold\n<!-- end of bench -->\nafter\n")
    assert report.put_between(page, "bench", r"new \1")
    assert page.read_text() == "before\n<!-- bench -->\n\nnew \\1\n\n<!-- end of bench -->\nafter\n"
    assert not report.put_between(page, "other", "new")


def test_a_report_shows_machine_aims_and_missing_contestants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "FOLDER", tmp_path / "results")
    missed = report.Aim(name="all on, to scrapy", measured=Spread.of([11.0, 12.0]), least=25.0)
    section = report.Section(
        name="A site", work="Ten pages.", columns=("system", "pages/s"), rows=[["a|b", "7"]], measured={"rates": [7.0]},
        aims=[missed], left_out=["spider, by `cargo build`: no network"],
    )  # fmt: skip
    text = report.write([section], "quick", "make bench").read_text()
    assert "| all on, to scrapy | 11.50 (11.00 to 12.00) | ≥ 25 | **missed** |" in text
    assert "### A site\n\nTen pages.\n\n| system | pages/s |\n| --- | --- |\n| a\\|b | 7 |\n" in text
    assert "- Not there: spider, by `cargo build`: no network" in text
    results = json.loads((tmp_path / "results" / "quick.json").read_text())
    assert results["sections"][0]["measured"] == {"rates": [7.0]}
    assert results["sections"][0]["aims"][0]["reached"] is False
    assert results["machine"].keys() >= {"processor", "cores", "memory", "date"}


@pytest.fixture
def bench_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a benchmark whose parts fail, succeed, get interrupted and never start."""
    for name in ("PAGE", "README"):
        (tmp_path / name).write_text("<!-- bench -->\n<!-- end of bench -->\n")
        monkeypatch.setattr(report, name, tmp_path / name)
    monkeypatch.setattr(report, "FOLDER", tmp_path / "results")

    def fails(_scale: run.Scale) -> report.Section:
        raise ValueError("no such page")

    def is_interrupted(_scale: run.Scale) -> report.Section:
        raise KeyboardInterrupt

    ratio = report.Aim(name="all on, to scrapy", measured=Spread.of([8.0, 9.0]), least=25.0)
    cores = report.Aim(name="two cores, to one", measured=Spread.of([2.0]), least=1.7)
    section = report.Section(
        name="A site", work="Ten pages.", columns=("system",), rows=[["gossamer"]], aims=[ratio, cores]
    )
    parts = {"fails": fails, "goes": lambda _: section, "stops": is_interrupted, "later": fails}
    monkeypatch.setattr(run, "PARTS", {name: run.Part(part, 1, 1) for name, part in parts.items()})
    return tmp_path


def test_finished_parts_are_written_if_others_fail_or_are_interrupted(
    bench_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", "--full"])
    assert run.main() == 130
    page = (bench_folder / "PAGE").read_text()
    assert "### A site" in page
    assert "- Not measured: fails (ValueError: no such page)\n- Not measured: stops (interrupted)" in page
    assert "- Not measured: later (interrupted)" in page
    readme = (bench_folder / "README").read_text()
    assert "by `make bench ARGS=--full` on " in readme
    assert readme.count("times as fast") == 1
    assert "| scrapy | 8.50 (8.00 to 9.00) times as fast |" in readme
    assert "fails (1 of 4); about 1 min left" in capsys.readouterr().err


def test_a_run_without_crawl_ratios_leaves_the_readme_unchanged(
    bench_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "PARTS", {"fails": run.PARTS["fails"], "goes": run.Part(lambda _: bare_section(), 1, 1)})
    monkeypatch.setattr(sys, "argv", ["run.py", "--full"])
    before = (bench_folder / "README").read_text()
    assert run.main() == 1
    assert (bench_folder / "README").read_text() == before
    assert "### Search" in (bench_folder / "PAGE").read_text()


def bare_section() -> report.Section:
    return report.Section(name="Search", work="Ten questions.", columns=("system",), rows=[["gossamer"]])


def between(file: Path, name: str) -> str:
    """Return the text between the marks of a document."""
    return file.read_text().partition(f"<!-- {name} -->")[2].partition(f"<!-- end of {name} -->")[0]


def test_the_documents_show_the_newest_full_run() -> None:
    full = (report.FOLDER / "full.md").read_text()
    assert between(report.PAGE, "bench").strip() == report.opening(full).strip()
    wanted = re.findall(rf"^\| {report.RATIO}(.+?) \| (.+?) \|", full, re.MULTILINE)
    shown = re.findall(r"^\| (.+?) \| (.+?) times as fast \|$", between(report.README, "bench"), re.MULTILINE)
    assert len(wanted) == 3
    assert shown == wanted


@pytest.mark.parametrize("name", ["bench", "stages", "soak"])
def test_the_results_page_has_marks_for_every_generated_table(name: str) -> None:
    assert between(report.PAGE, name).strip()


def test_the_opening_of_a_report_holds_the_aims_and_the_first_section() -> None:
    assert (
        report.opening("head\n\n| aim |\n\n### One\n\nrows\n\n### Two\n\nrows\n")
        == "head\n\n| aim |\n\n### One\n\nrows\n"
    )


@pytest.mark.parametrize(
    ("href", "target"),
    [
        (b"b.html#part", "dir/b.html"),
        (b"../c.html?q", "c.html"),
        (b"../../../specs/d.html", "specs/d.html"),
        (b"https://example.org/e.html", ""),
        (b"#part", ""),
        (b"style.css", ""),
    ],
)
def test_a_site_sample_resolves_link_targets(href: bytes, target: str) -> None:
    assert site_sample.target_of("dir/a.html", href) == target


def test_a_site_sample_has_no_links_that_leave_it(tmp_path: Path) -> None:
    tree, out = tmp_path / "tree", tmp_path / "sample"
    tree.mkdir()
    (tree / "index.html").write_text('<a href="a.html">a</a><a href="b.html">b</a><a href="c.html">c</a>')
    for name in "abc":
        (tree / f"{name}.html").write_text(f'<a href="index.html">{name}</a><a href="c.html#x">c</a>')
    chosen = site_sample.first_pages(tree, 3)
    assert chosen == {"index.html", "a.html", "b.html"}
    site_sample._write(tree, chosen, out)
    assert sorted(path.name for path in out.iterdir()) == ["a.html", "b.html", "index.html"]
    assert (out / "a.html").read_text() == '<a href="index.html">a</a><a href="#c.html#x">c</a>'


def politeness_section(*gaps: float) -> report.Section:
    times = [sum(gaps[:n]) for n in range(len(gaps) + 1)]
    return limits._politeness_section({"one": times, "other": times}, 2, len(gaps), 1.0)


def test_politeness_is_measured_against_the_delays() -> None:
    share, delays = politeness_section(1.0, 1.5).aims
    assert share.measured.median == pytest.approx(2 / 2.5)
    assert delays.is_reached


def test_a_request_before_its_delay_misses_the_aim() -> None:
    share, delays = politeness_section(1.0, 0.9).aims
    assert share.is_reached
    assert not delays.is_reached


def soak_samples(growth: float) -> list[soak.Sample]:
    """Return samples of a watch that grows by this share a minute after the tenth minute."""
    return [
        soak.Sample(n / 2, 100.0 * min(1, (n + 1) / 16) * (1 + growth * max(0, n / 2 - 10)), 80.0, 70, 20)
        for n in range(120)
    ]


def test_growth_after_the_first_ten_minutes_is_detected() -> None:
    assert soak.growth(soak_samples(0.002), 60)["watch_megabytes"] > soak.MAX_GROWTH
    assert soak.growth(soak_samples(0.002), 60)["serve_megabytes"] == 1


def test_growth_in_the_first_ten_minutes_is_ignored() -> None:
    assert all(times == 1 for times in soak.growth(soak_samples(0.0), 60).values())


def test_less_frequent_memory_release_does_not_count_as_growth() -> None:
    busier = [
        sample._replace(watch_megabytes=200 if n > 60 or n % 2 else 100) for n, sample in enumerate(soak_samples(0.0))
    ]
    assert soak.growth(busier, 60)["watch_megabytes"] == 1


def test_fewer_quiet_minutes_do_not_count_as_growth() -> None:
    waves = [
        sample._replace(watch_megabytes=200 if sample.minute >= 30 or int(sample.minute) % 5 < 2 else 150)
        for sample in soak_samples(0.0)
    ]
    assert soak.growth(waves, 60)["watch_megabytes"] == 1


def test_growth_in_busy_minutes_is_detected() -> None:
    waves = [
        sample._replace(watch_megabytes=(200 if int(sample.minute) % 2 else 150) * (1 + sample.minute / 600))
        for sample in soak_samples(0.0)
    ]
    assert soak.growth(waves, 60)["watch_megabytes"] > soak.MAX_GROWTH


def test_handle_leaks_are_detected() -> None:
    leaking = [sample._replace(serve_handles=20 + n // 20) for n, sample in enumerate(soak_samples(0.0))]
    assert soak.growth(leaking, 60)["serve_handles"] > soak.MAX_GROWTH


def test_briefly_open_handles_do_not_count_as_growth() -> None:
    busy_later = [
        sample._replace(watch_handles=76 if n > 60 and n % 5 else 70) for n, sample in enumerate(soak_samples(0.0))
    ]
    assert soak.growth(busy_later, 60)["watch_handles"] == 1


def test_every_stage_has_its_budget() -> None:
    assert json.loads(stages.BUDGETS.read_text()).keys() == stages.STAGES.keys()


def test_a_stage_over_its_budget_by_more_than_15_percent_is_reported() -> None:
    expected = ["tree takes 1.16 times its budget"]
    assert stages.faults({"tree": 0.58, "walk": 2.0}, {"tree": 0.5, "walk": 2.0}) == expected


def test_a_stage_within_15_percent_of_its_budget_is_accepted() -> None:
    assert stages.faults({"tree": 0.57, "walk": 1.0}, {"tree": 0.5, "walk": 2.0}) == []


def test_a_stage_without_a_budget_is_reported() -> None:
    assert stages.faults({"tree": 0.5, "walk": 2.0}, {"tree": 0.5}) == ["walk has no budget"]


def test_a_budget_without_a_stage_is_reported() -> None:
    expected = ["walk has a budget, but there is no such stage"]
    assert stages.faults({"tree": 0.5}, {"tree": 0.5, "walk": 2.0}) == expected


@pytest.fixture
def budgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the budgets, beside page.md; every stage takes as long as the reference loop."""
    measured = dict.fromkeys([*stages.STAGES, "reference"], 1.0)
    monkeypatch.setattr(stages, "measure", lambda _passes: measured)
    monkeypatch.setattr(stages, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(stages, "BUDGETS", tmp_path / "budgets.json")
    (tmp_path / "page.md").write_text("<!-- stages -->\nold\n<!-- end of stages -->\n")
    return tmp_path / "budgets.json"


@pytest.mark.parametrize(("walk", "code"), [(1.0, 0), (0.8, 1), (None, 1)])
def test_a_stage_over_budget_or_without_one_fails_the_check(
    budgets: Path, monkeypatch: pytest.MonkeyPatch, walk: float | None, code: int
) -> None:
    others = {stage: 1.0 for stage in stages.STAGES if stage != "walk"}
    budgets.write_text(json.dumps(others if walk is None else others | {"walk": walk}))
    monkeypatch.setattr(sys, "argv", ["stages.py", "--check"])
    assert stages.main() == code


def test_stage_times_are_written_with_date_and_machine(budgets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["stages.py", "--write"])
    assert stages.main() == 0
    here = report.machine()
    page = budgets.with_name("page.md").read_text()
    assert f"Measured on {here['date']} by `make profile ARGS=--write`: {here['processor']}, {here['cores']} co" in page
    assert "| walk | 1.000 | 1.000 | 1.000 | 1.00 |" in page
    assert json.loads(budgets.read_text()) == dict.fromkeys(stages.STAGES, 1.0)


def test_the_typeahead_benchmark_asks_as_the_search_boxes_do() -> None:
    for box, path, constant in zip(
        typeahead.BOXES,
        ("src/gossamer/web/static/complete.js", "frontend/src/widget/pages.ts"),
        ("PAGES", "MOST_PAGES"),
        strict=True,
    ):
        script = (ROOT / path).read_text()
        assert re.search(rf"const {constant} = {box.limit};", script), box
        assert ('snippets: "true"' in script) == box.snippets, box
