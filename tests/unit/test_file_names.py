"""URLs as file names: reversible, unique, safe."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.files.file_names import path_to_url, url_to_path
from gossamer.urls.canonical import canonicalize

SEGMENT = st.one_of(
    st.sampled_from(
        ["", "a", "a.html", "index", "index.html", ".git", "v1.2", "%2F", "^", "^~", "^index.html", "a^", "..."]
    ),
    st.text(max_size=12),
    st.text("ab.^~%2F/", max_size=8),
    st.integers(150, 700).map(lambda n: "x." * n),
    st.integers(150, 700).map(lambda n: "." * n),
    st.integers(60, 300).map(lambda n: "é|" * n),
)
HOST = st.sampled_from(["example.org", "localhost:8080", "[::1]:81", "..", "127.0.0.1", "xn--bcher-kva.example"])


@st.composite
def urls(draw: st.DrawFn) -> str:
    path = "/".join(draw(st.lists(SEGMENT, max_size=5)))
    query = draw(st.one_of(st.just(""), st.text(max_size=20).map(lambda text: f"?{text}"), st.just("?a=../..&b=/etc")))
    url = canonicalize(f"{draw(st.sampled_from(['http', 'https']))}://{draw(HOST)}/{path}{query}")
    return url or "https://example.org/"


@given(urls())
@example("https://example.org/a//b/")
@example("https://example.org/?")
@example("http://../")
@example("https://example.org/" + "." * 401)
def test_path_to_url_reverses_url_to_path(url: str) -> None:
    assert path_to_url(url_to_path(url)) == url


@given(urls())
@example("http://../...")
@example("https://example.org/.htaccess")
@example("https://example.org/" + "x" * 200 + ".")
def test_every_part_of_a_path_is_safe_for_a_file_system(url: str) -> None:
    path = url_to_path(url)
    for part in path.split("/"):
        assert part
        assert not part.startswith(".")
        assert len(part.encode()) <= 255
        assert not set(part) & set('\0\\:*?"<>|')
        assert part.isascii()
        assert part.isprintable()


@given(st.lists(urls(), max_size=12, unique=True))
@example(["https://example.org/a", "https://example.org/a/", "https://example.org/a/b", "https://example.org/a/b.c/d"])
@example(["https://example.org/a.b", "https://example.org/a.b/c", "https://example.org/a.b/"])
def test_paths_never_collide_with_files_or_directories(distinct_urls: list[str]) -> None:
    paths = [url_to_path(url) for url in distinct_urls]
    directories = {"/".join(path.split("/")[:i]) for path in paths for i in range(1, path.count("/") + 1)}
    assert len(set(paths)) == len(distinct_urls)
    assert not set(paths) & directories


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://example.org/docs/os.html", "https/example.org/docs/os.html"),
        ("https://example.org/docs/", "https/example.org/docs/^index.html"),
        ("https://example.org/docs", "https/example.org/docs^"),
        ("https://example.org/v1.2/a?b=c/d", "https/example.org/v1.2^/a^3Fb=c^2Fd^"),
        ("http://localhost:8080/", "http/localhost^3A8080/^index.html"),
        ("https://example.org/.htaccess", "https/example.org/^2Ehtaccess"),
    ],
)
def test_paths_stay_readable(url: str, path: str) -> None:
    assert url_to_path(url) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "https",
        "https/example.org",
        "ftp/example.org/a^",
        "https/example.org/a",  # a file without a dot is marked
        "https/example.org/../a^",
        "https/example.org/a/../b^",
        "/https/example.org/a^",
        "https/Example.org/a^",
        "https/example.org/^2e^",
        "https/example.org/^61^",  # an escape where none is needed
        "https//a^",
        "https/example.org/a^~",
        "readme.txt",
        "docs/readme.txt",
    ],
)
def test_a_path_that_encodes_no_url_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not the path"):
        path_to_url(path)
