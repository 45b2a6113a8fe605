"""Colours for communities, the same in pictures, exports and pages.

Colour-blind readers can distinguish them, and they are dark enough on white.
"""

from __future__ import annotations

# Paul Tol's "bright" and "muted" schemes without the pale ones, ordered so that neighbours differ most.
COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
    "#332288", "#999933", "#cc6677", "#44aa99", "#882255", "#117733",
)  # fmt: skip
OTHER_COLOUR = "#9a9a9a"  # for smaller communities and nodes without one


def community_hex(community: int | None) -> str:
    """Return the colour of a community as `#4477aa`; only the biggest ones have their own."""
    return COLOURS[community] if community is not None and 0 <= community < len(COLOURS) else OTHER_COLOUR


def community_rgb(community: int | None) -> tuple[int, int, int]:
    """Return the colour of a community as red, green and blue from 0 to 255."""
    code = community_hex(community)
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)
