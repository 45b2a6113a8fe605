"""Pure decisions about rendering: which pages a browser renders, and what it taught about pages like them.

A page is read plainly first. Its reading may show a sign of scripts (`parse/readers/script_signs.py`). Pages of one
path shape of a host, with a sign or without, share their evidence. Where there was a sign, a browser renders the first
pages of that shape, and the crawl compares words and links with the plain reading. The evidence then decides for the
shape. After the queue is empty, a few pages without a sign are rendered as samples.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import Outcome, Role, ShapeEvidence, Value

if TYPE_CHECKING:
    from gossamer.model import FetchResult, Page

TRIALS = 3  # pages of a shape rendered before its evidence decides
MAX_OUTCOMES = 8  # outcomes kept for a shape
MAX_FAILURES = 20  # pages of a shape in a row that no browser could render; then the shape rests
MAX_SAMPLES = 5  # pages of a host without a sign that are rendered after the queue is empty
LOOK_AGAIN_SECONDS = 7 * 86_400.0  # a decision against a browser is looked at again after this time ...
PAGES_BETWEEN_LOOKS = 100  # ... or after so many pages of the shape
MAX_SHAPES = 500  # shapes of one host with evidence of their own; about 100 kB
JOBS_AHEAD = 2  # pages given to the renderers for each of their tabs: one in work, one to follow
MAX_UNREAD_BYTES = 64 << 20  # of rendered HTML that waits for a parser, above which no page goes to a browser
ALWAYS = "always"  # the reasons of rendered pages, beside the signs
SHAPE = "shape needs scripts"
SAMPLE = "sample"

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_LITERAL_SEGMENT = re.compile(r"[A-Za-z][A-Za-z_.-]{0,30}")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
_LITERAL_SEGMENTS = 2  # directories that keep their name in a shape; identifiers come later
_MAX_SEGMENTS = 6


class Step(Enum):
    """What to do with a page that was read plainly."""

    KEEP = "keep"  # its plain reading is its reading
    RENDER = "render"
    WAIT = "wait"  # for the pages of its shape that are being rendered


class Decision(NamedTuple):
    """What to do with a page, and why."""

    step: Step
    reason: str = ""


class ShapeKey(NamedTuple):
    """Pages that share their evidence."""

    host: int
    shape: str
    signed: bool


class ShapeState(Value, frozen=True, kw_only=True):
    """What is known of a shape at one moment."""

    evidence: ShapeEvidence | None = None
    trials: int = 0  # its pages in browsers now
    kept: int = 0  # its pages that were not rendered since the last look
    failures: int = 0  # its last pages in a row that no browser could render


KEEP = Decision(Step.KEEP)


def has_room(*, in_renderers: int, most_pages: int, unread_bytes: int) -> bool:
    """Return whether one more page may go to the renderers; `unread_bytes` of rendered HTML wait for a parser."""
    return in_renderers < JOBS_AHEAD * most_pages and unread_bytes < MAX_UNREAD_BYTES


def path_shape(url: str) -> str:
    """Return the shape of a URL's path: "/shop/*/*.html" for "/shop/17/shoes.html?id=3"."""
    path, _, query = url.partition("?")
    *directories, last = path.split("/")[3:] or [""]
    kept = directories[:_MAX_SEGMENTS]
    shaped = [
        segment if at < _LITERAL_SEGMENTS and _LITERAL_SEGMENT.fullmatch(segment) else "*"
        for at, segment in enumerate(kept)
    ]
    extension = _EXTENSION.search(last)
    end = f"*{extension[0].lower()}" if extension else "*" * bool(last)
    return "/".join(("", *shaped, end)) + ("?" if query else "")


def is_renderable(fetched: FetchResult, page: Page) -> bool:
    """Return whether a browser could render a page at all."""
    return fetched.request.role is Role.PAGE and page.outcome is Outcome.FETCHED and page.media_type in HTML_TYPES


def needs_scripts(evidence: ShapeEvidence | None) -> bool:
    """Return whether scripts added words or links to one of the last pages of a shape."""
    return evidence is not None and "1" in evidence.outcomes[-TRIALS:]


def is_sign_wrong(evidence: ShapeEvidence | None) -> bool:
    """Return whether browsers found that the pages of a shape need no scripts, although they have a sign of them."""
    return evidence is not None and len(evidence.outcomes) >= TRIALS and not needs_scripts(evidence)


def is_resting(state: ShapeState) -> bool:
    """Return whether browsers failed at so many pages of a shape that its next pages keep their plain reading."""
    return state.failures >= MAX_FAILURES and (state.kept < PAGES_BETWEEN_LOOKS or state.trials > 0)


def decide(sign: str, state: ShapeState, now: float) -> Decision:
    """Decide about a page with this sign, "" for none."""
    evidence = state.evidence
    outcomes = evidence.outcomes if evidence is not None else ""
    if is_resting(state):
        return KEEP
    if needs_scripts(evidence):
        return Decision(Step.RENDER, SHAPE)
    if not sign:
        return KEEP
    if len(outcomes) + state.trials < TRIALS:
        return Decision(Step.RENDER, sign)
    if len(outcomes) < TRIALS:
        return Decision(Step.WAIT)
    is_due = evidence is not None and now - evidence.looked_at > LOOK_AGAIN_SECONDS
    if (is_due or state.kept >= PAGES_BETWEEN_LOOKS) and not state.trials:
        return Decision(Step.RENDER, SAMPLE)
    return KEEP


def is_sample_due(state: ShapeState, now: float) -> bool:
    """Return whether a page without a sign may be rendered after the queue is empty."""
    return state.evidence is None or now - state.evidence.looked_at > LOOK_AGAIN_SECONDS


def with_outcome(key: ShapeKey, evidence: ShapeEvidence | None, now: float, *, gained: bool) -> ShapeEvidence:
    """Return the evidence of a shape after one more page was rendered."""
    outcomes = (evidence.outcomes if evidence is not None else "") + ("1" if gained else "0")
    return ShapeEvidence(
        host=key.host, shape=key.shape, signed=key.signed, outcomes=outcomes[-MAX_OUTCOMES:], looked_at=now
    )
