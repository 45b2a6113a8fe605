"""`crawl`, before it starts."""

from __future__ import annotations

import io
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli import crawl, live
from gossamer.cli.crawl import read_seeds
from gossamer.cli.main import run
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_of_many_seeds_the_first_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = [f"ftp://host{number}.test/" for number in range(500)]  # refused, so nothing is fetched
    with pytest.raises(SystemExit) as end:
        run(("crawl", *seeds, "--store", str(tmp_path / "web")))
    first = capsys.readouterr().err.splitlines()[0]
    assert end.value.code == 2
    assert first.startswith("Crawling ftp://host0.test/, ftp://host1.test/, ftp://host2.test/, and 497 more into ")
    assert "host3" not in first


# -- seeds from a file -------------------------------------------------------------------------------------------------


def refusal(content: bytes, tmp_path: Path) -> str:
    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_seeds(str(tmp_path / "list.txt"))
    return str(caught.value)


def test_a_list_of_seeds_has_one_a_line_and_comments(tmp_path: Path) -> None:
    lines = "\ufeff# mine\r\nhttps://one.example/\r\n\r\n  two.example/b#c \n  # not this\nhttps://drei.example/ü"
    (tmp_path / "list.txt").write_text(lines, encoding="utf-8", newline="")
    assert read_seeds(str(tmp_path / "list.txt")) == (
        "https://one.example/",
        "two.example/b#c",
        "https://drei.example/ü",
    )


def test_a_list_of_seeds_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"https://one.example/\n")))
    assert read_seeds("-") == ("https://one.example/",)


def test_a_line_that_is_no_url_is_told_by_its_number(tmp_path: Path) -> None:
    told = refusal(b"# mine\n\nhttps://one.example/\nftp://two.example/\n", tmp_path)
    assert told.startswith(f"{tmp_path / 'list.txt'}, line 4: Only http and https URLs")


def test_a_line_that_is_not_utf_8_is_told_by_its_number(tmp_path: Path) -> None:
    assert refusal(b"https://one.example/\nhttps://two.example/\xfc\n", tmp_path).endswith("line 2: this is not UTF-8.")


def test_a_list_without_a_url_is_refused(tmp_path: Path) -> None:
    """Taken for no seeds at all, it would let the last crawl go on."""
    assert refusal(b"# nothing\n", tmp_path).endswith("list.txt holds no URL.")


@pytest.mark.parametrize("command", ["crawl", "go"])
def test_a_wrong_list_ends_the_command_before_it_begins(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.txt").write_text("https://[::1/\n")
    for place, told in (("list.txt", "line 1: "), ("missing.txt", "No such file")):
        with pytest.raises(SystemExit) as end:
            run((command, "--seeds", str(tmp_path / place), "--store", str(tmp_path / "web")))
        [line] = capsys.readouterr().err.splitlines()
        assert (end.value.code, told in line) == (2, True), line
    assert not (tmp_path / "web").exists()


class Interrupted:
    """A loop that Ctrl-C comes to before its first wait, if it waits at all."""

    def __init__(self, drawn: list[str], *, waits: bool) -> None:
        self.drawn, self.waits, self.stops, self.drawn_by_the_signal = drawn, waits, 0, -1

    def run(self, on_wait: Any) -> list[object]:
        os.kill(os.getpid(), signal.SIGINT)
        self.drawn_by_the_signal = len(self.drawn)
        if self.waits:
            on_wait()
        return []

    def stop(self, *, at_once: bool) -> None:
        self.stops += 1

    def progress(self) -> None: ...


@pytest.mark.parametrize("waits", [True, False])
def test_ctrl_c_draws_nothing_by_itself_for_it_may_come_in_the_middle_of_drawing(
    monkeypatch: pytest.MonkeyPatch, *, waits: bool
) -> None:
    drawn: list[str] = []
    display = type(
        "Shown", (), {"message": lambda _, text: drawn.append(text), "update": lambda *_: None, "close": lambda _: None}
    )()
    monkeypatch.setattr(live, "display", lambda quiet: display)
    monkeypatch.setattr("gc.freeze", lambda: None)
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    loop: Any = Interrupted(drawn, waits=waits)
    crawl._run(loop, quiet=False)
    assert (loop.stops, loop.drawn_by_the_signal) == (1, 0)
    assert drawn == ["Stopping: finishing what is in flight. Once more to stop at once."]
