"""Statements that find memories of the fleet: by words and meaning, by distance, and by time.

Each gives the robots and the UUIDs of memories, their ranks by words and by meaning, counted from 1, and the squares of
their distances; NULL for what it does not measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ..memory.conditions.places import Place
from ..memory.models import Vector
from .ask import FROM, NEWEST_FIRST
from .batches import vector_text
from .conditions import Sql, all_of, join, square_from, within

SETTINGS = """
    SET hnsw.iterative_scan = strict_order; SET hnsw.max_scan_tuples = 200000; SET hnsw.ef_search = 100; SET jit = off
"""
"""Without the first, a search by vectors under conditions would find fewer than there are."""
NEAREST = "least(m.embedding <=> %s::halfvec, (SELECT min(part <=> %s::halfvec) FROM unnest(m.parts) AS part))"
"""Distance of a memory from a vector, given twice: that of its nearest part."""
_RANKED_ROWS = 500
"""About so many memories are ranked by their words."""
_NOTHING = Sql("SELECT NULL::integer AS robot, NULL::uuid AS uuid, NULL::bigint AS rank WHERE false")
_UNRANKED = "SELECT m.robot, m.uuid, NULL::bigint AS by_words, NULL::bigint AS by_meaning, "


def newest(condition: Sql, n: int) -> Sql:
    """Find the newest memories."""
    order = Sql(f" ORDER BY {NEWEST_FIRST} LIMIT %s", (n,))
    return join(f"{_UNRANKED}NULL::double precision AS square{FROM}WHERE ", condition, order)


def nearest(condition: Sql, n: int, place: Place) -> Sql:
    """Find the memories that are nearest to a place."""
    square = square_from(place)
    order = Sql(f" ORDER BY square, {NEWEST_FIRST} LIMIT %s", (n,))
    return join(_UNRANKED, square, f" AS square{FROM}WHERE ", all_of((condition, within(place))), order)


def surely_nearest(condition: Sql, n: int, place: Place) -> Sql:
    """Find memories that are nearest to a place by the index of poses; fewer than there are, if it cannot tell."""
    # The index knows the plane alone: what is no farther away than the last in the plane is nearer than all others.
    x, y = place.target[:2]
    plane = Sql("point(m.position[1], m.position[2]) <-> point(%s, %s)", (x, y))
    near = join(
        "SELECT m.robot, m.uuid, m.observed_at, m.memory_id, ", square_from(place), " AS square, ", plane,
        f" AS plane{FROM}WHERE ", all_of((condition, within(place))), " ORDER BY ", plane, Sql(" LIMIT %s", (4 * n,)),
    )  # fmt: skip
    return join(
        "WITH near AS MATERIALIZED (", near, ") ", _UNRANKED, "square FROM near AS m "
        "WHERE square < (SELECT max(plane) * max(plane) * (1 - 1e-9) FROM near) "
        f"OR (SELECT count(*) FROM near) < {4 * n} ORDER BY square, {NEWEST_FIRST} LIMIT {n}",
    )  # fmt: skip


def fuse(by_words: Sql | None, by_meaning: Sql | None) -> Sql:
    """Find what either of two searches finds."""
    return join(
        "SELECT robot, uuid, max(by_words) AS by_words, max(by_meaning) AS by_meaning, NULL::double precision "
        "AS square FROM (SELECT robot, uuid, rank AS by_words, NULL::bigint AS by_meaning FROM (", by_words or _NOTHING,
        ") AS w UNION ALL SELECT robot, uuid, NULL, rank FROM (", by_meaning or _NOTHING,
        ") AS v) AS hits GROUP BY robot, uuid",
    )  # fmt: skip


def by_words(condition: Sql, words: Iterable[str], finding: str, depth: int) -> Sql:
    """Rank memories by the words of a query, each as a tsquery.

    `finding` is the query of those that are ranked, of the newest if many.
    """
    rank = Sql("ts_rank(words, %s::tsquery) DESC", (anyof(words),))
    order = join("ORDER BY ", rank, f", {NEWEST_FIRST.replace('m.', '')}")
    return join(
        "SELECT robot, uuid, row_number() OVER (", order,
        ") AS rank FROM (SELECT m.robot, m.uuid, m.words, m.observed_at, m.memory_id", FROM,
        Sql("WHERE m.words @@ %s::tsquery AND ", (finding,)), condition,
        Sql(" ORDER BY m.observed_at DESC LIMIT %s) AS holding ORDER BY rank LIMIT %s", (_RANKED_ROWS, depth)),
    )  # fmt: skip


def finding(words: Mapping[str, str], frequencies: Mapping[str, int], memories: int) -> str:
    """Return the query that finds about so many memories as should be ranked by some words, each with its tsquery.

    Rare words find memories alone, common ones together, as if they were independent. Words of most memories find none.
    """
    rarest_first = sorted(words, key=lambda word: frequencies.get(word, 0))
    alone, total = [], 0.0
    for word in rarest_first:
        total += frequencies.get(word, 0)
        if total > _RANKED_ROWS:
            break
        alone.append(word)
    common = [word for word in rarest_first[len(alone) :] if 2 * frequencies[word] < memories]
    for size in range(1, len(common) + 1):
        expected = memories * math.prod(frequencies[word] / memories for word in common[:size])
        if expected <= _RANKED_ROWS:
            return anyof([*map(words.__getitem__, alone), f"({' & '.join(map(words.__getitem__, common[:size]))})"])
    few = [word for word in alone if word in frequencies] or rarest_first[: len(alone) + 1]
    return anyof(map(words.__getitem__, few))


def anyof(queries: Iterable[str]) -> str:
    """Return the query of what any of some queries finds."""
    return " | ".join(queries)


def by_meaning(condition: Sql, model: str, vector: Vector, depth: int, *, is_exact: bool) -> Sql:
    """Rank memories by the nearness of their vectors; `is_exact` compares all of them, without an index."""
    size, text = len(vector), vector_text(vector)
    # A sum keeps the index out.
    distance = f"(m.embedding::halfvec({size}) <=> %s::halfvec({size})){' + 0.0' * is_exact}"
    order = Sql(" ORDER BY distance LIMIT %s", (depth,))
    near = join(
        Sql(f"SELECT m.robot, m.uuid, {distance} AS distance{FROM}WHERE m.model = %s AND m.embedding IS NOT NULL AND ",
            (text, model)),
        condition, order,
    )  # fmt: skip
    # The index knows the first part of a text alone.
    long = join(
        Sql(f"SELECT m.robot, m.uuid, {NEAREST} AS distance{FROM}WHERE m.model = %s AND m.parts IS NOT NULL AND ",
            (text, text, model)),
        condition, order,
    )  # fmt: skip
    return join(
        "SELECT robot, uuid, row_number() OVER (ORDER BY min(distance), uuid DESC) AS rank FROM ((", near,
        ") UNION ALL (", long, ")) AS near GROUP BY robot, uuid ORDER BY rank", Sql(" LIMIT %s", (depth,)),
    )  # fmt: skip
