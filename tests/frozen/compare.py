"""Compare what 0.1 promised with what the code at hand has: nothing may be missing or changed, more is allowed."""

from __future__ import annotations

from typing import Any


def differences(frozen: Any, now: Any, where: str = "") -> list[str]:
    """A sentence for every frozen name that is missing or changed.

    A dict holds names with what is fixed about them. A list holds names in their order; others may stand between them.
    """
    if isinstance(frozen, dict) and isinstance(now, dict):
        return [
            sentence
            for name, value in frozen.items()
            for sentence in (
                differences(value, now[name], _below(where, name)) if name in now else [_missing(name, where)]
            )
        ]
    if isinstance(frozen, list) and isinstance(now, list):
        missing = [name for name in frozen if name not in now]
        if missing:
            return [_missing(name, where) for name in missing]
        kept = [name for name in now if name in frozen]
        return [] if kept == frozen else [f"{where or 'The list'} has another order: {frozen} became {kept}."]
    return [] if frozen == now else [f"{where or 'The value'} changed: {frozen!r} became {now!r}."]


def lost_facts(expected: Any, answer: Any, where: str = "answer") -> list[str]:
    """A sentence for every value of an answer that 0.1 gave and today's answer does not give; new keys are allowed."""
    if isinstance(expected, dict) and isinstance(answer, dict):
        return [
            sentence
            for key, value in expected.items()
            for sentence in (
                lost_facts(value, answer[key], f"{where}.{key}") if key in answer else [_missing(key, where)]
            )
        ]
    if isinstance(expected, list) and isinstance(answer, list) and len(expected) == len(answer):
        pairs = enumerate(zip(expected, answer, strict=True))
        return [sentence for at, pair in pairs for sentence in lost_facts(*pair, f"{where}[{at}]")]
    return [] if expected == answer else [f"{where} changed: {expected!r} became {answer!r}."]


def _below(where: str, name: str) -> str:
    return f"{where} > {name}" if where else name


def _missing(name: object, where: str) -> str:
    return f"{name!r} is missing from {where}." if where else f"{name!r} is missing."
