"""The first ten results of Gossamer's index and of three other engines, over the same terms of the same pages.

All engines receive each page as the terms of Gossamer's own analysis, so that they match the same pages and only
retrieval differs. The table also shows Gossamer's whole answer, with its second pass and ten snippets. The race asks
all engines every query, one after the other, several times.
"""

from __future__ import annotations

import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import tantivy
from bench.harness import site_sample
from bench.harness.contest import Spread, print_progress
from bench.harness.report import Section
from bench.races import peers
from bench.races.crawl import FAST, PACKAGE
from bench.search import make_questions, make_web, percentile

from gossamer.index.analyze import get_analyzer
from gossamer.index.documents import indexed_runs
from gossamer.search.query import parse_query
from gossamer.search.weights import FIRST_PASS_WEIGHTS
from gossamer.wiring import open_index, open_searcher, open_store
from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gossamer.index.protocol import IndexReader
    from gossamer.search.service import Searcher

TEN = 10
QUESTIONS = 300
BUFFER = 80_000_000  # bytes, as in Gossamer's own index
XAPIAN = ("python3-xapian", "libxapian30")


class Question(NamedTuple):
    """A query: words of which any may match, or a phrase."""

    text: str  # the query for Gossamer
    terms: tuple[str, ...]
    phrase: bool


class Engine(Protocol):
    """A search engine that can be filled and queried."""

    name: str
    does: str

    def fill(self, documents: Mapping[int, str]) -> None:
        """Index all pages, each as its terms with blanks in between."""

    def ask(self, question: Question) -> object:
        """Return the first ten results."""


class Fts5Engine:
    """SQLite's FTS5, contentless, in memory, optimised."""

    name = f"SQLite FTS5 {sqlite3.sqlite_version}"
    does = "first ten by BM25, in memory"
    _best = "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"

    def fill(self, documents: Mapping[int, str]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE pages USING fts5 (body, content = '')")
        self._database.executemany("INSERT INTO pages (rowid, body) VALUES (?, ?)", documents.items())
        self._database.execute("INSERT INTO pages (pages) VALUES ('optimize')")
        self._database.commit()

    def ask(self, question: Question) -> object:
        words = f'"{" ".join(question.terms)}"' if question.phrase else " OR ".join(f'"{t}"' for t in question.terms)
        return self._database.execute(self._best, (words,)).fetchall()


class TantivyEngine:
    """Tantivy with one field and nothing around it."""

    name = f"Tantivy {version('tantivy')}, plain"
    does = "first ten by BM25; one field, on disk"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self, documents: Mapping[int, str]) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body", tokenizer_name="blanks")
        builder.add_unsigned_field("id", stored=True)
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema, str(self._folder))
        blanks = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self._index.register_tokenizer("blanks", blanks)
        writer = self._index.writer(BUFFER, 1)
        for id_, terms in documents.items():
            writer.add_document(tantivy.Document(body=terms, id=id_))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def ask(self, question: Question) -> object:
        if question.phrase and len(question.terms) > 1:
            query = tantivy.Query.phrase_query(self._schema, "body", list(question.terms))
        else:
            terms = [tantivy.Query.term_query(self._schema, "body", term) for term in question.terms]
            query = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        return self._searcher.search(query, TEN).hits


class XapianEngine:
    """Xapian with positions, on disk."""

    does = "first ten by BM25, on disk; Debian's Python binding"

    def __init__(self, module: Any, folder: Path) -> None:
        self._xapian, self._folder = module, folder
        self.name = f"Xapian {module.version_string()}"

    def fill(self, documents: Mapping[int, str]) -> None:
        xapian = self._xapian
        database = xapian.WritableDatabase(str(self._folder), xapian.DB_CREATE_OR_OPEN)
        generator = xapian.TermGenerator()
        for id_, terms in documents.items():
            document = xapian.Document()
            generator.set_document(document)
            generator.set_termpos(0)
            generator.index_text(terms)
            database.replace_document(id_, document)
        database.commit()
        database.close()
        self._database = xapian.Database(str(self._folder))
        self._parser = xapian.QueryParser()
        self._parser.set_default_op(xapian.Query.OP_OR)
        self._enquire = xapian.Enquire(self._database)

    def ask(self, question: Question) -> object:
        words = " ".join(question.terms)
        self._enquire.set_query(self._parser.parse_query(f'"{words}"' if question.phrase else words))
        return [match.docid for match in self._enquire.get_mset(0, TEN)]


class GossamerIndex:
    """Gossamer's index: the first pass of a search."""

    name = "gossamer, index"
    does = "first ten by BM25 over title, headings, text and address; the first pass of every search"

    def __init__(self, index: IndexReader) -> None:
        self._index, self._languages = index, index.languages()

    def fill(self, documents: Mapping[int, str]) -> None:
        """Do nothing, because the crawl filled the index."""

    def ask(self, question: Question) -> object:
        return self._index.match(parse_query(question.text, self._languages).query, FIRST_PASS_WEIGHTS, limit=TEN)


class GossamerSearch:
    """A whole search of Gossamer."""

    name = "gossamer, whole answer"
    does = "the same and anchors, a second pass (coverage, nearness, PageRank), duplicates folded, ten snippets"

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def fill(self, documents: Mapping[int, str]) -> None:
        """Do nothing, because the crawl filled the index."""

    def ask(self, question: Question) -> object:
        return self._searcher.search(question.text)


