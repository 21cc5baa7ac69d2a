"""Fold results of the same text: the newest memory stands for them.

Two perceptions are folded if they agree in the normal form of the text, the label, the sense and the collection. Two
facts must also agree in the frame and the whole context: learning keeps facts apart that differ in it. If the query
compares places, two perceptions are the same only as far as is known: every position of the one lies within
`object_radius` of that of the other in the same field, frame and map, and without a position they agree in the area.
Objects are things at places of their own then, and are not folded.

Results are folded best first: each one that no earlier one covers stands for all candidates that are the same as it
and not covered yet. So a group has the rank of its best member, and where places count every member is near that one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..conditions.condition import value_at
from ..conditions.places import AREA_PATH, POSITION, context_field
from ..config.label_rules import LabelRules
from ..context_path import points, values_of
from ..models import Kind
from ..storage import table_rows
from ..table.column import Rows
from ..table.view import Chosen
from ..text.normal_form import digest

Point = Sequence[float]
MAX_FOLDED_IDS = 100
"""Folded memories of a hit that are named."""


class Group(NamedTuple):
    """Memories of the same text, of which one is shown."""

    best: int
    """The row that ranks highest."""
    newest: int
    """The id of the newest."""
    rest: tuple[int, ...] = ()
    """The ids of all others, newest first."""


class Folding:
    """The groups of chosen rows. `compared` is the field that places are compared by; empty if they are not."""

    def __init__(self, chosen: Chosen, rules: LabelRules, compared: str) -> None:
        self._view, self._rules, self._compared = chosen.view, rules, compared
        self._rows, self._keys = chosen.rows, chosen.of(chosen.view.number("text_key"))
        self._left = chosen.mask.copy()
        """The rows that no group covers."""
        self._texts: dict[int, tuple[str, str]] = {}
        """Content and context of memories, by id."""

    def groups(self, best_first: Iterable[int], n: int) -> list[Group]:
        """Fold ranked rows into at most `n` groups, best first."""
        groups: list[Group] = []
        for row in best_first:
            if not self._left[row]:
                continue
            rows = self._same_as(row)
            self._left[rows] = False
            ids = self._view.ids[rows]
            if len(ids) > 1:
                ids = ids[np.lexsort((-ids, -self._view.observed_at[rows]))]
            newest, *rest = ids.tolist()
            groups.append(Group(row, newest, tuple(rest)))
            if len(groups) == n:
                break
        return groups

    def _same_as(self, row: int) -> Rows:
        table, alone = self._view.table, np.array([row])
        rows = self._rows[self._keys == self._view.number("text_key")[row]]
        rows = rows[self._left[rows]]
        if len(rows) < 2 or (self._compared and self._view.confirmed[row] >= 0):
            return alone
        for name in ("kind", "collection", "label", "perception_type"):
            codes = table.names[name].codes
            rows = rows[codes[rows] == codes[row]]
        rows = self._of_same_content(row, rows)
        if table.names["kind"].value(row) is Kind.FACT:
            spaces = table.names["space"].codes
            rows = rows[spaces[rows] == spaces[row]]
            rows = self._only(rows, lambda other: self._text(other)[1] == self._text(row)[1])
        return self._at_same_place(row, rows) if self._compared and len(rows) > 1 else rows

    def _of_same_content(self, row: int, rows: Rows) -> Rows:
        # Equal texts have equal keys; of the others one of each key is compared.
        keys = self._view.table.numbers["content_key"].all[rows]
        different, first = np.unique(keys, return_index=True)
        if len(different) == 1:
            return rows
        self._read(rows[first])
        own = digest(self._text(row)[0])
        same = [digest(self._text(int(other))[0]) == own for other in rows[first]]
        return rows[np.isin(keys, different[same])]

    def _at_same_place(self, row: int, rows: Rows) -> Rows:
        rows = rows[self._view.confirmed[rows] < 0]
        radius = self._rules.radius(self._view.table.names["label"].value(row))
        if not np.isnan(self._view.pose[0][row]):
            gaps = [axis[rows] - axis[row] for axis in self._view.pose]
            rows = rows[sum(gap * gap for gap in gaps) <= radius * radius]
        spaces = self._view.table.names["space"].codes
        rows = rows[spaces[rows] == spaces[row]] if self._points(row) else rows
        self._read(rows)
        own, area = self._points(row), self._area(row)
        return self._only(rows, lambda other: other == row or (
            _are_near(own, self._points(other), radius) and (bool(own) or area == self._area(other))
        ))  # fmt: skip

    def _only(self, rows: Rows, holds: Callable[[int], bool]) -> Rows:
        self._read(rows)
        return rows[[holds(row) for row in rows.tolist()]] if len(rows) else rows

    def _points(self, row: int) -> Mapping[str, Point]:
        found = {context_field(path): point for path, point in points(values_of(self._text(row)[1]))}
        places: dict[str, Point] = {
            name: point for name, point in found.items() if name.startswith("spatial.") or name == self._compared
        }
        if not np.isnan(self._view.pose[0][row]):
            places[POSITION] = [float(axis[row]) for axis in self._view.pose]
        return places

    def _area(self, row: int) -> object:
        return value_at(json.loads(self._text(row)[1]), AREA_PATH)

    def _text(self, row: int) -> tuple[str, str]:
        if row not in self._texts:
            self._read(np.array([row]))
        return self._texts[row]

    def _read(self, rows: Rows) -> None:
        new = sorted({*rows.tolist()} - self._texts.keys())
        if new:
            ids = self._view.ids[new]
            self._texts.update(zip(new, table_rows.contents(self._view.snapshot, ids), strict=True))


def _are_near(one: Mapping[str, Point], other: Mapping[str, Point], radius: float) -> bool:
    return one.keys() == other.keys() and all(
        sum((a - b) * (a - b) for a, b in zip(one[name], other[name], strict=False)) <= radius * radius for name in one
    )
