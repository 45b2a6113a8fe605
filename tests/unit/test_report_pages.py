"""Page inspection for reports: markup faults, hreflang annotations, and pages that crash or hang."""

from __future__ import annotations

import signal

import pytest
import zstandard

from gossamer.graph.reports import inspection, inspector
from gossamer.graph.reports.hreflang import hreflang_annotations
from gossamer.graph.reports.inspection import inspect_pages
from gossamer.graph.reports.inspector import InspectionJob, InspectionResult
from gossamer.graph.reports.languages import hreflang_fault
from gossamer.graph.reports.markup import markup_faults

URL = "https://example.org/dir/page"
START = '<!DOCTYPE html>\n<html lang="en"><head><title>T</title></head><body>\n'
END = "\n</body></html>"


def job(html: str, check: str = "markup", charset: str = "utf-8", number: int = 1) -> InspectionJob:
    return InspectionJob(number, check, URL, charset, zstandard.compress(html.encode(charset)))  # type: ignore[arg-type]


# -- markup ------------------------------------------------------------------------------------------------------------


def test_a_valid_page_has_no_faults() -> None:
    body = '<p id="a">One<p id="b">Two<ul><li>x<li>y</ul><img src="i" alt=""><br><svg><path d=""/></svg>&amp;'
    assert list(markup_faults(job(START + body + END))) == []


@pytest.mark.parametrize(
    ("body", "fault", "line"),
    [
        ("<div>\n<p>x</p>", "element not closed", 3),
        ("<p><span>x</p>", "element not closed", 3),
        ("\n<b><i>x</b></i>", "elements not nested", 4),
        ("</span>", "end tag without a start", 3),
        ("<p>a<div>b</div>\n</p>", "end tag without a start", 4),
        ('<p class="a" class="b">x', "attribute given twice", 3),
        ("<table><tr>text<td>x</table>", "misplaced in a table", 3),
        ("<form><form></form>", "element in one of its kind", 3),
        ("x &nosuch; y", "faulty character reference", 3),
        ("<div/></div>", "element closed like XML", 3),
        ("<?xml version='1.0'?>", "XML declaration or instruction", 3),
        ("<table><div>x</div><tr><td>y</table>", "misplaced in a table", 3),
        ("</body></html>\n<p>y", "content after the end of the page", 4),
        ("a\n</br>b", "end tag without a start", 4),
        ("<col>", "element where it may not be", 3),
        ("1 < 2", "a < that begins no tag", 3),
        ("<![CDATA[x]]>", "faulty comment or declaration", 3),
    ],
)
def test_a_fault_is_reported_with_its_line(body: str, fault: str, line: int) -> None:
    lines = {kind: line_number for kind, _, line_number, _ in markup_faults(job(START + body + END))}
    assert lines == {fault: line}


def test_a_page_that_ends_inside_a_tag_is_reported() -> None:
    assert [fault for fault, *_ in markup_faults(job(START + "x\n<a hr"))] == ["cut short"]


@pytest.mark.parametrize(
    "doctype", ["", '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">', "<!doctype something>"]
)
def test_a_page_in_quirks_mode_is_reported(doctype: str) -> None:
    html = doctype + "<html><head><title>T</title></head><body>x</body></html>"
    assert list(markup_faults(job(html))) == [("no doctype, or an outdated one", 1, 1, "")]


@pytest.mark.parametrize(
    ("body", "detail"),
    [("<div>", "<div>"), ("<p><span>x</p>", "before </p>"), ("</br>", "</br>"), ("<col>", "<col>"), ("&no;", "&no;")],
)
def test_a_fault_names_the_faulty_markup(body: str, detail: str) -> None:
    ((_, _, _, reported),) = markup_faults(job(START + body + END))
    assert reported == detail


def test_duplicate_ids_are_listed() -> None:
    body = "".join(f'<p id="i{n}">x</p><p id="i{n}">y</p>' for n in range(7))
    assert list(markup_faults(job(START + body + END))) == [("id used twice", 7, None, "i0, i1, i2, i3, i4 and 2 more")]


def test_a_page_is_read_in_its_own_charset() -> None:
    assert list(markup_faults(job(START + '<p id="é">x' + END, charset="utf-16"))) == []


# -- hreflang ----------------------------------------------------------------------------------------------------------


def test_hreflang_annotations_are_read_as_in_browsers() -> None:
    html = (
        '<head><base href="/other/"><link rel="ALTERNATE" hreflang="de" href="de#top">'
        '<link rel="alternate" hreflang="fr" href="https://fr.example/"><link rel="alternate" href="feed">'
        '<link rel="next" hreflang="it" href="it"><link rel="alternate" hreflang="es" href="javascript:x">'
    )
    assert list(hreflang_annotations(job(html, "hreflang"))) == [
        ("de", "https://example.org/other/de"), ("fr", "https://fr.example/"),
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["en", "en-US", "EN-us", "pt-br", "zh-Hant", "zh-hant-TW", "x-default", " de "])
def test_valid_hreflang_values_are_accepted(value: str) -> None:
    assert hreflang_fault(value) == ""


@pytest.mark.parametrize("value", ["", "en-UK", "jp", "en_US", "es-419", "english", "de-de-de", "x-DEFAULTS", "en-"])
def test_invalid_hreflang_values_are_refused(value: str) -> None:
    assert hreflang_fault(value) != ""


# -- processes ---------------------------------------------------------------------------------------------------------


def test_inspected_pages_keep_their_order() -> None:
    jobs = (job(START + "</b>" * (number % 7) + END, number=number) for number in range(100))
    results = list(inspect_pages(jobs, processes=2))
    assert [result.page for result in results] == list(range(100))
    assert [bool(result.rows) for result in results] == [number % 7 > 0 for number in range(100)]


def test_a_page_that_ends_its_process_is_reported_and_others_are_inspected() -> None:
    jobs = [job(START + END, number=1), InspectionJob(2, "markup", URL, "", b"not zstd"), job("<p>", number=3)]
    good, bad, other = inspect_pages(jobs, processes=1)
    assert good == InspectionResult(1, ())
    assert (bad.page, bad.rows) == (2, ())
    assert "ended with code 1" in bad.failure
    assert other.rows


def test_a_page_that_takes_too_long_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def start_and_stop() -> object:
        process = start()
        process.send_signal(signal.SIGALRM)  # as the kernel does after the time limit
        process.wait()
        return process

    start = inspection._start_process
    monkeypatch.setattr(inspection, "_start_process", start_and_stop)
    (result,) = inspect_pages([job(START + END)], processes=1)
    assert result.failure == f"it takes longer than {inspector.MAX_SECONDS:.0f} s"


def test_an_inspection_can_be_closed_early() -> None:
    results = inspect_pages((job(START + END, number=number) for number in range(10_000)), processes=2)
    assert next(results).page == 0
    results.close()  # type: ignore[attr-defined]
