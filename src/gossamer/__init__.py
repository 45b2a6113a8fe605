"""Gossamer: a crawler that stores the structure of the web and makes it searchable.

`__all__` lists the public names; ARCHITECTURE.md is the map of the code. `import gossamer` loads nothing else: a public
name is imported at its first use, so that every command starts quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.library import Crawler, Link, VisitedPage, Web, open_web

__version__ = "0.1.0"
__all__ = ["Crawler", "Link", "VisitedPage", "Web", "__version__", "open_web"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from gossamer import library  # noqa: PLC0415

        return getattr(library, name)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
