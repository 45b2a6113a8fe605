"""How pages look: templates, and what they need to show text from the web.

Templates escape everything. Text from crawled pages goes through `seen` besides, which shows control and direction
characters by their numbers; the one text that is HTML already is a hit's snippet, escaped where it is made.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html import unescape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from gossamer.basics import display
from gossamer.web.http.security import has_token

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from gossamer.web.http.security import AccessRules

STATIC = Path(str(resources.files("gossamer.web") / "static"))
MANIFEST = STATIC / "dist/.vite/manifest.json"
MARK = re.compile("(</?mark>)")
NO_FRONTEND = (
    "The graph explorer and the live charts are not built: `make frontend` builds them, with Node 20 or newer."
)


class FrontendAssets:
    """The files that Vite built, by the entry that a page names (`src/graph.ts`)."""

    def __init__(self, manifest: Path = MANIFEST) -> None:
        self._entries: dict[str, Any] = json.loads(manifest.read_text("utf-8")) if manifest.is_file() else {}

    @property
    def missing_hint(self) -> str:
        """What to say when nothing was built."""
        return "" if self._entries else NO_FRONTEND

    def script_url(self, entry: str) -> str:
        """The script of an entry; "" when it was not built."""
        return f"/static/dist/{self._entries[entry]['file']}" if entry in self._entries else ""

    def style_urls(self, entry: str) -> list[str]:
        """The style sheets that an entry and what it imports bring."""
        found = [style for name in self._with_imports(entry) for style in self._entries[name].get("css", ())]
        return [f"/static/dist/{style}" for style in dict.fromkeys(found)]

    def _with_imports(self, entry: str) -> list[str]:
        found: list[str] = []
        todo = [entry] if entry in self._entries else []
        while todo:
            name = todo.pop()
            if name not in found:
                found.append(name)
                todo += self._entries[name].get("imports", ())
        return found


class Templates:
    """Makes pages from templates."""

    def __init__(self, rules: AccessRules) -> None:
        self._rules = rules
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
        """A page from a template."""
        control = has_token(request, self._rules)
        common = {"request": request, "control": control, "controllable": bool(self._rules.token), "q": ""}
        text = self._environment.get_template(template).render({**common, **values})
        return HTMLResponse(text, status)

    def text(self, template: str, **values: object) -> str:
        """A text from a template, such as a feed."""
        return self._environment.get_template(template).render(values)


# -- what templates may call -------------------------------------------------------------------------------------------


def link(path: str, **values: object) -> str:
    """A URL of ours; values that are empty are left out."""
    parameters = {name: value for name, value in values.items() if value not in {None, "", False}}
    return f"{path}?{urlencode(parameters)}" if parameters else path


def href(url: str) -> str:
    """Where a link to a crawled page leads: http and https only."""
    return url if url.startswith(("http://", "https://")) else "about:blank"


def breadcrumb(url: str) -> Markup:
    """A URL as people read it: the host, then its path in steps."""
    host, _, path = display.escape_hidden(url.partition("://")[2] or url).partition("/")
    steps = [step for step in path.split("/") if step]
    rest = "".join(f' <span class="step">\u203a</span> {_escape(step)}' for step in steps)
    return Markup(f'<span class="host">{_escape(host)}</span>{rest}')  # noqa: S704 - escaped piece by piece


def _escape(text: str) -> str:
    return str(Markup.escape(text))


def snippet_html(snippet: str) -> Markup:
    """A snippet. It was escaped where it was made; all but its marks is once more, lest a slip there do harm."""
    pieces = (
        piece if MARK.fullmatch(piece) else _escape(display.escape_hidden(unescape(piece)))
        for piece in MARK.split(snippet)
    )
    return Markup("".join(pieces))  # noqa: S704 - escaped piece by piece


def moment(when: float | None) -> Markup:
    """A moment: how long ago, and exactly when one points at it."""
    if not when:
        return Markup("never")
    exact = datetime.fromtimestamp(when, UTC)
    machine = exact.isoformat(timespec="seconds")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        machine, f"{exact:%Y-%m-%d %H:%M:%S} UTC", display.format_age(when)
    )


def iso(when: float | None) -> str:
    """A moment for machines."""
    return datetime.fromtimestamp(when or 0, UTC).isoformat(timespec="seconds")


def number(value: float | None, digits: int = 0) -> str:
    """A number as people read it."""
    return "" if value is None else f"{value:,.{digits}f}"


FILTERS = {
    "escape_hidden": display.escape_hidden,
    "escape_hidden_lines": display.escape_hidden_lines,
    "href": href,
    "breadcrumb": breadcrumb,
    "snippet_html": snippet_html,
    "moment": moment,
    "iso": iso,
    "number": number,
    "bytes": display.format_bytes,
    "duration": display.format_duration,
    "url_quote": lambda text: quote(text, safe=""),
}
