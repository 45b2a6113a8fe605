"""A museum's site twice, from the same data: drawn by scripts in the browser, and as plain HTML.

Both have the same routes, words and links. The client-rendered one is a production build of React and react-router
(`tests/webs/spa`). Its pages fetch their data, its routes change by `history`. A list loads when its end comes into
view, the menu is in a shadow root, one page has a frame, another gets links from a plain script.

As a script (`make test-packages`) it builds that site into `.cache/spa`, with npm. Without Node it does nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import random
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

from webs.served import SiteResponse, SiteServer

SOURCES = Path(__file__).resolve().with_name("spa")
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "spa"
OLDEST_NODE = (20, 19)
HALLS = ("amber", "bronze", "clocks", "dyes", "engines", "ferns", "glass", "harbours", "inks", "jade", "kites", "looms")
EXHIBITS_A_HALL = 16
BATCHES, NOTES_A_BATCH = 4, 10  # of the archive, whose notes are linked from nowhere else
FRAME = "/frames/hours.html"
TOUR = ("/tour", "/tour/1")  # the first route replaces itself by the second, which no link names
WORDS = (
    "anvil basket candle drum easel flute goblet hammer ivory jar kettle ladder mirror needle oar pendulum quill ring"
    " saddle telescope urn vase wheel yoke zither barrel compass dagger fiddle globe harp"
)
JSON, HTML, SCRIPT = (
    {"Content-Type": f"{kind}; charset=utf-8"} for kind in ("application/json", "text/html", "text/javascript")
)
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100"
    "c9fe92ef0000000049454e44ae426082"
)
SHELL = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Museum</title>
<link rel="stylesheet" href="/assets/app.css"><script type="module" src="/assets/app.js"></script></head>
<body><div id="root"></div></body></html>
"""
STYLE = """@font-face { font-family: Museum; src: url(/assets/museum.woff2); }
body { font-family: Museum, serif; } .archive { margin-top: 3000px; } a { color: navy; }
"""
FRAMED_WORDS, FRAMED_LINK = (
    "Open from nine to five, closed on the second Tuesday.",
    ("/visit/groups", "Visit as a group"),
)
ROBOTS = SiteResponse("User-agent: *\nAllow: /\n", headers={"Content-Type": "text/plain"})

Route = dict[str, Any]  # the data of a route, as the client-rendered site fetches them


def _links(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"to": to, "text": text} for to, text in pairs]


MENU = _links(("/", "Entrance"), ("/archive", "Archive"), ("/visit", "Your visit"), ("/about", "About the museum"))
PRESS = _links(("/press/opening", "News of the opening"), ("/press/loans", "News of our loans"))


def _route(path: str, title: str, *links: tuple[str, str], **more: object) -> Route:
    chance = random.Random(path)
    texts = [f"{title}: {' '.join(chance.choices(WORDS.split(), k=30))}." for _ in range(3)]
    return {"title": title, "paragraphs": texts, "links": _links(*links), **more}


def routes() -> dict[str, Route]:
    """Return every route of the site, with its data."""
    halls = [(f"/halls/{name}", f"Hall of {name}") for name in HALLS]
    notes = [(f"/notes/{number}", f"Note {number}") for number in range(BATCHES * NOTES_A_BATCH)]
    pages = {
        "/": _route("/", "Museum of things", *halls, ("/tour", "The tour")),
        "/archive": _route("/archive", "Archive of notes", batches=BATCHES),
        "/visit": _route("/visit", "Your visit", frame=FRAME),
        "/visit/groups": _route("/visit/groups", "Groups", ("/visit", "Back to your visit")),
        "/about": _route("/about", "About the museum", script="/press"),
        "/press/opening": _route("/press/opening", "The opening"),
        "/press/loans": _route("/press/loans", "Our loans"),
        "/tour": {"moved": TOUR[1]},
        "/tour/1": _route("/tour/1", "First stop", ("/tour/2", "Go on to the second stop")),
        "/tour/2": _route("/tour/2", "Second stop", ("/tour/3", "Go on to the third stop")),
        "/tour/3": _route("/tour/3", "Third stop"),
    }
    for name, (path, title) in zip(HALLS, halls, strict=True):
        exhibits = [(f"/exhibits/{name}-{number}", f"Exhibit {number}") for number in range(EXHIBITS_A_HALL)]
        pages[path] = _route(path, title, *exhibits)
        for number, (exhibit, label) in enumerate(exhibits):
            after = exhibits[(number + 1) % EXHIBITS_A_HALL]
            image = f"/images/{name}-{number}.png"
            pages[exhibit] = _route(exhibit, f"{label} of {name}", (path, title), (after[0], "Next"), image=image)
    return pages | {path: _route(path, title) for path, title in notes}


def _archive_batch(number: int) -> list[dict[str, str]]:
    first = number * NOTES_A_BATCH
    return _links(*((f"/notes/{note}", f"Note {note}") for note in range(first, first + NOTES_A_BATCH)))


# -- the two sites -----------------------------------------------------------------------------------------------------


