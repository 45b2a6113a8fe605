"""Coverage-guided fuzzing of everything that reads hostile bytes: `make fuzz MINUTES=10`.

    python tests/fuzz/parse.py CORPUS [libFuzzer's options]

It runs a response body and its headers through everything a parser process does (decompression, charset, HTML, XHTML,
feeds, sitemaps, PDF, robots.txt). Then it checks the result as the coordinator relies on it, and that the HTML kernel
agrees with the reader over Lexbor's tree. A fault ends the run and leaves the input in a file;
`python tests/fuzz/parse.py FILE` runs that input again.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # helpers of the tests

with atheris.instrument_imports(include=["gossamer.parse", "gossamer.urls"]):
    from gossamer.parse.charset import convert_to_utf8
    from gossamer.parse.options import ParseOptions
    from gossamer.parse.page_parser import PageParser
    from gossamer.parse.readers import feeds, pdf  # noqa: F401 - import them instrumented
    from gossamer.urls.canonical import canonicalize, url_key
    from gossamer.urls.robots import RobotsRules

import msgspec

from gossamer.kernels import native
from gossamer.model import Outcome, Page, ParseJob, Role
from gossamer.parse.pool import _is_valid_reply
from helpers.parse.agreement import find_differences

TYPES = (
    "text/html", "text/html; charset=utf-16", "application/xhtml+xml", "text/xml", "application/rss+xml", "text/plain",
    "application/pdf", "", "application/octet-stream", "text/html; charset=iso-2022-jp", "text/html; charset=gb18030",
)  # fmt: skip
ENCODINGS = ("", "gzip", "deflate", "br", "zstd", "gzip, br", "x-gzip")
ROLES = (Role.PAGE, Role.PAGE, Role.PAGE, Role.SITEMAP, Role.ROBOTS)
SMALL = ParseOptions(max_bytes=1 << 20, max_links=500)
HEADER_BYTES = 64
SEED_BYTES = 20_000
PARSER = PageParser(SMALL)


def one_input(data: bytes) -> None:
    """Parse one response and check the result."""
    provider = atheris.FuzzedDataProvider(data)
    kind, encoding = TYPES[provider.ConsumeIntInRange(0, 10)], ENCODINGS[provider.ConsumeIntInRange(0, 6)]
    role = ROLES[provider.ConsumeIntInRange(0, 4)]
    headers = [provider.ConsumeUnicode(HEADER_BYTES) if provider.ConsumeBool() else "" for _ in range(4)]
    body = provider.ConsumeBytes(sys.maxsize)
    job = ParseJob(1, role, "http://example.org/a/b?c", body, kind, encoding, *headers)
    page = PARSER.parse(job)
    check(page, job)
    if native is not None and kind.startswith("text/html"):
        utf8, _ = convert_to_utf8(body, kind)
        assert not find_differences(utf8, job.url)


def check(page: Page, job: ParseJob) -> None:
    """Check what the coordinator and the store rely on."""
    assert page.outcome in {Outcome.FETCHED, Outcome.TOO_BIG, Outcome.BAD_ENCODING}, page.outcome
    assert _is_valid_reply(page, job)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(page), type=Page) == page
    assert page.size <= SMALL.max_bytes
    texts = (page.title, page.description, page.language, page.reason, page.canonical, *page.links.urls)
    assert not any("\0" in text for text in texts)
    for url in page.links.urls:
        assert canonicalize(url) == url, url
        assert url_key(url_key(url)) == url_key(url), url
    if job.role is Role.ROBOTS:
        rules = RobotsRules.parse(page.text.decode())
        rules.for_product("gossamer").allows("http://example.org/a/b?c")


def seed(corpus: Path) -> None:
    """Start with the small bodies of the hostile web, in each encoding of the standard library."""
    from hostile.pages import MAKERS

    corpus.mkdir(parents=True, exist_ok=True)
    bodies = [body for make in MAKERS if len(body := make()) < SEED_BYTES]
    for number, body in enumerate(bodies):
        for name, packed in {"plain": body, "gzip": gzip.compress(body), "zlib": zlib.compress(body)}.items():
            (corpus / f"{number}-{name}").write_bytes(packed + bytes(8))  # the provider takes numbers from the end


def main() -> None:
    """Fuzz until libFuzzer's limit."""
    if len(sys.argv) > 1 and not Path(sys.argv[1]).is_file():
        seed(Path(sys.argv[1]))
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
