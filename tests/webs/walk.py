"""What is reachable from a page, and which links stand where: by another client (http.client) and another parser
(libxml2) than Gossamer's, and with no line of its code. Tests compare the two.
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
# WHATWG URL, percent-encode sets: what stays as it is ("%" too: what is encoded already stays so).
PATH_KEPT = "".join(set(PRINTABLE) - set('"#<>?^`{}'))
QUERY_KEPT = "".join(set(PRINTABLE) - set("\"#<>'"))


class Found(NamedTuple):
    """One URL that was asked for."""

    status: int
    media_type: str
    links: Counter[tuple[str, str]]  # hyperlinks (a, area): (target, anchor text) -> times
    onward: frozenset[str]  # URLs of any host to visit from here


def walk(seed: str, processes: int = 2) -> dict[str, Found]:
    """Visit everything reachable from the seed on its host (and port)."""
    found: dict[str, Found] = {}
    wave = [seed]
    with ProcessPoolExecutor(processes) as pool:
        while wave:
            found.update(zip(wave, pool.map(visit, wave, chunksize=16), strict=True))
            onward = frozenset[str]().union(*(found[url].onward for url in wave))
            wave = sorted(url for url in onward if url not in found and urlsplit(url).netloc == urlsplit(seed).netloc)
    return found


def visit(url: str) -> Found:
    """Ask for one URL."""
    parts = urlsplit(url)
    connection = connection_to(parts.netloc)
    connection.request("GET", urlunsplit(("", "", parts.path, parts.query, "")))
    answer = connection.getresponse()
    body = answer.read()
    media_type, _, parameters = (answer.getheader("Content-Type") or "").partition(";")
    links: Counter[tuple[str, str]] = Counter()
    onward: set[str | None] = set()
    if answer.status in {301, 302, 303, 307, 308}:
        onward.add(resolve(url, answer.getheader("Location") or ""))
    elif answer.status == 200 and media_type in HTML:
        page = Page(url, body, parameters)
        links, onward = page.hyperlinks(), page.onward()
    return Found(answer.status, media_type, links, frozenset(filter(None, onward)))


@cache
def connection_to(netloc: str) -> http.client.HTTPConnection:
    """One connection a process and host, kept alive."""
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
        """What `a` and `area` lead to, with their text."""
        targets = ((self._target(element, "href"), anchor_text(element)) for element in self._root.iter("a", "area"))
        return Counter((target, anchor) for target, anchor in targets if target)

    def onward(self) -> set[str | None]:
        """Every document this page leads to and lets robots follow."""
        if any("nofollow" in content or "none" in content for content in self._robots()):
            return set()
        targets = {self._target(element, "href") for element in self._root.iter("a", "area") if followed(element)}
        targets |= {self._target(element, "src") for element in self._root.iter("frame", "iframe")}
        targets |= {self._target(element, "href") for element in self._root.iter("link") if leads_on(element)}
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


def followed(element: etree._Element) -> bool:
    """Whether robots may follow the link."""
    return "nofollow" not in (element.get("rel") or "").lower().split()


def leads_on(link: etree._Element) -> bool:
    """Whether a `link` element points at a document, and not at a style sheet, an icon or the like."""
    rels = set((link.get("rel") or "").lower().split())
    return bool(rels & DOCUMENT_RELS) and "stylesheet" not in rels and followed(link)


def anchor_text(element: etree._Element) -> str:
    """The text of a link; without any, what stands for its images."""
    inner = next((nested for nested in element.iter("a") if nested is not element), None)
    text = collapsed("".join(map(str, element.itertext())) if inner is None else text_before(element, inner))
    if text:
        return text
    alternatives = [element] if element.tag == "area" else element.iter("img")
    return collapsed(" ".join(image.get("alt") or "" for image in alternatives))


def text_before(element: etree._Element, inner: etree._Element) -> str:
    """The text of an element up to one within it: a link ends where another begins (WHATWG HTML §13.2.6.4.7, which
    libxml2 does not know; PostgreSQL's glossary has such links)."""
    parts = []
    for event, node in etree.iterwalk(element, events=("start", "end")):
        if node is inner:
            break
        parts.append((node.text if event == "start" else node.tail) or "")
    return "".join(map(str, parts))


def collapsed(text: str) -> str:
    """ASCII white space stripped and collapsed (WHATWG Infra §4.7): a no-break space stays what it is."""
    return re.sub(r"[\t\n\f\r ]+", " ", text).strip(" ")


def resolve(base: str, reference: str) -> str | None:
    """The absolute http(s) URL without fragment, or None."""
    bare = re.sub(r"[\t\n\r]", "", reference).strip("".join(map(chr, range(0x21))))
    return resolve_bare(base, bare.partition("#")[0])


@lru_cache(maxsize=4096)  # most links of a page differ in their fragments only
def resolve_bare(base: str, reference: str) -> str | None:
    """The absolute http(s) URL of a reference that has no fragment."""
    try:
        parts = urlsplit(urljoin(base, reference))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not host:
        return None
    default = {"http": 80, "https": 443}[parts.scheme]
    netloc = host if port in {None, default} else f"{host}:{port}"
    path = urlsplit(urljoin("http://host/", quote(parts.path or "/", safe=PATH_KEPT))).path  # dots removed
    return urlunsplit((parts.scheme, netloc, path or "/", quote(parts.query, safe=QUERY_KEPT), ""))
