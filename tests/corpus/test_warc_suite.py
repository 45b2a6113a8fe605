"""warcio's own test files: intact records are imported; each broken one is reported with a reason."""

from __future__ import annotations

import pytest

from gossamer.config import Settings
from gossamer.fetch.response import ResponseLimits
from gossamer.files.archive import read_archive
from gossamer.files.file_page import FilePage, SkippedItem
from gossamer.model import Outcome
from helpers.suites import suite

pytestmark = pytest.mark.shared

REVISIT = "a revisit record: its content is in another one"
NO_URL = "its target is not an HTTP URL"
TITLE = "Examples%20From%20The%20Live%20Web"
JSON = "its media type is not accepted: application/json"

# file -> imported pages (URL, status), and the reasons of skipped items
EXPECTED: dict[str, tuple[list[tuple[str, int]], list[str]]] = {
    "example.warc": ([("http://example.com/", 200)], [REVISIT]),
    "example.warc.gz": ([("http://example.com/", 200)], [REVISIT]),
    "example.arc": ([("http://example.com/", 200)], []),
    "example.arc.gz": ([("http://example.com/", 200)], []),
    "example-iana.org-chunked.warc": ([("http://www.iana.org/", 200)], []),
    "example-resource.warc.gz": ([("http://example.com/", 200)], []),
    "example-wget-bad-target-uri.warc.gz": ([("http://example.com/", 200)], [NO_URL, NO_URL]),
    "example-space-in-target-uri.warc.gz": ([], [NO_URL]),
    "example-digest.warc": ([], []),  # requests only
    "post-test.warc.gz": ([], [JSON, JSON, JSON]),
    # broken files
    "example-bad-non-chunked.warc.gz": ([("http://example.com/", 200)], [REVISIT]),
    "example-bad.warc.gz.bad": (
        [("http://example.com/?example=1", 200), ("http://www.iana.org/domains/example", 302)], [REVISIT],
    ),
    "example-wrong-chunks.warc.gz": ([("http://example.com/", 200)], []),
    "example-space-in-url.arc": (
        [(f"http://example.com/index.cfm?FuseAction=Email&EmailTitle={TITLE}&IsPopUp=False", 200)],
        [],
    ),
    "example-trunc.warc": ([], ["broken record: it does not end where the next one begins"]),
    "bad.arc": (
        [], ["broken record: its header is malformed", "broken archive: no record begins where one should",
             "broken record: it does not end where the next one begins"],
    ),
}  # fmt: skip


def test_every_file_of_the_suite_has_an_expectation() -> None:
    assert {path.name for path in (suite("warc-warcio") / "test/data").iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_intact_records_are_imported_and_others_reported(name: str) -> None:
    settings = Settings()
    limits = ResponseLimits(accept=frozenset(settings.crawl.accept), max_bytes=settings.fetch.max_bytes)
    items = list(read_archive(suite("warc-warcio") / "test/data" / name, limits))
    pages = [each for each in items if isinstance(each, FilePage)]
    imported = [(page.url, page.fetched.status) for page in pages]
    assert (imported, [each.reason for each in items if isinstance(each, SkippedItem)]) == EXPECTED[name]
    assert all(page.fetched_at is not None for page in pages)
    assert all(len(page.fetched.body) > 500 for page in pages if page.fetched.outcome is Outcome.FETCHED)
