"""Reports about links: where they break, what their texts say, who links to whom."""

from __future__ import annotations

import msgspec

from gossamer.graph.reports.base import Report, Severity, question_rows
from gossamer.store.read.questions import Question

MOST_LINKED = 100  # pages listed
MANY_TEXTS = 10  # different texts of links to one page that are worth a look

# Texts that say nothing about where they lead, in the languages of most pages; in lower case.
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
IGNORED_AROUND = " .…!:;,»«\u203a\u2039>→⟶➔()[]"  # characters around a text that do not change what it says
MAX_GENERIC_LENGTH = 40  # characters; a longer text says something
_GENERIC_JSON = msgspec.json.encode(GENERIC_TEXTS).decode()

REPORTS = (
    Report(
        code="LNK001",
        name="broken",
        severity=Severity.ERROR,
        finds="Links that lead nowhere",
        why="Readers and search engines that follow such a link get an error instead of what it promises.",
        fix="Correct the link on the page in `source`, or put something back at `url`, or redirect it.",
        columns=Question.BROKEN_LINKS.columns,
        rows=question_rows(Question.BROKEN_LINKS),
        needs=("links",),
    ),
    Report(
        code="LNK002",
        name="closed",
        severity=Severity.NOTICE,
        finds="Links to what asks for a password, a payment or patience",
        why="The server answered 401, 402, 403, 407 or 451, or asked to slow down: nobody knows if the link is good.",
        fix="If visitors may not see it either, say so beside the link; else crawl with a password, or more slowly.",
        columns=Question.CLOSED_LINKS.columns,
        rows=question_rows(Question.CLOSED_LINKS),
        needs=("links",),
    ),
    Report(
        code="LNK003",
        name="nofollow",
        severity=Severity.NOTICE,
        finds="Links within a site that say nofollow",
        why="Search engines may not find the page by them, and it gets none of the importance of the page that links.",
        fix="Take rel=nofollow off links to your own pages, or the robots meta element off the page.",
        columns=Question.NOFOLLOW_LINKS.columns,
        rows=question_rows(Question.NOFOLLOW_LINKS),
        needs=("links",),
    ),
    Report(
        code="LNK010",
        name="anchors-empty",
        severity=Severity.WARNING,
        finds="Links without text",
        why="Screen readers have nothing to say, and search engines learn nothing about the page that is linked to.",
        fix="Give the link a text, or the image in it an alt text.",
        columns=Question.EMPTY_ANCHORS.columns,
        rows=question_rows(Question.EMPTY_ANCHORS),
        needs=("links",),
    ),
    Report(
        code="LNK011",
        name="anchors-generic",
        severity=Severity.NOTICE,
        finds='Links whose text says nothing, such as "click here"',
        why="Out of its sentence such a text tells neither people nor search engines where it leads.",
        fix="Let the link's text name what is behind it.",
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
        finds="One text on a page that leads to several targets",
        why="Readers cannot tell the links apart by what they say (WCAG 2.4.9). `url`, `other`: two of the targets.",
        fix="Give each of the links a text of its own.",
        columns=Question.AMBIGUOUS_ANCHORS.columns,
        rows=question_rows(Question.AMBIGUOUS_ANCHORS, texts=_GENERIC_JSON, around=IGNORED_AROUND),
        needs=("links",),
    ),
    Report(
        code="LNK013",
        name="anchors-varied",
        severity=Severity.INFO,
        finds=f"Pages that are linked to by {MANY_TEXTS} different texts or more",
        why="Many names for one page may mean that nobody knows what it is about, or that it is about too much.",
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
        why="They are what the site itself holds for important, and the texts are what it calls them.",
        fix="If they are not the pages that matter most, link more to those that are.",
        columns=Question.MOST_LINKED.columns,
        rows=question_rows(Question.MOST_LINKED, most=MOST_LINKED),
        needs=("links",),
    ),
    Report(
        code="LNK021",
        name="inlinks",
        severity=Severity.INFO,
        finds="The links to one URL",
        why="They are what has to be changed when the page moves, and what others call it.",
        fix="Nothing by itself: this is a list to work with.",
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
        why="They are where its readers can go next, and whether they get there.",
        fix="Nothing by itself: this is a list to work with.",
        columns=Question.OUTLINKS.columns,
        rows=question_rows(Question.OUTLINKS),
        needs=("links",),
        takes=("url",),
    ),
    Report(
        code="LNK023",
        name="link-counts",
        severity=Severity.INFO,
        finds="For each page, how many pages link to it and how many links it has",
        why="Pages with few links to them are hard to find; pages with very many links are hard to read.",
        fix="Link to what matters from where readers are.",
        columns=Question.LINK_COUNTS.columns,
        rows=question_rows(Question.LINK_COUNTS),
        needs=("links",),
    ),
    Report(
        code="LNK030",
        name="host-bonds",
        severity=Severity.INFO,
        finds="Which host links to which other, and how often",
        why="This is the neighbourhood of a site: whom it sends its readers to, and who sends it theirs.",
        fix="Nothing by itself: this is a list to work with.",
        columns=Question.HOST_BONDS.columns,
        rows=question_rows(Question.HOST_BONDS),
        needs=("links",),
    ),
)