def race(pages: int, passes: int) -> Section:
    """Race on a web with this many pages; 0: on the 16,000 of `bench/search.py`."""
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        location = str(_crawl(pages, Path(folder)) if pages else make_web())
        with closing(open_store(location, read_only=True)) as store, closing(open_index(location)) as index:
            ids = list(index.ids())
            rows = {
                id_: row
                for start in range(0, len(ids), 500)
                for id_, row in store.documents(ids[start : start + 500]).items()
            }
            texts = {id_: "\n".join(run for _, run in indexed_runs(row.text)) for id_, row in rows.items()}
            titles, hosts = ({getattr(row, name) for row in rows.values()} for name in ("title", "host"))
            questions = list(_simple_questions(make_questions(texts, sorted(titles - {""}), sorted(hosts))))[:QUESTIONS]
            with closing(open_searcher(store, location)) as searcher:
                xapian = _xapian()
                engines: list[Engine] = [
                    GossamerIndex(index),
                    GossamerSearch(searcher),
                    TantivyEngine(_make_folder(folder, "tantivy")),
                    Fts5Engine(),
                ]
                engines += [XapianEngine(xapian, _make_folder(folder, "xapian"))] if xapian else []
                fill_seconds = _fill(engines, texts)
                times = _ask(engines, questions, passes)
    return _section(engines, fill_seconds, times, len(texts), len(questions), passes, absent=xapian is None)


def _crawl(pages: int, folder: Path) -> Path:
    binary = debian.find("nginx")
    if binary is None:
        sys.exit("nginx is missing: run `make test-packages`")
    gossamer, web = str(Path(sys.executable).with_name("gossamer")), folder / "web"
    with Nginx(binary, {"site": Site(site_sample.site(PACKAGE, pages))}, log=False) as nginx:
        start = nginx.url("site", "/index.html")
        subprocess.run([gossamer, "crawl", start, "--store", str(web), "--quiet", *FAST], check=True)
    subprocess.run([gossamer, "rank", "--store", str(web)], check=True, stdout=subprocess.DEVNULL)
    return web


def _make_folder(folder: str, name: str) -> Path:
    path = Path(folder, name)
    path.mkdir()
    return path


def _xapian() -> Any:
    """Return Debian's binding; None if it is missing or built for another Python."""
    try:
        return import_module("xapian")
    except ImportError:
        packages = peers.unpack_packages(XAPIAN)
    if len(packages) < len(XAPIAN):
        return None
    from ctypes import CDLL, RTLD_GLOBAL  # noqa: PLC0415

    sys.path.append(str(packages[XAPIAN[0]] / "usr/lib/python3/dist-packages"))
    try:
        CDLL(str(next((packages[XAPIAN[1]] / "usr/lib").rglob("libxapian.so.30"))), RTLD_GLOBAL)
        return import_module("xapian")
    except (ImportError, OSError) as fault:
        print_progress(f"Xapian is left out: {fault}")
        return None


def _simple_questions(texts: Iterable[str]) -> Iterable[Question]:
    """Yield the queries that all engines understand: one to three words, and phrases."""
    analyzer = get_analyzer("english")
    for text in texts:
        bare = text.strip('"')
        words = bare.split()
        phrase = text.startswith('"')
        terms = tuple(analyzer.terms(bare).split())
        if all(word.isalnum() for word in words) and len(terms) == len(words) <= 3:
            yield Question(text, terms, phrase)


def _fill(engines: Sequence[Engine], texts: Mapping[int, str]) -> dict[str, float]:
    analyzer = get_analyzer("english")
    documents = {id_: analyzer.terms(text) for id_, text in texts.items()}
    seconds = {}
    for engine in engines:
        started = time.perf_counter()
        engine.fill(documents)
        seconds[engine.name] = time.perf_counter() - started
        print_progress(f"{engine.name} is filled after {seconds[engine.name]:.1f} s")
    return seconds


def _ask(engines: Sequence[Engine], questions: Sequence[Question], passes: int) -> dict[str, list[list[float]]]:
    """Return milliseconds for each engine and pass; a first pass does not count."""
    times: dict[str, list[list[float]]] = {engine.name: [] for engine in engines}
    for number in range(passes + 1):
        took: dict[str, list[float]] = {engine.name: [] for engine in engines}
        for question in questions:
            for engine in engines:
                started = time.perf_counter()
                engine.ask(question)
                took[engine.name].append((time.perf_counter() - started) * 1000)
        for name, some in took.items():
            if number:
                times[name].append(some)
    return times


def _section(
    engines: Sequence[Engine],
    filled: Mapping[str, float],
    times: Mapping[str, list[list[float]]],
    pages: int,
    questions: int,
    passes: int,
    *,
    absent: bool,
) -> Section:
    medians = {name: [statistics.median(some) for some in each] for name, each in times.items()}
    slow = {name: [percentile(some, 0.99) for some in each] for name, each in times.items()}
    base = statistics.median(medians[GossamerIndex.name])
    rows = [
        [
            engine.name,
            Spread.of(medians[engine.name]).describe(".3f"),
            Spread.of(slow[engine.name]).describe(".2f"),
            "" if engine.name == GossamerIndex.name else f"{statistics.median(medians[engine.name]) / base:.2f} times",
            f"{pages / filled[engine.name]:,.0f}" if filled[engine.name] > 0.001 else "",
            engine.does,
        ]
        for engine in engines
    ]
    return Section(
        name="Search",
        work=(
            f"{pages:,} pages, {questions} questions of one to three words and phrases out of the pages themselves, the"
            f" first ten answers, one question at a time in one process; {passes} passes, each question asked of all in"
            " turn. The others were given the terms of Gossamer's analysis: their pages a second are not a crawl's."
        ),
        columns=("system", "median ms", "99 % within ms", "to gossamer's index", "pages/s filled", "what it did"),
        rows=rows,
        measured={"median_ms": medians, "p99_ms": slow, "filled_seconds": dict(filled)},
        left_out=["Xapian, by `apt-get download python3-xapian libxapian30` or another Python than Debian's"]
        if absent
        else [],
    )
