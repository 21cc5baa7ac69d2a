"""The memories of a fleet as they were: the views of `memory/table/past.py`, in the SQL of PostgreSQL.

Each is a query with the columns that questions ask, so that they need not know of which time they ask. Its column
`past` has what of a memory was otherwise, for `as_it_was`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..memory.clocks import DAY, FIRST_OF_WALL_CLOCKS, iso
from ..memory.conditions.attributes import AsOf, ChangedSince, Window
from ..memory.conditions.condition import Condition
from ..memory.models import Change, Memory
from ..memory.storage import changes
from ..memory.table import past
from ..memory.validation import LATEST_NS
from .conditions import Sql, join
from .connection import Connection

NOW = Sql("SELECT *, NULL::jsonb AS past FROM robotmem.memories")
"""All memories as they are."""
_UNCHANGED = ", ".join(
    f"m.{name}"
    for name in (
        "robot", "uuid", "type", "collection", "content", "memory_id", "session_id", "category", "decay_rate",
        "is_real", "outcome", "frame_id", "map_id", "twin", "words", "model", "embedding", "parts",
    )
)  # fmt: skip
_MAY_DIFFER = "(m.confirmed IS NOT NULL OR m.is_repeated)"
_STAYED = "s.first_seen IS NOT NULL"
_POSITION = "robotmem.pose_at(robotmem.metres(s.x::text), robotmem.metres(s.y::text), robotmem.metres(s.z::text))"
_SPATIAL = "m.body #> '{context,spatial}'"
_BODY = f"""
    CASE WHEN {_STAYED} AND coalesce(m.body #>> '{{context,spatial,area}}', '') <> s.area THEN
        jsonb_set(m.body, '{{context,spatial}}',
            CASE jsonb_typeof({_SPATIAL}) WHEN 'object' THEN ({_SPATIAL}) - 'area' ELSE '{{}}' END
            || CASE s.area WHEN '' THEN '{{}}' ELSE jsonb_build_object('area', s.area) END)
    ELSE m.body END
"""
_LEARNED = """
    CASE WHEN m.is_repeated THEN (
        SELECT max(v::bigint) FROM jsonb_path_query(
            m.body, '$.contributions[*].observed_at ? (@ >= {after} && @ < {before})', '{{}}', true
        ) AS v
    ) END
"""
_SIGHTED = """(
    SELECT max(v::bigint) FROM jsonb_path_query(
        m.body, '$.sightings[*].observed_at ? (@ >= 0 && @ <= {at})', '{{}}', true
    ) AS v
)"""
# The first change after the time tells what it was before.
_WAS_ACTIVE = """
    CASE WHEN m.status = 'superseded' AND (m.body ->> 'superseded_at') COLLATE "C" > '{stamp}' THEN true
    WHEN m.is_changed THEN coalesce(jsonb_path_query_first(
        m.body, '$.history[*] ? ((@.change == "forget" || @.change == "restore") && @.changed_at > "{stamp}").change',
        '{{}}', true
    ) = '"forget"', m.status = 'active')
    ELSE m.status = 'active' END
"""
# Once for all rows: by how many lived days of its robot evidence was younger than it is.
_DAYS_LATER = """((
    SELECT jsonb_object_agg(id, CASE WHEN days = '{{}}' THEN 0 ELSE lived_days - coalesce((
        SELECT n FROM unnest(days) WITH ORDINALITY AS d (lived, n)
        WHERE lived <= {day} OR ({day} < {first_day} AND lived >= {first_day}) ORDER BY lived DESC LIMIT 1
    ), 0) END) FROM robotmem.robots
) ->> m.robot::text)::integer"""
_UNFADED = str(2**31 - 1)
"""A day of evidence from which on nothing has faded."""
_CHANGED = """
    SELECT m.robot, m.memory_id, m.uuid, m.frame_id, m.map_id, m.collection, m.confirmed, m.appeared, m.label_key,
        m.position, {before}, s.last_seen, s.label_key, {position}
    FROM robotmem.memories AS m
    LEFT JOIN LATERAL {stay_then} AS b ON {since} < b.first_absent
    LEFT JOIN LATERAL {last_stay} AS s ON true
    WHERE m.status = 'active' AND m.confirmed IS NOT NULL AND NOT (m.confirmed AND m.appeared <= {since})
    AND (m.confirmed OR b.first_seen IS NOT NULL) ORDER BY m.robot, m.memory_id
"""


def versions(connection: Connection, conditions: Iterable[Condition]) -> Sql:
    """Return the memories that a question with some conditions asks: those of today without a time among them.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    of_class = {type(condition): condition for condition in conditions}
    if isinstance(as_of := of_class.get(AsOf), AsOf):
        return _as_of(as_of.at)
    if isinstance(since := of_class.get(ChangedSince), ChangedSince):
        return _changed(_changes(connection, since.time))
    if isinstance(window := of_class.get(Window), Window):
        return _during(window.after or 0, LATEST_NS if window.before is None else window.before)
    return NOW


def as_it_was(memory: Memory, body: Mapping[str, Any], then: Mapping[str, Any]) -> Memory:
    """Return a memory as it was, by the column `past` of its row."""
    then = dict(then)
    if (at := then.pop("as_of", None)) is not None:
        if at >= FIRST_OF_WALL_CLOCKS:
            newest_first = (Change(**change) for change in reversed(body["history"]))
            then = changes.fields_before(newest_first, iso(at)) | then
        if memory.first_seen is not None:
            counted = [1 + int(one["subsampled"]) for one in body["sightings"] if one["observed_at"] <= at]
            then |= {"times_seen": sum(counted), "last_seen": then["observed_at"]}
    return past.as_it_was(memory, then)


def _as_of(at: int) -> Sql:
    is_wall_clock, stamp = at >= FIRST_OF_WALL_CLOCKS, iso(at)
    goes_on = f"(m.confirmed AND m.appeared <= {at})"
    was_there = f"{at} < s.first_absent"
    seen = "coalesce(s.last_seen, m.observed_at)"
    by_then = ""
    if is_wall_clock:
        by_then = f"""AND (m.type <> 'fact' OR (m.body ->> 'created_at') COLLATE "C" <= '{stamp}')"""
    was_active = _WAS_ACTIVE.format(stamp=stamp) if is_wall_clock else "m.status = 'active'"
    was_known = f"""
        CASE WHEN m.confirmed IS NOT NULL THEN {goes_on} OR {_STAYED} ELSE l.learned IS NOT NULL {by_then} END
    """
    then, day = f"jsonb_build_object('as_of', {at}::bigint)", f"m.evidence_day + {_days_later(at)}"
    others = _others(
        status=f"CASE WHEN {was_active} THEN 'active' ELSE 'invalidated' END", evidence_day=day, past=then,
        where=f"m.observed_at <= {at} {by_then}",
    )  # fmt: skip
    return join(others, " UNION ALL ", _view(
        stay=f"{_stay(f'first_seen <= {at}')} AS s ON {goes_on} IS NOT TRUE",
        learned=_LEARNED.format(after=0, before=at + 1),
        status=f"CASE WHEN {was_active} AND ({was_known}) THEN 'active' ELSE 'invalidated' END",
        observed_at=f"""
            CASE WHEN l.learned IS NOT NULL THEN l.learned WHEN m.confirmed IS NULL THEN m.observed_at
            WHEN {seen} <= {at} THEN {seen}
            ELSE greatest(coalesce({_SIGHTED.format(at=at)}, 0), coalesce(s.first_seen, m.appeared)) END
        """,
        confirmed=f"CASE WHEN {_STAYED} THEN {was_there} ELSE m.confirmed END",
        confidence=f"""
            CASE WHEN {_STAYED} THEN CASE WHEN {was_there} THEN robotmem.share(s.confidence::text) ELSE 0 END
            WHEN {goes_on} THEN m.sure ELSE m.confidence END
        """,
        evidence_day=day,
        more=f"""
            {then} || CASE WHEN m.confirmed IS NOT NULL THEN jsonb_build_object(
                'first_absent', CASE WHEN NOT {was_there} THEN s.first_absent END
            ) ELSE '{{}}' END
        """,
        where=_MAY_DIFFER,
    ))  # fmt: skip


def _during(after: int, before: int) -> Sql:
    is_there = f"(m.confirmed AND m.appeared < {before} AND m.observed_at >= {after})"
    beyond = f"({is_there} AND m.observed_at >= {before})"
    return join(_others(), " UNION ALL ", _view(
        stay=f"{_stay(f'first_seen < {before}')} AS s ON s.last_seen >= {after} AND {is_there} IS NOT TRUE",
        learned=_LEARNED.format(after=after, before=before),
        observed_at=f"""
            CASE WHEN {_STAYED} THEN least(s.last_seen, {before} - 1) WHEN {beyond} THEN {before} - 1
            WHEN m.observed_at >= {before} THEN coalesce(l.learned, m.observed_at) ELSE m.observed_at END
        """,
        confidence=f"""
            CASE WHEN {_STAYED} THEN robotmem.share(s.confidence::text) WHEN {beyond} THEN m.sure ELSE m.confidence END
        """,
        evidence_day=f"CASE WHEN {_STAYED} OR {beyond} THEN {_UNFADED} ELSE m.evidence_day END",
        where=_MAY_DIFFER,
    ))  # fmt: skip


def _changed(moves: str) -> Sql:
    view = _view(
        stay=f"{_stay('true')} AS s ON c.past ->> 'change' = 'left'",
        observed_at="coalesce(s.last_seen, m.observed_at)",
        confidence=f"CASE WHEN {_STAYED} THEN robotmem.share(s.confidence::text) ELSE m.confidence END",
        evidence_day=f"CASE WHEN {_STAYED} THEN {_UNFADED} ELSE m.evidence_day END",
        more=f"""
            c.past || CASE WHEN {_STAYED} THEN jsonb_build_object('confirmed', false, 'last_seen', s.last_seen)
            ELSE '{{}}' END
        """,
        joined="JOIN jsonb_to_recordset(%s::jsonb) AS c (robot integer, uuid uuid, past jsonb) USING (robot, uuid)",
    )
    return Sql(view.sql, (moves,))


def _view(
    *,
    stay: str,
    observed_at: str,
    confidence: str,
    evidence_day: str,
    learned: str = "NULL",
    status: str = "m.status",
    confirmed: str = f"m.confirmed OR {_STAYED}",
    more: str = "'{}'",
    joined: str = "",
    where: str = "true",
) -> Sql:
    # `s` is the stay that tells how an object was, `l` when a fact was learned.
    return Sql(f"""
        SELECT {_UNCHANGED}, {status} AS status, t.observed_at, t.confirmed, {confidence} AS confidence,
            {evidence_day} AS evidence_day, t.position, coalesce(s.label_key, m.label_key) AS label_key,
            {_BODY} AS body,
            jsonb_strip_nulls(jsonb_build_object('observed_at', t.observed_at, 'confirmed', t.confirmed)) ||
            CASE WHEN {_STAYED} THEN jsonb_build_object(
                'label', s.label, 'position', to_jsonb(t.position), 'area', s.area, 'position_covariance', NULL
            ) ELSE '{{}}' END || {more} AS past
        FROM robotmem.memories AS m {joined}
        LEFT JOIN LATERAL {stay}
        CROSS JOIN LATERAL (SELECT {learned} AS learned) AS l
        CROSS JOIN LATERAL (
            SELECT {observed_at} AS observed_at, {confirmed} AS confirmed,
            CASE WHEN {_STAYED} THEN {_POSITION} ELSE m.position END AS position
        ) AS t WHERE {where}
    """)  # fmt: skip


def _others(
    *,
    status: str = "m.status",
    evidence_day: str = "m.evidence_day",
    past: str = "NULL::jsonb",
    where: str = "true",
) -> Sql:
    # Those that are observed once, which the indexes find as they are.
    return Sql(f"""
        SELECT {_UNCHANGED}, {status} AS status, m.observed_at, m.confirmed, m.confidence,
            {evidence_day} AS evidence_day, m.position, m.label_key, m.body, {past} AS past
        FROM robotmem.memories AS m WHERE NOT {_MAY_DIFFER} AND {where}
    """)


def _days_later(time: int) -> str:
    return _DAYS_LATER.format(day=time // DAY, first_day=FIRST_OF_WALL_CLOCKS // DAY)


def _stay(condition: str) -> str:
    # The last one of an object that a condition holds for.
    return f"(SELECT * FROM unnest(m.stays) AS s WHERE {condition} ORDER BY first_seen DESC LIMIT 1)"


def _changes(connection: Connection, since: int) -> str:
    # The objects that changed, as `_changed` takes them.
    sql = _CHANGED.format(
        since=since, stay_then=_stay(f"first_seen <= {since}"), last_stay=_stay("true"), position=_POSITION,
        before=_POSITION.replace("s.", "b."),
    )  # fmt: skip
    moves: dict[Any, past.Move] = {}
    uuids, gone, new = {}, [], []
    for row in connection.execute(sql.encode()).fetchall():
        robot, memory_id, uuid, frame_id, map_id, collection, is_there, appeared, label, position = row[:10]
        before, last_seen, last_label, last = row[10:]
        key, space = (robot, memory_id), (robot, frame_id, map_id, collection)
        uuids[key] = uuid
        if not is_there and last is not None:
            gone.append(past.Thing(key, (last_label, *space), tuple(last), last_seen))
        elif is_there and position is not None and before is None:
            new.append(past.Thing(key, (label, *space), tuple(position), appeared))
        elif is_there and position is not None:
            moves |= past.carried(key, tuple(before), tuple(position))
    moves |= past.moves(gone, new)
    return json.dumps([
        {"robot": robot, "uuid": str(uuids[robot, memory_id]), "past": move._asdict()}
        for (robot, memory_id), move in moves.items()
    ])  # fmt: skip
