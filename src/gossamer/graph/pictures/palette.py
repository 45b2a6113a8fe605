"""Colours for communities, the same in pictures, exports and pages.

A community has the colour of its number everywhere. Colour-blind readers can distinguish the first twelve, and they
are dark enough on white. The next twelve have lighter tones of the same colours.
"""

from __future__ import annotations

# Paul Tol's "bright" and "muted" schemes without the pale ones, ordered so that neighbours differ most.
COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
    "#332288", "#999933", "#cc6677", "#44aa99", "#882255", "#117733",
)  # fmt: skip
# The same with lighter dark tones, for dark paper.
COLOURS_ON_DARK = (
    "#6ea3dc", "#ff7f8f", "#4fbf63", "#e0d05a", "#7adcf5", "#dd6ab0",
    "#9a8cf0", "#bdbd55", "#e39aa6", "#5fd0bd", "#c9648f", "#63b57c",
)  # fmt: skip
OTHER_COLOUR = "#9a9a9a"  # for smaller communities and nodes without one
LIGHTER = 0.45  # share of white in the colours of the second twelve


def community_hex(community: int | None, *, on_dark: bool = False) -> str:
    """Return the colour of a community as `#4477aa`; only the biggest ones have their own."""
    if community is None or not 0 <= community < 2 * len(COLOURS):
        return OTHER_COLOUR
    colour = (COLOURS_ON_DARK if on_dark else COLOURS)[community % len(COLOURS)]
    return colour if community < len(COLOURS) else _lighter(colour)


def _lighter(colour: str) -> str:
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{int(part + (255 - part) * LIGHTER + 0.5):02x}" for part in parts)


def community_rgb(community: int | None) -> tuple[int, int, int]:
    """Return the colour of a community as red, green and blue from 0 to 255."""
    code = community_hex(community)
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)
