"""PDF: title, text, links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import Field, Kind, Outcome
from gossamer.parse.readers import pdf
from helpers.parse.jobs import page, rows, runs

if TYPE_CHECKING:
    import pytest

TEXT = int(Field.TEXT)


def document(*texts: str, title: str = "", uri: str = "", extra: str = "") -> bytes:
    """Return a PDF with one page per text; `uri` adds a link over the text of the first page."""
    pages = [3 + 2 * number for number in range(len(texts))]
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R /Lang (de-DE) {extra} >>",
        2: f"<< /Type /Pages /Kids [{' '.join(f'{number} 0 R' for number in pages)}] /Count {len(texts)} >>",
        90: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        91: f"<< /Title ({title}) >>",
        92: f"<< /Type /Annot /Subtype /Link /Rect [70 695 300 715] /A << /S /URI /URI ({uri}) >> >>",
    }
    for number, text in zip(pages, texts, strict=True):
        content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        links = "/Annots [92 0 R]" if number == 3 and uri else ""
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number + 1} 0 R {links}"
            f"/Resources << /Font << /F1 90 0 R >> >> >>"
        )
        objects[number + 1] = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    body = "%PDF-1.7\n"
    offsets = {}
    for number, content in objects.items():
        offsets[number] = len(body)
        body += f"{number} 0 obj\n{content}\nendobj\n"
    start = len(body)
    body += "xref\n" + "".join(f"{number} 1\n{offset:010} 00000 n \n" for number, offset in offsets.items())
    body += f"trailer\n<< /Size 93 /Root 1 0 R /Info 91 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return body.encode("latin-1")


def test_title_language_and_text_of_every_page_are_read() -> None:
    parsed = page(document("First page", "Second page", title="The title"), "application/pdf")
    assert (parsed.outcome, parsed.reason) == (Outcome.FETCHED, "")
    assert (parsed.title, parsed.language) == ("The title", "de-DE")
    assert runs(parsed)[1:] == [(TEXT, "First page\nSecond page")]


def test_link_annotations_are_links_with_the_text_under_them() -> None:
    parsed = page(document("Read more here", uri="https://example.org/more#part"), "application/pdf")
    assert [(row.url, row.anchor, row.kind) for row in rows(parsed)] == [
        ("https://example.org/more", "Read more here", Kind.HYPERLINK)
    ]


def test_a_broken_pdf_gives_a_reason() -> None:
    parsed = page(b"%PDF-1.7\n" + b"nonsense " * 1000, "application/pdf")
    assert parsed.outcome is Outcome.FETCHED
    assert parsed.reason.startswith("unreadable PDF: ")
    assert parsed.source


def test_only_the_first_pages_of_a_long_pdf_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_PAGES", 2)
    parsed = page(document("one", "two", "three"), "application/pdf")
    assert runs(parsed) == [(TEXT, "one\ntwo")]
    assert parsed.reason == "only the first 2 of 3 PDF pages read"


def test_many_pdfs_can_be_parsed_in_one_process() -> None:
    body = document("text", uri="https://example.org/")
    assert {page(body, "application/pdf").text_digest for _ in range(50)} == {page(body, "application/pdf").text_digest}
