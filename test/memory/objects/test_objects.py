"""Sightings of one message become objects that keep their identity, over messages, processes and mistakes."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.suites.objects import measure
from bench.worlds.objects import Settings, make_world
from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage.snapshot import Transaction

from ...support.consistency import check
from ...support.examples import examples
from ...support.sightings import SECOND, objects, place, see, sighting, the
from ..conftest import OpenMemory

PLACES = st.tuples(st.integers(-8, 8), st.integers(-3, 3)).map(lambda at: (at[0] / 4, at[1] / 4))
DETECTIONS = st.tuples(PLACES, st.sampled_from(("chair", "mug")), st.integers(3, 10))
MESSAGES = st.lists(
    st.tuples(st.integers(100, 130), st.lists(DETECTIONS, max_size=6, unique_by=lambda one: one[:2])), max_size=8
)
Messages = list[tuple[int, list[tuple[tuple[float, float], str, int]]]]


def store(memory: RobotMemory, messages: Messages, shuffle: int | None = None) -> list[list[int]]:
    """Stores messages; the ids, in the order of the unshuffled detections."""
    result = []
    for stamp, detections in messages:
        order = list(range(len(detections)))
        if shuffle is not None:
            random.Random(shuffle).shuffle(order)
        new = [
            sighting(*detections[i][0], t=stamp, label=detections[i][1], confidence=detections[i][2] / 10)
            for i in order
        ]
        ids = dict(zip(order, see(memory, *new), strict=True))
        result.append([ids[i] for i in range(len(detections))])
    return result


@settings(max_examples=examples(60))
@given(messages=MESSAGES, shuffle=st.integers(0, 1000))
def test_the_order_of_detections_within_a_message_does_not_matter(messages: Messages, shuffle: int) -> None:
    with RobotMemory(":memory:", embedding_model="") as one, RobotMemory(":memory:", embedding_model="") as other:
        assert store(one, messages) == store(other, messages, shuffle)
        mine = [(each.id, each.pose, each.times_seen, each.confidence) for each in objects(one)]
        assert mine == [(each.id, each.pose, each.times_seen, each.confidence) for each in objects(other)]


@settings(max_examples=examples(80))
@given(messages=MESSAGES)
def test_nothing_is_lost_and_every_index_is_in_step_after_any_messages(messages: Messages) -> None:
    with RobotMemory(":memory:", embedding_model="", sighting_interval=2.0, max_sightings_per_object=4) as memory:
        ids = store(memory, messages)
        assert all(len(set(message)) == len(message) for message in ids)
        found = objects(memory)
        assert sum(each.times_seen for each in found) == sum(len(detections) for _, detections in messages)
        stamps = [stamp for stamp, detections in messages for _ in detections]
        for each in found:
            assert each.first_seen is not None
            assert each.last_seen == each.observed_at
            assert min(stamps) * SECOND <= each.first_seen <= each.observed_at <= max(stamps) * SECOND
            assert each.confirmed == (each.confidence >= 0.5)
        memory.parts.database.write(check).result()
        memory.parts.database.write(_check_counts).result()


def _check_counts(transaction: Transaction) -> None:
    rows = transaction.rows(
        "SELECT o.times_seen, o.subsampled, count(s.id), coalesce(sum(s.subsampled), 0) FROM objects AS o "
        "LEFT JOIN sightings AS s ON s.memory_id = o.memory_id GROUP BY o.memory_id"
    )
    assert all(times == since + count + between and count <= 8 for times, since, count, between in rows)
    superseded = "SELECT count(*) FROM memories WHERE status = 'superseded' AND id IN (SELECT memory_id FROM objects)"
    assert transaction.row(superseded) == (0,)


def test_two_chairs_in_one_frame_stay_two_however_near(memory: RobotMemory) -> None:
    for t in range(30):
        shift = 0.1 * (-1) ** t
        assert see(memory, sighting(1.0 + shift, t=t), sighting(1.2 + shift, t=t)) == [1, 2]
    assert [each.times_seen for each in objects(memory)] == [30, 30]
    assert see(memory, sighting(1.21, t=40)) == [2]
    assert len(objects(memory)) == 2


def test_an_object_split_by_a_stray_sighting_is_merged(memory: RobotMemory) -> None:
    assert see(memory, sighting(0.0), sighting(5.0)) == [1, 2]
    assert see(memory, sighting(0.45, t=101)) == [3]
    for t in range(102, 110):
        assert see(memory, sighting(0.2, t=t))[0] in (1, 3)
    (first, other) = objects(memory)
    assert (first.times_seen, other.id) == (10, 2)
    assert len(memory.object_history(first.id)) == 10
    with pytest.raises(MemoryNotFoundError, match="it is superseded"):
        memory.forget(4 - first.id, "gone")


def test_last_seen_moves_only_on_a_real_sighting_and_stamps_may_come_in_any_order(memory: RobotMemory) -> None:
    see(memory, sighting(1.0, t=100))
    see(memory, sighting(1.1, t=200, context='{"task": {"name": "new"}}'))
    see(memory, sighting(1.2, t=50, context='{"task": {"name": "old"}}'))
    memory.update(1, "the blue chair")
    memory.recall("chair")
    memory.flush()
    chair = the(memory, 1)
    assert (chair.first_seen, chair.last_seen, chair.observed_at) == (50 * SECOND, 200 * SECOND, 200 * SECOND)
    assert (chair.content, chair.context) == ("the blue chair", {"task": {"name": "new"}})
    assert place(chair)[0] == pytest.approx(1.1)
    assert [each.observed_at // SECOND for each in memory.object_history(1)] == [200, 100, 50]
    assert [each.id for each in memory.recall(after=150 * SECOND)] == [1]
    assert [each.id for each in memory.recall(before=50 * SECOND)] == []


def test_a_restart_keeps_everything(open_memory: OpenMemory) -> None:
    memory = open_memory()
    for t in range(4):
        see(memory, sighting(1.0, t=t), sighting(1.5, t=t))
    before = objects(memory), memory.object_history(1)
    memory.close()
    again = open_memory()
    assert (objects(again), again.object_history(1)) == before
    assert see(again, sighting(1.52, t=9)) == [2]


def test_a_forgotten_object_takes_no_more_sightings(memory: RobotMemory) -> None:
    see(memory, sighting(1.0))
    memory.forget(1, "it was sold")
    assert see(memory, sighting(1.0, t=101)) == [2]
    assert [each.id for each in objects(memory)] == [2]
    with pytest.raises(MemoryNotFoundError, match="memory_id: 1 cannot be used, there is no such object"):
        memory.object_history(1)


@pytest.mark.parametrize(
    "other",
    [
        sighting(1.0, label="mug"),
        sighting(1.0, collection="lab"),
        sighting(1.0, frame_id="odom"),
        sighting(1.0, map_id="upstairs"),
    ],
)
def test_another_label_collection_frame_or_map_is_another_object(memory: RobotMemory, other: NewMemory) -> None:
    assert see(memory, sighting(1.0)) + see(memory, other) == [1, 2]


def test_what_has_no_label_or_no_place_is_an_ordinary_memory(memory: RobotMemory) -> None:
    plain = sighting(1.0, label="")
    assert see(memory, plain, sighting(1.0), plain) == [1, 3, 2]
    found = the(memory, 1)
    assert (found.times_seen, found.first_seen, found.last_seen, found.confirmed) == (0, None, None, False)
    with pytest.raises(MemoryNotFoundError, match="there is no such object"):
        memory.object_history(1)


def test_radius_and_confusion_are_by_label(open_memory: OpenMemory) -> None:
    memory = open_memory(object_radii="table: 1.5, mug: 0.1", object_confusions="mug = cup")
    assert see(memory, sighting(0.0, label="table"), sighting(0.0, 3.0, label="mug")) == [2, 1]
    new = sighting(1.4, t=101, label="table"), sighting(0.0, 3.05, t=101, label="cup"), sighting(0.0, 3.2, label="mug")
    assert see(memory, *new) == [2, 1, 3]
    assert the(memory, 1).label == "mug"
    see(memory, sighting(0.0, 3.02, t=102, label="cup"))
    assert (the(memory, 1).label, the(memory, 1).times_seen) == ("cup", 3)


def test_times_seen_and_confirmed_can_be_conditions(memory: RobotMemory) -> None:
    memory.learn("chairs are red")
    for t in range(3):
        see(memory, sighting(1.0, t=t), *([sighting(4.0, t=t)] if t else []))
    see(memory, sighting(8.0, t=9))
    assert [each.id for each in objects(memory, confirmed=True)] == [2, 3]
    assert [each.id for each in objects(memory, confirmed=False)] == [4]
    assert [each.id for each in objects(memory, times_seen=2)] == [3]
    assert [each.id for each in memory.recall(context_filter={"confirmed": {"$exists": False}})] == [1]


def test_subsampling_a_long_history_keeps_its_ends_and_its_counts(open_memory: OpenMemory) -> None:
    memory = open_memory(sighting_interval=0.5, max_sightings_per_object=10)
    for t in range(200):
        see(memory, sighting(1.0, t=t / 4))
    history = memory.object_history(1)
    assert len(history) <= 10
    assert history[-1].observed_at == 0
    assert history[0].observed_at == 198 * SECOND // 4
    assert sum(each.subsampled + 1 for each in history) == 199
    assert the(memory, 1).times_seen == 200
    assert memory.object_history(1, 2) == history[:2]


@pytest.mark.parametrize(
    ("covariances", "message"),
    [
        ([None, None], "covariances: 2 must be as many as the sightings, 1"),
        ([((1, 0, 0), (0, 1, 0))], r"covariances\[0\]: .* must be 3 rows of 3 numbers"),
        ([((1, 0, 0), (0, -1, 0), (0, 0, 1))], r"covariances\[0\]: .* no negative variance"),
        ([((1, 0.5, 0), (0, 1, 0), (0, 0, 1))], r"covariances\[0\]: .* symmetric"),
        ([((float("nan"), 0, 0), (0, 1, 0), (0, 0, 1))], r"covariances\[0\]: .* must be 3 rows"),
        ([((1e300, 0, 0), (0, 1, 0), (0, 0, 1))], r"covariances\[0\]: .* must be 3 rows"),
        (["a"], r"covariances\[0\]: 'a' must be 3 rows"),
    ],
)
def test_a_bad_covariance_is_refused(memory: RobotMemory, covariances: list[object], message: str) -> None:
    with pytest.raises(InvalidFieldError, match=message):
        memory.store_sightings([sighting(1.0)], covariances)


def test_a_perfect_and_a_flat_covariance_can_be_used(memory: RobotMemory) -> None:
    flat = ((1e4, 1e4, 1e4),) * 3
    for t in range(20):
        assert see(memory, sighting(1.0, t=t), covariances=[((0, 0, 0),) * 3 if t % 2 else flat]) == [1]
    assert place(the(memory, 1)) == pytest.approx((1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("object_radii", "chair", "object_radii: 'chair' must be `label: metres`"),
        ("object_radii", "chair: 0", "object_radii: 'chair: 0' must be `label: metres`"),
        ("object_radii", "chair: nan", "object_radii: 'chair: nan' must be"),
        ("object_radii", ": 1", "object_radii: ': 1' must be"),
        ("object_radii", "a: 1, a: 2", "object_radii: 'a' is given twice"),
        ("object_confusions", "mug", "object_confusions: 'mug' must be labels with `=`"),
        ("object_confusions", "a = b, b = c", "object_confusions: 'b' is given twice"),
    ],
)
def test_invalid_label_rules_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidFieldError, match=message):
        RobotMemory(":memory:", embedding_model="", **{name: text})  # type: ignore[arg-type]


def test_a_label_may_have_any_characters(memory: RobotMemory) -> None:
    labels = ["杯子", "a\"b'c", "x" * 256, "[1]"]
    for t in range(2):
        assert see(memory, *(sighting(1.0, t=t, label=label) for label in labels))[0] > 0
    assert sorted(each.label for each in objects(memory)) == sorted(labels)
    assert json.dumps([each.times_seen for each in objects(memory)]) == "[2, 2, 2, 2]"


@pytest.mark.parametrize("world", [Settings(), Settings(covariances=True), Settings(missed=0.4, false=0.1)])
def test_things_of_generated_worlds_are_found_once_and_precisely(world: Settings) -> None:
    report = measure(make_world(1, world), world)
    assert report.object_count >= 0.98 * report.things
    assert report.per_thing <= 1.05
    assert report.false <= 0.05 * report.things
    # A false alarm at the place of a thing is taken for a wrong label of it.
    assert report.precision >= 0.97
    assert report.recall >= 0.98
    assert report.error <= 1.1 * report.floor
