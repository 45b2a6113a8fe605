"""From an answer to a visit: pure joins of what was asked, what came and what was found in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl import policy
from gossamer.model import Candidate, FetchResult, Kind, Lease, Outcome, Page, ParseJob, Role, State, Visit
from gossamer.urls.canonical import url_digest

if TYPE_CHECKING:
    from gossamer.urls.canonical import UrlRules


def parse_job(fetched: FetchResult) -> ParseJob:
    """What a parser needs of an answer."""
    headers = fetched.headers.get
    return ParseJob(
        fetched.request.id,
        fetched.request.role,
        fetched.request.url,
        fetched.body,
        headers("content-type", ""),
        headers("content-encoding", ""),
        headers("link", ""),
        headers("x-robots-tag", ""),
        headers("refresh", ""),
        headers("content-language", ""),
    )


def build_visit(
    lease: Lease,
    fetched: FetchResult,
    page: Page | None,
    *,
    now: float,
    retries: int,
    redirect: Candidate | None,
    confirm_gone: bool = False,
) -> Visit:
    """The visit that an answer, parsed or not, amounts to. `confirm`: what seems gone is asked again in this round."""
    outcome, reason = fetched.outcome, fetched.reason
    if page is not None:
        outcome, reason = page.outcome, page.reason
    verdict = policy.verdict(outcome, fetched.status, lease.tries, retries)
    return Visit(
        lease=lease,
        outcome=outcome,
        state=State.QUEUED if confirm_gone and policy.needs_confirmation(outcome, lease.before) else verdict.state,
        reason=reason,
        status=fetched.status,
        visited_at=now,
        bytes=page.size if page is not None else len(fetched.body),
        milliseconds=fetched.milliseconds,
        etag=fetched.headers.get("etag", ""),
        last_modified=fetched.headers.get("last-modified", ""),
        media_type=page.media_type if page else media_type(fetched.headers.get("content-type", "")),
        page=page if outcome is Outcome.FETCHED else None,
        redirect=redirect,
    )


def without_followed_links(page: Page, copies: int) -> Page:
    """A page that many others on its host equal: it is kept, and its links are not followed."""
    links = msgspec.structs.replace(page.links, follows=[False] * len(page.links.follows))
    reason = f"the same content as {copies:,} other pages of its host: its links are not followed"
    return msgspec.structs.replace(page, links=links, reason=reason)


def skipped_visit(lease: Lease, outcome: Outcome, reason: str, *, now: float, state: State) -> Visit:
    """The record of a URL that was not asked for, and why."""
    return Visit(
        lease=lease, outcome=outcome, state=state, reason=reason, status=0, visited_at=now, bytes=0, milliseconds=0
    )


def redirect_candidate(lease: Lease, location: str, rules: UrlRules) -> Candidate:
    """Where a redirect leads: as deep as its source, one hop further; a seed's target is a seed."""
    return Candidate(
        url=location,
        digest=url_digest(location, rules),
        kind=Kind.REDIRECT,
        follow=True,
        depth=lease.depth,
        hops=lease.hops + 1,
        seed=lease.depth == 0 and lease.role is Role.PAGE,
    )


def seed_candidate(url: str, rules: UrlRules) -> Candidate:
    """A URL to start from."""
    return Candidate(url=url, digest=url_digest(url, rules), kind=Kind.HYPERLINK, follow=True, depth=0, seed=True)


def sitemap_candidate(url: str, rules: UrlRules) -> Candidate:
    """A sitemap named in robots.txt."""
    return Candidate(url=url, digest=url_digest(url, rules), kind=Kind.SITEMAP_FILE, follow=True, depth=0)


def media_type(content_type: str) -> str:
    """The type without its parameters."""
    return content_type.partition(";")[0].strip().lower()
