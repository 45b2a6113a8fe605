"""Requests of rendered pages, before the crawl answers them."""

from __future__ import annotations

from gossamer.render.pages.page_requests import PausedRequest


def test_conditions_of_the_browser_do_not_reach_the_crawl() -> None:
    headers = {"Accept": "*/*", "If-None-Match": '"1"', "If-Modified-Since": "Mon, 01 Jan 2024 00:00:00 GMT"}
    event = {"requestId": "1", "request": {"url": "http://site.test/app.js", "method": "GET", "headers": headers}}
    assert PausedRequest.from_event(event).passed_headers() == {"accept": "*/*"}
