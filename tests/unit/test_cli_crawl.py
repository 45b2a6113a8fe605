"""The command `crawl` before the crawl starts."""

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


def test_crawl_shows_only_the_first_of_many_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_a_seed_list_has_one_url_per_line_and_comments(tmp_path: Path) -> None:
    lines = "\ufeff# mine\r\nhttps://one.example/\r\n\r\n  two.example/b#c \n  # not this\nhttps://drei.example/ü"
    (tmp_path / "list.txt").write_text(lines, encoding="utf-8", newline="")
    assert read_seeds(str(tmp_path / "list.txt")) == (
        "https://one.example/",
        "two.example/b#c",
        "https://drei.example/ü",
    )


def test_a_seed_list_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"https://one.example/\n")))
    assert read_seeds("-") == ("https://one.example/",)


def test_an_invalid_url_is_reported_with_its_line_number(tmp_path: Path) -> None:
    message = refusal(b"# mine\n\nhttps://one.example/\nftp://two.example/\n", tmp_path)
    assert message.startswith(f"{tmp_path / 'list.txt'}, line 4: Only http and https URLs")


def test_a_line_that_is_not_utf_8_is_reported_with_its_number(tmp_path: Path) -> None:
    message = refusal(b"https://one.example/\nhttps://two.example/\xfc\n", tmp_path)
    assert message.endswith("line 2: this is not UTF-8; save the list as UTF-8.")


def test_a_seed_list_without_a_url_is_refused(tmp_path: Path) -> None:
    """Treated as no seeds at all, it would resume the last crawl."""
    assert refusal(b"# nothing\n", tmp_path).endswith("list.txt holds no URL; write one URL a line.")


@pytest.mark.parametrize("command", ["crawl", "go"])
def test_an_invalid_seed_list_ends_the_command_before_the_crawl(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.txt").write_text("https://[::1/\n")
    for name, words in (("list.txt", "line 1: "), ("missing.txt", "No such file")):
        with pytest.raises(SystemExit) as end:
            run((command, "--seeds", str(tmp_path / name), "--store", str(tmp_path / "web")))
        [line] = capsys.readouterr().err.splitlines()
        assert (end.value.code, words in line) == (2, True), line
    assert not (tmp_path / "web").exists()


class InterruptedLoop:
    """A crawl loop that receives Ctrl-C before its first wait, if it waits at all."""

    def __init__(self, messages: list[str], *, waits: bool) -> None:
        self.messages, self.waits, self.stops, self.messages_by_signal = messages, waits, 0, -1

    def run(self, on_wait: Any) -> list[object]:
        os.kill(os.getpid(), signal.SIGINT)
        self.messages_by_signal = len(self.messages)
        if self.waits:
            on_wait()
        return []

    def stop(self, *, at_once: bool) -> None:
        self.stops += 1

    def progress(self) -> None: ...


@pytest.mark.parametrize("waits", [True, False])
def test_the_ctrl_c_handler_draws_nothing_itself(monkeypatch: pytest.MonkeyPatch, *, waits: bool) -> None:
    """The signal may arrive in the middle of drawing."""
    messages: list[str] = []
    display = type(
        "Display",
        (),
        {"message": lambda _, text: messages.append(text), "update": lambda *_: None, "close": lambda _: None},
    )()
    monkeypatch.setattr(live, "display", lambda quiet: display)
    monkeypatch.setattr("gc.freeze", lambda: None)
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    loop: Any = InterruptedLoop(messages, waits=waits)
    crawl._run(loop, quiet=False)
    assert (loop.stops, loop.messages_by_signal) == (1, 0)
    assert messages == ["Stopping: finishing the transfers in flight. Press Ctrl-C again to stop at once."]
