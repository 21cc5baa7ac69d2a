"""Recall returns objects that are confirmed by evidence: sightings, misses, competing labels and neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bench.suites.ghosts import measure
from bench.worlds.patrol import Settings, make_patrol
from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.objects.field_of_view import Detection

from ...support.sightings import SECOND, missed, objects, see, sighting, the
from ..conftest import OpenMemory

NEAREST = {"field": "position", "target": [0.0, 0.0]}


def seen_as(memory: RobotMemory, label: str, times: int, *, start: float = 100.0, x: float = 1.0) -> None:
    """See a thing so many times, beside a lamp two metres away."""
    for t in range(times):
        see(memory, sighting(x, t=start + t, label=label), sighting(x + 2, t=start + t, label="lamp"))


@pytest.mark.parametrize(
    "query", [{"query": "chair"}, {"spatial_sort": NEAREST}, {"query": "chair", "kinds": "perception"}]
)
def test_recall_leaves_out_an_object_seen_once_by_a_detector_and_says_so(memory: RobotMemory, query: dict) -> None:  # type: ignore[type-arg]
    see(memory, sighting(1.0))
    result = memory.recall(**query)
    assert [one.id for one in result] == []
    assert "1 object is left out because not confirmed (include_unconfirmed)" in result.reason
    assert [one.id for one in memory.recall(**query, include_unconfirmed=True)] == [1]
    see(memory, sighting(1.0, t=101))
    confirmed = memory.recall(**query)
    assert [one.id for one in confirmed] == [1]
    assert "not confirmed" not in confirmed.reason


def test_the_nearest_confirmed_object_is_named_and_not_a_nearer_ghost(memory: RobotMemory) -> None:
    seen_as(memory, "chair", 3, x=5.0)
    see(memory, sighting(1.0, t=200))
    result = memory.recall(n=1, context_filter={"label": "chair"}, spatial_sort=NEAREST)
    assert [round(one.distance, 1) for one in result] == [5.0]
    assert result.reason == "1 object is left out because not confirmed (include_unconfirmed)"


def test_only_objects_under_the_conditions_count_as_left_out(memory: RobotMemory) -> None:
    see(memory, sighting(1.0), sighting(3.0, label="mug"), sighting(9.0, collection="lab"))
    seen = [sighting(x, t=200, label=label) for x, label in ((5.0, "chair"), (7.0, "chair"))]
    see(memory, *seen)
    reasons = {
        "3 objects are": memory.recall(context_filter={"label": "chair"}).reason,
        "1 object is": memory.recall("the mug").reason,
        "2 objects are": memory.recall(context_filter={"label": "chair"}, after=150 * SECOND).reason,
        "": memory.recall(context_filter={"label": "plant"}).reason,
    }
    assert {
        start: reason.startswith(start) and ("not confirmed" in reason) == bool(start)
        for start, reason in reasons.items()
    } == dict.fromkeys(reasons, True)
    near = memory.recall(spatial_sort={**NEAREST, "max_distance": 2.0}).reason
    assert near.startswith("1 object is")


def test_a_condition_on_confirmed_asks_for_what_is_not_confirmed(memory: RobotMemory) -> None:
    see(memory, sighting(1.0))
    assert [one.id for one in memory.recall(context_filter={"confirmed": False})] == [1]


def test_include_unconfirmed_must_be_true_or_false(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match="include_unconfirmed: 'yes' must be true or false"):
        memory.recall("chair", include_unconfirmed="yes")  # type: ignore[arg-type]


def test_what_a_caller_saves_once_is_believed_by_its_confidence(memory: RobotMemory) -> None:
    for x, confidence in ((1.0, 0.9), (3.0, 0.45)):
        memory.save_perception("a mug", label="mug", pose=[x, 0.0, 0.0], confidence=confidence)
    (mug,) = memory.recall("mug")
    assert mug.id == 1
    assert mug.memory.confidence == pytest.approx(0.9)
    memory.save_perception("a mug", label="mug", pose=[3.0, 0.0, 0.0], confidence=0.8)
    assert sorted(one.id for one in memory.recall("mug", fold=False)) == [1, 2]


def test_a_correction_of_its_confidence_confirms_an_object_or_not(memory: RobotMemory) -> None:
    see(memory, sighting(1.0))
    memory.update(1, confidence=0.7)
    assert [one.id for one in memory.recall("chair")] == [1]
    memory.update(1, confidence=0.4)
    assert [one.id for one in memory.recall("chair")] == []


def test_object_min_existence_decides_what_is_confirmed(open_memory: OpenMemory) -> None:
    memory = open_memory(object_min_existence=0.2)
    see(memory, sighting(1.0))
    assert the(memory, 1).confirmed
    assert [one.memory_id for one in memory.objects()] == [1]


def test_sightings_within_a_look_interval_are_one_look(memory: RobotMemory) -> None:
    for t in range(30):
        see(memory, sighting(1.0, t=100 + t / 30))
    assert not the(memory, 1).confirmed
    assert the(memory, 1).times_seen == 30
    assert memory.objects() == ()
    assert len(memory.objects(include_unconfirmed=True)) == 1


def test_a_chair_that_is_now_and_then_called_a_pillow_is_one_chair(memory: RobotMemory) -> None:
    for t in range(63):
        label = "pillow" if t in (20, 40, 60) else "chair"
        see(memory, sighting(1.0, t=t, label=label), sighting(3.0, t=t, label="lamp"))
    assert [(one.label, one.times_seen) for one in objects(memory)] == [("chair", 63), ("lamp", 63)]
    assert [one.label for one in memory.object_history(1)].count("pillow") == 3


def test_a_wrong_label_that_came_first_becomes_a_vote(memory: RobotMemory) -> None:
    seen_as(memory, "pillow", 1)
    seen_as(memory, "chair", 9, start=110)
    assert sorted((one.label, one.times_seen) for one in objects(memory)) == [("chair", 10), ("lamp", 10)]


def test_a_pillow_that_is_seen_together_with_its_chair_stays_a_pillow(memory: RobotMemory) -> None:
    for t in range(40):
        pillow = [sighting(1.0, z=0.2, t=t, label="pillow")] if t % 3 == 0 else []
        see(memory, sighting(1.0, t=t), *pillow)
    assert [(one.label, one.confirmed) for one in objects(memory)] == [("chair", True), ("pillow", True)]


def test_a_thing_that_is_called_by_another_name_is_detected_all_the_same(memory: RobotMemory) -> None:
    seen_as(memory, "chair", 12)
    before = the(memory, 1).confidence
    seen_as(memory, "stool", 6, start=200)
    assert [(one.label, one.times_seen) for one in objects(memory, label="chair")] == [("chair", 18)]
    assert the(memory, 1).confidence >= before
    assert missed(memory) == {1: 0, 2: 0}


def test_a_thing_whose_stray_sighting_turns_out_to_be_its_own_was_detected_by_it(memory: RobotMemory) -> None:
    for t in range(20):
        see(memory, *with_neighbour(t, with_mug=True))
    for t in range(4):
        see(memory, *with_neighbour(100 + 10 * t, with_mug=False))
    assert not the(memory, 2).confirmed
    laptop, mug = with_neighbour(200, with_mug=True)
    see(memory, laptop, replace(mug, label="cup"))
    assert [one.times_seen for one in objects(memory, label="mug")] == [21]
    assert the(memory, 2).confirmed
    assert missed(memory)[2] == pytest.approx(3, abs=0.3)


def test_another_thing_in_the_place_of_a_moved_one_replaces_it(memory: RobotMemory) -> None:
    seen_as(memory, "chair", 20)
    for t in range(60):
        see(memory, sighting(1.0, t=200 + t, label="box"), sighting(3.0, t=200 + t, label="lamp"))
    assert sorted(one.memory.label for one in memory.recall(n=10, kinds="perception")) == ["box", "lamp"]


HOURS = 8 * 3600.0


def believed(memory: RobotMemory) -> list[str]:
    """Return the labels of what recall returns."""
    return sorted(one.memory.label for one in memory.recall(n=10, kinds="perception"))


def test_what_stands_hours_later_where_another_thing_stood_is_another_thing(memory: RobotMemory) -> None:
    seen_as(memory, "chair", 60)
    seen_as(memory, "box", 4, start=HOURS)
    assert [(one.label, one.times_seen) for one in objects(memory)] == [("chair", 60), ("lamp", 64), ("box", 4)]
    assert believed(memory) == ["box", "lamp"]
    (then,) = memory.recall(labels=["chair", "box"], after=130 * SECOND, before=140 * SECOND)
    assert then.memory.label == "chair"


def test_a_thing_that_comes_back_to_the_place_of_another_is_itself(memory: RobotMemory) -> None:
    for day in range(3):
        seen_as(memory, "chair", 20, start=100 + 2 * day * HOURS)
        seen_as(memory, "box", 20, start=(2 * day + 1) * HOURS)
    assert [(one.label, one.times_seen) for one in objects(memory)] == [("chair", 60), ("lamp", 120), ("box", 60)]
    assert believed(memory) == ["box", "lamp"]


def test_a_wrong_label_is_a_vote_if_it_is_the_first_after_hours_too(memory: RobotMemory) -> None:
    seen_as(memory, "chair", 20)
    seen_as(memory, "stool", 1, start=HOURS)
    seen_as(memory, "chair", 3, start=HOURS + 1)
    assert [(one.label, one.times_seen) for one in objects(memory)] == [("chair", 24), ("lamp", 24)]
    assert believed(memory) == ["chair", "lamp"]


def test_a_wrong_label_does_not_bring_back_what_stood_there_before(memory: RobotMemory) -> None:
    seen_as(memory, "chair", 20)
    for visit in range(1, 7):
        seen_as(memory, "box", 20, start=visit * HOURS)
        seen_as(memory, "chair", 1, start=visit * HOURS + 20)
    assert [(one.label, one.times_seen) for one in objects(memory)] == [("chair", 20), ("lamp", 146), ("box", 126)]
    assert believed(memory) == ["box", "lamp"]


def test_a_label_that_flickers_is_one_thing_after_hours_too(memory: RobotMemory) -> None:
    for t in range(60):
        seen_as(memory, "stool" if t % 5 in (1, 3) else "chair", 1, start=t)
    seen_as(memory, "stool", 3, start=HOURS)
    assert [(one.label, one.times_seen) for one in objects(memory)] == [("chair", 63), ("lamp", 63)]


def test_what_a_caller_saves_at_the_place_of_another_thing_is_no_wrong_label(memory: RobotMemory) -> None:
    seen_as(memory, "chair", 20)
    memory.save_perception("a pillow", label="pillow", pose=[1.0, 0.0, 0.1])
    seen_as(memory, "chair", 20, start=200)
    assert [one.id for one in memory.recall(context_filter={"label": "pillow"})] == [3]


def with_neighbour(t: float, *, with_mug: bool) -> list[NewMemory]:
    """A message of a camera that shows a laptop, and a mug half a metre beside it."""
    seen = [sighting(1.0, t=t, label="laptop"), *([sighting(1.5, t=t, label="mug")] if with_mug else [])]
    return [replace(one, stream="/camera") for one in seen]


def test_what_was_moved_is_not_believed_once_its_neighbours_were_seen_without_it(memory: RobotMemory) -> None:
    for t in range(20):
        see(memory, *with_neighbour(t, with_mug=True))
    for t in range(20):
        see(
            memory,
            *with_neighbour(100 + 10 * t, with_mug=False),
            replace(sighting(9.0, t=100 + 10 * t, label="mug"), stream="/camera"),
        )
    (mug,) = memory.recall(context_filter={"label": "mug"})
    assert mug.memory.pose is not None
    assert mug.memory.pose[0] == pytest.approx(9.0)


@pytest.mark.parametrize(
    "change",
    [
        lambda new: [replace(one, stream="/other") for one in new],
        lambda new: [replace(one, pose=one.pose._replace(x=9.0)) for one in new],
        lambda new: [replace(one, collection="lab") for one in new],
        lambda new: [],
    ],
)
def test_an_object_is_not_missed_by_a_message_that_does_not_show_its_neighbour(
    memory: RobotMemory, change: Callable[[list[NewMemory]], list[NewMemory]]
) -> None:
    for t in range(5):
        see(memory, *with_neighbour(t, with_mug=True))
    see(memory, *change(with_neighbour(100, with_mug=False)))
    assert missed(memory)[2] == 0


def test_neighbours_that_were_never_seen_together_miss_nothing(memory: RobotMemory) -> None:
    for t in range(20):
        laptop, mug = with_neighbour(10 * t, with_mug=True)
        see(memory, laptop)
        see(memory, replace(mug, observed_at=mug.observed_at + 5 * SECOND))
    assert set(missed(memory).values()) == {0}


def test_a_detection_that_is_not_stored_is_no_miss(memory: RobotMemory) -> None:
    for t in range(5):
        see(memory, *with_neighbour(t, with_mug=True))
    dropped = (Detection("mug", (1.6, 0.0, 0.0)),)
    memory.store_sightings(with_neighbour(100, with_mug=False), dropped=dropped).result()
    assert missed(memory) == {1: 0, 2: 0}


def test_a_miss_beside_a_neighbour_counts_once_in_an_absence_interval(memory: RobotMemory) -> None:
    for t in range(5):
        see(memory, *with_neighbour(t, with_mug=True))
    for t in range(15):
        see(memory, *with_neighbour(100 + t, with_mug=False))
    assert missed(memory) == pytest.approx({1: 0, 2: 2}, abs=0.1)


def test_after_patrols_through_a_house_hardly_a_ghost_is_named() -> None:
    settings = Settings(wrong=0.08, false=0.06, moved_count=8)
    answers = measure(make_patrol(100, settings), 100, has_view=True).answers
    assert answers["ghost"] <= 9
    assert answers["true"] >= 250


def test_an_object_tells_how_sure_its_place_is(memory: RobotMemory) -> None:
    see(memory, sighting(1.0))
    (once,) = memory.objects(include_unconfirmed=True)
    for t in range(1, 10):
        see(memory, sighting(1.0, t=100.0 + 60 * t))
    (often,) = memory.objects(include_unconfirmed=True)
    assert 0.0 < often.uncertainty < once.uncertainty


def test_what_is_hidden_on_most_visits_is_believed_once_it_was_seen_on_several(memory: RobotMemory) -> None:
    for visit in range(8):
        for t in range(20):
            see(memory, *with_neighbour(600 * visit + t, with_mug=visit % 3 == 0 and t < 3))
    assert [one.memory.label for one in memory.recall(n=10, kinds="perception", context_filter={"label": "mug"})] == [
        "mug"
    ]


def test_two_labels_of_one_place_that_come_in_turn_are_one_thing(memory: RobotMemory) -> None:
    for t in range(60):
        label = "stool" if t % 5 in (1, 3) else "chair"
        see(memory, sighting(1.0, t=t, label=label), sighting(3.0, t=t, label="lamp"))
    assert [(one.label, one.times_seen) for one in objects(memory)] == [("chair", 60), ("lamp", 60)]


BESIDE = (
    (12, "glass", 2.75), (15, "glass", 2.85), (16, "mug", 2.46), (17, "glass", 2.87), (22, "glass", 2.82),
    (24, "glass", 2.94), (34, "glass", 3.03), (36, "glass", 2.90), (231, "mug", 2.48), (235, "mug", 2.40),
    (236, "glass", 2.83), (242, "mug", 2.47), (245, "glass", 2.83), (246, "mug", 2.35), (247, "glass", 2.86),
    (249, "glass", 2.93), (252, "mug", 2.53),
)  # fmt: skip
"""Seconds, labels and metres along x of a glass and a mug half a metre apart, each in a message of its own."""


def test_a_thing_beside_another_one_keeps_its_sightings_though_no_message_shows_both(memory: RobotMemory) -> None:
    for t, label, x in BESIDE:
        see(memory, sighting(x, t=100 + t, label=label))
    assert {one.label for one in objects(memory) if one.confirmed} == {"glass", "mug"}
