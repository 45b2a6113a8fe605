"""Pages without a sign of scripts that are kept to be rendered at the end of a crawl."""

from __future__ import annotations

from gossamer.crawl.rendering import samples
from gossamer.crawl.rendering.decisions import MAX_SAMPLES, ShapeKey
from gossamer.crawl.rendering.samples import SampleStock
from gossamer.model import FetchResult, Outcome, Page, Request, Role
from helpers.parse.jobs import page

PLAIN = page("<p>Words of the server. <a href='/next'>Next</a>")


def fetched(size: int = 100) -> FetchResult:
    return FetchResult(
        request=Request(id=1, url="http://a.test/", role=Role.PAGE), outcome=Outcome.FETCHED, reason="", status=200,
        headers={}, body=b"x" * size, milliseconds=1, address="127.0.0.1",
    )  # fmt: skip


def offer(stock: SampleStock, host: int, shape: str, resource: int, size: int = 100, plain: Page = PLAIN) -> None:
    stock.offer(ShapeKey(host, shape, signed=False), fetched(size), plain, resource)


def test_the_first_page_of_the_largest_shapes_of_a_host_are_samples() -> None:
    stock = SampleStock()
    for number in range(samples.MAX_SHAPES):
        for copy in range(number + 1):
            offer(stock, 1, f"/{number}/*", 100 * number + copy)
    taken = stock.take_samples()
    largest = range(samples.MAX_SHAPES - 1, samples.MAX_SHAPES - 1 - MAX_SAMPLES, -1)
    assert [(sample.key.shape, sample.resource) for sample in taken] == [(f"/{n}/*", 100 * n) for n in largest]


def test_a_host_gives_samples_once() -> None:
    stock = SampleStock()
    offer(stock, 1, "/*", 1)
    assert len(stock.take_samples()) == 1
    offer(stock, 1, "/other/*", 2)
    offer(stock, 2, "/*", 3)
    assert [stock.has_host(host) for host in (1, 2, 3)] == [True, True, False]
    assert [sample.resource for sample in stock.take_samples()] == [3]


def test_samples_need_bounded_memory() -> None:
    stock = SampleStock()
    offer(stock, 1, "/large", 1, size=samples.MAX_BODY_BYTES)
    for host in range(2 * samples.MAX_HOSTS):
        offer(stock, host, "/*", host)
    taken = stock.take_samples()
    assert len(taken) == samples.MAX_HOSTS
    assert {sample.key.shape for sample in taken} == {"/*"}
    assert not taken[0].plain.source
    assert taken[0].plain.links.digests == PLAIN.links.digests


def test_the_pages_of_a_shape_are_given_once() -> None:
    stock = SampleStock()
    for resource in (4, 5, 6):
        offer(stock, 1, "/*", resource)
    key = ShapeKey(1, "/*", signed=False)
    assert stock.take_pages(key) == [4, 5, 6]
    assert stock.take_pages(key) == []
