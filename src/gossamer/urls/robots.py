"""Robots rules: robots.txt by RFC 9309, and the directives of X-Robots-Tag and meta robots.

Gossamer has its own parser, because those on PyPI differ from the RFC or from Google's reference table. They differ in
groups with other records in between, and in product tokens. Some also turn patterns into backtracking regular
expressions. Here a rule costs at most one search through the path for each of its parts. That takes 2 µs a URL for a
usual file, at worst 60 ms (500 KiB of wildcards).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from gossamer.model import Outcome, Value
from gossamer.urls.canonical import UNRESERVED, canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_BYTES = 500 * 1024  # read of a robots.txt (RFC 9309 §2.5: at least 500 KiB)

# Names of lines. The misspellings are those that Google's parser accepts: the owner's wish is clear.
LINE_NAMES = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    "allow": "allow",
    "crawl-delay": "delay",
    **dict.fromkeys(("sitemap", "site-map"), "sitemap"),
}
LINE_END = re.compile(r"\r\n?|\n")  # RFC 9309 §2.2; str.splitlines splits at more characters
PARTIAL_BOM = re.compile(rb"\xef(?:\xbb\xbf?)?")
LONE_OCTET = re.compile("[\udc80-\udcff]")
PRODUCT_TOKEN = re.compile(r"[\w-]+")  # RFC 9309 §2.2.1, plus digits and letters of any script, which real agents use
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
SCHEME_AND_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")

# RFC 9309 §2.2.2 compares octets, unreserved ones plain and all others percent-encoded. The delimiters of path and
# query (/ ? & =) stay, and so does * for patterns. A stray % is just a character.
UNCOMPARABLE = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/?&=%*-]")
ESCAPED = re.compile(r"%[0-9A-F]{2}")

REDIRECTS_GIVEN_UP = frozenset({Outcome.BAD_REDIRECT, Outcome.REDIRECT_LOOP, Outcome.TOO_MANY_REDIRECTS})

# Directives of X-Robots-Tag with a value after a colon: their name is not the name of a crawler.
VALUED_DIRECTIVES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
CRAWLER_NAME = re.compile(r"[^\W\d][\w.-]*|\*")  # "25-Jun-10 15" in a date is not one


class RuleWeight(NamedTuple):
    """The rank of a matching rule: more octets win, at a tie Allow wins (RFC 9309 §2.2.2)."""

    octets: int
    allow: bool


class WildcardRule(NamedTuple):
    """A rule with * or $."""

    weight: RuleWeight
    parts: tuple[str, ...]  # between the *
    anchored: bool  # ended in $

    def matches(self, path: str) -> bool:
        """Match each part at its first occurrence: a later one could not leave more room for the rest."""
        first, *others = self.parts
        if not path.startswith(first):
            return False
        position = len(first)
        last = others.pop() if self.anchored and others else None
        for part in others:
            start = path.find(part, position)
            if start < 0:
                return False
            position = start + len(part)
        if last is not None:
            return path.endswith(last) and len(path) - len(last) >= position
        return not self.anchored or position == len(path)


NO_RULE_WEIGHT = RuleWeight(0, allow=True)


class ProductRules:
    """The rules of one robots.txt for one product token."""

    def __init__(self, rules: Iterable[tuple[str, bool]], delay: float | None) -> None:
        self.crawl_delay = delay  # seconds between requests; None: the file sets no delay
        self._prefix_weights: dict[str, RuleWeight] = {}  # by pattern; `allows` looks up prefixes of the path
        wild: list[WildcardRule] = []
        for pattern, allow in rules:
            if not pattern:  # "Disallow:" alone forbids nothing
                continue
            rule = _parse_rule(pattern, allow=allow)
            if len(rule.parts) > 1 or rule.anchored:
                wild.append(rule)
            else:
                self._prefix_weights[rule.parts[0]] = max(
                    rule.weight, self._prefix_weights.get(rule.parts[0], NO_RULE_WEIGHT)
                )
        self._prefix_lengths = sorted({len(pattern) for pattern in self._prefix_weights}, reverse=True)
        self._wildcard_rules = sorted(set(wild), reverse=True)  # the heaviest first
        self._forbids = any(not rule.allow for rule in self._prefix_weights.values()) or any(
            not w.weight.allow for w in wild
        )

    def allows(self, url_or_path: str) -> bool:
        """Return whether robots.txt allows this URL (canonical, or its path and query)."""
        if not self._forbids:
            return True
        path = _request_path(url_or_path)
        if path == "/robots.txt":
            return True
        best = NO_RULE_WEIGHT
        for length in self._prefix_lengths:
            weight = self._prefix_weights.get(path[:length])
            if weight is not None:
                best = weight
                break
        for rule in self._wildcard_rules:
            if rule.weight <= best:
                break
            if rule.matches(path):
                return rule.weight.allow
        return best.allow


class _RuleGroup(NamedTuple):
    """Some user-agent lines and the rules under them.

    Agents share the rules of their group: a hostile file of 15,000 agents and 20,000 rules must not become 300 million.
    """

    agents: dict[str, int]  # lower-case token -> number of agents before it
    rules: list[tuple[str, bool]]  # pattern, whether it allows
    delays: list[tuple[int, float]]  # number of agents before it, seconds


class RobotsRules:
    """A parsed robots.txt."""

    def __init__(self, groups: Sequence[_RuleGroup], sitemaps: Iterable[str]) -> None:
        self._groups = groups
        self._products: dict[str, ProductRules] = {}  # by token; built on first use
        self.sitemaps = tuple(sitemaps)  # canonical URLs, in order

    @staticmethod
    def parse(robots: str | bytes) -> RobotsRules:
        """Parse a robots.txt; lines that make no sense are ignored (RFC 9309 §2.2)."""
        groups = [_RuleGroup({}, [], [])]  # the first one takes the rules outside of groups
        sitemaps: dict[str, None] = {}
        for name, value in _parse_lines(decode_robots(robots) if isinstance(robots, bytes) else robots):
            group = groups[-1]
            if name == "agent":
                # Only rules end the list of a group's agents; other records may come between (RFC 9309 §2.2.4).
                if group.rules or not group.agents:
                    group = _RuleGroup({}, [], [])
                    groups.append(group)
                group.agents.setdefault(_parse_agent(value), len(group.agents))
            elif name == "sitemap":
                if url := canonicalize(value):
                    sitemaps[url] = None
            elif name == "delay":
                if (seconds := _parse_delay(value)) is not None:
                    group.delays.append((len(group.agents), seconds))
            else:
                group.rules.append((value, name == "allow"))
        return RobotsRules(groups, sitemaps)

    def for_product(self, product: str) -> ProductRules:
        """Return the rules for a crawler of this product token: its own groups, else those of "*", else none."""
        token = product.lower()
        if token not in self._products:
            self._products[token] = self._rules_for_agent(token) or self._rules_for_agent("*") or NO_RULES
        return self._products[token]

    def _rules_for_agent(self, agent: str) -> ProductRules | None:
        """Return the rules of all groups that name this agent, combined (RFC 9309 §2.2.1).

        Unlike a rule, a delay applies only to the agents before it: "User-agent: a", "Crawl-delay: 9", "User-agent: *",
        "Disallow: /x" slows down only a.
        """
        groups = [group for group in self._groups if agent in group.agents]
        delays = [
            seconds
            for group in groups
            for agents_before, seconds in group.delays
            if group.agents[agent] < agents_before
        ]
        rules = [rule for section in groups for rule in section.rules]
        return ProductRules(rules, max(delays, default=None)) if groups else None

    def allows(self, url_or_path: str, product: str) -> bool:
        """Return whether a crawler of this product token may fetch this URL."""
        return self.for_product(product).allows(url_or_path)


def decode_robots(body: bytes) -> str:
    """Return the first 500 KiB of a robots.txt as text, cut at a line's end: half a rule would match more.

    Octets that are not UTF-8 become percent-encoded. Rules compare them in this form, and the store takes text only.
    """
    if len(body) > MAX_BYTES:
        body = body[:MAX_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    bom = PARTIAL_BOM.match(body)
    text = body[bom.end() if bom else 0 :].decode("utf-8", "surrogateescape")
    return LONE_OCTET.sub(lambda octet: f"%{ord(octet[0]) - 0xDC00:02X}", text)


def _parse_lines(text: str) -> Iterator[tuple[str, str]]:
    for line in LINE_END.split(text.removeprefix("\ufeff")):
        record = line.partition("#")[0].strip()
        name, colon, value = record.partition(":")
        if not colon:
            words = record.split()
            if len(words) != 2:
                continue
            name, value = words  # "Disallow /x", without its colon
        known = LINE_NAMES.get(name.strip().lower())
        if known:
            yield known, value.strip()


def _parse_agent(value: str) -> str:
    """Return the product token of a user-agent line, lower-case: up to the first other character, as Google does."""
    if value.split(None, 1)[:1] == ["*"]:
        return "*"
    token = PRODUCT_TOKEN.match(value)
    return (token[0] if token else value).lower()


def _parse_delay(value: str) -> float | None:
    seconds = float(value) if NUMBER.fullmatch(value) else math.inf
    return seconds if math.isfinite(seconds) else None


def _parse_rule(pattern: str, *, allow: bool) -> WildcardRule:
    anchored = pattern.endswith("$")
    comparable = _comparable_path(pattern.removesuffix("$"))
    octets = len(ESCAPED.sub("x", comparable)) + anchored
    return WildcardRule(RuleWeight(octets, allow), tuple(comparable.split("*")), anchored)


def _request_path(url_or_path: str) -> str:
    site = SCHEME_AND_AUTHORITY.match(url_or_path)
    path = url_or_path[site.end() if site else 0 :].partition("#")[0]
    return _comparable_path(path if path.startswith("/") else f"/{path}").replace("*", "%2A")


def _comparable_path(path: str) -> str:
    """Return a path and query in the form for comparison. In a query, "/" equals "%2F" (RFC 9309 figure 4)."""
    path, mark, query = UNCOMPARABLE.sub(_normalize_octet, path).partition("?")
    return f"{path}?{query.replace('%2F', '/').replace('%3F', '?')}" if mark else path


def _normalize_octet(match: re.Match[str]) -> str:
    text = match[0]
    if text[0] == "%":
        octet = int(text[1:], 16)
        return chr(octet) if octet in UNRESERVED else text.upper()
    return "".join(f"%{octet:02X}" for octet in text.encode("utf-8", "replace"))


def classify_robots_response(outcome: Outcome, status: int) -> Literal["rules", "unavailable", "unreachable"]:
    """Return what the answer to a request for robots.txt means, after at least five redirects.

    By RFC 9309 §2.3.1 "rules" are to be obeyed, "unavailable" allows everything, "unreachable" nothing for now. A 429
    means too many requests, not a missing file; the RFC allows either reading. Every other doubtful answer counts as
    unreachable: better to miss a page than to fetch one against the owner's wish.
    """
    if outcome is Outcome.FETCHED:
        return "rules"
    if outcome in REDIRECTS_GIVEN_UP:
        return "unavailable"
    refused = 400 <= status < 500 and status != 429
    return "unavailable" if refused and outcome in {Outcome.NOT_FOUND, Outcome.HTTP_ERROR} else "unreachable"


class PageDirectives(Value, frozen=True, kw_only=True):
    """The requests of a page to crawlers."""

    noindex: bool = False
    nofollow: bool = False


def parse_directives(header: str, metas: Iterable[tuple[str, str]], product: str) -> PageDirectives:
    """Return what X-Robots-Tag and the meta elements (name, content) ask of this product; the strictest wins."""
    directives = set(_header_directives(header, product.lower()))
    for name, content in metas:
        if name.strip().lower() in {"robots", product.lower()}:
            directives.update(_plain_directives(content.split(",")))
    return PageDirectives(
        noindex=not directives.isdisjoint({"noindex", "none"}), nofollow=not directives.isdisjoint({"nofollow", "none"})
    )


def _header_directives(header: str, product: str) -> Iterator[str]:
    """Yield the directives of X-Robots-Tag for this product.

    In "noindex, otherbot: nofollow, none" the first is for everybody, the others are for otherbot. A crawler's name
    applies up to the next name or the end of its header line.
    """
    for line in header.split("\n"):
        ours = True
        for part in line.split(","):
            name, colon, directive = part.partition(":")
            name = name.strip().lower()
            if colon and name not in VALUED_DIRECTIVES and CRAWLER_NAME.fullmatch(name):
                ours = name in {product, "*"}
            else:
                directive = part
            if ours:
                yield from _plain_directives([directive])


def _plain_directives(parts: Iterable[str]) -> Iterator[str]:
    """Yield the directives without a value; "max-image-preview: none" is not "none"."""
    return (word.lower() for part in parts if ":" not in part for word in part.replace(";", " ").split())


NO_RULES = ProductRules((), None)
ALLOW_ALL = RobotsRules((), ())
