"""In a crowd, also on shelves, each sighting is compared with all objects within its gate."""

from __future__ import annotations

import random
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.geometry import checked_covariance
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.objects.association import cheapest, cost
from robotmem_ros.memory.objects.sightings import NewSighting, new_sighting
from robotmem_ros.memory.storage import object_rows
from robotmem_ros.memory.storage.snapshot import Snapshot
from robotmem_ros.memory.tracks import Track

from ...support.consistency import check
from ...support.examples import examples
from ...support.sightings import see, sighting

WIDE = ((0.25, 0.0, 0.0), (0.0, 0.01, 0.0), (0.0, 0.0, 0.01))
NARROW = ((0.0004, 0.0, 0.0), (0.0, 0.0004, 0.0), (0.0, 0.0, 0.0004))
STEPS = st.integers(-6, 6).map(lambda step: step / 5)
PLACES = st.tuples(STEPS, STEPS, STEPS)
MESSAGES = st.lists(st.lists(PLACES, max_size=10, unique=True), max_size=5)


def test_boxes_on_shelves_are_neither_merged_nor_split(memory: RobotMemory) -> None:
    dice = random.Random(1)
    boxes = [(0.5 * x, 0.5 * y, 0.5 * level) for x in range(7) for y in range(7) for level in range(6)]
    for t in range(2):
        dice.shuffle(boxes)
        for box in boxes:
            see(memory, sighting(*(part + dice.gauss(0, 0.02) for part in box), t=t, label="box"), covariances=[NARROW])
    assert [found.times_seen for found in memory.objects()] == [2] * len(boxes)


def test_two_objects_seen_together_in_a_crowd_stay_two(memory: RobotMemory) -> None:
    # Two bottles 0.3 m apart along y, and between them in the order of x all the others of their shelf.
    shelf = [(0.001 * index, 3.0 + 0.5 * index, 1.0) for index in range(40)]
    pair = [(0.0, 0.0, 1.0), (0.039, 0.3, 1.0)]
    ids = [see(memory, *(sighting(*place, t=t) for place in (pair[0], *shelf, pair[1]))) for t in range(4)]
    assert len(set(map(tuple, ids))) == 1
    for t in range(4, 12):
        assert see(memory, sighting(*pair[t % 2], t=t)) == [ids[0][0] if t % 2 == 0 else ids[0][-1]]
    assert len(memory.objects()) == len(shelf) + 2


@settings(max_examples=examples(60), deadline=None)
@given(messages=MESSAGES, covariance=st.sampled_from((None, WIDE, NARROW)), offset=st.sampled_from((0.0, -5.4e6)))
def test_the_search_for_near_objects_assigns_as_a_comparison_with_all_objects(
    messages: list[list[tuple[float, float, float]]], covariance: object, offset: float
) -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        for t, places in enumerate(messages):
            new = [sighting(x + offset, y - offset, z, t=10.0 * t) for x, y, z in places]
            known = memory.parts.database.write(_all_objects).result()
            expected = _compared_with_all(memory, new, covariance, known)
            for one, found in zip(expected, see(memory, *new, covariances=[covariance] * len(new)), strict=True):
                # What was merged on the same occasion is the object that it became a part of.
                assert found in _became(memory, one, newer_than=max((row.memory_id for row in known), default=0))
        memory.parts.database.write(check).result()


def _all_objects(snapshot: Snapshot) -> list[Track]:
    origin = (0.0, 0.0, 0.0)
    rows = object_rows.near(snapshot, [origin], 1e9, ("map", "", "default"))
    assert len(rows) == snapshot.row("SELECT count(*) FROM objects")[0]
    return sorted(rows, key=lambda row: row.memory_id)


def _compared_with_all(
    memory: RobotMemory, new: Iterable[NewMemory], covariance: object, known: list[Track]
) -> list[int | None]:
    clean = checked_covariance("covariance", covariance)
    seen = [new_sighting(place, each, clean, memory.parameters) for place, each in enumerate(new)]
    ordered = sorted(seen, key=NewSighting.order)
    costs = {
        (index, column): price
        for index, one in enumerate(ordered)
        for column, row in enumerate(known)
        if (price := cost(one, row, at=one.new.observed_at)) is not None
    }
    columns = cheapest(len(ordered), costs)
    ids = {
        one.element: None if column is None else known[column].memory_id
        for one, column in zip(ordered, columns, strict=True)
    }
    return [ids[place] for place in range(len(ordered))]


def _became(memory: RobotMemory, memory_id: int | None, *, newer_than: int) -> set[int]:
    with memory.parts.database.snapshot() as snapshot:
        if memory_id is not None:
            rows = snapshot.rows("SELECT id, superseded_by FROM memories WHERE id = ?", (memory_id,))
        else:
            rows = snapshot.rows("SELECT id, superseded_by FROM memories WHERE id > ?", (newer_than,))
        return {found for row in rows for found in row if found is not None}
