"""Charset detection and conversion to UTF-8."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.charset import _BY_LABEL, charset_by_label, convert_to_utf8
from helpers.parse.jobs import page, runs

RUSSIAN = "Привет, мир! Это обычный русский текст, в котором достаточно слов. "


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("latin1", "cp1252"),
        (" ISO-8859-1 ", "cp1252"),
        ("us-ascii", "cp1252"),
        ("gb2312", "gb18030"),
        ("GBK", "gb18030"),
        ("shift_jis", "cp932"),
        ("x-sjis", "cp932"),
        ("euc-kr", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("iso-8859-9", "cp1254"),
        ("tis-620", "cp874"),
        ("UTF8", "utf-8"),
        ("unicode", "utf-16-le"),
        ("x-user-defined", "cp1252"),
    ],
)
def test_charset_labels_mean_the_same_as_in_browsers(label: str, codec: str) -> None:
    charset = charset_by_label(label)
    assert charset is not None
    assert charset.codec == codec


@pytest.mark.parametrize("label", ["", "klingon", "utf-7", "base64", "rot13", "idna", "replacement", "undefined"])
def test_unreadable_charset_labels_are_unknown(label: str) -> None:
    assert charset_by_label(label) is None


def test_every_encoding_in_the_table_exists() -> None:
    for charset in set(_BY_LABEL.values()):
        assert codecs.lookup(charset.codec)._is_text_encoding


@given(st.text(max_size=30), st.binary(max_size=300))
def test_no_label_and_no_body_raises(label: str, body: bytes) -> None:
    utf8, _ = convert_to_utf8(body, f"text/html; charset={label}")
    assert isinstance(utf8.decode("utf-8", "replace"), str)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_beats_the_header(codec: str) -> None:
    utf8, name = convert_to_utf8(RUSSIAN.encode(codec), "text/html; charset=koi8-r")
    assert utf8.decode() == RUSSIAN
    assert name.startswith("utf-")


def test_the_header_beats_the_document() -> None:
    body = b'<meta charset="utf-8">' + RUSSIAN.encode("koi8-r")
    assert convert_to_utf8(body, "text/html; charset=KOI8-R") == (
        b'<meta charset="utf-8">' + RUSSIAN.encode(),
        "koi8-r",
    )


@pytest.mark.parametrize(
    "declaration",
    [
        '<meta charset="windows-1251">',
        "<META CHARSET=windows-1251>",
        "<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
        '<meta content="text/html;charset=cp1251" http-equiv=content-type />',
        '<!-- <meta charset="koi8-r"> --><title>"</title><meta charset="windows-1251">',
        '<?xml version="1.0" encoding="windows-1251"?>',
        "\n<?xml version='1.0' encoding='windows-1251' standalone='yes'?>",
        '<meta charset="klingon"><meta charset="windows-1251">',
    ],
)
def test_a_document_may_declare_its_encoding(declaration: str) -> None:
    short = "Щ"  # too short for detection
    utf8, name = convert_to_utf8((declaration + short).encode("cp1251"), "text/html")
    assert (utf8.decode(), name) == (declaration + short, "windows-1251")


@pytest.mark.parametrize(
    "declaration",
    [
        '<meta name="description" content="how to say charset=koi8-r">',
        '<!-- <meta charset="koi8-r"> -->',
        '<p title="<meta charset=koi8-r>">',
        " " * 1024 + '<meta charset="koi8-r">',
    ],
)
def test_lookalike_charset_declarations_are_ignored(declaration: str) -> None:
    assert convert_to_utf8((declaration + "é").encode(), "text/html")[1] == "utf-8"


@pytest.mark.parametrize("label", ["utf-16", "unicode", "UTF-16BE", "utf-32"])
def test_a_declaration_readable_as_ascii_cannot_mean_utf_16(label: str) -> None:
    assert convert_to_utf8(f'<meta charset="{label}">é'.encode(), "text/html")[1] == "utf-8"


def test_an_unknown_label_in_the_header_is_ignored() -> None:
    assert convert_to_utf8("é".encode(), "text/html; charset=klingon") == ("é".encode(), "utf-8")


def test_valid_utf_8_needs_no_detection() -> None:
    body = "Ã©tÃ©".encode()  # looks like mojibake, yet is valid
    assert convert_to_utf8(body, "") == (body, "utf-8")


def test_a_character_cut_off_at_the_end_still_counts_as_utf_8() -> None:
    assert convert_to_utf8("größer".encode()[:4], "")[1] == "utf-8"


@pytest.mark.parametrize("codec", ["cp1251", "koi8-r", "shift_jis", "euc_kr", "iso2022_jp", "utf-16-le"])
def test_undeclared_encodings_are_detected(codec: str) -> None:
    text = RUSSIAN * 5 if codec not in {"shift_jis", "euc_kr", "iso2022_jp"} else ""
    text = text or {
        "euc_kr": "안녕하세요. 이것은 한국어로 쓰인 평범한 문장입니다. " * 5,
    }.get(codec, "これは日本語で書かれた普通の文章です。文字コードは宣言されていません。" * 5)
    assert convert_to_utf8(text.encode(codec), "")[0].decode() == text


def test_international_text_is_kept_exactly() -> None:
    text = "e\u0301 é ﬁ Å Å \u3000 ｶﾞ 한글 \u202eabc \xad"  # decomposed, ligature, look-alikes, wide space
    parsed = page(f"<title>{text}</title><p>{text}".encode())
    assert (parsed.title, runs(parsed)[-1][1]) == (text, text)
