"""The displays of a crawl: plain lines and terminal frames."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from gossamer.cli.live import LiveDisplay, PlainDisplay, frame, plain_lines
from gossamer.cli.output import cell_width
from gossamer.crawl.statistics import CrawlProgress

PROGRESS = CrawlProgress(
    name="Naiad", state="running", note="", seconds=83.0, pages=12_345, failed=12, gone=4, refused=3, bytes=251_000_000,
    known=45_678, queued=33_321, transfers=12, hosts=5, pages_per_second=82.3, bytes_per_second=1_200_000,
    mean_pages_per_second=79.1, limit="politeness", eta_seconds=405.0,
    waiting=(("example.org", 23.0, "Retry-After"),),
    latest=(("https://example.org/\x1b[31m" + "long/" * 60, "fetched"), ("https://example.org/missing", "not found")),
)  # fmt: skip


def progress_at(seconds: float, **changes: object) -> CrawlProgress:
    return msgspec.structs.replace(PROGRESS, seconds=seconds, **changes)


def test_plain_lines_show_this_run_and_the_web_apart() -> None:
    assert plain_lines(PROGRESS) == [
        "Naiad: 1 min 23 s: 12,345 pages (82.3/s), 251 MB (1.2 MB/s), 8 failed, 4 gone, 3 refused, limit: politeness",
        "  the web: 33,321 queued of 45,678 known, about 6 min 45 s left",
    ]


def test_plain_lines_come_at_once_and_then_every_five_seconds() -> None:
    out = io.StringIO()
    display = PlainDisplay(out)
    for tenth in range(121):
        display.update(progress_at(tenth / 10))
    lines = [line for line in out.getvalue().splitlines() if not line.startswith("  the web: ")]
    assert [line.split(": ")[1] for line in lines] == ["0 ms", "5.0 s", "10 s"]


def test_a_long_crawl_prints_its_state_once_per_minute() -> None:
    out = io.StringIO()
    display = PlainDisplay(out)
    for second in range(86_400, 90_000):
        display.update(progress_at(second))
    assert len(out.getvalue().splitlines()) == 2 * 60


def test_the_reason_for_a_pause_is_printed_once_and_at_once() -> None:
    out = io.StringIO()
    display = PlainDisplay(out, lines=False)
    for second in range(5):
        display.update(progress_at(second, state="paused", note="disk nearly full"))
    assert out.getvalue() == "Naiad: paused: disk nearly full\n"


def test_a_quiet_display_shows_only_messages() -> None:
    out = io.StringIO()
    display = PlainDisplay(out, lines=False)
    display.update(PROGRESS)
    display.message("one\x1b[2Jtwo")
    assert out.getvalue() == "one\\x1b[2Jtwo\n"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_frame_fits_its_terminal(width: int) -> None:
    text = frame(progress_at(83, note="a reason that goes on " * 8, state="paused"), width).plain
    assert max(cell_width(line) for line in text.splitlines()) <= max(width, 60)
    assert "\x1b" not in text


def test_a_frame_shows_state_rates_queue_failures_and_limits() -> None:
    text = frame(PROGRESS, 100).plain
    for expected in (
        "Naiad is running",
        "82.3/s",
        "1.2 MB/s",
        "33,321 queued of 45,678",
        "8 failed, 4 gone",
        "politeness",
        "Retry-After",
    ):
        assert expected in text
    assert "! not found: https://example.org/missing" in text


def test_a_frame_counts_the_waiting_hosts_that_it_does_not_list() -> None:
    waiting = tuple((f"host{number}.example", 9.0 - number, "politeness") for number in range(5))
    text = frame(progress_at(83, waiting=waiting), 100).plain
    assert "host2.example" in text
    assert "host3.example" not in text
    assert "and 2 more" in text
    assert "more" not in frame(progress_at(83, waiting=waiting[:3]), 100).plain


def test_frames_are_drawn_at_most_four_times_a_second_and_erased_at_the_end() -> None:
    out = io.StringIO()
    display = LiveDisplay(Console(file=out, force_terminal=True, width=80))
    for _ in range(50):
        display.update(PROGRESS)
    assert out.getvalue().count("Naiad") == 1
    display.message("Stopping \x1b[2J now")
    display.close()
    assert "Stopping \\x1b[2J now" in out.getvalue()
    assert out.getvalue().rstrip().endswith("\x1b[2K")  # closing erases the frame
