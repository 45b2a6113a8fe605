"""Canonical URLs: one spelling to request and store, one key to detect duplicates.

`canonicalize` turns whatever a page, a header or a person wrote into a canonical URL, or None. The other functions of
this module, and most of Gossamer, take canonical URLs only: absolute http or https, lower-case ASCII host, no default
port, no fragment, no credentials, and always a path. This makes cheap slicing safe.

These functions run for every link of every page, so the common path through each is a few string operations. Times on
one core: `canonicalize` 2.4 µs (0.4 µs from its cache), `url_key` 0.1 µs, `url_digest` 0.5 µs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import Literal
from urllib.parse import unquote_plus

from ada_url import URL, join_url, normalize_url

from gossamer.errors import UsageError
from gossamer.model import Value

DIGEST_BYTES = 16  # 128 bits: among 10 billion URLs the chance of one collision is below 10^-18
SCHEMES = ("http://", "https://")

# The cache of `canonicalize`: the navigation of a site has the same few hundred hrefs on every page. Long hrefs and
# bases stay out of it, so that a hostile site cannot make it larger than 10 MB.
CACHED_HREFS = 8192  # entries
CACHED_LENGTH = 256  # characters

# An href that begins like this and has no colon depends on the directory of its base only (WHATWG URL §4.4, relative
# state). It has no scheme, no empty path that would keep the base's file name and query, no blanks to strip first.
RELATIVE_START = frozenset("./abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-%")

ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986 §2.3
# A key treats these the same, encoded or not. RFC 3986 allows [ ] | only encoded in path and query, browsers send them
# plain, and both spellings of ?filter[]=1 are common.
PLAIN_IN_KEY = UNRESERVED | frozenset(b"[]|")

SCHEME_PATTERN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
PORT_PATTERN = re.compile(r"[0-9]+(?:[/?#]|$)")
MAX_QUOTED_LENGTH = 80  # characters of typed text shown in a message


class UrlRules(Value, frozen=True, kw_only=True):
    """Which URLs count as the same resource, beyond their spelling. They change the key, never the URL requested."""

    query: Literal["keep", "sort", "strip"] = "keep"
    drop_parameters: frozenset[str] = frozenset()  # names, exact; of the query and of path segments (";jsessionid=...")


DEFAULT_RULES = UrlRules()


def canonicalize(href: str, base: str | None = None) -> str | None:
    """Return the URL to request for `href` on a page at `base` (a canonical URL), or None if there is none.

    The result is None for another scheme (mailto:, javascript:, data: ...), no host, or text that is not a URL. Parsing
    follows browsers (WHATWG URL).

    It drops credentials: a crawler must not send, store or export those in other people's links. The resource is the
    same without them. HTTP forbids them in requests anyway (RFC 9110 §4.2.4).
    """
    if len(href) > CACHED_LENGTH or (base is not None and len(base) > CACHED_LENGTH):
        return _resolve(href, base)
    if base is not None and href[:1] in RELATIVE_START and ":" not in href:
        base = base[: base.rfind("/", 8) + 1] or base
    return _resolve_cached(href, base)


def _resolve(href: str, base: str | None) -> str | None:
    try:
        url = normalize_url(href) if base is None else join_url(base, href)
    except ValueError:  # ada_url raises it for everything that does not parse, lone surrogates included
        repaired = _replace_surrogates(href)
        return _resolve(repaired, base) if repaired != href else None
    if not url.startswith(SCHEMES):
        return None
    if "#" in url:
        url = url[: url.index("#")]
    return _without_credentials(url) if "@" in url else url


_resolve_cached = lru_cache(maxsize=CACHED_HREFS)(_resolve)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates by U+FFFD, as every API of the web platform does (Web IDL USVString)."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _without_credentials(url: str) -> str:
    at = url.rfind("@", 0, url.index("/", 8))
    return url if at < 0 else url[: url.index("//") + 2] + url[at + 1 :]


def url_key(url: str, rules: UrlRules = DEFAULT_RULES) -> str:
    """Return the text that all duplicates of a canonical URL share.

    It normalizes percent-encoding (RFC 3986 §6.2.2), then applies the rules. It keeps the case of the path, which
    distinguishes pages on most servers.
    """
    if "%" in url:
        url = ESCAPE.sub(_normalize_escape, url)
    if rules.query == "keep" and (not rules.drop_parameters or ("?" not in url and ";" not in url)):
        return url
    return _apply_rules(url, rules)


def _normalize_escape(escape: re.Match[str]) -> str:
    if escape[1] is None:  # encode a stray %: otherwise "%%341" would become "%41", then "A"
        return "%25"
    octet = int(escape[1], 16)
    return chr(octet) if octet in PLAIN_IN_KEY else escape[0].upper()


def _apply_rules(url: str, rules: UrlRules) -> str:
    path, _, query = url.partition("?")
    parameters = [] if rules.query == "strip" else [part for part in query.split("&") if part]
    if rules.drop_parameters:
        parameters = [part for part in parameters if _parameter_name(part) not in rules.drop_parameters]
        path = "/".join(_without_parameters(segment, rules.drop_parameters) for segment in path.split("/"))
    if rules.query == "sort":  # by name only, as URLSearchParams.sort: the order of values of one name may matter
        parameters.sort(key=_parameter_name)
    return f"{path}?{'&'.join(parameters)}" if parameters else path


def _without_parameters(segment: str, names: frozenset[str]) -> str:
    if ";" not in segment:
        return segment
    head, *parameters = segment.split(";")
    return ";".join([head, *(part for part in parameters if _parameter_name(part) not in names)])


def _parameter_name(parameter: str) -> str:
    return unquote_plus(parameter.partition("=")[0])


def url_digest(url: str, rules: UrlRules = DEFAULT_RULES) -> bytes:
    """Return the key of a canonical URL in 16 bytes (BLAKE2b), the same in every process and version."""
    return blake2b(url_key(url, rules).encode(), digest_size=DIGEST_BYTES).digest()


def scheme(url: str) -> str:
    """Return the scheme of a canonical URL: "http" or "https"."""
    return url[: url.index(":")]


def authority(url: str) -> str:
    """Return the host of a canonical URL, with its port if it is not the default: "example.org", "[::1]:8080"."""
    return url[url.index("/") + 2 : url.index("/", 8)]


def origin(url: str) -> str:
    """Return scheme and authority of a canonical URL: "https://example.org"."""
    return url[: url.index("/", 8)]


def hostname(authority: str) -> str:
    """Return an authority without its port: "example.org", "[::1]"."""
    return authority[: authority.rindex("]") + 1] if authority.startswith("[") else authority.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Return whether a host name or address, without its port, means this machine; IPv6 with or without brackets."""
    if host == "localhost":  # libcurl itself takes this name for 127.0.0.1 and ::1 (RFC 6761 §6.3)
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def urls_from_input(text: str) -> tuple[str, ...]:
    """Return the URLs to try, in order, for typed text: without a scheme, https and then http."""
    typed = _replace_surrogates(text).strip()
    if not typed:
        raise UsageError("No URL was given; say what to visit, such as https://example.org/.")
    scheme_match = SCHEME_PATTERN.match(typed)
    if scheme_match and (
        scheme_match[1].lower() in {"http", "https"} or not PORT_PATTERN.match(typed, scheme_match.end())
    ):
        return (_parse_typed(typed, scheme_match[1].lower()),)
    if typed[0] in "/.~" and not typed.startswith("//"):
        raise UsageError(f"{_quote_input(typed)} is a path, not a URL; serve the files and give their URL.")
    rest = typed.removeprefix("//")
    return _parse_typed(f"https://{rest}", "https"), _parse_typed(f"http://{rest}", "http")


def _parse_typed(typed: str, scheme_name: str) -> str:
    if scheme_name not in {"http", "https"}:
        raise UsageError(
            f"Only http and https URLs can be visited, not {_quote_input(scheme_name + ':')} ones; "
            "try https://example.org/."
        )
    url = canonicalize(typed)
    if url is None or not authority(url).strip("."):
        raise UsageError(
            f"{_quote_input(typed)} is not a URL: its host or port is missing or wrong; try https://example.org/."
        )
    parsed = URL(typed)
    if parsed.username or parsed.password:  # the message does not show them: they are secret
        raise UsageError(
            f"The URL of {authority(url)} holds credentials; leave them out, and set username and password_env "
            f'for this host in gossamer.toml, under [hosts."{authority(url)}"].'
        )
    return url


def _quote_input(text: str) -> str:
    """Return typed text in quotes, control characters escaped."""
    return repr(text if len(text) <= MAX_QUOTED_LENGTH else f"{text[:MAX_QUOTED_LENGTH]}…")
