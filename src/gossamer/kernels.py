"""The compiled kernels of `native/`, where they are built; the only module that imports them.

Every kernel has a Python way with the same results, beside the code that calls it. Callers ask `native` and take that
way when it is None: the package is missing, of another version, or switched off (`GOSSAMER_NATIVE=0`).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

INTERFACE = 1  # of the native package that this version can use
SWITCH = "GOSSAMER_NATIVE"
BUILD_HINT = "`make native` builds it"


class StoredText(Protocol):
    """An unpacked text of a page that knows where its runs are."""


class NativeKernels(Protocol):
    """The functions of the native package."""

    INTERFACE: int
    KernelFault: type[RuntimeError]  # a kernel panicked, or reached its work limit

    def read_text(self, unpacked: bytes, /) -> StoredText | None:
        """Find the runs of an unpacked text, for `render_snippets`; None: not sure."""

    def render_snippets(
        self,
        pages: Sequence[tuple[StoredText | None, tuple[int, int, int, int] | None, str, str]],
        prefixes: Sequence[str],
        bigrams: Sequence[tuple[str, int]],
        anywhere_languages: Sequence[str],
        word_matches: Callable[[str, str], Sequence[tuple[int, int, int]]],
        /,
    ) -> list[str | None]:
        """Return the snippet of each page; None where Python must render it.

        A page has its text (None: not sure), its window, its language and its description.
        """

    def rank_candidates(
        self,
        sequences: Sequence[tuple[bytes, bytes]],
        slots: Sequence[tuple[Sequence[int], Sequence[int], float]],
        signals: tuple[Sequence[bytes], Sequence[bytes]],
        weights: Sequence[float],
        average_length: float,
        now: float,
        /,
    ) -> tuple[bytes, bytes] | None:
        """Return scores with their parts (float64) and windows (4 * int32) of candidates; None: not sure.

        Sequences are words and runs. A slot has WordIDs, codes of its terms in anchor texts, and its inverse document
        frequency. `signals` has the words of anchor texts, and as columns (float64) the score of the first pass,
        PageRank, depth of the URL and time of change.
        """

    def order_candidates(self, columns: Sequence[bytes], factors: Sequence[float], /) -> tuple[bytes, bytes]:
        """Return the order of candidates, best first (int64), and the factor of each score (float64).

        `columns` has the scores, twin numbers, ids, hosts and whether a page has everything wanted. `factors` has the
        factor of a host's first hit, its second, and so on.
        """

    def find_windows(
        self,
        sequences: Sequence[tuple[bytes, bytes]],
        slots: Sequence[tuple[Sequence[int], Sequence[int], float]],
        /,
    ) -> bytes | None:
        """Return the windows (4 * int32) of pages; None: not sure."""


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
