"""Fold results of the same text and place: the newest memory stands for them.

Two perceptions are the same as far as is known if they agree in the normal form of the text, the label, the sense and
the collection, and every position of the one lies within `object_radius` of that of the other in the same field, frame
and map. Without a position they must agree in the area. Two facts must agree in text, collection, frame and the whole
context: learning keeps facts apart that differ in it. Objects are things already and are never folded.

Results are folded best first: each one that no earlier one covers stands for all candidates that are the same as it
and not covered yet. So a group has one place and the rank of its best member, and every member is near that one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..conditions.places import Space, overlapping
from ..conditions.sql import EVERY_MEMORY, Sql
from ..config.label_rules import LabelRules
from ..storage.snapshot import Snapshot
from ..text.normal_form import digest
from .candidates import Candidates

_CROWD = 8
"""From this many memories of one text on, those at the same place are found by the place."""
_NO_OBJECT = "NOT EXISTS (SELECT 1 FROM objects WHERE memory_id = m.id)"
_PLACES = """positions AS q CROSS JOIN spaces AS s ON s.id = q.space_id
    AND (s.field = 'position' OR s.field GLOB 'spatial.*' OR s.field = ?)"""
"""Positions that tell where a memory is: its pose, those under `spatial`, and those that are sorted by."""
_REACH = "(?3 + 1e-9 * (1.0 + ?3 + abs(own.x) + abs(own.y)))"
"""Greatest distance of another memory, with a margin for rounding: the exact test follows."""
_AREA = "json_extract(m.context, '$.spatial.area')"
_WITH_TWINS = f"""
    SELECT m.id FROM json_each(?1) AS j CROSS JOIN memories AS m ON m.id = j.value
    LEFT JOIN positions AS own ON own.id = (SELECT min(q.id) FROM {_PLACES} WHERE q.memory_id = m.id)
    WHERE {_NO_OBJECT} AND (SELECT count(*) FROM (SELECT 1 FROM memories WHERE text_key = m.text_key LIMIT 2)) > 1
    AND CASE (SELECT count(*) FROM (SELECT 1 FROM memories WHERE text_key = m.text_key LIMIT {_CROWD}))
        WHEN {_CROWD} THEN own.id IS NULL OR EXISTS (
            SELECT 1 FROM positions_rtree AS b CROSS JOIN positions AS p ON p.id = b.id
            CROSS JOIN memories AS other ON other.id = p.memory_id
            WHERE b.space0 >= own.space_id - 0.5 AND b.space1 <= own.space_id + 0.5
            AND b.x1 >= own.x - {_REACH} AND b.x0 <= own.x + {_REACH}
            AND b.y1 >= own.y - {_REACH} AND b.y0 <= own.y + {_REACH}
            AND other.text_key = m.text_key AND other.id <> m.id)
        ELSE own.id IS NULL OR EXISTS (
            SELECT 1 FROM memories AS other INDEXED BY idx_mem_text_key
            CROSS JOIN positions AS p ON p.memory_id = other.id AND p.space_id = own.space_id
            WHERE other.text_key = m.text_key AND other.id <> m.id
            AND abs(p.x - own.x) <= {_REACH} AND abs(p.y - own.y) <= {_REACH})
        END
"""
"""Memories near another one of the same text, and those without a position that are not alone with their text."""
_ROW = f"""
    SELECT type, collection, label, label_key, perception_type, text_key, content, context, frame_id, map_id, {_AREA}
    FROM memories AS m WHERE id = ?
