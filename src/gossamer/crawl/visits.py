"""Pure functions that build visits from leases, responses and parsed pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.headers import header_text, parse_media_type
from gossamer.crawl import policy
from gossamer.model import Candidate, FetchResult, Kind, Lease, Outcome, Page, ParseJob, Role, State, Visit
from gossamer.urls.canonical import authority, url_digest

if TYPE_CHECKING:
    from gossamer.urls.canonical import UrlRules


# Characters of a header that the store keeps. Longer ones say nothing that a later visit could use.
MAX_ETAG = 1024
MAX_DATE = 64
MAX_MEDIA_TYPE = 255  # both names of a type have at most 127 (RFC 6838 §4.2)


def parse_job(fetched: FetchResult) -> ParseJob:
    """Return the parts of a response that a parser needs."""
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
    """Build the visit of a response, parsed or not.

    `confirm_gone` queues a page again in this round if it existed at its last visit and now seems gone.
    """
    outcome, reason = fetched.outcome, fetched.reason
    if page is not None:
        outcome, reason = page.outcome, page.reason
    verdict = policy.verdict(outcome, fetched.status, lease.tries, retries)
    # "Not modified" says that a source is the same, and nothing about what scripts make of it.
    validators = {} if page is not None and (page.rendered or page.script_sign) else fetched.headers
    return Visit(
        lease=lease,
        outcome=outcome,
        state=State.QUEUED if confirm_gone and policy.needs_confirmation(outcome, lease.before) else verdict.state,
        reason=reason,
        status=fetched.status,
        visited_at=now,
        bytes=page.size if page is not None else len(fetched.body),
        milliseconds=fetched.milliseconds,
        etag=header_text(validators.get("etag", ""), MAX_ETAG),
        last_modified=header_text(validators.get("last-modified", ""), MAX_DATE),
        media_type=page.media_type if page else _declared_type(fetched.headers.get("content-type", "")),
        page=page if outcome is Outcome.FETCHED else None,
        redirect=redirect,
    )


def _declared_type(content_type: str) -> str:
    return header_text(parse_media_type(content_type), MAX_MEDIA_TYPE)


def without_followed_links(page: Page, copies: int) -> Page:
    """Return a copy of a page that has too many copies on its host: stored, but its links are not followed."""
    reason = f"the same content as {copies:,} other pages of its host: its links are not followed"
    return msgspec.structs.replace(page, links=page.links.without_follow(), reason=reason)


def skipped_visit(lease: Lease, outcome: Outcome, reason: str, *, now: float, state: State) -> Visit:
    """Build the visit of a URL that was not requested, with the reason."""
    return Visit(
        lease=lease, outcome=outcome, state=state, reason=reason, status=0, visited_at=now, bytes=0, milliseconds=0
    )


def redirect_candidate(lease: Lease, location: str, rules: UrlRules) -> Candidate:
    """Build the candidate of a redirect target: same depth, one hop further. A seed's target is a seed too."""
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
    """Build the candidate of a start URL."""
    return Candidate(url=url, digest=url_digest(url, rules), kind=Kind.HYPERLINK, follow=True, depth=0, seed=True)


def sitemap_candidate(url: str, robots_url: str, rules: UrlRules) -> Candidate:
    """Build the candidate of a sitemap named in a robots.txt.

    One on another host is a hop further, as if another sitemap had named it. So it has to be in scope.
    """
    hops = int(authority(url) != authority(robots_url))
    return Candidate(url=url, digest=url_digest(url, rules), kind=Kind.SITEMAP_FILE, follow=True, depth=0, hops=hops)
