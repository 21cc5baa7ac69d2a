"""Which sighting of a message belongs to which object: one to one, within a gate, cheapest as a whole.

Sightings and objects that are within each other's gate form small groups; in each the assignment of least total cost is
found (Hungarian method), where to leave a sighting alone costs more than any pair within the gate. So two chairs seen
together stay two even if both were seen shifted to the same side, where the nearest of the one is the other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..geometry import Estimate, Grid, mahalanobis, squared_distance

EXPLAINED = 11.345
"""Squared Mahalanobis distance that 99 of 100 sightings keep (chi-square, three degrees of freedom)."""
WIDEST = 3.0
"""A covariance opens the gate to so many radii at most."""
ALONE = 2.0
"""What it costs that a sighting belongs to no object; more than any pair."""
DOUBT = 0.5
"""What it costs more to belong to an object that is not confirmed: it may be a stray sighting of its neighbour."""
_LARGEST_GROUP = 128
"""Sightings of which the best assignment is found; of more it would take too long."""


Track = tuple[str, str]
"""A source, such as a topic, and its tracking id."""


class Seen(NamedTuple):
    """A sighting as association sees it."""

    estimate: Estimate
    labels: frozenset[str]
    """The keys of its label and of those it may be mistaken for."""
    radius: float
    """Metres."""
    has_covariance: bool
    track: Track | None = None
    """Which thing it is to what saw it, where that tells."""


class Known(NamedTuple):
    """An object as association sees it."""

    estimate: Estimate
    label: str
    """The key of its label."""
    confirmed: bool
    tracks: frozenset[Track] = frozenset()
    """Which things it was just before, to what saw it."""


Costs = Mapping[tuple[int, int], float]


def associate(sightings: Sequence[Seen], objects: Sequence[Known]) -> list[int | None]:
    """For each sighting the index of its object, or None; no object is given twice."""
    width = max((reach(seen) for seen in sightings), default=1.0)
    grid = Grid([known.estimate.position for known in objects], width)
    costs = {
        (row, column): price
        for row, seen in enumerate(sightings)
        for column in grid.around(seen.estimate.position)
        if (price := cost(seen, objects[column])) is not None
    }
    return cheapest(len(sightings), costs)


def cost(seen: Seen, known: Known) -> float | None:
    """What it costs that a sighting is of an object, in [0, 1.5]; None outside of the gate.

    Within the gate, what is followed by a tracking id costs nothing.
    """
    if known.label not in seen.labels:
        return None
    squared = squared_distance(seen.estimate.position, known.estimate.position)
    radius = seen.radius * seen.radius
    price = squared / radius
    if seen.has_covariance and squared <= radius * WIDEST * WIDEST:
        price = min(price, mahalanobis(seen.estimate, known.estimate) / EXPLAINED)
    if price > 1.0:
        return None
    if seen.track is not None and seen.track in known.tracks:
        return 0.0
    return price + (0.0 if known.confirmed else DOUBT)


def reach(seen: Seen) -> float:
    """Metres beyond which no object is within the gate of a sighting."""
    return seen.radius * (WIDEST if seen.has_covariance else 1.0)


def cheapest(rows: int, costs: Costs) -> list[int | None]:
    """For each row its column, or None, so that the sum of costs is least; `costs` has the pairs that are allowed."""
    assigned: list[int | None] = [None] * rows
    for group in _groups(costs):
        size = len({row for row, _ in group})
        for row, column in _hungarian(group) if size <= _LARGEST_GROUP else _greedy(group):
            assigned[row] = column
    return assigned


def _groups(costs: Costs) -> list[dict[tuple[int, int], float]]:
    """The allowed pairs, parted into those that have no row and no column in common."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for row, column in costs:
        # Columns are the negative nodes.
        parent[root(row)] = root(-1 - column)
    groups: defaultdict[int, dict[tuple[int, int], float]] = defaultdict(dict)
    for pair, price in costs.items():
        groups[root(pair[0])][pair] = price
    return list(groups.values())


def _greedy(costs: Costs) -> Iterable[tuple[int, int]]:
    """Cheapest pair first; for crowds in which the best assignment would take too long."""
    rows: set[int] = set()
    columns: set[int] = set()
    for row, column in sorted(costs, key=lambda pair: (costs[pair], pair)):
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            yield row, column


def _hungarian(costs: Costs) -> Iterable[tuple[int, int]]:
    """The pairs of least total cost; each row may also stay alone for `ALONE`."""
    if len(costs) == 1:
        return list(costs)
    rows = sorted({row for row, _ in costs})
    columns = sorted({column for _, column in costs})
    row_at = {row: index for index, row in enumerate(rows)}
    column_at = {column: index for index, column in enumerate(columns)}
    # Each row has a column of its own that leaves it alone; what is not allowed costs more than all that is.
    matrix = np.full((len(rows), len(columns) + len(rows)), ALONE * (len(rows) + 1))
    matrix[np.arange(len(rows)), len(columns) + np.arange(len(rows))] = ALONE
    for (row, column), price in costs.items():
        matrix[row_at[row], column_at[column]] = price
    chosen = _least(matrix)
    return [(rows[index], columns[column]) for index, column in enumerate(chosen) if column < len(columns)]


def _least(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[int]:
    """The column of each row in the assignment of least cost: shortest augmenting paths with potentials."""
    rows, columns = matrix.shape
    row_potential, column_potential = np.zeros(rows + 1), np.zeros(columns + 1)
    # Column 0 and row 0 are the start of every path; the real ones count from 1.
    row_of = np.zeros(columns + 1, dtype=int)
    for row in range(1, rows + 1):
        row_of[0] = row
        column = 0
        slack = np.full(columns + 1, math.inf)
        before = np.zeros(columns + 1, dtype=int)
        visited = np.zeros(columns + 1, dtype=bool)
        while row_of[column]:
            visited[column] = True
            current = row_of[column]
            reduced = matrix[current - 1] - row_potential[current] - column_potential[1:]
            closer = ~visited[1:] & (reduced < slack[1:])
            slack[1:][closer] = reduced[closer]
            before[1:][closer] = column
            following = int(np.argmin(np.where(visited, math.inf, slack)))
            step = slack[following]
            row_potential[row_of[visited]] += step
            column_potential[visited] -= step
            slack[~visited] -= step
            column = following
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    chosen = [0] * rows
    for column in range(1, columns + 1):
        if row_of[column]:
            chosen[row_of[column] - 1] = column - 1
    return chosen
