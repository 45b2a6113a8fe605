"""The compiled kernels of `native/`, where they are built; the only module that imports them.

Every kernel has a Python way with the same results, beside the code that calls it. Callers ask `native` and take that
way when it is None: the package is missing, of another version, or switched off (`GOSSAMER_NATIVE=0`).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    # Digests, URLs, kinds, follows, anchors, weights, rels, positions.
    LinkColumns = tuple[
        list[bytes | None], list[str], list[int], list[bool], list[str], list[int], list[str], list[int]
    ]

INTERFACE = 1  # of the native package that this version can use
SWITCH = "GOSSAMER_NATIVE"
BUILD_HINT = "`make native` builds it"


class PageReading(Protocol):
    """An HTML page as the kernel read it."""

    title: str
    description: str
    language: str
    base: str  # URL that hrefs are relative to
    metas: list[tuple[str, str]]  # name and content of the other meta elements
    packed_runs: bytes  # title, description and text of the body, in the form of the store
    unresolved: list[str]  # hrefs that need a URL parser
    canonical: str  # URL of the first <link rel=canonical> that has one; complete after `complete`

    def complete(self, urls: list[str | None]) -> None:
        """Take the URLs of the unresolved hrefs."""

    def columns(self, nofollow: bool, keep_all: bool, has_rules: bool) -> LinkColumns:
        """Return the columns of `Links`; with `has_rules`, digests of URLs with parameters are None."""


class NativeKernels(Protocol):
    """The functions of the native package."""

    INTERFACE: int
    KernelFault: type[RuntimeError]  # a kernel panicked, or reached its work limit

    def find_cut(self, html: bytes) -> int | None:
        """Return what `tag_limits.find_cut` returns."""

    def read_page(
        self,
        html: bytes,
        url: str,
        max_links: int,
        keep_anchors: bool,
        work_limit: int,
    ) -> PageReading | str:
        """Read an HTML page in UTF-8; a text says why the kernel is not sure of it."""


def load_kernels(environment: Mapping[str, str]) -> tuple[NativeKernels | None, str]:
    """Return the kernels and "", or None and the reason why Python does their work."""
    if environment.get(SWITCH) == "0":
        return None, f"{SWITCH}=0 switches it off"
    try:
        kernels = cast("NativeKernels", import_module("gossamer_native"))
    except ImportError:
        return None, f"the package gossamer-native is not installed; {BUILD_HINT}"
    if kernels.INTERFACE != INTERFACE:
        return None, (
            f"the package gossamer-native has the interface {kernels.INTERFACE}, not {INTERFACE}; {BUILD_HINT}"
        )
    return kernels, ""


native, why_not = load_kernels(os.environ)
