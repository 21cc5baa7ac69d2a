"""Results of the same text are one result, the newest; where places count, what may be another thing stays."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, RecallResult, RobotMemory
from robotmem_ros.memory.text.normal_form import normal_form, text_key

from ..conftest import OpenMemory

SECOND = 10**9
TEXT = "the door of the lab is open"
SPOTS = ("shelf", "table", "floor", "chair", "sink", "bed", "desk", "box", "stove", "cart", "bench", "rack")


def saved(memory: RobotMemory, *texts: str, **fields: Any) -> list[int]:
    """Save perceptions one second apart, and return their ids."""
    return [
        memory.save_perception(text, observed_at=(10_000 + index) * SECOND, **fields).memory_id
        for index, text in enumerate(texts)
    ]


def shown(result: RecallResult) -> list[tuple[int, int, tuple[int, ...]]]:
    """What each result is, and what it stands for."""
    return [(one.id, one.folded_count, one.folded_ids) for one in result]


WAYS: tuple[dict[str, Any], ...] = (
    {"query": "door lab"},
    {"kinds": ["perception"]},
    {"query": "door lab", "spatial_sort": {"target": [0, 0, 0]}},
    {"spatial_sort": {"target": [0, 0, 0]}},
)


@pytest.mark.parametrize("way", WAYS)
def test_the_newest_stands_for_all_of_the_same_text_and_place(memory: RobotMemory, way: dict[str, Any]) -> None:
    ids = saved(memory, TEXT, "The door of the lab is open!", "the  DOOR of lab is open", TEXT, pose=[1, 2, 0])
    other = saved(memory, "the door of the lab is closed", pose=[1.0, 2.1, 0])
    memory.flush()
    result = memory.recall(n=2, **way)
    assert set(shown(result)) == {(ids[-1], 3, (ids[2], ids[1], ids[0])), (other[0], 0, ())}
    assert sum(repr(hit).endswith(", for 3 older ones too>") for hit in result) == 1
    assert {one.id for one in memory.recall(n=9, fold=False, **way)} == {*ids, *other}
    assert {one.folded_count for one in memory.recall(n=9, fold=False, **way)} == {0}


PLACES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"pose": [0, 0, 0]}, {"pose": [3, 0, 0]}),
    ({"pose": [0, 0, 0]}, {"pose": [0, 0, 3]}),
    ({"pose": [0, 0, 0]}, {}),
    ({"pose": [0, 0, 0]}, {"pose": [0, 0, 0], "frame_id": "odom"}),
    ({"pose": [0, 0, 0]}, {"pose": [0, 0, 0], "context": {"spatial": {"goal": [0, 0]}}}),
    ({"context": {"spatial": {"goal": [0, 0]}}}, {"context": {"spatial": {"goal": [5, 0]}}}),
    ({"context": {"spatial": {"area": "lab"}}}, {"context": {"spatial": {"area": "hall"}}}),
)
OTHER: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"label": "door"}, {"label": "gate"}),
    ({"perception_type": "visual"}, {"perception_type": "auditory"}),
    ({"collection": "lab"}, {"collection": "hall"}),
)


@pytest.mark.parametrize(("one", "other"), PLACES + OTHER)
def test_what_may_be_another_thing_stays_where_places_count(
    memory: RobotMemory, one: dict[str, Any], other: dict[str, Any]
) -> None:
    ids = saved(memory, TEXT, as_object=False, **one) + saved(memory, TEXT, as_object=False, **other)
    assert {found.id for found in memory.recall(kinds="perception", n=9, collection="*")} == set(ids)
    saved(memory, TEXT, TEXT, as_object=False, **other)
    assert len(memory.recall(kinds="perception", n=9, collection="*")) == 2


@pytest.mark.parametrize(("one", "other"), PLACES)
def test_words_alone_give_a_text_once_wherever_it_was_seen(
    memory: RobotMemory, one: dict[str, Any], other: dict[str, Any]
) -> None:
    ids = saved(memory, TEXT, as_object=False, **one) + saved(memory, TEXT, as_object=False, **other)
    assert shown(memory.recall("door", n=9)) == [(ids[1], 1, (ids[0],))]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_words_alone_keep_apart_what_differs_in_more_than_the_place(
    memory: RobotMemory, one: dict[str, Any], other: dict[str, Any]
) -> None:
    ids = saved(memory, TEXT, as_object=False, **one) + saved(memory, TEXT, as_object=False, **other)
    assert {found.id for found in memory.recall("door", n=9, collection="*")} == set(ids)


@pytest.mark.parametrize(
    "place",
    [
        {"spatial_sort": (0, 0)},
        {"near": {"target": (0, 0), "max_distance": 20}},
        {"within": {"min_corner": (-1, -1), "max_corner": (20, 1)}},
        {"areas": "lab"},
    ],
)
def test_words_and_a_place_give_each_mug(memory: RobotMemory, place: dict[str, Any]) -> None:
    for x in (0.0, 5.0, 9.0):
        memory.save_perception("a red mug", context={"spatial": {"area": "lab"}}, label="mug", pose=[x, 0, 0])
    assert {hit.id for hit in memory.recall("mug", **place)} == {1, 2, 3}
    assert shown(memory.recall("mug", labels="mug")) == [(3, 2, (2, 1))]


def test_perceptions_within_the_radius_of_their_label_are_one_thing(open_memory: OpenMemory) -> None:
    memory = open_memory(object_radius=0.5, object_radii="door: 2.0")
    for label, distance, results in (("", 0.4, 1), ("", 0.6, 2), ("Door", 0.6, 1), ("Door", 2.1, 2)):
        name = f"{label}{distance}"
        saved(memory, name, pose=[0, 0, 0], label=label, as_object=False)
        saved(memory, name, pose=[distance, 0, 0], label=label, as_object=False)
        assert len(memory.recall(context_filter={"content": name})) == results


def test_objects_are_things_already(memory: RobotMemory) -> None:
    chairs = [memory.save_perception("a chair", label="chair", pose=[x, 0, 0]).memory_id for x in (0, 0, 5, 9)]
    assert chairs[0] == chairs[1]
    assert shown(memory.recall(n=9, spatial_sort={"target": [0, 0, 0]})) == [(one, 0, ()) for one in chairs[1:]]


def test_facts_that_learning_kept_apart_stay_apart(open_memory: OpenMemory) -> None:
    memory = open_memory(deduplication="off")
    ids = [memory.learn("the glass holds", {"force": force}).memory_id for force in (5, 5, 7)]
    assert shown(memory.recall("glass")) in (
        [(ids[2], 0, ()), (ids[1], 1, (ids[0],))], [(ids[1], 1, (ids[0],)), (ids[2], 0, ())],
    )  # fmt: skip


def test_there_are_n_different_results_as_long_as_there_are_so_many(memory: RobotMemory) -> None:
    texts = [f"door number {index} of the lab" for index in range(7)]
    for text in texts:
        saved(memory, *[text] * 60)
    memory.flush()
    for way in (WAYS[0], WAYS[1]):
        for n in (1, 5, 7, 9):
            result = memory.recall(n=n, **way)
            assert len({one.memory.content for one in result}) == len(result) == min(n, 7)
            assert {one.folded_count for one in result} == {59}
    (most,) = memory.recall("door", n=1, context_filter={"content": texts[0]})
    assert (most.folded_count, len(most.folded_ids)) == (59, 59)


def test_only_what_satisfies_the_conditions_is_folded_and_counted(memory: RobotMemory) -> None:
    ids = [saved(memory, TEXT, session_id=f"s{index % 2}")[0] for index in range(4)]
    memory.forget(ids[3], "wrong")
    assert shown(memory.recall("door", session_id="s1")) == [(ids[1], 0, ())]
    assert shown(memory.recall("door", session_id="s0")) == [(ids[2], 1, (ids[0],))]
    assert shown(memory.recall("door")) == [(ids[2], 2, (ids[1], ids[0]))]


def test_at_most_a_hundred_folded_memories_are_named_and_all_are_counted(memory: RobotMemory) -> None:
    ids = saved(memory, *[TEXT] * 130)
    assert shown(memory.recall("door")) == [(ids[-1], 129, tuple(ids[-2:-102:-1]))]


def test_score_and_distance_are_the_best_of_what_is_folded(memory: RobotMemory) -> None:
    near, new = saved(memory, TEXT, pose=[1.0, 0, 0])[0], saved(memory, "x", TEXT, pose=[1.3, 0, 0])[1]
    memory.recall("nothing of that")
    (found,) = memory.recall("door", spatial_sort={"target": [0, 0, 0]})
    assert (found.id, found.folded_ids, found.distance, found.score) == (new, (near,), 1.0, 1.0)


def test_only_what_is_shown_counts_as_recalled(memory: RobotMemory) -> None:
    ids = saved(memory, TEXT, TEXT)
    memory.recall("door")
    memory.flush()
    used = {one.id for one in memory.recall(n=9, fold=False, context_filter={"access_count": {"$gt": 0}})}
    assert used == {ids[1]}


def test_a_corrected_text_is_folded_by_what_it_says_now(memory: RobotMemory) -> None:
    ids = saved(memory, TEXT, "something else")
    memory.update(ids[1], "The door of the lab is open.")
    assert shown(memory.recall("door")) == [(ids[1], 1, (ids[0],))]
    memory.update(ids[1], "The window is open")
    assert [one.id for one in memory.recall("door", n=1)] == [ids[0]]


def test_fold_is_true_or_false(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match=r"^fold: 'yes' must be true or false"):
        memory.recall("door", fold="yes")  # type: ignore[arg-type]


WORDS = st.sampled_from([
    "a", "A", "the", "please", "by the way", "5", "N", "mW", "no", "stop", "杯子", "请", "其实", "啊", "thé", "½", "ﬁ",
    "Ａ", "ß", "ẞ", "İ", "ς", "Σ", "grip_force", "2.10", "-", "!=", "'", "…", " ", ",",
])  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=4), max_size=8).map(" ".join) | st.lists(WORDS, max_size=8).map("".join))
def test_texts_of_the_same_normal_form_have_the_same_key(text: str) -> None:
    assert text_key(normal_form(text)) == text_key(text)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(["mug", "red mug", "blue mug", "A red mug!", "mug of tea"]), st.integers(0, 3))),
    st.integers(1, 6),
)
def test_words_alone_give_each_text_once_with_its_count(
    open_memory: OpenMemory, seen: list[tuple[str, int]], n: int
) -> None:
    memory = open_memory(":memory:")
    groups: dict[str, list[int]] = {}
    for at, (text, place) in enumerate(seen):
        pose = [9.0 * place, 0, 0] if place else None
        stored = memory.save_perception(text, pose=pose, observed_at=(10_000 + at) * SECOND)
        groups.setdefault(normal_form(text), []).insert(0, stored.memory_id)
    hits = {hit.id: (hit.folded_count, [*hit.folded_ids]) for hit in memory.recall("mug", n=n, min_relevance=0.0)}
    assert len(hits) == min(n, len(groups))
    assert hits.items() <= {newest: (len(older), older) for newest, *older in groups.values()}.items()


def test_a_text_that_was_written_often_leaves_room_for_others(memory: RobotMemory) -> None:
    poses = ([x * 2.0, y * 2.0, 0.0] for x in range(20) for y in range(20))
    memory.save_many({"description": "a red mug", "pose": pose} for pose in poses)
    saved(memory, "a blue mug", "a mug without a handle")
    result = memory.recall("red mug", n=5)
    assert (result[0].memory.content, result[0].folded_count) == ("a red mug", 399)
    assert {hit.memory.content for hit in result} == {"a red mug", "a blue mug", "a mug without a handle"}
    assert [short.folded_count for short in result.brief()] == [hit.folded_count for hit in result]


@pytest.mark.parametrize(("conditions", "holds"), [
    ({"collection": "*"}, lambda row: True),
    ({}, lambda row: row["collection"] == "default"),
    ({"collection": "hall"}, lambda row: row["collection"] == "hall"),
    ({"collection": "*", "after": 10_700 * SECOND}, lambda row: row["observed_at"] >= 10_700 * SECOND),
    ({"collection": "*", "after": 11_700 * SECOND}, lambda row: row["observed_at"] >= 11_700 * SECOND),
    ({"collection": "*", "min_confidence": 0.5}, lambda row: row["confidence"] > 0.5),
    ({"collection": "*", "context_filter": {"lot": {"$lt": 80}}}, lambda row: row["context"]["lot"] < 80),
    ({"collection": "*", "context_filter": {"lot": 7}}, lambda row: row["context"]["lot"] == 7),
])  # fmt: skip
def test_thousands_of_few_texts_are_folded_as_all_of_them_are(
    memory: RobotMemory, conditions: dict[str, Any], holds: Callable[[dict[str, Any]], bool]
) -> None:
    draw = random.Random(4)
    rows = [
        {
            "description": f"a {draw.choice(('red', 'blue', 'old', 'wet'))} mug on the {draw.choice(SPOTS)}",
            "perception_type": draw.choice(("visual", "auditory")), "context": {"lot": draw.randrange(100)},
            "collection": draw.choice(("default", "default", "hall")), "observed_at": (10_000 + number) * SECOND,
            "confidence": draw.choice((0.9, 0.9, 0.4)),
        }
        for number in range(1, 2001)
    ]  # fmt: skip
    by_id = dict(zip((saved.memory_id for saved in memory.save_many(rows)), rows, strict=True))
    for memory_id in draw.sample([*by_id], 100):
        memory.forget(memory_id, "wrong")
        del by_id[memory_id]
    memory.warm_up()
    memory.flush()
    groups: dict[tuple[object, ...], list[int]] = {}
    for memory_id, row in by_id.items():
        if holds(row):
            groups.setdefault(key_of(row), []).insert(0, memory_id)
    text = "red mug on the shelf"
    every = memory.recall(text, n=100, fold=False, min_relevance=0.0, **conditions)
    bound = every[99].score if len(every) == 100 else -1.0
    better = {key_of(by_id[hit.id]) for hit in every if hit.score > bound}
    counts = {newest: len(older) for newest, *older in groups.values()}
    for n in (5, 12, 100):
        result = memory.recall(text, n=n, min_relevance=0.0, **conditions)
        assert len(result) == min(n, len(groups))
        assert {hit.id: hit.folded_count for hit in result}.items() <= counts.items()
        assert {key_of(by_id[hit.id]) for hit in [*result][: len(better)]} == better or n < 100
        assert [hit.score for hit in result] == sorted((hit.score for hit in result), reverse=True)


def key_of(row: dict[str, Any]) -> tuple[object, ...]:
    """Return what folding compares of perceptions without a label."""
    return row["description"], row["perception_type"], row["collection"]
