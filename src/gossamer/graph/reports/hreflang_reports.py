"""Reports about hreflang annotations, which link the translations of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.graph.reports.base import Report, Severity
from gossamer.graph.reports.languages import hreflang_fault
from gossamer.graph.reports.markup_reports import inspect_sources
from gossamer.model import PAGE_OUTCOMES
from gossamer.store.read.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import ReportOptions, ReportRow
    from gossamer.store.protocol import ReportSource


class Translations(NamedTuple):
    """The hreflang annotations of a web's pages."""

    annotations: dict[str, dict[str, list[str]]]  # page -> target -> languages, as written
    targets: dict[str, tuple[str, str, bool]]  # URL -> state, outcome, whether search engines can list it
    failures: dict[str, str]  # pages that could not be inspected, and why


def _read_translations(store: ReportSource, options: ReportOptions) -> Translations:
    targets = {url: (state, outcome, bool(listed)) for url, state, outcome, listed in store.ask(Question.ALTERNATES)}
    annotations: dict[str, dict[str, list[str]]] = {}
    failures: dict[str, str] = {}
    if not targets:  # most webs have none; skip a query that takes as long
        return Translations(annotations, targets, failures)
    for url, result in inspect_sources(store, Question.HREFLANG_SOURCES, "hreflang", options):
        for language, target in result.rows:
            annotations.setdefault(url, {}).setdefault(target, []).append(language)
        if result.failure:
            failures[url] = result.failure
    return Translations(annotations, targets, failures)


def _invalid_hreflang(store: ReportSource, options: ReportOptions) -> Iterator[ReportRow]:
    annotations, _, failures = _read_translations(store, options)
    for page, targets in annotations.items():
        for target, languages in targets.items():
            yield from (
                (page, language, target, fault) for language in languages if (fault := hreflang_fault(language))
            )
    yield from ((page, "", "", f"could not be looked into: {why}") for page, why in failures.items())


def _one_way_hreflang(store: ReportSource, options: ReportOptions) -> Iterator[ReportRow]:
    """Yield annotations whose target was fetched and does not link back."""
    annotations, known, _ = _read_translations(store, options)
    for page, targets in annotations.items():
        for target, languages in targets.items():
            reached = known.get(target, ("", "", False))[1] in PAGE_OUTCOMES
            if reached and target != page and page not in annotations.get(target, {}):
                yield page, ", ".join(languages), target


def _unlistable_hreflang(store: ReportSource, options: ReportOptions) -> Iterator[ReportRow]:
    """Yield annotations whose target was visited and cannot be listed; report `broken` has broken ones."""
    annotations, known, _ = _read_translations(store, options)
    for page, targets in annotations.items():
        for target, languages in targets.items():
            state, outcome, listed = known.get(target, ("", "", True))
            if state == "visited" and outcome != "checked" and not listed:
                yield page, ", ".join(languages), target, "redirects" if outcome == "redirected" else "not to be listed"


def _hreflang_without_self(store: ReportSource, options: ReportOptions) -> Iterator[ReportRow]:
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
        finds="Invalid hreflang values",
        why="Search engines ignore the annotation. Common mistakes are `en-UK` and `jp`, for `en-GB` and `ja`.",
        fix="Use an ISO 639-1 language, with an optional script and ISO 3166-1 region: `pt-BR`, `zh-Hant-TW`.",
        columns=("url", "hreflang", "target", "fault"),
        rows=_invalid_hreflang,
        needs=("links", "source"),
    ),
    Report(
        code="HRL002",
        name="hreflang-one-way",
        severity=Severity.ERROR,
        finds="Translations that do not link back to the page",
        why="Search engines use an annotation only if both pages have it.",
        fix="Add the page in `url` to the annotations of the page in `target`.",
        columns=("url", "hreflang", "target"),
        rows=_one_way_hreflang,
        needs=("links", "source"),
    ),
    Report(
        code="HRL003",
        name="hreflang-unfit",
        severity=Severity.ERROR,
        finds="Translations that redirect or cannot be listed",
        why="Search engines ignore the annotation and may show readers another language.",
        fix="Name the page that can be listed: the target of the redirect, or the canonical URL.",
        columns=("url", "hreflang", "target", "fault"),
        rows=_unlistable_hreflang,
        needs=("links", "source"),
    ),
    Report(
        code="HRL004",
        name="hreflang-no-self",
        severity=Severity.WARNING,
        finds="Pages that name translations but not themselves",
        why="The set of translations is incomplete without the page's own language.",
        fix="Add an annotation with the page's own language and URL.",
        columns=("url", "targets"),
        rows=_hreflang_without_self,
        needs=("links", "source"),
    ),
)
