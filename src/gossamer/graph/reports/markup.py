"""Find markup faults of a page: parse errors of the HTML standard, and repeated ids. An inspection process runs this.

html5ever (through markupever) is the parser of a browser engine. It reports the parse errors of the standard twelve
times as fast as html5lib (bench/reports.py --libraries), but without lines. This module maps its messages to names that
stay the same when html5ever rewords them. It finds the line of an error by bisection: the shortest beginning of the
page that has the error.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from markupever import QUIRKS_MODE_FULL, HtmlOptions, Parser
from selectolax.lexbor import LexborHTMLParser

from gossamer.parse.charset import convert_to_utf8
from gossamer.store.content import decode_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.inspector import InspectionJob

    Fault = tuple[str, int, int | None, str]  # fault, count, line of the first, detail

MAX_IDS_SHOWN = 5  # repeated ids per row
MAX_ID_LENGTH = 40  # characters shown of an id
MAX_DETAIL_LENGTH = 100  # characters
NO_DOCTYPE = "no doctype, or an outdated one"
OTHER_FAULT = "syntax error"
# The name of a fault by html5ever's message; the first matching pattern wins.
_FAULT_PATTERNS = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (r"DOCTYPE|insertion mode Initial", NO_DOCTYPE),
        (r"Unexpected open (?:tag|element)", "element not closed"),
        (r"Formatting element", "elements not nested"),
        (r"nested forms|nested heading", "element in one of its kind"),
        (r"table text|in table$|insertion mode In(?:Table|Row|Cell|Caption|Column)", "misplaced in a table"),
        (r"while closing|to close|on </form>|kind: EndTag", "end tag without a start"),
        (r"insertion mode After", "content after the end of the page"),
        (r"kind: StartTag", "element where it may not be"),
        (r"Duplicate attribute", "attribute given twice"),
        (r"self-closing", "element closed like XML"),
        (r"[Cc]haracter reference", "faulty character reference"),
        (r"EOF in state", "cut short"),
        (r"\? in state TagOpen", "XML declaration or instruction"),
        (r"in state TagOpen", "a < that begins no tag"),
        (r"in state (?:MarkupDeclaration|Comment|BogusComment)", "faulty comment or declaration"),
    )
)
_EXACT_PREFIXES = ("Unexpected token", "Unexpected open tag", "Unexpected open element", "Invalid character reference")
# The part of a message that names an element or reference, and its format in `detail`.
_DETAIL_PATTERNS = (
    (re.compile(r"kind: StartTag, name: Atom\(\W*([\w:-]+)"), "<{}>"),
    (re.compile(r"kind: EndTag, name: Atom\(\W*([\w:-]+)"), "</{}>"),
    (re.compile(r"open tag \{[^}]*\}:([\w:-]+)"), "<{}>"),
    (re.compile(r"closing Atom\(\W*([\w:-]+)"), "before </{}>"),
    (re.compile(r"(&\S+)$"), "{}"),
)


def markup_faults(job: InspectionJob) -> Iterator[Fault]:
    """Yield the faults of a page, each kind once."""
    html, _ = convert_to_utf8(decode_source(job.source), f"text/html; charset={job.charset}")
    parser = _parse(html)
    if parser.quirks_mode == QUIRKS_MODE_FULL:
        yield NO_DOCTYPE, 1, 1, ""
    if messages := parser.errors():
        yield from _message_faults(html, messages, _exact_messages(html, messages))
    yield from _repeated_ids(html)


def _parse(html: bytes, *, exact: bool = False) -> Parser:
    return Parser(HtmlOptions(exact_errors=exact)).process(html).finish()


def _exact_messages(html: bytes, messages: list[str]) -> list[str]:
    """Return the messages with the names of elements, which need a second parse that takes twice as long.

    The exact parse gives some more messages, so they are matched by their beginnings.
    """
    exact = _parse(html, exact=True).errors()
    longer = {begin: iter([message for message in exact if message.startswith(begin)]) for begin in _EXACT_PREFIXES}
    begins = (next((begin for begin in _EXACT_PREFIXES if message.startswith(begin)), "") for message in messages)
    return [next(longer[begin], message) if begin else message for begin, message in zip(begins, messages, strict=True)]


def _message_faults(html: bytes, messages: list[str], exact_messages: list[str]) -> Iterator[Fault]:
    kinds = [_fault_name(message) for message in exact_messages]
    for kind, count in Counter(kinds).items():
        if kind != NO_DOCTYPE:
            first = kinds.index(kind)
            yield kind, count, _fault_line(html, messages[: first + 1]), _detail(messages[first], exact_messages[first])


def _fault_name(message: str) -> str:
    return next((meaning for pattern, meaning in _FAULT_PATTERNS if pattern.search(message)), OTHER_FAULT)


def _detail(message: str, exact_message: str) -> str:
    names = ((pattern.search(exact_message), form) for pattern, form in _DETAIL_PATTERNS)
    return next((form.format(name[1]) for name, form in names if name), message)[:MAX_DETAIL_LENGTH]


def _fault_line(html: bytes, messages: list[str]) -> int:
    """Return the line at which the last of these messages appears, by bisection."""
    lines = html.splitlines(keepends=True)
    least, most = 1, len(lines)
    while least < most:
        middle = (least + most) // 2
        if _parse(b"".join(lines[:middle])).errors()[: len(messages)] == messages:
            most = middle
        else:
            least = middle + 1
    return least


def _repeated_ids(html: bytes) -> Iterator[Fault]:
    ids = Counter(node.attributes.get("id") for node in LexborHTMLParser(html).css("[id]"))
    repeated = [str(name)[:MAX_ID_LENGTH] for name, count in ids.items() if name and count > 1]
    if repeated:
        more = f" and {len(repeated) - MAX_IDS_SHOWN} more" if len(repeated) > MAX_IDS_SHOWN else ""
        yield "id used twice", len(repeated), None, ", ".join(repeated[:MAX_IDS_SHOWN]) + more
