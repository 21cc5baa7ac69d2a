"""What a table in RAM holds, by memory, to compare one that followed a file with one that was read anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from robotmem_ros.memory.models import Kind
from robotmem_ros.memory.storage.snapshot import Snapshot
from robotmem_ros.memory.table.facts import fact_terms
from robotmem_ros.memory.table.table import Table
from robotmem_ros.memory.table.view import View
from robotmem_ros.memory.table.words import Found

TERMS = (["red"], ["mug"], ["grip", "forc"], ["12.5"], ["杯子"], ["hall"], ["zebra"], ["quartz"])
FACTS = ("the red mug stands in the hall", "grip the mug with 12.5 N", "杯子 在 走廊")
LATE = ("content", "scope_entities", "times_seen", "size.x", "size.min", ".task.success", ".objects", '.odd "key"')


def contents(table: Table, snapshot: Snapshot) -> dict[int, dict[str, Any]]:
    """Return what a table says of each memory, by its id; vectors as their similarities to one."""
    view, rows = View(table, snapshot), np.flatnonzero(table.present.all)
    terms, similarities = [*map(table.words.find, TERMS)], _similarities(table)
    counts = np.array([_counts(table, term) for term in terms])
    found = [(term, 1.0 + at) for at, term in enumerate(terms)]
    sums, repeats = table.words.weigh(found, [(table.words.find(["grip", "forc"]), 0.5)])
    for weight, at, times in repeats:
        sums[at] += weight * times
    facts = _facts(table, snapshot)
    late = {name: view.late(name) for name in LATE}
    return {
        int(table.ids[row]): {
            **{name: column.all[row].tolist() for name, column in table.numbers.items() if name not in "xyz"},
            "pose": str([table.numbers[axis].all[row] for axis in "xyz"]),
            **{name: column.value(row) for name, column in table.names.items()},
            **{name: str(column.value(row)).partition(" at 0x")[0] for name, column in late.items()},
            "words": [int(table.words.lengths[row]), *counts[:, row].tolist(), round(sums[row], 9)],
            "similarity": similarities[row],
            "fact": facts.get(row),
        }
        for row in rows.tolist()
    } | {0: {"holding": [_holding(table, term) for term in TERMS], "vectors": _count_linked(table)}}


def _counts(table: Table, term: Found) -> npt.NDArray[np.float64]:
    # How often each row holds a term, weighed by itself.
    counts, repeats = table.words.weigh([(term, 1.0)], (), np.arange(len(table.ids)))
    for _, at, times in repeats:
        counts[at] = times
    return counts


def _facts(table: Table, snapshot: Snapshot) -> dict[int, list[int]]:
    # Of each fact how many terms it has, and how many it lacks of those that are similar to it.
    while len(table.facts.unread):
        table = table.with_facts(snapshot, shared=True)
    rows = np.flatnonzero(table.present.all & table.names["kind"].one_of([Kind.FACT])).tolist()
    found = {row: [int(table.facts.claims.all[row]), int(table.facts.subjects.all[row])] for row in rows}
    for text in FACTS:
        for row, lacking in zip(*table.facts.similar(fact_terms(text), 0.1), strict=True):
            found[int(row)] += [FACTS.index(text), int(lacking)]
    return found


def _count_linked(table: Table) -> int:
    return int(np.count_nonzero(table.vector_places.all >= 0))


def _holding(table: Table, term: list[str]) -> list[int]:
    ids: list[int] = table.ids[table.words.holding([" ".join(term)])].tolist()
    found = table.words.find(term)
    assert len(ids) == found.count(None) == found.count(table.present.all)
    return ids


def _similarities(table: Table) -> list[float | None]:
    places, size = table.vector_places.all, table.vector_ids.size
    if not size:
        return [None] * len(places)
    query = np.random.default_rng(7).standard_normal(table.vectors.dim).astype(np.float32)
    similarities = table.vectors.similarities(query, size)
    return [None if place < 0 else round(float(similarities[place]), 5) for place in places.tolist()]
