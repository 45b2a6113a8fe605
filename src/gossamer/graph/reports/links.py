"""Reports about links: broken ones, their texts, their sources and targets."""

from __future__ import annotations

import msgspec

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.store.read.questions import Question

MOST_LINKED = 100  # rows of the report `most-linked`
MANY_TEXTS = 10  # different link texts that make a page worth reporting

# Link texts that do not describe the target, in common languages; lower case.
GENERIC_TEXTS = (
    "click", "click here", "click this", "continue", "continue reading", "details", "find out more", "go", "go here",
    "here", "learn more", "link", "more", "more info", "more information", "read", "read more", "read on", "see more",
    "show more", "this", "this link", "this page", "view more", "website",
    "hier", "hier klicken", "klicken sie hier", "mehr", "mehr erfahren", "mehr lesen", "weiter", "weiterlesen",
    "cliquez ici", "en savoir plus", "ici", "lire la suite", "lire plus",
    "aquí", "haga clic aquí", "leer más", "más", "más información", "ver más",
    "clicca qui", "leggi di più", "leggi tutto", "qui", "scopri di più",
    "aqui", "clique aqui", "leia mais", "saiba mais", "ver mais",
    "klik hier", "lees meer", "meer", "czytaj więcej", "kliknij tutaj", "tutaj", "więcej",
    "здесь", "подробнее", "читать далее", "こちら", "続きを読む", "点击这里", "阅读更多", "更多",
)  # fmt: skip
IGNORED_AROUND = " .…!:;,»«\u203a\u2039>→⟶➔()[]"  # characters around a text that do not change its meaning
MAX_GENERIC_LENGTH = 40  # characters; a longer text is not generic
_GENERIC_JSON = msgspec.json.encode(GENERIC_TEXTS).decode()

REPORTS = (
    Report(
        code="LNK001",
        name="broken",
        severity=Severity.ERROR,
        finds="Links that lead nowhere",
        why="Readers and search engines that follow such a link get an error.",
        fix="Correct the link on the page in `source`, or restore or redirect the page at `url`.",
        columns=Question.BROKEN_LINKS.columns,
        rows=question_rows(Question.BROKEN_LINKS),
        needs=("links",),
    ),
    Report(
        code="LNK002",
        name="closed",
        severity=Severity.NOTICE,
        finds="Links to pages that need a password, a payment or a slower crawl",
        why="The server answered 401, 402, 403, 407 or 451, or asked to slow down, so the link could not be checked.",
        fix="Crawl with a password, or more slowly. If visitors cannot open the page either, say so beside the link.",
        columns=Question.CLOSED_LINKS.columns,
        rows=question_rows(Question.CLOSED_LINKS),
        needs=("links",),
    ),
    Report(
        code="LNK003",
        name="nofollow",
        severity=Severity.NOTICE,
        finds="Links within a site that are marked nofollow",
        why="Search engines may not find the page through them, and the links pass on no importance.",
        fix="Remove rel=nofollow from links to your own pages, or nofollow from the robots meta element of the page.",
        columns=Question.NOFOLLOW_LINKS.columns,
        rows=question_rows(Question.NOFOLLOW_LINKS),
        needs=("links",),
    ),
    Report(
        code="LNK010",
        name="anchors-empty",
        severity=Severity.WARNING,
        finds="Links without text",
        why="Screen readers have nothing to read out, and search engines learn nothing about the target.",
        fix="Give the link a text, or the image in it an alt text.",
        columns=Question.EMPTY_ANCHORS.columns,
        rows=question_rows(Question.EMPTY_ANCHORS),
        needs=("links",),
    ),
    Report(
        code="LNK011",
        name="anchors-generic",
        severity=Severity.NOTICE,
        finds='Links with a generic text, such as "click here"',
        why="Without its sentence, such a text does not tell people or search engines where the link leads.",
        fix="Name the target in the text of the link.",
        columns=Question.GENERIC_ANCHORS.columns,
        rows=question_rows(
            Question.GENERIC_ANCHORS, texts=_GENERIC_JSON, around=IGNORED_AROUND, longest=MAX_GENERIC_LENGTH
        ),
        needs=("links",),
    ),
    Report(
        code="LNK012",
        name="anchors-ambiguous",
        severity=Severity.NOTICE,
        finds="Links on a page with the same text and different targets",
        why="Readers cannot distinguish the links by their texts (WCAG 2.4.9). `url` and `other` are two targets.",
        fix="Give each link its own text.",
        columns=Question.AMBIGUOUS_ANCHORS.columns,
        rows=question_rows(Question.AMBIGUOUS_ANCHORS, texts=_GENERIC_JSON, around=IGNORED_AROUND),
        needs=("links",),
    ),
    Report(
        code="LNK013",
        name="anchors-varied",
        severity=Severity.INFO,
        finds=f"Pages that links with {MANY_TEXTS} or more different texts lead to",
        why="Many names for one page may mean that its topic is unclear or too broad.",
        fix="Look at its links (`gossamer report inlinks --url URL`); agree on one name where that helps.",
        columns=Question.VARIED_ANCHORS.columns,
        rows=question_rows(Question.VARIED_ANCHORS, least=MANY_TEXTS),
        needs=("links",),
    ),
    Report(
        code="LNK020",
        name="most-linked",
        severity=Severity.INFO,
        finds=f"The {MOST_LINKED} resources with most backlinks, and the texts of the links",
        why="The site treats them as its most important pages, and the texts show what it calls them.",
        fix="If other pages matter more, link more to those.",
        columns=Question.MOST_LINKED.columns,
        rows=question_rows(Question.MOST_LINKED, most=MOST_LINKED),
        needs=("links",),
    ),
    Report(
        code="LNK021",
        name="inlinks",
        severity=Severity.INFO,
        finds="The links to one URL",
        why="They must change when the page moves, and they show what others call the page.",
        fix="Nothing: this is a list to work with.",
        columns=Question.INLINKS.columns,
        rows=question_rows(Question.INLINKS),
        needs=("links",),
        takes=("url",),
    ),
    Report(
        code="LNK022",
        name="outlinks",
        severity=Severity.INFO,
        finds="The links of one page",
        why="They show where its readers can go next, and whether the targets work.",
        fix="Nothing: this is a list to work with.",
        columns=Question.OUTLINKS.columns,
        rows=question_rows(Question.OUTLINKS),
        needs=("links",),
        takes=("url",),
    ),
    Report(
        code="LNK023",
        name="link-counts",
        severity=Severity.INFO,
        finds="The number of links to and from each page",
        why="Pages with few links to them are hard to find; pages with very many links are hard to read.",
        fix="Link to important pages from pages that have many readers.",
        columns=Question.LINK_COUNTS.columns,
        rows=question_rows(Question.LINK_COUNTS),
        needs=("links",),
    ),
    Report(
        code="LNK030",
        name="host-bonds",
        severity=Severity.INFO,
        finds="Links between hosts, with their numbers",
        why="They show the neighbourhood of a site: where it sends its readers, and where its readers come from.",
        fix="Nothing: this is a list to work with.",
        columns=Question.HOST_BONDS.columns,
        rows=question_rows(Question.HOST_BONDS),
        needs=("links",),
    ),
)
