"""Positions for the nodes of a small graph: linked nodes are close together. Pure and deterministic.

A force layout like ForceAtlas2 in LinLog mode. Nodes repel each other by their size, links attract by the logarithm of
their length. That separates communities more clearly than springs do (Noack 2009). numpy computes all pairs of nodes.
For the at most 2,000 nodes of a picture that takes seconds, and needs no tree and no other library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int32]

GOLDEN_ANGLE = np.pi * (3 - 5**0.5)  # radians between sunflower seeds: points spread evenly, never in line
MAX_STEPS = 400  # for up to 500 nodes; fewer for more
GRAVITY = 0.25  # keeps unlinked nodes from drifting away
MIN_DISTANCE = 1e-4  # avoids division by zero


def sunflower_points(count: int) -> Floats:
    """Return points spread evenly over a disc, about one unit apart."""
    numbers = np.arange(count)
    angle, radius = numbers * GOLDEN_ANGLE, np.sqrt(numbers + 0.5) / 1.8
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32)


def initial_positions(groups: Numbers) -> Floats:
    """Return start positions: a disc for each group, the biggest in the middle."""
    positions = np.zeros((len(groups), 2), np.float32)
    numbers, counts = np.unique(groups, return_counts=True)
    order = np.lexsort((numbers, -counts))
    centres = sunflower_points(len(numbers)) * 2.5 * np.sqrt(counts.mean())
    for spot, group in enumerate(numbers[order].tolist()):
        members = np.flatnonzero(groups == group)
        positions[members] = centres[spot] + sunflower_points(len(members))
    return positions


def force_layout(groups: Numbers, source: Numbers, target: Numbers, weight: Floats, mass: Floats) -> Floats:
    """Return a position for each node, about one unit apart, centred at 0."""
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
    """Return the repulsion of each node by all others: mass divided by distance.

    Computes the sum of m_j (x_i - x_j) / d_ij^2 over j as matrix products: three passes over the pairs instead of ten.
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
    """Rotate positions so that they are wider than high, like screens; deterministic for a graph."""
    _, _, axes = np.linalg.svd(positions, full_matrices=False)
    axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(1)])[:, None]
    return np.asarray(positions @ axes.T, np.float32)


def even_out(positions: Floats, share: float = 0.5) -> Floats:
    """Spread crowds and narrow gaps: blend each coordinate with its rank along the axis."""
    span = np.maximum(np.ptp(positions, axis=0), MIN_DISTANCE)
    order = np.argsort(np.argsort(positions, axis=0, kind="stable"), axis=0, kind="stable")
    even = order / max(len(positions) - 1, 1)
    scaled = (positions - positions.min(0)) / span
    return np.asarray(((1 - share) * scaled + share * even - 0.5) * span, np.float32)


def separate_discs(positions: Floats, radii: Floats, rounds: int = 60) -> Floats:
    """Move positions as little as needed so that discs of these radii do not overlap."""
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
