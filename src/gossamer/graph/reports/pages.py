"""Reports that look into the pages themselves: their markup, and what they say of their translations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from gossamer.graph.reports.base import Report, Severity
from gossamer.graph.reports.inspection import inspected
from gossamer.graph.reports.inspector import Job
from gossamer.graph.reports.languages import fault_of
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import Options, Row
    from gossamer.graph.reports.inspector import Found
    from gossamer.store.protocol import Store

REACHED = frozenset({"fetched", "not modified"})


def _looked_into(
    store: Store, question: Question, what: Literal["hreflang", "markup"], options: Options
) -> Iterator[tuple[str, Found]]:
    """Each page that was asked for, by its URL, with what was found in it."""
    urls: dict[int, str] = {}

    def jobs() -> Iterator[Job]:
        for page, url, charset, source in store.ask(question):
            urls[page] = url
            yield Job(page, what, url, charset, source)

    for number, found in enumerate(inspected(jobs()), start=1):
        options.tell(f"{number:,} pages looked into")
        yield urls.pop(found.page), found


def _malformed(store: Store, options: Options) -> Iterator[Row]:
    for url, found in _looked_into(store, Question.SOURCES, "markup", options):
        yield from ((url, *fault) for fault in found.rows)
        if found.why_not:
            yield url, "could not be looked into", 1, None, found.why_not


# -- hreflang ----------------------------------------------------------------------------------------------------------


class Translations(NamedTuple):
    """What the pages of a web say of their translations."""

    said: dict[str, dict[str, list[str]]]  # page -> target -> languages, as written
    targets: dict[str, tuple[str, str, bool]]  # URL -> state, outcome, whether it could be listed
    unread: dict[str, str]  # pages that could not be looked into, and why


def _translations(store: Store, options: Options) -> Translations:
    targets = {url: (state, outcome, bool(listed)) for url, state, outcome, listed in store.ask(Question.ALTERNATES)}
    said: dict[str, dict[str, list[str]]] = {}
    unread: dict[str, str] = {}
    if not targets:  # most webs have none, and looking for pages that do takes as long again
        return Translations(said, targets, unread)
    for url, found in _looked_into(store, Question.HREFLANG_SOURCES, "hreflang", options):
        for language, target in found.rows:
            said.setdefault(url, {}).setdefault(target, []).append(language)
        if found.why_not:
            unread[url] = found.why_not
    return Translations(said, targets, unread)


def _invalid(store: Store, options: Options) -> Iterator[Row]:
    said, _, unread = _translations(store, options)
    for page, targets in said.items():
        for target, languages in targets.items():
            yield from ((page, language, target, fault) for language in languages if (fault := fault_of(language)))
    yield from ((page, "", "", f"could not be looked into: {why}") for page, why in unread.items())


def _one_way(store: Store, options: Options) -> Iterator[Row]:
    """Targets that were fetched and do not name the page in turn."""
    said, known, _ = _translations(store, options)
    for page, targets in said.items():
        for target, languages in targets.items():
            reached = known.get(target, ("", "", False))[1] in REACHED
            if reached and target != page and page not in said.get(target, {}):
                yield page, ", ".join(languages), target


def _unfit(store: Store, options: Options) -> Iterator[Row]:
    """Targets that were visited and cannot be listed; broken ones are broken links already."""
    said, known, _ = _translations(store, options)
    for page, targets in said.items():
        for target, languages in targets.items():
            state, outcome, listed = known.get(target, ("", "", True))
            if state == "visited" and outcome != "checked" and not listed:
                yield page, ", ".join(languages), target, "redirects" if outcome == "redirected" else "not to be listed"


def _without_self(store: Store, options: Options) -> Iterator[Row]:
    return ((page, len(targets)) for page, targets in _translations(store, options).said.items() if page not in targets)


REPORTS = (
    Report(
        code="HRL001",
        name="hreflang-invalid",
        severity=Severity.ERROR,
        finds="hreflang values that are no language",
        why="Search engines ignore the annotation; `en-UK` and `jp` are the usual slips (en-GB, ja).",
        fix="Use a language of ISO 639-1, perhaps with a script and a region of ISO 3166-1: `pt-BR`, `zh-Hant-TW`.",
        columns=("url", "hreflang", "target", "fault"),
        rows=_invalid,
        needs=("links", "source"),
    ),
    Report(
        code="HRL002",
        name="hreflang-one-way",
        severity=Severity.ERROR,
        finds="Translations that do not name the page in turn",
        why="Search engines believe an annotation only if both pages have it.",
        fix="Add the page in `url` to the annotations of the page in `target`.",
        columns=("url", "hreflang", "target"),
        rows=_one_way,
        needs=("links", "source"),
    ),
    Report(
        code="HRL003",
        name="hreflang-unfit",
        severity=Severity.ERROR,
        finds="Translations that redirect or are not to be listed",
        why="Search engines ignore the annotation, and show readers another language.",
        fix="Name the page that is listed: the redirect's target, the canonical.",
        columns=("url", "hreflang", "target", "fault"),
        rows=_unfit,
        needs=("links", "source"),
    ),
    Report(
        code="HRL004",
        name="hreflang-no-self",
        severity=Severity.WARNING,
        finds="Pages that name translations and not themselves",
        why="The set of translations is incomplete without the page's own language.",
        fix="Add an annotation with the page's own language and URL.",
        columns=("url", "targets"),
        rows=_without_self,
        needs=("links", "source"),
    ),
    Report(
        code="HTM001",
        name="html",
        severity=Severity.WARNING,
        finds="Faults in the markup of pages",
        why="Browsers guess what is meant; what they guess is not always what you see on yours.",
        fix="Correct the markup near `line`; `detail` has the parser's words, or the ids.",
        columns=("url", "fault", "count", "line", "detail"),
        rows=_malformed,
        needs=("source",),
    ),
)
