"""Page text by field, and page metadata."""

from __future__ import annotations

from hashlib import sha256

import pytest

from gossamer.model import Field
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page
from gossamer.parse.readers import html as html_reader
from gossamer.parse.readers.text import clean, clean_all
from helpers.parse.jobs import job, page, runs

TITLE, H1, H2, H3 = (int(field) for field in (Field.TITLE, Field.H1, Field.H2, Field.H3))
PARAGRAPH, TEXT, DESCRIPTION = (int(field) for field in (Field.PARAGRAPH, Field.TEXT, Field.DESCRIPTION))


def test_fields_are_kept_apart_in_reading_order() -> None:
    html = """<html><head><title>The  title</title><meta name=Description content=" what it
      is "></head><body><h1>One</h1><p>First.</p>loose<h3>Three</h3><ul><li>a<li>b</ul><p>Last."""
    assert runs(page(html)) == [
        (TITLE, "The title"),
        (DESCRIPTION, "what it is"),
        (H1, "One"),
        (PARAGRAPH, "First."),
        (TEXT, "loose"),
        (H3, "Three"),
        (TEXT, "a\nb"),
        (PARAGRAPH, "Last."),
    ]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("ex<b>am</b>ple", "example"),
        ("ex<span>am</span><!-- x --><wbr>ple", "example"),
        ("one<br>two<br/>three", "one two three"),
        ("<b>one</b> <i>two</i>", "one two"),
        ("<div>one</div>two<div>three</div>", "one\ntwo\nthree"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a\nb\nc"),
        ("<pre>one\n  two\tthree</pre>", "one two three"),
        ("<ul><li>one<ul><li>two</ul>three</ul>", "one\ntwo\nthree"),
        ("<select><option>one<option>two</select>", "one\ntwo"),
        ("<button>push</button>now", "push\nnow"),
        ("<textarea>written</textarea>", "written"),
        ("<noscript>without</noscript>", "without"),
        ("<noframes>with<b>out</b></noframes>", "without"),
        ("a&amp;b &lt;c&gt; &eacute;", "a&b <c> é"),
        ("one\xa0two\u3000three", "one\xa0two\u3000three"),
        ("seen<script>no</script><style>no</style><template>no</template>", "seen"),
        ("seen<svg><title>no</title><text>no</text><svg></svg>no</svg> too", "seen too"),
        ("seen<svg><foreignObject><p>no</p>no</foreignObject></svg><svg>no", "seen"),
        ("seen<iframe>no</iframe><datalist><option>no</datalist>", "seen"),
        ("<details><summary>short</summary>long</details>", "short\nlong"),
        ("<math><mi>x</mi><mo>=</mo><mn>1</mn></math>", "x=1"),
    ],
)
def test_blocks_and_breaks_separate_words_and_inline_elements_do_not(html: str, text: str) -> None:
    assert runs(page(html)) == [(TEXT, text)]


def test_everything_inside_a_heading_is_heading_text() -> None:
    assert runs(page("<h2><div>a</div><p>b</p> c</h2>d")) == [(H2, "a"), (H2, "b"), (H2, "c"), (TEXT, "d")]


def test_text_after_a_paragraph_is_plain_text_again() -> None:
    assert runs(page("<div>a<p>b</p>c</div>")) == [(TEXT, "a"), (PARAGRAPH, "b"), (TEXT, "c")]


def test_a_page_without_text_has_no_runs() -> None:
    assert runs(page("<p> \n <div></div>")) == []


def test_a_page_cannot_forge_the_marks_between_fields() -> None:
    assert runs(page(b"<div>a \x001 b &#0;1 c</div><textarea>\x000 d</textarea>")) == [
        (TEXT, "a 1 b \ufffd1 c\n\ufffd0 d"),
    ]


def test_the_first_title_counts_and_svg_titles_do_not() -> None:
    assert page("<svg><title>no</title></svg><title></title><title>yes</title><title>no</title>").title == "yes"


def test_long_titles_and_descriptions_are_capped() -> None:
    parsed = page(f"<title>{'é' * 5000}</title><meta name=description content={'x' * 5000}>")
    assert (len(parsed.title), len(parsed.description)) == (1000, 2000)


@pytest.mark.parametrize(
    ("html", "header", "language"),
    [
        ("<html lang=de-AT>", "fr", "de-AT"),
        ("<html xml:lang=pt_BR>", "", "pt-BR"),
        ("<meta http-equiv=Content-Language content='nl, en'>", "fr", "nl"),
        ("<html lang=''>", "fr, en", "fr"),
        ("<p>", " fr ", "fr"),
        ("<html lang='<script>'>", "", ""),
        ("<p>", "", ""),
    ],
)
def test_the_language_comes_from_the_page_or_the_header(html: str, header: str, language: str) -> None:
    assert page(html, language=header).language == language


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("<link rel=canonical href='/a#b'>", "http://example.org/a"),
        ("<link rel=canonical href='mailto:x'><link rel=canonical href=/b>", "http://example.org/b"),
        ("<link rel=canonical href=/a><link rel=canonical href=/b>", "http://example.org/a"),
        ("<base href=/deep/><link rel='Canonical nofollow' href=a>", "http://example.org/deep/a"),
        ("<p>", ""),
    ],
)
def test_the_first_valid_canonical_is_resolved(html: str, canonical: str) -> None:
    assert page(html).canonical == canonical


@pytest.mark.parametrize(
    ("html", "header", "noindex"),
    [
        ("<meta name=robots content=noindex>", "", True),
        ("<meta name=Gossamer content=none>", "", True),
        ("<meta name=otherbot content=noindex>", "", False),
        ("", "noindex", True),
        ("<p>", "", False),
    ],
)
def test_noindex_comes_from_the_page_or_the_header(html: str, header: str, noindex: bool) -> None:
    assert page(html, robots=header).noindex is noindex


def test_topic_is_the_share_of_topic_words_on_the_page() -> None:
    options = ParseOptions(topic=frozenset({"silk", "spiders", "über", "absent"}))
    assert parse_page(job("<title>Über Spiders</title><p>... and SILK"), options).topic == 0.75


def test_digests_show_whether_source_and_text_changed() -> None:
    one, moved, other = page("<p>same text"), page("<p  >same text"), page("<p>other text")
    assert one.content_digest != moved.content_digest
    assert one.text_digest == moved.text_digest != other.text_digest
    assert one.content_digest.hex() == sha256(b"<p>same text").hexdigest()[:32]
    assert one.size == len("<p>same text")


def test_the_source_is_kept_only_when_enabled() -> None:
    assert page("<p>x").source
    assert parse_page(job("<p>x"), ParseOptions(keep_source=False)).source == b""


@pytest.mark.parametrize(
    "texts",
    [
        ["plain", "two words", "", "längere Wörter\u00a0"],
        ["plain", " blank before", "blank behind ", "\n", "two  blanks", "x\ty", "a\0b"],
        ["one with\2the separator", "x  y"],
        ["next to\2", " the separator"],
        ["word " * 200],
    ],
)
def test_cleaning_many_texts_at_once_equals_cleaning_each(texts: list[str]) -> None:
    assert clean_all(texts, 500) == [clean(text, 500) for text in texts]


def test_splitting_a_long_text_in_chunks_changes_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "<h1>On  silk</h1>\n<p>one\ttwo <b>three</b>\u3000four</p><ul><li>f ive</li> <li>six</li></ul>"
    whole = runs(page(source))
    for split_bytes in range(1, 40):
        monkeypatch.setattr(html_reader, "_SPLIT_BYTES", split_bytes)
        assert runs(page(source)) == whole
