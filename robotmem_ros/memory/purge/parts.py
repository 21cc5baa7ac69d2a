"""Takes parts out of memories that stay: learnings of facts, sightings of objects, and what memories were before.

What a purged learning or sighting gave goes with it. A fact becomes what its other learnings come to; of an object that
loses a sighting, what cannot be told to be from another one is given up until it is seen again.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from .. import clocks
from ..config.parameters import Parameters
from ..learning.repetition import TOLD, folded, given_tags
from ..learning.store_or_merge import note_contradictions
from ..storage import contribution_rows, learning_rows, rows, sighting_rows
from ..storage.contribution_rows import FIRST
from ..validation import compact_json
from .selection import Selection

_PARTS_OF = """
    WITH RECURSIVE part (id) AS (
        SELECT id FROM memories WHERE superseded_by = ?1 AND status_reason = 'the same object'
        UNION SELECT m.id FROM memories AS m JOIN part ON m.superseded_by = part.id
    )
"""


class Parts(NamedTuple):
    """How many parts of memories that stay."""

    sightings: int
    repetitions: int
    """Learnings of facts that were learned elsewhere or later, too."""


def count(connection: sqlite3.Connection, selection: Selection, chosen: Sequence[int]) -> Parts:
    """What `take_out` would take out of the memories that are not chosen themselves."""
    condition, arguments = selection.parts()
    numbers = (
        connection.execute(
            f"SELECT count(*) FROM {table} AS p JOIN memories AS m ON m.id = p.memory_id "
            f"WHERE {condition} AND m.id NOT IN (SELECT value FROM json_each(?))",
            (*arguments, json.dumps(chosen)),
        ).fetchone()[0]
        for table in ("sightings", "contributions")
    )
    return Parts(*numbers)


def take_out(connection: sqlite3.Connection, selection: Selection, parameters: Parameters) -> bool:
    """Takes the chosen parts out of all memories that are left; whether there were any."""
    contributions = _ids(connection, selection, "contributions")
    for memory_id, ids in contributions.items():
        _without_contributions(connection, memory_id, set(ids), parameters)
    sightings = _ids(connection, selection, "sightings")
    for memory_id, ids in sightings.items():
        _without_sightings(connection, memory_id, ids, selection)
    return bool(contributions or sightings) | _without_older_changes(connection, selection)


def _ids(connection: sqlite3.Connection, selection: Selection, table: str) -> dict[int, list[int]]:
    condition, arguments = selection.parts()
    found: defaultdict[int, list[int]] = defaultdict(list)
    for memory_id, key in connection.execute(
        f"SELECT p.memory_id, p.id FROM {table} AS p JOIN memories AS m ON m.id = p.memory_id WHERE {condition}",
        arguments,
    ):
        found[memory_id].append(key)
    return found


def _without_contributions(
    connection: sqlite3.Connection, memory_id: int, going: set[int], parameters: Parameters
) -> None:
    known = rows.stored_fact(connection, memory_id)
    assert known is not None
    contributions = contribution_rows.of(connection, memory_id, known)
    left = [one for one in contributions if one.id not in going]
    if not left:
        connection.execute("DELETE FROM memories WHERE id = ?", (memory_id,))
        return
    *_, fact = folded(left)
    columns = {name: getattr(fact, name) for name in TOLD if getattr(fact, name) != getattr(known, name)}
    columns |= {"confidence": fact.confidence, "observed_at": fact.observed_at, "session_id": left[0].fact.session_id}
    assignments = "".join(f"{name} = ?, " for name in columns)
    connection.execute(
        f"UPDATE memories SET {assignments}times_learned = max(times_learned - ?, ?) WHERE id = ?",
        (*columns.values(), len(going), len(left), memory_id),
    )
    rows.replace_tags(connection, memory_id, fact.tags, given_tags(fact))
    learning_rows.set_decisions(connection, memory_id, fact.decisions)
    contribution_rows.delete(connection, [*going] if len(left) > 1 else [one.id for one in contributions])
    connection.execute("UPDATE contributions SET method = ? WHERE id = ?", (FIRST, left[0].id))
    # What it was before a change may be what is to go.
    connection.execute("DELETE FROM memory_history WHERE memory_id = ?", (memory_id,))
    is_other = (fact.content, fact.context) != (known.content, known.context)
    if is_other and rows.status_of(connection, memory_id) == "active":
        note_contradictions(connection, memory_id, parameters)


def _without_sightings(
    connection: sqlite3.Connection, memory_id: int, going: Sequence[int], selection: Selection
) -> None:
    sighting_rows.drop(connection, memory_id, going)
    label, context, described_at, described_in = connection.execute(
        "SELECT m.label, m.context, o.described_at, o.described_in FROM memories AS m "
        "JOIN objects AS o ON o.memory_id = m.id WHERE m.id = ?",
        (memory_id,),
    ).fetchone()
    votes = sighting_rows.labels(connection, memory_id) or {label: 1}
    label = max(votes, key=lambda one: (votes[one], one == label, one))
    connection.execute(
        "UPDATE objects SET votes = ?, sources = '{}' WHERE memory_id = ?",
        (json.dumps(votes, ensure_ascii=False, sort_keys=True), memory_id),
    )
    connection.execute(
        "UPDATE memories SET label = ?, context = ?, session_id = iif(session_id IN ("
        "SELECT session_id FROM sightings WHERE memory_id = memories.id), session_id, '') WHERE id = ?",
        (label, _area_only(context), memory_id),
    )
    if selection.takes_part(described_at, described_in):
        connection.execute(
            "UPDATE memories SET content = ?, human_summary = '', perception_data = NULL, perception_metadata = NULL "
            "WHERE id = ?",
            (label, memory_id),
        )
        connection.execute(
            "UPDATE objects SET described_at = first_seen, described_in = '' WHERE memory_id = ?", (memory_id,)
        )
    connection.execute("DELETE FROM memory_history WHERE memory_id = ?", (memory_id,))
    # What became a part of it keeps its own description, of which nobody knows the time.
    connection.execute(f"{_PARTS_OF} DELETE FROM memories WHERE id IN (SELECT id FROM part)", (memory_id,))


def _area_only(context: str) -> str:
    # The area is that of the position of the object, which stays.
    spatial = json.loads(context).get("spatial")
    area = spatial.get("area") if isinstance(spatial, dict) else None
    return compact_json({"spatial": {"area": area}} if area else {})


def _without_older_changes(connection: sqlite3.Connection, selection: Selection) -> bool:
    if selection.before is None:
        return False
    scope, arguments = selection.scope()
    gone = connection.execute(
        "DELETE FROM memory_history WHERE changed_at < ? "
        f"AND memory_id IN (SELECT m.id FROM memories AS m WHERE {scope})",
        (clocks.iso(selection.before), *arguments),
    )
    return gone.rowcount > 0
