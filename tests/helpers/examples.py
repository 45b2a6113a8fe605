"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings


def usually(number: int) -> int:
    """So many in `make test`, and as many times more in the long run as its profile wants (`test_many_examples`)."""
    return number * settings().max_examples // settings.get_profile("default").max_examples
