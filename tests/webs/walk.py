"""Find what is reachable from a page, and the links of each page, without Gossamer's code.

It uses another client (http.client) and another parser (libxml2). Tests compare the two.
"""

from __future__ import annotations

import http.client
import re
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator

HTML = frozenset({"text/html", "application/xhtml+xml"})
DOCUMENT_RELS = frozenset(
    {"alternate", "author", "bookmark", "canonical", "chapter", "contents", "copyright", "first", "glossary", "help"}
    | {"index", "last", "license", "next", "prev", "previous", "search", "section", "start", "toc", "up"}
)
PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
# WHATWG URL, percent-encode sets: characters that stay as they are ("%" too, so encoded ones stay encoded).
PATH_UNENCODED = "".join(set(PRINTABLE) - set('"#<>?^`{}'))
QUERY_UNENCODED = "".join(set(PRINTABLE) - set("\"#<>'"))


class WalkedPage(NamedTuple):
    """The result for one requested URL."""

    status: int
    media_type: str
    links: Counter[tuple[str, str]]  # hyperlinks (a, area): (target, anchor text) -> times
    onward: frozenset[str]  # URLs of any host to visit next


def walk(seed: str, processes: int = 2) -> dict[str, WalkedPage]:
    """Visit everything reachable from the seed on its host and port."""
    visited: dict[str, WalkedPage] = {}
    wave = [seed]
    with ProcessPoolExecutor(processes) as pool:
        while wave:
            visited.update(zip(wave, pool.map(visit, wave, chunksize=16), strict=True))
            onward = frozenset[str]().union(*(visited[url].onward for url in wave))
            wave = sorted(url for url in onward if url not in visited and urlsplit(url).netloc == urlsplit(seed).netloc)
    return visited


def visit(url: str) -> WalkedPage:
    """Request one URL."""
    parts = urlsplit(url)
    connection = connection_to(parts.netloc)
    connection.request("GET", urlunsplit(("", "", parts.path, parts.query, "")))
    response = connection.getresponse()
    body = response.read()
    media_type, _, parameters = (response.getheader("Content-Type") or "").partition(";")
    links: Counter[tuple[str, str]] = Counter()
    onward: set[str | None] = set()
    if response.status in {301, 302, 303, 307, 308}:
        onward.add(resolve(url, response.getheader("Location") or ""))
    elif response.status == 200 and media_type in HTML:
        page = Page(url, body, parameters)
        links, onward = page.hyperlinks(), page.onward()
    return WalkedPage(response.status, media_type, links, frozenset(filter(None, onward)))


@cache
def connection_to(netloc: str) -> http.client.HTTPConnection:
    """Return the kept-alive connection of this process to a host."""
    return http.client.HTTPConnection(netloc)


class Page:
    """A parsed HTML page."""

    def __init__(self, url: str, body: bytes, content_type_parameters: str) -> None:
        declared = re.search(r"charset=\W?([\w-]+)", content_type_parameters) or re.search(
            rb"charset=\W?([\w-]+)", body[:1024]
        )
        charset = declared[1] if declared else "utf-8"
        parser = etree.HTMLParser(
            encoding=charset.decode() if isinstance(charset, bytes) else charset, huge_tree=True, remove_comments=True
        )
        self._root = etree.fromstring(body or b"<html/>", parser)
        base = self._root.find(".//base[@href]")
        self._base = url if base is None else resolve(url, base.get("href") or "") or url

    def hyperlinks(self) -> Counter[tuple[str, str]]:
        """Return the targets of `a` and `area`, with their text."""
        targets = ((self._target(element, "href"), anchor_text(element)) for element in self._root.iter("a", "area"))
        return Counter((target, anchor) for target, anchor in targets if target)

    def onward(self) -> set[str | None]:
        """Return every document that this page links to and lets robots follow."""
        if any("nofollow" in content or "none" in content for content in self._robots()):
            return set()
        targets = {self._target(element, "href") for element in self._root.iter("a", "area") if is_followed(element)}
        targets |= {self._target(element, "src") for element in self._root.iter("frame", "iframe")}
        targets |= {self._target(element, "href") for element in self._root.iter("link") if points_at_document(element)}
        return targets | set(self._refreshes())

    def _target(self, element: etree._Element, attribute: str) -> str | None:
        value = element.get(attribute)
        return None if value is None else resolve(self._base, value)

    def _robots(self) -> Iterator[str]:
        for meta in self._root.iter("meta"):
            if (meta.get("name") or "").lower() == "robots":
                yield (meta.get("content") or "").lower()

    def _refreshes(self) -> Iterator[str | None]:
        for meta in self._root.iter("meta"):
            if (meta.get("http-equiv") or "").lower() == "refresh":
                target = re.search(r"""url\s*=\s*['"]?([^'"]+)""", meta.get("content") or "", re.IGNORECASE)
                if target:
                    yield resolve(self._base, target[1])


def is_followed(element: etree._Element) -> bool:
    """Return whether robots may follow the link."""
    return "nofollow" not in (element.get("rel") or "").lower().split()


def points_at_document(link: etree._Element) -> bool:
    """Return whether a `link` element points at a document, not at a style sheet, an icon or the like."""
    rels = set((link.get("rel") or "").lower().split())
    return bool(rels & DOCUMENT_RELS) and "stylesheet" not in rels and is_followed(link)


def anchor_text(element: etree._Element) -> str:
    """Return the text of a link, or the alternative texts of its images."""
    inner = next((nested for nested in element.iter("a") if nested is not element), None)
    text = collapse_space("".join(map(str, element.itertext())) if inner is None else text_before(element, inner))
    if text:
        return text
    alternatives = [element] if element.tag == "area" else element.iter("img")
    return collapse_space(" ".join(image.get("alt") or "" for image in alternatives))


def text_before(element: etree._Element, inner: etree._Element) -> str:
    """Return the text of an element up to a link nested in it.

    A link ends where another begins (WHATWG HTML §13.2.6.4.7). libxml2 does not know this, and PostgreSQL's glossary
    has such links.
    """
    parts = []
    for event, node in etree.iterwalk(element, events=("start", "end")):
        if node is inner:
            break
        parts.append((node.text if event == "start" else node.tail) or "")
    return "".join(map(str, parts))


def collapse_space(text: str) -> str:
    """Strip and collapse ASCII white space (WHATWG Infra §4.7); a no-break space stays."""
    return re.sub(r"[\t\n\f\r ]+", " ", text).strip(" ")


def resolve(base: str, reference: str) -> str | None:
    """Return the absolute http(s) URL without fragment, or None."""
    bare = re.sub(r"[\t\n\r]", "", reference).strip("".join(map(chr, range(0x21))))
    return resolve_bare(base, bare.partition("#")[0])


@lru_cache(maxsize=4096)  # most links of a page differ only in their fragments
def resolve_bare(base: str, reference: str) -> str | None:
    """Return the absolute http(s) URL of a reference without fragment, or None."""
    try:
        parts = urlsplit(urljoin(base, reference))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not host:
        return None
    default = {"http": 80, "https": 443}[parts.scheme]
    netloc = host if port in {None, default} else f"{host}:{port}"
    path = urlsplit(urljoin("http://host/", quote(parts.path or "/", safe=PATH_UNENCODED))).path  # without dot segments
    return urlunsplit((parts.scheme, netloc, path or "/", quote(parts.query, safe=QUERY_UNENCODED), ""))
