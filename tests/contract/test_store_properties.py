"""A store returns everything a parser can produce unchanged, for any characters."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.model import Kind, VisitBatch
from gossamer.urls.canonical import canonicalize
from helpers.examples import scaled_examples
from helpers.store.crawl_steps import Bond, admit_all, digest, fetched_visit, lease_all, leases, recount, seed, start

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A = "http://a.test/"
NUMBERS = count()

# All characters except NUL, which PostgreSQL rejects, and lone surrogates; parsers produce neither
# (test_parse_hostile).
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
hrefs = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
urls = hrefs.map(lambda href: canonicalize(href, A)).filter(lambda url: url is not None).map(str)
bonds = st.lists(
    st.builds(Bond, urls, st.sampled_from([Kind.HYPERLINK, Kind.IMAGE]), st.booleans(), words, st.integers(1, 10**6)),
    max_size=5,
    unique_by=lambda bond: (bond.url, bond.kind, bond.follow, bond.anchor),
)


@settings(max_examples=scaled_examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=words, body=words, reason=words, etag=words, given_bonds=bonds)
def test_a_page_is_read_as_it_was_written(
    store: Store, title: str, body: str, reason: str, etag: str, given_bonds: list[Bond]
) -> None:
    crawler = start(store, A) if store.current_round() is None else store.join("here", 1).id
    url = f"{A}page-{next(NUMBERS)}"
    store.add([seed(url)], admit_all)
    lease = leases(lease_all(store, crawler))[url]
    visit = msgspec.structs.replace(
        fetched_visit(lease, *given_bonds, body=body, title=title), reason=reason, etag=etag
    )
    store.submit(crawler, VisitBatch(visits=[visit]), admit_all, time.time())
    store.leave(crawler)
    row = store.resource(digest(url))
    assert row is not None
    assert (row.url, row.title, row.reason, row.etag) == (url, title, reason, etag)
    assert [(link.url, link.follow, link.anchor, link.weight) for link in store.outlinks(row.id)] == [
        (bond.url, bond.follow, bond.anchor, bond.weight) for bond in given_bonds
    ]
    assert store.source(row.id) == body.encode()
    recount(store)
