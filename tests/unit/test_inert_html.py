"""Stored pages made inert: their text and shape stay, nothing in them can make a browser connect."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.http.inert_html import ATTRIBUTES, ELEMENTS, LOCAL_URLS, inert_html

OWN_TAG = re.compile(r'</?([a-z0-9]+)((?: [a-z-]+="[^"<]*")*)>')
MARKUP = st.lists(
    st.one_of(
        st.sampled_from(
            ["<", ">", "</", "<!--", "-->", "--!>", "<!", "<?", '"', "'", "=", "/", " ", "\n", "&lt;", "&#60;", "\x00",
             "<link rel=preconnect href=//x>", "<iframe src=//x>", "</iframe>", "<style>", "</style", "<title>",
             "</title>", "<script>", "</script>", "<p title=", "<a href=//x", "<img src=//x ", "<svg>", "<math>", "<b>"]
        ),
        st.text(max_size=5),
    ),
    max_size=30,
).map("".join)  # fmt: skip


def test_text_shape_and_styles_stay() -> None:
    page = (
        '<!DOCTYPE html><html lang=en><title>A &amp; B</title><style>p { color: red }</style><p class="x y" id=z>'
        "1 < 2 <a href='#z'>up</a> <img alt=dot src=data:image/gif;base64,R0lG> it's<br/></p>"
    )
    assert inert_html(page) == (
        '<!doctype html><html lang="en"><title>A &amp; B</title><style>p { color: red }</style><p class="x y" id="z">'
        '1 &lt; 2 <a href="#z">up</a> <img alt="dot" src="data:image/gif;base64,R0lG"> it\'s<br></p>'
    )


@pytest.mark.parametrize(
    "markup",
    [
        "<link rel=preconnect href=//x>", "<LINK\nREL='preconnect'\thref=//x>", "<base href=//x>", "<iframe src=//x>",
        '<iframe srcdoc="<link rel=preconnect href=//x>"></iframe>', "<meta http-equiv=refresh content='0;url=//x'>",
        "<script>a<b</script>", "<object data=//x>", "<embed src=//x>", "<svg><image href=//x></svg>", "<!-- <b> -->",
        "<video src=//x poster=//x>", "<portal src=//x>", "<frame src=//x>", "<link rel=preconnect href=//x",
    ],
)  # fmt: skip
def test_elements_that_connect_are_dropped(markup: str) -> None:
    assert inert_html(f"a{markup}") == "a"


def test_urls_of_other_resources_are_dropped() -> None:
    page = "<a href=//x ping=//x>a</a><img src=//x srcset='//x 2x'><body background=//x><form action=//x>"
    assert inert_html(page) == "<a>a</a><img><body><form>"


@given(MARKUP)
def test_only_listed_tags_and_attributes_come_out(page: str) -> None:
    shown = inert_html(page).removeprefix("<!doctype html>")
    assert "<" not in OWN_TAG.sub("", shown)
    for name, attributes in OWN_TAG.findall(shown):
        assert name in ELEMENTS
        for attribute, value in re.findall(r' ([a-z-]+)="([^"]*)"', attributes):
            assert attribute in ATTRIBUTES or value.startswith(LOCAL_URLS[attribute])


@pytest.mark.parametrize(
    "part", ["<", "<a ", '<a b="', "<a b='", "<a =", "<!--", "<title>", "</title", "<a\t\t", "<p a=b>", "<script>", "&"]
)
def test_time_grows_with_the_length_alone(part: str) -> None:
    def seconds(count: int) -> float:
        page = part * count
        started = time.process_time()
        inert_html(page)
        return time.process_time() - started

    once = min(seconds(20_000) for _ in range(3))
    assert min(seconds(40_000) for _ in range(3)) < 2.5 * once + 0.02
