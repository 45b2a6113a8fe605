"""Terminal output: text from the web cannot act on the terminal, tables fit, amounts read well."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.basics.display import escape_hidden, escape_hidden_lines, format_age, format_bytes, format_duration
from gossamer.cli.output import (
    TerminalColumn,
    align_rows,
    cell_width,
    fair_widths,
    json_text,
    shorten,
    with_style,
    write_json_rows,
)

# Of category Cf, but visible: signs that stand over or around digits (Unicode §9.2, prepended concatenation marks).
VISIBLE_FORMAT_CHARACTERS = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd")
ACTIVE_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_every_control_and_format_character_of_unicode_is_made_visible() -> None:
    hidden = (chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ACTIVE_CATEGORIES)
    assert [
        hex(ord(character))
        for character in hidden
        if character not in VISIBLE_FORMAT_CHARACTERS and character in escape_hidden(character)
    ] == []


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Mn", "Lo"])))
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert escape_hidden(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_active_characters_are_shown_as_escapes(text: str, expected: str) -> None:
    assert escape_hidden(text) == expected


@pytest.mark.parametrize("text", ["می‌خواهم", "👩‍👩‍👧", "क्‍ष"])
def test_joiners_stay_where_a_script_needs_them(text: str) -> None:
    assert escape_hidden(text) == text


def test_multiline_text_keeps_line_breaks_and_tabs() -> None:
    assert escape_hidden_lines("C:\\temp\n\ta\x1b\r") == "C:\\temp\n\ta\\x1b\\r"


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(-(2**53), 2**53), st.lists))
def test_json_keeps_the_value_and_escapes_active_characters(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert not [
        character
        for character in text
        if unicodedata.category(character) in ACTIVE_CATEGORIES and character not in VISIBLE_FORMAT_CHARACTERS
    ]


def test_json_can_hold_lone_surrogates() -> None:
    assert json_text("\udc80\U000e0041") == '"\\udc80\\udb40\\udc41"'


@pytest.mark.parametrize("rows", [[], [{"a": 1}], [{"a": 1}, {"a": 2}, {"a": 3}]])
def test_rows_written_one_by_one_form_one_json_value(rows: list[object]) -> None:
    out = io.StringIO()
    write_json_rows("rows", iter(rows), out)
    assert json.loads(out.getvalue()) == {"rows": rows}


def test_styles_are_left_out_where_output_is_no_terminal() -> None:
    assert with_style("bold", "1", io.StringIO()) == "bold"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_color_removes_styles(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_columns_stay_aligned_with_wide_characters() -> None:
    lines = align_rows(TABLE, [["a", "日本", "1"], ["bb", "x", "22"]], 40)
    assert lines == ["a   日本   1", "bb  x     22"]


def test_narrow_columns_keep_their_width_and_wide_ones_share_the_rest() -> None:
    assert fair_widths([5, 100, 100], 65) == [5, 30, 30]
    assert fair_widths([5, 20, 100], 65) == [5, 20, 40]
    assert fair_widths([5, 6], 65) == [5, 6]


def test_a_long_url_is_cut_in_the_middle() -> None:
    assert shorten("https://example.org/a/very/long/way/to/page.html", 30, "middle") == "https://example…y/to/page.html"


def test_a_long_text_is_cut_at_the_end() -> None:
    assert shorten("a long anchor text", 10) == "a long an…"


@given(st.text(), st.integers(1, 30), st.sampled_from(["end", "middle"]))
def test_a_shortened_text_fits(text: str, width: int, where: str) -> None:
    assert cell_width(shorten(escape_hidden(text), width, where)) <= width  # type: ignore[arg-type]


# -- amounts and times -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "expected"),
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
def test_bytes_are_shown_in_a_fitting_unit(amount: float, expected: str) -> None:
    assert format_bytes(amount) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 ms"), (0.85, "850 ms"), (0.9999, "1.0 s"), (9.96, "10 s"), (59.7, "1 min 00 s"), (200, "3 min 20 s"),
        (3600, "1 h 00 min"), (7500, "2 h 05 min"), (360_000, "4 d 4 h"),
        (8_639_999, "99 d 23 h"), (8_640_000, "100 d"), (35_118_000, "406 d"), (90_000_000, "1,041 d"),
    ],
)  # fmt: skip
def test_durations_are_shown_in_at_most_two_units(seconds: float, expected: str) -> None:
    assert format_duration(seconds) == expected


def test_times_are_shown_as_ages() -> None:
    assert format_age(100.0, now=112.4) == "12 s ago"
    assert format_age(100.0, now=101.2) == "1 s ago"
    assert format_age(100.0, now=300.0) == "3 min 20 s ago"
    assert format_age(100.0, now=99.0) == "just now"
    assert format_age(None) == "never"
