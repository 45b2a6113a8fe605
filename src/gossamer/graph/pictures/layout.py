"""Places for the nodes of a small graph, so that what links together stands together. Pure and deterministic.

A force layout in the manner of ForceAtlas2's LinLog mode: nodes push each other off by their size, links pull with the
logarithm of their length, which sets communities apart more clearly than springs do (Noack 2009). All pairs are looked
at, in numpy: for the at most 2,000 nodes of a picture that takes seconds, and needs neither a tree nor another library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int32]

GOLDEN = np.pi * (3 - 5**0.5)  # the angle of sunflower seeds: evenly spread, never in line
STEPS = 400  # for 500 nodes; fewer for more
GRAVITY = 0.25  # keeps what hangs on nothing from drifting away
NEAR = 1e-4


def sunflower(count: int) -> Floats:
    """Points spread evenly over a disc, about one unit apart."""
    numbers = np.arange(count)
    angle, radius = numbers * GOLDEN, np.sqrt(numbers + 0.5) / 1.8
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32)


def first_places(groups: Numbers) -> Floats:
    """Where nodes start: each group in a disc of its own, the discs around the middle, the biggest first."""
    places = np.zeros((len(groups), 2), np.float32)
    numbers, counts = np.unique(groups, return_counts=True)
    order = np.lexsort((numbers, -counts))
    ring = sunflower(len(numbers)) * 2.5 * np.sqrt(counts.mean())
    for spot, group in enumerate(numbers[order].tolist()):
        members = np.flatnonzero(groups == group)
        places[members] = ring[spot] + sunflower(len(members))
    return places


def force_layout(groups: Numbers, source: Numbers, target: Numbers, weight: Floats, mass: Floats) -> Floats:
    """A place for each node; about one unit apart, the middle at 0."""
    places = first_places(groups)
    count = len(places)
    if count < 2:
        return places
    steps = max(60, min(STEPS, STEPS * 500 // count))
    heat = float(np.sqrt(count)) / 5
    for step in range(steps):
        force = _repulsion(places, mass) - GRAVITY * mass[:, None] * places
        _add_attraction(force, places, source, target, weight)
        length = np.maximum(np.hypot(force[:, 0], force[:, 1]), NEAR)
        limit = heat * (1 - step / steps) ** 1.5
        places += force * (np.minimum(length, limit) / length)[:, None]
    return _turned(places - places.mean(0))


def _repulsion(places: Floats, mass: Floats) -> Floats:
    """Each node pushes each other one off by its mass over their distance.

    The sum of m_j (x_i - x_j) / d_ij^2 over j, as matrix products: three passes over the pairs instead of ten.
    """
    square = (places * places).sum(1)
    push = places @ (places.T * np.float32(-2))
    push += square[:, None]
    push += square[None, :]
    np.maximum(push, 0, out=push)
    push += np.float32(NEAR)
    np.divide(mass[None, :], push, out=push)
    force = (places * push.sum(1)[:, None] - push @ places) * mass[:, None]
    return np.asarray(force, np.float32)


def _add_attraction(force: Floats, places: Floats, source: Numbers, target: Numbers, weight: Floats) -> None:
    way = places[target] - places[source]
    length = np.maximum(np.hypot(way[:, 0], way[:, 1]), NEAR)
    pull = way * (weight * np.log1p(length) / length)[:, None]
    for axis in (0, 1):
        force[:, axis] += np.bincount(source, pull[:, axis], len(force))
        force[:, axis] -= np.bincount(target, pull[:, axis], len(force))


def _turned(places: Floats) -> Floats:
    """Turned so that it is wide rather than high, as screens are; the same way for the same graph."""
    _, _, axes = np.linalg.svd(places, full_matrices=False)
    axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(1)])[:, None]
    return np.asarray(places @ axes.T, np.float32)


def evened(places: Floats, share: float = 0.5) -> Floats:
    """The places with crowds thinned out and gaps narrowed: partly by distance, partly by order along each axis."""
    span = np.maximum(np.ptp(places, axis=0), NEAR)
    order = np.argsort(np.argsort(places, axis=0, kind="stable"), axis=0, kind="stable")
    even = order / max(len(places) - 1, 1)
    scaled = (places - places.min(0)) / span
    return np.asarray(((1 - share) * scaled + share * even - 0.5) * span, np.float32)


def apart(places: Floats, radii: Floats, rounds: int = 60) -> Floats:
    """The places moved as little as needed for discs of these radii not to overlap."""
    places = places.copy()
    for _ in range(rounds):
        across = places[:, None, 0] - places[None, :, 0]
        along = places[:, None, 1] - places[None, :, 1]
        distance = np.sqrt(across * across + along * along) + NEAR
        overlap = np.maximum(radii[:, None] + radii[None, :] - distance, 0)
        np.fill_diagonal(overlap, 0)
        if not overlap.any():
            break
        push = overlap / (2 * distance)
        places += np.stack([(across * push).sum(1), (along * push).sum(1)], 1)
    return places
