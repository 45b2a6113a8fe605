"""The document of a page as one HTML text: shadow roots and frames in the places where they show.

A script in the page walks the document (`snapshot.js`), because it can stop at a limit before anything is serialized.
Two things are out of its reach: documents of frames, each read by a script of its own and joined here, and closed
shadow roots, which the browser's DOM domain hands to the script.
"""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from gossamer.render.pages.budget import MAX_FRAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.render.options import RenderOptions
    from gossamer.render.pages.cdp import CdpMessage
    from gossamer.render.pages.page_run import PageTab

_SCRIPTS = files("gossamer.render.pages")
QUIET = (_SCRIPTS / "quiet.js").read_text("utf-8")
_SNAPSHOT = (_SCRIPTS / "snapshot.js").read_text("utf-8")
SCROLL = "scrollTo(0, document.documentElement.scrollHeight), document.documentElement.scrollHeight"
_KEEP_ROOT = "function () { (globalThis.closedRoots ??= new Map()).set(this.host, this); }"
_MAX_CLOSED_ROOTS = 500  # shown of a page
# Up to this size the browser sends the whole document to find them: a tree of 55 MB in our memory.
_MAX_NODES_WITH_CLOSED_ROOTS = 50_000
_MAX_DEPTH = 5  # of frames in frames
_FRAME = re.compile(r"<!--frame (\d+)-->")
_START = "<!DOCTYPE html>"


class _FrameHtml:
    """The document of one frame, and the frames in it in the order of `window.frames`."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self.id: str = tree["frame"]["id"]
        self.url: str = tree["frame"].get("url", "")
        self.children = [_FrameHtml(child) for child in tree.get("childFrames", ())]
        self.html = ""

    def descendants(self) -> list[_FrameHtml]:
        """Return the frames below, from the outermost to the innermost."""
        found = list(self.children)
        for child in found:
            found.extend(child.children)
        return found

    def join(self, depth: int = 0) -> str:
        """Return the document with its frames in their places."""

        def content(match: re.Match[str]) -> str:
            index = int(match[1])
            if index >= len(self.children) or depth >= _MAX_DEPTH:
                return ""
            child = self.children[index]
            return f'<div data-frame="{escape(child.url)}">{child.join(depth + 1)}</div>'

        return _FRAME.sub(content, self.html)


class SnapshotReader:
    """Reads the documents of one page. `then` gets the HTML, or None, and the name of the limit that cut it."""

    def __init__(self, tab: PageTab, options: RenderOptions) -> None:
        self._tab = tab
        self._nodes_left = options.max_nodes
        self._bytes_left = options.max_bytes
        self._cut = ""
        self._tries = 0
        self._has_collected = False
        self._world = 0
        self._main = ""
        self._then: Callable[[bytes | None, str], None] = lambda _html, _cut: None

    def read(self, world: int, then: Callable[[bytes | None, str], None], *, with_closed_roots: bool) -> None:
        """Read the main document in a script context, then its frames."""
        self._world, self._then = world, then
        if with_closed_roots:
            self._tab.send("Memory.getDOMCounters", {}, self._on_count)
        else:
            self._read_main()

    def _on_count(self, answer: CdpMessage) -> None:
        """Look for closed roots if the documents are small enough: the browser sends them without a limit."""
        if answer.result.get("nodes", 0) <= _MAX_NODES_WITH_CLOSED_ROOTS:
            self._tab.send("DOM.getDocument", {"depth": -1, "pierce": True}, self._on_document)
        elif not self._has_collected:  # nodes of pages before may be among them
            self._has_collected = True
            self._tab.send("HeapProfiler.collectGarbage", {})
            self._tab.send("Memory.getDOMCounters", {}, self._on_count)
        else:
            self._cut = "nodes"
            self._read_main()

    def _on_document(self, answer: CdpMessage) -> None:
        for node in _closed_roots(answer.result.get("root", {}))[:_MAX_CLOSED_ROOTS]:
            context = {"backendNodeId": node, "executionContextId": self._world}
            self._tab.send("DOM.resolveNode", context, self._on_closed_root)
        # Commands of one tab are answered in their order, so the roots are known when this one returns.
        self._tab.send("DOM.disable", {}, lambda _: self._read_main())

    def _on_closed_root(self, answer: CdpMessage) -> None:
        handle = answer.result.get("object", {}).get("objectId")
        if handle:
            self._tab.send("Runtime.callFunctionOn", {"functionDeclaration": _KEEP_ROOT, "objectId": handle})

    def _read_main(self) -> None:
        self._evaluate(self._world, self._on_main, is_frame=False)

    def _evaluate(self, world: int, then: Callable[[CdpMessage], None], *, is_frame: bool) -> None:
        limits = f"{self._nodes_left}, {self._bytes_left}, {'true' if is_frame else 'false'}"
        call = {"expression": f"({_SNAPSHOT})({limits})", "contextId": world, "returnByValue": True}
        self._tab.send("Runtime.evaluate", call, then)

    def _take(self, answer: CdpMessage) -> dict[str, Any] | None:
        """Return the value of a snapshot and charge its size."""
        value: dict[str, Any] | None = answer.result.get("result", {}).get("value")
        if isinstance(value, dict):
            self._nodes_left = max(0, self._nodes_left - value["nodes"])
            self._bytes_left = max(0, self._bytes_left - value["bytes"])
            self._cut = self._cut or value["cut"]
            return value
        return None

    def _on_main(self, answer: CdpMessage) -> None:
        value = self._take(answer)
        if value is None:
            self._tries += 1
            if self._tries == 1:  # the end of another script of the page can end the first try
                self._read_main()
            else:
                self._then(None, self._cut)
            return
        self._main = value["html"]
        if value["frames"]:
            self._tab.send("Page.getFrameTree", {}, self._on_frames)
        else:
            self._finish(self._main)

    def _on_frames(self, answer: CdpMessage) -> None:
        if "frameTree" not in answer.result:
            self._finish(self._main)
            return
        main = _FrameHtml(answer.result["frameTree"])
        main.html = self._main
        self._read_frames(main, main.descendants()[:MAX_FRAMES])

    def _read_frames(self, main: _FrameHtml, left: list[_FrameHtml]) -> None:
        if not left or not self._nodes_left or not self._bytes_left:
            self._finish(main.join())
            return
        frame, *behind = left

        def on_frame(answer: CdpMessage) -> None:
            value = self._take(answer)
            frame.html = value["html"] if value else ""
            self._read_frames(main, behind)

        def on_world(answer: CdpMessage) -> None:
            world = answer.result.get("executionContextId")
            if world is None:  # the frame is gone
                self._read_frames(main, behind)
            else:
                self._evaluate(world, on_frame, is_frame=True)

        self._tab.send("Page.createIsolatedWorld", {"frameId": frame.id, "worldName": "snapshot"}, on_world)

    def _finish(self, html: str) -> None:
        self._then((_START + html).encode("utf-8", "replace"), self._cut)


def _closed_roots(document: dict[str, Any]) -> list[int]:
    """Return the closed shadow roots of a document tree of the browser."""
    found = []
    stack = [document]
    while stack:
        node = stack.pop()
        for root in node.get("shadowRoots", ()):
            if root.get("shadowRootType") == "closed":
                found.append(root["backendNodeId"])
            stack.append(root)
        stack.extend(node.get("children", ()))
    return found