def shared_files() -> dict[str, SiteResponse]:
    """Return what both sites have: robots.txt, images, and the document in the frame."""
    to, text = FRAMED_LINK
    frame = f'<!doctype html><title>Hours</title><p>{FRAMED_WORDS}</p><p><a href="{to}">{text}</a></p>'
    images = {route["image"] for route in routes().values() if "image" in route}
    return {
        "/robots.txt": ROBOTS,
        FRAME: SiteResponse(frame),
        **{path: SiteResponse(PIXEL, headers={"Content-Type": "image/png"}) for path in images},
    }


def client_rendered(build: Path) -> dict[str, SiteResponse]:
    """Return the files of the client-rendered site; every route gets its shell."""
    data: dict[str, Any] = {("/index" if path == "/" else path): route for path, route in routes().items()}
    data |= {f"/archive/batch-{number}": {"links": _archive_batch(number)} for number in range(BATCHES)}
    data |= {"/menu": {"links": MENU}, "/press": {"links": PRESS}}
    scripts = {
        f"/assets/{file.name}": SiteResponse(file.read_bytes(), headers=SCRIPT | {"ETag": f'"{file.name}"'})
        for file in build.iterdir()
    }  # with validators, by which the browser asks again for what it has
    return {
        **shared_files(),
        **scripts,
        **{f"/api{path}.json": SiteResponse(json.dumps(route), headers=JSON) for path, route in data.items()},
        "/assets/app.css": SiteResponse(STYLE, headers={"Content-Type": "text/css"}),
        **{path: SiteResponse(SHELL, headers=HTML) for path in routes()},
    }


def server_rendered() -> dict[str, SiteResponse]:
    """Return the files of the server-rendered twin."""
    pages = routes()
    return {**shared_files(), **{path: SiteResponse(_html(path, pages), headers=HTML) for path in pages}}


def _html(path: str, pages: dict[str, Route]) -> str:
    route = pages[path]
    by_script = ""
    if "moved" in route:
        by_script = f'<a href="{route["moved"]}"></a>'
        route = pages[route["moved"]]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(route["title"])}</title></head>'
        f"<body><nav>{' '.join(map(_anchor, MENU))}</nav>{by_script}<main>{_main_part(route)}</main></body></html>"
    )


def _main_part(route: Route) -> str:
    title = escape(route["title"])
    parts = [f"<h1>{title}</h1>"]
    if "image" in route:
        parts.append(f'<img src="{route["image"]}" alt="{title}">')
    parts += [f"<p>{text}</p>" for text in route["paragraphs"]]
    parts.append(_list(route["links"]))
    if "frame" in route:
        to, text = FRAMED_LINK
        parts.append(f'<iframe src="{FRAME}"></iframe><p>{FRAMED_WORDS}</p><p><a href="{to}">{text}</a></p>')
    parts += [_list(_archive_batch(number)) for number in range(route.get("batches", 0))]
    if "script" in route:
        parts += [f"<p>{_anchor(link)}</p>" for link in PRESS]
    return "\n".join(parts)


def _list(links: list[dict[str, str]]) -> str:
    return f"<ul>{''.join(f'<li>{_anchor(link)}</li>' for link in links)}</ul>"


def _anchor(link: dict[str, str]) -> str:
    return f'<a href="{link["to"]}">{link["text"]}</a>'


class MuseumServer(SiteServer):
    """Serves one of the two sites, and counts requests by path."""

    def count(self, path: str) -> int:
        """Return how many requests came for a path."""
        return sum(1 for request in self.requests if request.path == path)


def write_site(files: dict[str, SiteResponse], folder: Path) -> Path:
    """Write a site as files for nginx; routes get the suffix .html. `NGINX` has the directives to serve it."""
    for path, response in files.items():
        name = "index" if path == "/" else path.strip("/")
        target = folder / (name if "." in name else f"{name}.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(response.body if isinstance(response.body, bytes) else response.body.encode())
    return folder


NGINX = "location / { try_files $uri $uri.html /index.html; }"


# -- the build ---------------------------------------------------------------------------------------------------------


def has_node() -> bool:
    """Return whether Node and npm are here, new enough."""
    if not (shutil.which("node") and shutil.which("npm")):
        return False
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    numbers = tuple(int(part) for part in version.lstrip("v").split(".")[:2] if part.isdigit())
    return numbers >= OLDEST_NODE


def built_scripts() -> Path | None:
    """Return the folder with the built scripts, after building them if they are missing; None without Node."""
    sources = sorted(file for file in SOURCES.rglob("*") if file.is_file() and "node_modules" not in file.parts)
    digest = hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in sources)).hexdigest()[:16]
    built = CACHE / digest / "dist" / "assets"
    if built.is_dir():
        return built
    if not has_node():
        return None
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of a test run may come here at once
        if not built.is_dir():
            _build(CACHE / digest)
    return built


def _build(folder: Path) -> None:
    for older in CACHE.iterdir():
        if older.is_dir():
            shutil.rmtree(older)
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    # Not `npm ci`: it refuses a lock file without the binaries of other systems, and not every registry has them.
    subprocess.run(["npm", "install", "--no-save", "--silent"], cwd=folder, check=True)
    subprocess.run(["npm", "run", "--silent", "build", "--", "--outdir=building"], cwd=folder, check=True)
    (folder / "dist").mkdir()
    (folder / "building").rename(folder / "dist" / "assets")  # whole or not at all


def main() -> int:
    """Build the site if Node is here."""
    if built_scripts() is None:
        print("Without Node 20.19 or newer, the tests with a client-rendered site skip.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
