"""HTML pages from Jinja templates, and the filters and functions that templates use.

Templates escape everything. Text from crawled pages also goes through `escape_hidden`, which shows control and
direction characters by their numbers. Only the snippet of a hit is HTML already; the search escapes it.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import partial
from html import unescape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from gossamer.basics import display
from gossamer.basics.locations import store_flag
from gossamer.basics.times import utc_time
from gossamer.web.http.security import has_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from gossamer.web.http.security import AccessRules

STATIC = Path(str(resources.files("gossamer.web") / "static"))
MANIFEST = STATIC / "dist/.vite/manifest.json"
MARK = re.compile("(</?mark>)")
EPOCH = datetime.fromtimestamp(0, UTC)  # instead of a time that is not known
NO_FRONTEND = "The graph explorer and the live charts are not built. Run `make frontend` in the source tree."


class FrontendAssets:
    """The files that Vite built, by entry (`src/graph.ts`)."""

    def __init__(self, manifest: Path = MANIFEST) -> None:
        self._entries: dict[str, Any] = json.loads(manifest.read_text("utf-8")) if manifest.is_file() else {}

    @property
    def missing_hint(self) -> str:
        """A hint for the reader if the frontend is not built, else ""."""
        return "" if self._entries else NO_FRONTEND

    def script_url(self, entry: str) -> str:
        """Return the URL of an entry's script; "" if it is not built."""
        return f"/static/dist/{self._entries[entry]['file']}" if entry in self._entries else ""

    def style_urls(self, entry: str) -> list[str]:
        """Return the URLs of the style sheets of an entry and its imports."""
        styles = [style for name in self._with_imports(entry) for style in self._entries[name].get("css", ())]
        return [f"/static/dist/{style}" for style in dict.fromkeys(styles)]

    def _with_imports(self, entry: str) -> list[str]:
        names: list[str] = []
        todo = [entry] if entry in self._entries else []
        while todo:
            name = todo.pop()
            if name not in names:
                names.append(name)
                todo += self._entries[name].get("imports", ())
        return names


class Templates:
    """Renders pages from templates."""

    def __init__(self, rules: AccessRules, location: str) -> None:
        self._rules = rules
        self._store_flag = store_flag(location)
        self._assets = FrontendAssets()
        self._environment = Environment(
            loader=PackageLoader("gossamer.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= FILTERS
        self._environment.globals |= {"link": link, "assets": self._assets, "entries": ()}

    def page(self, request: Request, template: str, *, status: int = 200, **values: object) -> Response:
        """Return a page from a template."""
        control = has_token(request, self._rules)
        common = {
            "request": request, "control": control, "controllable": bool(self._rules.token), "q": "",
            "command": partial(self._command, has_store=control),
        }  # fmt: skip
        text = self._environment.get_template(template).render({**common, **values})
        return HTMLResponse(text, status)

    def _command(self, arguments: str, *, has_store: bool) -> str:
        """Return a command to paste. Only readers with the token see where the web is."""
        return f"gossamer {arguments}{self._store_flag if has_store else ''}"

    def text(self, template: str, **values: object) -> str:
        """Return XML from a template, such as a feed."""
        return display.without_illegal_xml(self._environment.get_template(template).render(values))


def html_page(request: Request, template: str, *, status: int = 200, **values: object) -> Response:
    """Return a page from a template of the app that serves the request."""
    response: Response = request.app.state.templates.page(request, template, status=status, **values)
    return response


# -- what templates may call -------------------------------------------------------------------------------------------


def link(path: str, **values: object) -> str:
    """Return a URL of this server with the parameters that are not empty."""
    parameters = {name: value for name, value in values.items() if value not in {None, "", False}}
    return f"{path}?{urlencode(parameters)}" if parameters else path


def href(url: str) -> str:
    """Return the URL of a crawled page if it is http or https, else `about:blank`."""
    return url if url.startswith(("http://", "https://")) else "about:blank"


def breadcrumb(url: str) -> Markup:
    """Return a URL for people: the host, then the steps of its path."""
    host, _, path = display.escape_hidden(url.partition("://")[2] or url).partition("/")
    steps = [step for step in path.split("/") if step]
    rest = "".join(f' <span class="step">\u203a</span> {_escape(step)}' for step in steps)
    return Markup(f'<span class="host">{_escape(host)}</span>{rest}')  # noqa: S704 - escaped piece by piece


def _escape(text: str) -> str:
    return str(Markup.escape(text))


def snippet_html(snippet: str) -> Markup:
    """Return a snippet as HTML. Escapes all but `<mark>` a second time, in case the search missed something."""
    pieces = (
        piece if MARK.fullmatch(piece) else _escape(display.escape_hidden(unescape(piece)))
        for piece in MARK.split(snippet)
    )
    return Markup("".join(pieces))  # noqa: S704 - escaped piece by piece


def code(text: str) -> Markup:
    """Return a text with its parts between backticks as code."""
    pieces = (f"<code>{_escape(part)}</code>" if odd % 2 else _escape(part) for odd, part in enumerate(text.split("`")))
    return Markup("".join(pieces))  # noqa: S704 - escaped piece by piece


def moment(when: float | None) -> Markup:
    """Return the age of a time, with the exact time as a tooltip."""
    if not when:
        return Markup("never")
    exact = utc_time(when)
    if exact is None:
        return Markup("unknown")
    machine = exact.isoformat(timespec="seconds")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        machine, f"{exact:%Y-%m-%d %H:%M:%S} UTC", display.format_age(when)
    )


def iso(when: float | None) -> str:
    """Return a time in ISO 8601."""
    return (utc_time(when) or EPOCH).isoformat(timespec="seconds")


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with separators of thousands."""
    return "" if value is None else f"{value:,.{digits}f}"


def common_site(rows: Iterable[Mapping[str, object]]) -> str:
    """Return the site of most URLs in rows, for `display.common_site`."""
    return display.common_site(value for row in rows for value in row.values() if isinstance(value, str))


FILTERS = {
    "common_site": common_site,
    "escape_hidden": display.escape_hidden,
    "escape_hidden_lines": display.escape_hidden_lines,
    "href": href,
    "breadcrumb": breadcrumb,
    "snippet_html": snippet_html,
    "code": code,
    "moment": moment,
    "iso": iso,
    "number": number,
    "bytes": display.format_bytes,
    "duration": display.format_duration,
    "url_quote": lambda text: quote(text, safe=""),
}