"""


class Group(NamedTuple):
    """Memories of the same text and place, of which one is shown."""

    best: int
    """The one that ranks highest."""
    newest: int
    """The newest."""
    rest: tuple[int, ...] = ()
    """All but the newest, newest first."""


class Folding:
    """The groups of candidates that also meet a condition; each is looked up once. `rules` give metres for a label."""

    def __init__(
        self,
        snapshot: Snapshot,
        candidates: Candidates,
        rules: LabelRules,
        sorted_by: str = "position",
        also: Sql = EVERY_MEMORY,
    ) -> None:
        self._snapshot = snapshot
        self._candidates = candidates
        self._rules = rules
        self._sorted_by = sorted_by
        self._also = also
        self._members: dict[int, list[int]] = {}

    def groups(self, best_first: Sequence[int], n: int) -> list[Group]:
        """Fold ranked candidates into at most `n` groups, best first."""
        groups: list[Group] = []
        covered_ids: set[int] = set()
        for memory_id in self._looked_up(best_first, n):
            if memory_id in covered_ids:
                continue
            members = [member for member in self._same_as(memory_id) if member not in covered_ids]
            covered_ids.update(members)
            groups.append(Group(memory_id, members[0], tuple(members[1:])))
            if len(groups) == n:
                break
        return groups

    def _looked_up(self, ids: Sequence[int], n: int) -> Iterator[int]:
        # Most have no other of the same text near them: as many are asked for at once as are wanted.
        source = iter(ids)
        while batch := list(islice(source, n)):
            if unknown := [memory_id for memory_id in batch if memory_id not in self._members]:
                arguments = (json.dumps(unknown), self._sorted_by, self._rules.greatest_radius)
                twins = {*self._snapshot.ids(_WITH_TWINS, arguments)}
                self._members.update({memory_id: [memory_id] for memory_id in unknown if memory_id not in twins})
            yield from batch

    def _same_as(self, memory_id: int) -> list[int]:
        if memory_id not in self._members:
            alike = _alike(self._snapshot, memory_id, self._rules.radius, self._sorted_by, self._also)
            self._members[memory_id] = self._candidates.filter(self._snapshot, alike) or [memory_id]
        return self._members[memory_id]


def _alike(snapshot: Snapshot, memory_id: int, radius: Callable[[str], float], sorted_by: str, also: Sql) -> list[int]:
    # Newest first, itself among them.
    kind, collection, label, label_key, sense, key, content, context, *place = snapshot.row(_ROW, (memory_id,))
    frame_id, map_id, area = place
    sql = f"m.type = ? AND m.collection = ? AND m.label_key = ? AND m.perception_type IS ? AND {_NO_OBJECT}"
    arguments: tuple[object, ...] = (kind, collection, label_key, sense)
    if kind == "fact":
        sql += " AND m.context = ? AND m.frame_id = ? AND m.map_id = ?"
        arguments += (context, frame_id, map_id)
    source: tuple[str, tuple[object, ...]] = ("memories AS m INDEXED BY idx_mem_text_key", ())
    positions = snapshot.rows(
        f"SELECT q.space_id, q.x, q.y, q.z FROM {_PLACES} WHERE q.memory_id = ? ORDER BY q.id", (sorted_by, memory_id)
    )
    if positions:
        metres = radius(label)
        if _are_many(snapshot, key):
            source = _around(positions[0], metres)
        near, values = _near(positions, metres, sorted_by)
        sql, arguments = f"{sql} AND {near}", (*arguments, *values)
    else:
        sql += f" AND NOT EXISTS (SELECT 1 FROM {_PLACES} WHERE q.memory_id = m.id) AND {_AREA} IS ?"
        arguments += (sorted_by, area)
    return snapshot.ids(
        f"SELECT m.id FROM {source[0]} WHERE m.text_key = ? AND {sql} AND {also.sql} "
        "AND (m.content = ? OR content_digest(m.content) = ?) ORDER BY m.observed_at DESC, m.id DESC",
        (*source[1], key, *arguments, *also.arguments, content, digest(content)),
    )


def _are_many(snapshot: Snapshot, key: int) -> bool:
    sql = "SELECT count(*) FROM (SELECT 1 FROM memories WHERE text_key = ? LIMIT ?)"
    return int(snapshot.row(sql, (key, _CROWD))[0]) == _CROWD


def _around(position: tuple[int, float, float, float | None], metres: float) -> tuple[str, tuple[object, ...]]:
    space_id, x, y, _ = position
    box = overlapping(Space(space_id, ()), (x - metres, x + metres, y - metres, y + metres))
    source = f"SELECT DISTINCT p.memory_id AS id FROM ({box.sql}) AS b CROSS JOIN positions AS p ON p.id = b.id"
    return f"({source}) AS s CROSS JOIN memories AS m ON m.id = s.id", box.arguments


def _near(
    positions: Sequence[tuple[int, float, float, float | None]], metres: float, sorted_by: str
) -> tuple[str, tuple[object, ...]]:
    # Each position of the one has its counterpart, and the other has no more.
    test = (
        "q.space_id = ? AND (q.x - ?) * (q.x - ?) + (q.y - ?) * (q.y - ?) + coalesce((q.z - ?) * (q.z - ?), 0.0) <= ?"
    )
    tests = " OR ".join([f"({test})"] * len(positions))
    sql = f"(SELECT count(*) = ? AND coalesce(sum({tests}), 0) = ? FROM {_PLACES} WHERE q.memory_id = m.id)"
    values = [value for space, x, y, z in positions for value in (space, x, x, y, y, z, z, metres * metres)]
    return sql, (len(positions), *values, len(positions), sorted_by)
