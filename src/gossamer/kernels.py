"""The compiled kernels of `native/`, where they are built; the only module that imports them.

Every kernel has a Python way with the same results, beside the code that calls it. Callers ask `native` and take that
way when it is None: the package is missing, of another version, or switched off (`GOSSAMER_NATIVE=0`).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

INTERFACE = 1  # of the native package that this version can use
SWITCH = "GOSSAMER_NATIVE"
BUILD_HINT = "`make native` builds it"


class NativeKernels(Protocol):
    """The functions of the native package."""

    INTERFACE: int
    KernelFault: type[RuntimeError]  # a kernel panicked, or reached its work limit


class KernelChoice(NamedTuple):
    """The kernels in use."""

    native: NativeKernels | None  # None: Python does their work
    why_not: str = ""  # the reason, empty if the native kernels are in use
    is_mismatch: bool = False  # the installed package is of another interface


def load_kernels(environment: Mapping[str, str]) -> KernelChoice:
    """Return the native kernels, or the reason why Python does their work."""
    if environment.get(SWITCH) == "0":
        return KernelChoice(None, f"{SWITCH}=0 switches the native kernels off")
    try:
        kernels = cast("NativeKernels", import_module("gossamer_native"))
    except ImportError:
        return KernelChoice(None, f"the package gossamer-native is not installed; {BUILD_HINT}")
    if kernels.INTERFACE != INTERFACE:
        reason = f"the package gossamer-native has the interface {kernels.INTERFACE}, not {INTERFACE}; {BUILD_HINT}"
        return KernelChoice(None, reason, is_mismatch=True)
    return KernelChoice(kernels)


native, why_not, is_mismatch = load_kernels(os.environ)
