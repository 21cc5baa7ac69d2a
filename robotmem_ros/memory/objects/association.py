"""Assign the sightings of one message to known objects: one to one, within a gate, at the least total cost.

Sightings and objects within each other's gate form small groups. In each, the assignment of least total cost is found
(Hungarian method); to leave a sighting without an object costs more than any pair. So two chairs seen together stay two
even if both are seen shifted to the same side, where the nearest object of the one is the other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..geometry import Estimate, Grid, isotropic, mahalanobis, squared_distance
from ..tracks import Track
from .sightings import MAX_RADII, NewSighting

_MISNAMED_SHARE = 0.25
"""One of so many sightings of an object may have a wrong label."""
UNASSIGNED_COST = 2.0
"""Cost of a sighting without an object; more than any pair."""
_UNCONFIRMED_COST = 0.5
"""Surcharge for an object that is not confirmed: it may be a stray sighting of its neighbour."""
_MAX_MAHALANOBIS = 11.345
"""Squared Mahalanobis distance that 99 of 100 sightings keep (chi-square, three degrees of freedom)."""
_MAX_GROUP = 128
"""Sightings for which the best assignment is found; for more it would take too long."""
_MAX_TRACK_AGE_NS = 5 * 10**9
"""Time after a sighting for which its tracking id names its object; later, another thing may have the id."""

Costs = Mapping[tuple[int, int], float]
"""The cost of each allowed pair of a row (a sighting) and a column (an object)."""


def associate(sightings: Sequence[NewSighting], objects: Sequence[Track]) -> list[int | None]:
    """Return for each sighting the index of its object, or None; no object is given twice.

    All objects must have one of the labels of each sighting. Tracking ids count if the objects were seen shortly before
    the first sighting.
    """
    grid = Grid([row.estimate.position for row in objects], max((sighting.gate for sighting in sightings), default=1.0))
    costs = {
        (index, column): price
        for index, sighting in enumerate(sightings)
        for column in grid.around(sighting.estimate.position)
        if (price := cost(sighting, objects[column], at=sightings[0].new.observed_at)) is not None
    }
    return cheapest(len(sightings), costs)


def associate_misnamed(
    sightings: Sequence[NewSighting], objects: Sequence[Track], explains: Callable[[int, int], bool]
) -> list[int | None]:
    """Return for each sighting the index of the object of another label at its place that it may be, or None.

    The objects are those that the message does not show by their own labels. Such a sighting is one vote about the
    label of an object that is seen often: detectors now and then give a wrong one. What a caller saved is never that.
    `explains` tells of the indices of a sighting and an object whether it may be that one.
    """
    grid = Grid(
        [row.estimate.position for row in objects], max((sighting.radius for sighting in sightings), default=1.0)
    )
    costs = {
        (index, column): _misfit(sighting.estimate, objects[column].estimate, sighting.radius)
        for index, sighting in enumerate(sightings)
        if not sighting.is_told
        for column in grid.around(sighting.estimate.position)
        if objects[column].confirmed and _MISNAMED_SHARE * objects[column].times_seen >= 1
    }
    return cheapest(len(sightings), {pair: price for pair, price in costs.items() if price <= 1.0 and explains(*pair)})


def are_at_one_place(first: Estimate, second: Estimate, *, stddev: float) -> bool:
    """Tell whether the noise of two positions explains their distance.

    `stddev`: systematic error of one visit, in metres; averaging does not reduce it.
    """
    widened = Estimate(first.position, first.covariance.plus(isotropic(stddev)))
    return mahalanobis(widened, second) <= _MAX_MAHALANOBIS


def _misfit(first: Estimate, second: Estimate, radius: float) -> float:
    """Return the misfit of two positions to one thing, by the radius and by their noise; above 1 they do not fit."""
    squared = squared_distance(first.position, second.position)
    return max(squared / radius**2, mahalanobis(first, second) / _MAX_MAHALANOBIS)


def cost(sighting: NewSighting, row: Track, *, at: int) -> float | None:
    """Return the cost of a pair, in [0, 1.5]; None outside of the gate.

    Within the gate, an object that had the tracking id of the sighting shortly before `at`, in nanoseconds, costs 0.
    """
    squared, squared_radius = (
        squared_distance(sighting.estimate.position, row.estimate.position),
        sighting.radius * sighting.radius,
    )
    price = squared / squared_radius
    if sighting.has_covariance and squared <= squared_radius * MAX_RADII * MAX_RADII:
        price = min(price, mahalanobis(sighting.estimate, row.estimate) / _MAX_MAHALANOBIS)
    if price > 1.0:
        return None
    is_recent = abs(at - row.last_seen) <= _MAX_TRACK_AGE_NS
    if sighting.is_tracked and is_recent and row.sources.get(sighting.new.stream) == sighting.new.identity:
        return 0.0
    return price + (0.0 if row.confirmed else _UNCONFIRMED_COST)


def cheapest(rows: int, costs: Costs) -> list[int | None]:
    """Return for each row its column, or None, so that the sum of the costs is least."""
    assigned: list[int | None] = [None] * rows
    for group in _groups(costs):
        size = len({row for row, _ in group})
        for row, column in _hungarian(group) if size <= _MAX_GROUP else _greedy(group):
            assigned[row] = column
    return assigned


def _groups(costs: Costs) -> list[Costs]:
    """Split the pairs into groups that have no row and no column in common (union-find)."""
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
    return [*groups.values()]


def _greedy(costs: Costs) -> Iterable[tuple[int, int]]:
    """Assign the cheapest pair first."""
    rows: set[int] = set()
    columns: set[int] = set()
    for row, column in sorted(costs, key=lambda pair: (costs[pair], pair)):
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            yield row, column


def _hungarian(costs: Costs) -> Iterable[tuple[int, int]]:
    """Assign pairs at the least total cost; each row may also stay without a column for UNASSIGNED_COST."""
    if len(costs) == 1:
        return list(costs)
    rows = sorted({row for row, _ in costs})
    columns = sorted({column for _, column in costs})
    row_at = {row: index for index, row in enumerate(rows)}
    column_at = {column: index for index, column in enumerate(columns)}
    # Each row has a further column that leaves it unassigned; what is not allowed costs more than all that is.
    matrix = np.full((len(rows), len(columns) + len(rows)), UNASSIGNED_COST * (len(rows) + 1))
    matrix[np.arange(len(rows)), len(columns) + np.arange(len(rows))] = UNASSIGNED_COST
    for (row, column), price in costs.items():
        matrix[row_at[row], column_at[column]] = price
    assignment = _least_cost(matrix)
    return [(rows[index], columns[column]) for index, column in enumerate(assignment) if column < len(columns)]


def _least_cost(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[int]:
    """Return the column of each row in the assignment of least cost.

    The Hungarian method as shortest augmenting paths with potentials (Jonker and Volgenant, 1987).
    """
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
            next_column = int(np.argmin(np.where(visited, math.inf, slack)))
            step = slack[next_column]
            row_potential[row_of[visited]] += step
            column_potential[visited] -= step
            slack[~visited] -= step
            column = next_column
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    assignment = [0] * rows
    for column in range(1, columns + 1):
        if row_of[column]:
            assignment[row_of[column] - 1] = column - 1
    return assignment
