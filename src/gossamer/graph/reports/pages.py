"""Reports that look into the pages themselves: their markup, and what they say of their translations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from gossamer.graph.reports.base import Report, Severity
from gossamer.graph.reports.inspection import inspect_pages
from gossamer.graph.reports.inspector import InspectionJob
from gossamer.graph.reports.languages import hreflang_fault
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import ReportOptions, ReportRow
    from gossamer.graph.reports.inspector import InspectionResult
    from gossamer.store.protocol import Store

REACHED_OUTCOMES = frozenset({"fetched", "not modified"})


def _inspect_each(
    store: Store, question: Question, check: Literal["hreflang", "markup"], options: ReportOptions
) -> Iterator[tuple[str, InspectionResult]]:
    """Each page that was asked for, by its URL, with what was found in it."""
    urls: dict[int, str] = {}

    def jobs() -> Iterator[InspectionJob]:
        for page, url, charset, source in store.ask(question):
            urls[page] = url
            yield InspectionJob(page, check, url, charset, source)

    for number, result in enumerate(inspect_pages(jobs()), start=1):
        options.on_progress(f"{number:,} pages looked into")
        yield urls.pop(result.page), result


def _markup_rows(store: Store, options: ReportOptions) -> Iterator[ReportRow]:
    for url, result in _inspect_each(store, Question.SOURCES, "markup", options):
        yield from ((url, *fault) for fault in result.rows)
        if result.failure:
            yield url, "could not be looked into", 1, None, result.failure


# -- hreflang ----------------------------------------------------------------------------------------------------------


class Translations(NamedTuple):
    """What the pages of a web say of their translations."""

    annotations: dict[str, dict[str, list[str]]]  # page -> target -> languages, as written
    targets: dict[str, tuple[str, str, bool]]  # URL -> state, outcome, whether it could be listed
    failures: dict[str, str]  # pages that could not be looked into, and why


def _read_translations(store: Store, options: ReportOptions) -> Translations:
    targets = {url: (state, outcome, bool(listed)) for url, state, outcome, listed in store.ask(Question.ALTERNATES)}
    annotations: dict[str, dict[str, list[str]]] = {}
    failures: dict[str, str] = {}
    if not targets:  # most webs have none, and looking for pages that do takes as long again
        return Translations(annotations, targets, failures)
    for url, result in _inspect_each(store, Question.HREFLANG_SOURCES, "hreflang", options):
        for language, target in result.rows:
            annotations.setdefault(url, {}).setdefault(target, []).append(language)
        if result.failure:
            failures[url] = result.failure
    return Translations(annotations, targets, failures)


def _invalid_hreflang(store: Store, options: ReportOptions) -> Iterator[ReportRow]:
    annotations, _, failures = _read_translations(store, options)
    for page, targets in annotations.items():
        for target, languages in targets.items():
            yield from (
                (page, language, target, fault) for language in languages if (fault := hreflang_fault(language))
            )
    yield from ((page, "", "", f"could not be looked into: {why}") for page, why in failures.items())


def _one_way_hreflang(store: Store, options: ReportOptions) -> Iterator[ReportRow]:
    """Targets that were fetched and do not name the page in turn."""
    annotations, known, _ = _read_translations(store, options)
    for page, targets in annotations.items():
        for target, languages in targets.items():
            reached = known.get(target, ("", "", False))[1] in REACHED_OUTCOMES
            if reached and target != page and page not in annotations.get(target, {}):
                yield page, ", ".join(languages), target


def _unlistable_hreflang(store: Store, options: ReportOptions) -> Iterator[ReportRow]:
    """Targets that were visited and cannot be listed; broken ones are broken links already."""
    annotations, known, _ = _read_translations(store, options)
    for page, targets in annotations.items():
        for target, languages in targets.items():
            state, outcome, listed = known.get(target, ("", "", True))
            if state == "visited" and outcome != "checked" and not listed:
                yield page, ", ".join(languages), target, "redirects" if outcome == "redirected" else "not to be listed"


def _hreflang_without_self(store: Store, options: ReportOptions) -> Iterator[ReportRow]:
    return (
        (page, len(targets))
        for page, targets in _read_translations(store, options).annotations.items()
        if page not in targets
    )


REPORTS = (
    Report(
        code="HRL001",
        name="hreflang-invalid",
        severity=Severity.ERROR,
        finds="hreflang values that are no language",
        why="Search engines ignore the annotation; `en-UK` and `jp` are the usual slips (en-GB, ja).",
        fix="Use a language of ISO 639-1, perhaps with a script and a region of ISO 3166-1: `pt-BR`, `zh-Hant-TW`.",
        columns=("url", "hreflang", "target", "fault"),
        rows=_invalid_hreflang,
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
        rows=_one_way_hreflang,
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
        rows=_unlistable_hreflang,
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
        rows=_hreflang_without_self,
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
        rows=_markup_rows,
        needs=("source",),
    ),
)
