"""Examples in the help of commands: what to type, and what it does. A test parses each."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("gossamer go", "crawl and show a demo web"),
        ("gossamer crawl https://example.org -n 500", "500 pages, into ./web"),
        ("gossamer search some words", "find pages"),
        ("gossamer report broken", "list broken links"),
        ("gossamer serve", "look at it in a browser"),
    ),
    "crawl": (
        ("gossamer crawl https://example.org", "a host, into ./web"),
        ("gossamer crawl https://example.org -n 500", "500 pages of it"),
        ("gossamer crawl", "continue"),
        ("gossamer crawl --revisit --all", "visit everything again"),
        ("gossamer crawl --check external", "check links out of scope too"),
    ),
    "go": (("gossamer go", "a demo web"), ("gossamer go https://example.org -n 200", "200 pages of a host")),
    "watch": (("gossamer watch --pages-per-hour 200", "visit up to 200 due pages an hour"),),
    "import": (
        ("gossamer import crawl.warc.gz", "a web archive"),
        ("gossamer import public --base https://example.org/", "a folder of pages"),
    ),
    "search": (
        ("gossamer search link graph", "pages with both words"),
        ("gossamer search '\"link graph\" -rank'", "the phrase, without a word"),
        ("gossamer search site:example.org -n 20 crawl", "20 hits on one host"),
    ),
    "word": (("gossamer word spider", "its documents and positions"),),
    "page": (
        ("gossamer page https://example.org/", "facts, visits and links"),
        ("gossamer page https://example.org/ --text", "its text"),
    ),
    "hosts": (("gossamer hosts -n 10", "the ten with most pages"),),
    "errors": (
        ('gossamer errors --outcome "not found"', "broken links only"),
        ("gossamer errors --fail", "exit with 1 if there are any, for CI"),
    ),
    "report": (
        ("gossamer report broken", "broken links, and what to do"),
        ("gossamer report --list", "all reports"),
    ),
    "rank": (
        ("gossamer rank -n 50", "the 50 most important pages"),
        ("gossamer rank --near https://example.org/docs", "as seen from one page"),
    ),
    "shape": (("gossamer shape example.org", "a site and its neighbours"),),
    "related": (("gossamer related https://example.org/guide -n 5", "five of them"),),
    "serve": (("gossamer serve --port 9000", "on http://127.0.0.1:9000/"),),
    "pause": (
        ("gossamer pause", "the only crawler at work"),
        ("gossamer pause Naiad", "one of several"),
    ),
    "resume": (("gossamer resume --all", "every crawler that pauses"),),
    "stop": (("gossamer stop", "the only crawler at work"),),
    "parsers": (("gossamer parsers 4 Naiad", "four processes that parse pages"),),
    "index": (("gossamer index --rebuild", "from the stored pages"),),
    "copy": (("gossamer copy web backup", "to another directory"),),
    "export": (
        ("gossamer export links -o links.csv", "every link, as a table"),
        ("gossamer export graph -o web.gexf", "for Gephi"),
        ("gossamer export picture -o web.svg", "the best pages, drawn"),
        ("gossamer export files -o pages", "pages under names from their URLs"),
    ),
    "config": (
        ("gossamer config init", "a file of all settings, to change"),
        ("gossamer config show", "the values in effect, and why"),
    ),
    "forget": (("gossamer forget https://example.org/old", "a page and its visits"),),
}
