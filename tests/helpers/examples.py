"""The number of examples that a property test runs."""

from __future__ import annotations

from hypothesis import settings


def scaled_examples(number: int) -> int:
    """Return `number` for `make test`, and proportionally more under larger profiles (`test_many_examples`)."""
    return number * settings().max_examples // settings.get_profile("default").max_examples
