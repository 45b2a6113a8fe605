"""What is printed: nothing from the web acts on the terminal; tables fit; amounts read well."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.output import (
    TerminalColumn,
    align_rows,
    cell_width,
    escape_hidden,
    escape_hidden_lines,
    fair_widths,
    format_age,
    format_bytes,
    format_duration,
    json_text,
    shorten,
    with_style,
    write_json_rows,
)

# Of category Cf, but seen: signs that stand over or around digits (Unicode §9.2, prepended concatenation marks).
SEEN = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd")
ACTS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_every_control_and_format_character_of_unicode_is_made_visible() -> None:
    hidden = (chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ACTS)
    assert [hex(ord(one)) for one in hidden if one not in SEEN and one in escape_hidden(one)] == []


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Mn", "Lo"])))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert escape_hidden(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\r\n\tb", "a\\r\\n\\tb"),
        ("\x9b2J", "\\x9b2J"),
        ("moc.\u202eelgoog", "moc.«U+202E»elgoog"),
        ("\u2066a\u2069\u200e\u200f\u061c", "«U+2066»a«U+2069»«U+200E»«U+200F»«U+061C»"),
        ("pass\u200bword", "pass«U+200B»word"),
        ("a\u200db", "a«U+200D»b"),
        ("\udc80", "«U+DC80»"),
        ("\U000e0041", "«U+E0041»"),
        ("日本語 ñ é", "日本語 ñ é"),
    ],
)
def test_what_acts_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert escape_hidden(text) == shown


@pytest.mark.parametrize("text", ["می‌خواهم", "👩‍👩‍👧", "क्‍ष"])
def test_joiners_stay_where_a_script_needs_them(text: str) -> None:
    assert escape_hidden(text) == text


def test_lines_stay_lines_in_longer_texts() -> None:
    assert escape_hidden_lines("C:\\temp\n\ta\x1b\r") == "C:\\temp\n\ta\\x1b\\r"


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(-(2**53), 2**53), st.lists))
def test_json_says_the_same_and_holds_nothing_that_acts(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert not [one for one in text if unicodedata.category(one) in ACTS and one not in SEEN]


def test_json_of_half_a_character_can_be_written() -> None:
    assert json_text("\udc80\U000e0041") == '"\\udc80\\udb40\\udc41"'


@pytest.mark.parametrize("rows", [[], [{"a": 1}], [{"a": 1}, {"a": 2}, {"a": 3}]])
def test_rows_written_one_by_one_are_one_json_value(rows: list[object]) -> None:
    out = io.StringIO()
    write_json_rows("rows", iter(rows), out)
    assert json.loads(out.getvalue()) == {"rows": rows}


def test_styles_are_left_out_where_nobody_sees_them() -> None:
    assert with_style("bold", "1", io.StringIO()) == "bold"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_styles_are_left_out_where_the_user_wants_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert with_style("bold", "1", Terminal()) == "\x1b[1mbold\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert with_style("bold", "1", Terminal()) == "bold"


# -- tables ----------------------------------------------------------------------------------------------------------

TABLE = [
    TerminalColumn("url", cut="middle"),
    TerminalColumn("anchor", cut="end"),
    TerminalColumn("times", align="right"),
]


@given(st.lists(st.tuples(st.text(), st.text(), st.integers(0, 99)), max_size=6), st.integers(40, 120))
def test_a_table_is_never_wider_than_its_terminal(rows: list[tuple[str, str, int]], width: int) -> None:
    cells = [["url", "anchor", "times"], *([escape_hidden(url), escape_hidden(text), str(n)] for url, text, n in rows)]
    assert max(cell_width(line) for line in align_rows(TABLE, cells, width)) <= width


def test_columns_stand_below_each_other_though_characters_are_wide() -> None:
    lines = align_rows(TABLE, [["a", "日本", "1"], ["bb", "x", "22"]], 40)
    assert lines == ["a   日本   1", "bb  x     22"]


def test_narrow_columns_keep_their_width_and_wide_ones_share_the_rest() -> None:
    assert fair_widths([5, 100, 100], 65) == [5, 30, 30]
    assert fair_widths([5, 20, 100], 65) == [5, 20, 40]
    assert fair_widths([5, 6], 65) == [5, 6]


def test_a_url_loses_its_middle() -> None:
    assert shorten("https://example.org/a/very/long/way/to/page.html", 30, "middle") == "https://example…y/to/page.html"


def test_a_text_loses_its_end() -> None:
    assert shorten("a long anchor text", 10) == "a long an…"


@given(st.text(), st.integers(1, 30), st.sampled_from(["end", "middle"]))
def test_a_shortened_text_fits(text: str, width: int, where: str) -> None:
    assert cell_width(shorten(escape_hidden(text), width, where)) <= width  # type: ignore[arg-type]


# -- amounts and times -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (12_345, "12.3 kB"),
        (999_960, "1.0 MB"),
        (2.5e9, "2.5 GB"),
        (3e15, "3,000.0 TB"),
    ],
)
def test_bytes_are_told_in_the_unit_that_suits(amount: float, told: str) -> None:
    assert format_bytes(amount) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 ms"), (0.85, "850 ms"), (0.9999, "1.0 s"), (9.96, "10 s"), (59.7, "1 min 00 s"), (200, "3 min 20 s"),
        (3600, "1 h 00 min"), (7500, "2 h 05 min"), (360_000, "4 d 4 h"),
    ],
)  # fmt: skip
def test_durations_are_told_in_two_units(seconds: float, told: str) -> None:
    assert format_duration(seconds) == told


def test_a_moment_is_told_by_how_long_ago_it_was() -> None:
    assert format_age(100.0, now=112.4) == "12 s ago"
    assert format_age(100.0, now=101.2) == "1 s ago"
    assert format_age(100.0, now=300.0) == "3 min 20 s ago"
    assert format_age(100.0, now=99.0) == "just now"
    assert format_age(None) == "never"
