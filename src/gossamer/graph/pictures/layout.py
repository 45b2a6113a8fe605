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

GOLDEN_ANGLE = np.pi * (3 - 5**0.5)  # the angle of sunflower seeds: evenly spread, never in line
MAX_STEPS = 400  # for 500 nodes; fewer for more
GRAVITY = 0.25  # keeps what hangs on nothing from drifting away
MIN_DISTANCE = 1e-4


def sunflower_points(count: int) -> Floats:
    """Points spread evenly over a disc, about one unit apart."""
    numbers = np.arange(count)
    angle, radius = numbers * GOLDEN_ANGLE, np.sqrt(numbers + 0.5) / 1.8
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32)


def initial_positions(groups: Numbers) -> Floats:
    """Where nodes start: each group in a disc of its own, the discs around the middle, the biggest first."""
    positions = np.zeros((len(groups), 2), np.float32)
    numbers, counts = np.unique(groups, return_counts=True)
    order = np.lexsort((numbers, -counts))
    centres = sunflower_points(len(numbers)) * 2.5 * np.sqrt(counts.mean())
    for spot, group in enumerate(numbers[order].tolist()):
        members = np.flatnonzero(groups == group)
        positions[members] = centres[spot] + sunflower_points(len(members))
    return positions


def force_layout(groups: Numbers, source: Numbers, target: Numbers, weight: Floats, mass: Floats) -> Floats:
    """A place for each node; about one unit apart, the middle at 0."""
    positions = initial_positions(groups)
    count = len(positions)
    if count < 2:
        return positions
    steps = max(60, min(MAX_STEPS, MAX_STEPS * 500 // count))
    heat = float(np.sqrt(count)) / 5
    for step in range(steps):
        force = _repulsion(positions, mass) - GRAVITY * mass[:, None] * positions
        _add_attraction(force, positions, source, target, weight)
        length = np.maximum(np.hypot(force[:, 0], force[:, 1]), MIN_DISTANCE)
        limit = heat * (1 - step / steps) ** 1.5
        positions += force * (np.minimum(length, limit) / length)[:, None]
    return _rotate_wide(positions - positions.mean(0))


def _repulsion(positions: Floats, mass: Floats) -> Floats:
    """Each node pushes each other one off by its mass over their distance.

    The sum of m_j (x_i - x_j) / d_ij^2 over j, as matrix products: three passes over the pairs instead of ten.
    """
    square = (positions * positions).sum(1)
    push = positions @ (positions.T * np.float32(-2))
    push += square[:, None]
    push += square[None, :]
    np.maximum(push, 0, out=push)
    push += np.float32(MIN_DISTANCE)
    np.divide(mass[None, :], push, out=push)
    force = (positions * push.sum(1)[:, None] - push @ positions) * mass[:, None]
    return np.asarray(force, np.float32)


def _add_attraction(force: Floats, positions: Floats, source: Numbers, target: Numbers, weight: Floats) -> None:
    direction = positions[target] - positions[source]
    length = np.maximum(np.hypot(direction[:, 0], direction[:, 1]), MIN_DISTANCE)
    pull = direction * (weight * np.log1p(length) / length)[:, None]
    for axis in (0, 1):
        force[:, axis] += np.bincount(source, pull[:, axis], len(force))
        force[:, axis] -= np.bincount(target, pull[:, axis], len(force))


def _rotate_wide(positions: Floats) -> Floats:
    """Turned so that it is wide rather than high, as screens are; the same way for the same graph."""
    _, _, axes = np.linalg.svd(positions, full_matrices=False)
    axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(1)])[:, None]
    return np.asarray(positions @ axes.T, np.float32)


def even_out(positions: Floats, share: float = 0.5) -> Floats:
    """The places with crowds thinned out and gaps narrowed: partly by distance, partly by order along each axis."""
    span = np.maximum(np.ptp(positions, axis=0), MIN_DISTANCE)
    order = np.argsort(np.argsort(positions, axis=0, kind="stable"), axis=0, kind="stable")
    even = order / max(len(positions) - 1, 1)
    scaled = (positions - positions.min(0)) / span
    return np.asarray(((1 - share) * scaled + share * even - 0.5) * span, np.float32)


def separate_discs(positions: Floats, radii: Floats, rounds: int = 60) -> Floats:
    """The places moved as little as needed for discs of these radii not to overlap."""
    positions = positions.copy()
    for _ in range(rounds):
        dx = positions[:, None, 0] - positions[None, :, 0]
        dy = positions[:, None, 1] - positions[None, :, 1]
        distance = np.sqrt(dx * dx + dy * dy) + MIN_DISTANCE
        overlap = np.maximum(radii[:, None] + radii[None, :] - distance, 0)
        np.fill_diagonal(overlap, 0)
        if not overlap.any():
            break
        push = overlap / (2 * distance)
        positions += np.stack([(dx * push).sum(1), (dy * push).sum(1)], 1)
    return positions
