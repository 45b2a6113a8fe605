"""chardet's corpus of 425 feeds, pages and texts: each is decoded as its folder says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gossamer.parse.charset import charset_by_label, charset_from_bom, charset_from_document, convert_to_utf8
from helpers.suites import suite

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.shared

# Codecs that decode the same text and more; the suite's NOTE asks to count them as equal.
SUPERSETS = {"gb2312": "gb18030", "shift_jis": "cp932", "euc-kr": "cp949", "iso-8859-1": "cp1252", "tis-620": "cp874"}
NOT_LABELS = {"MacCyrillic": "mac_cyrillic", "MacRoman": "mac_roman"}  # folders whose name is no Python codec
UNDECODABLE = "EUC-TW"  # one file; neither Python nor browsers have this codec
FLOOR = 0.85  # of the files without a declaration; the test prints the measured share


def encoding(folder: str) -> str:
    """Return the codec of a folder: `windows-1251-russian` -> `windows-1251`."""
    match = re.match(r"windows-\d+|iso-8859-\d+", folder)
    return NOT_LABELS.get(folder) or (match[0] if match else folder.lower())


def files() -> list[Path]:
    folders = (folder for folder in sorted((suite("charset-chardet") / "tests").iterdir()) if folder.is_dir())
    return [file for folder in folders if folder.name != UNDECODABLE for file in sorted(folder.iterdir())]


def is_right(utf8: bytes, file: Path) -> bool:
    body, codec = file.read_bytes(), encoding(file.parent.name)
    expected = {body.decode(one, "replace").removeprefix("\ufeff") for one in {codec, SUPERSETS.get(codec, codec)}}
    return utf8.decode("utf-8", "replace") in expected


def is_declared(file: Path) -> bool:
    body = file.read_bytes()
    return charset_from_bom(body)[1] is not None or charset_from_document(body) is not None


def test_files_are_decoded_by_the_encoding_they_declare() -> None:
    declared = [file for file in files() if is_declared(file)]
    assert len(declared) > 300
    assert [file for file in declared if not is_right(convert_to_utf8(file.read_bytes(), "")[0], file)] == []


def test_files_are_decoded_by_the_encoding_in_the_header() -> None:
    for file in files():
        codec = encoding(file.parent.name).removesuffix("-sig")
        assert charset_by_label(codec), codec
        assert is_right(convert_to_utf8(file.read_bytes(), f"text/xml; charset={codec}")[0], file), file


def test_most_files_without_a_declared_encoding_are_decoded_correctly() -> None:
    undeclared = [file for file in files() if not is_declared(file)]
    wrong = [file for file in undeclared if not is_right(convert_to_utf8(file.read_bytes(), "")[0], file)]
    share = 1 - len(wrong) / len(undeclared)
    print(
        f"\n{share:.1%} of {len(undeclared)} undeclared files decoded correctly; wrong: {[file.name for file in wrong]}"
    )
    assert len(undeclared) > 100
    assert share >= FLOOR
