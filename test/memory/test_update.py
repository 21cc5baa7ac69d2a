"""A correction sets, empties, adds and removes; every index follows, and the history keeps what was before."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, Memory, RobotMemory

from ..support.clock import Clock, live
from ..support.consistency import check_file
from ..support.examples import examples
from .conftest import OpenMemory

ALL: dict[str, Any] = {"min_confidence": 0.0, "context_filter": {"id": {"$exists": True}}}


def read(memory: RobotMemory, memory_id: int) -> Memory:
    """One memory as it is now."""
    (found,) = memory.recall(n=1, min_confidence=0.0, include_unconfirmed=True, context_filter={"id": memory_id})
    return found.memory


def nearest(memory: RobotMemory, *target: float, frame: str = "map", **others: Any) -> int:
    """The id of the memory whose pose is nearest to a point."""
    sort = {"field": "position", "target": target, "frame_id": frame}
    return memory.recall(n=1, spatial_sort=sort, **others)[0].id


@pytest.fixture
def mug(memory: RobotMemory) -> int:
    """A perception with all that a correction can change."""
    seen = memory.save_perception(
        "a mug stands here", context={"room": "kitchen"}, pose=[1, 2, 3], label="mug", as_object=False,
    )  # fmt: skip
    memory.update(seen.memory_id, human_summary="mug", category="thing", tags=["red", "hot"], decay_rate=0.5)
    return seen.memory_id


@pytest.mark.parametrize(
    ("field", "shown", "empty"),
    [
        ("human_summary", "human_summary", ""), ("context", "context_json", "{}"), ("category", "category", ""),
        ("tags", "tags", ()), ("label", "label", ""), ("pose", "pose", None),
    ],
)  # fmt: skip
def test_clear_empties_a_field_and_nothing_else(
    memory: RobotMemory, mug: int, field: str, shown: str, empty: object
) -> None:
    before = vars(read(memory, mug))
    memory.update(mug, clear=[field])
    assert vars(read(memory, mug)) == {**before, shown: empty}
    assert check_file(memory.path) == 1
    told = memory.history(mug)[0].before
    assert told.keys() == {field}


def test_a_cleared_pose_is_near_nothing_and_a_given_one_is_found_where_it_is(memory: RobotMemory, mug: int) -> None:
    other = memory.save_perception("a lamp", pose=[5, 5, 0]).memory_id
    assert nearest(memory, 1, 2, 3) == mug
    memory.update(mug, clear=["pose"])
    assert nearest(memory, 1, 2, 3) == other
    memory.update(mug, pose=[5, 5, 0.1, 0, 0, 2, 0])
    assert nearest(memory, 5, 5, 1) == mug
    assert read(memory, mug).pose == (5, 5, 0.1, 0, 0, 1, 0)
    again, cleared = memory.history(mug)[:2]
    assert (again.before, cleared.before) == ({"pose": None}, {"pose": [1, 2, 3, 0, 0, 0, 1]})


def test_a_new_pose_may_be_in_another_frame_if_nothing_else_stays_in_the_old_one(memory: RobotMemory, mug: int) -> None:
    memory.update(mug, pose=[9, 9, 0], frame_id="odom")
    assert nearest(memory, 9, 9, frame="odom") == mug
    assert memory.history(mug)[0].before == {"frame_id": "map", "pose": [1, 2, 3, 0, 0, 0, 1]}
    with pytest.raises(InvalidFieldError, match=r"^frame_id: 'map' is the frame of a new pose; give the pose too"):
        memory.update(mug, frame_id="map")
    memory.update(mug, context={"spatial": {"goal": [1.0, 1.0]}})
    with pytest.raises(InvalidFieldError, match=r"^frame_id: 'map' differs from the frame 'odom' of the positions in"):
        memory.update(mug, pose=[0, 0, 0], frame_id="map")
    with pytest.raises(InvalidFieldError, match=r"^context.spatial.frame_id: 'base' differs from the frame_id 'map'"):
        memory.update(mug, pose=[0, 0, 0], frame_id="map", context={"spatial": {"frame_id": "base"}})
    memory.update(mug, pose=[0, 0, 0], frame_id="map", context={"spatial": {"goal": [2.0, 2.0]}})
    assert nearest(memory, 0, 0) == mug
    assert check_file(memory.path) == 1


def test_tags_are_added_and_removed_one_by_one(memory: RobotMemory, mug: int) -> None:
    memory.update(mug, add_tags=["full", "hot"], remove_tags=["red", "never there"])
    assert read(memory, mug).tags == ("full", "hot")
    assert memory.history(mug)[0].before == {"tags": ["hot", "red"]}
    fact = memory.learn("The cup slipped because the fingers were wet").memory_id
    of_rules = set(read(memory, fact).tags)
    memory.update(fact, add_tags=["glass"], remove_tags=["root_cause"])
    assert set(read(memory, fact).tags) == of_rules - {"root_cause"} | {"glass"}
    memory.update(fact, "The cup fell because the floor was wet")
    assert set(read(memory, fact).tags) == of_rules - {"root_cause"} | {"glass"}


def test_tags_of_a_repeated_fact_are_removed_whoever_gave_them(memory: RobotMemory) -> None:
    fact = memory.learn("the sink drips", tags=["a", "b"]).memory_id
    memory.learn("The sink drips.", tags=["c"])
    memory.update(fact, remove_tags=["a", "c"], add_tags=["d"])
    assert read(memory, fact).tags == ("b", "d")
    memory.learn("the sink drips", tags=["c"])
    assert read(memory, fact).tags == ("b", "c", "d")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"label": "cup", "clear": ["label"]}, "label: 'cup' is given, and `clear` names label: a field can be set or"),
        ({"pose": [0, 0, 0], "clear": ["pose"]}, "pose: .* is given, and `clear` names pose"),
        ({"add_tags": ["x"], "clear": ["tags"]}, "add_tags: .*'x'.* is given, and `clear` names tags"),
        ({"tags": ["x"], "clear": ["tags"]}, "tags: .*'x'.* is given, and `clear` names tags"),
        ({"tags": ["x"], "add_tags": ["y"]}, "tags: .*'x'.* replace all tags; give either them, or add_tags"),
        ({"add_tags": ["x"], "remove_tags": ["x"]}, "add_tags: 'x' is to be added and also removed"),
        ({"clear": ["content"]}, "clear: 'content' cannot be emptied; what can is human_summary, context, category"),
        ({"clear": ["colour"]}, "clear: 'colour' cannot be emptied"),
        ({"clear": "label"}, "clear: 'label' must be a list of names"),
        ({"clear": []}, "memory_id: 1 gets no correction"),
        ({"add_tags": []}, "memory_id: 1 gets no correction"),
        ({"decay_rate": 1.5}, r"decay_rate: 1\.5 must lie in 0 to 1"),
        ({"perception_type": "smell"}, "perception_type: 'smell' is unknown; use one of visual, tactile"),
        ({"pose": [1, 2]}, "pose: .* must be 3 numbers"),
    ],
)
def test_what_cannot_be_done_is_an_error_that_names_the_field_and_changes_nothing(
    memory: RobotMemory, mug: int, given: dict[str, Any], error: str
) -> None:
    before = read(memory, mug)
    with pytest.raises(InvalidFieldError, match=f"^{error}"):
        memory.update(mug, **given)
    assert read(memory, mug) == before


@pytest.mark.parametrize(
    "given", [{"label": "mug"}, {"pose": [1, 2, 3]}, {"perception_type": "tactile"}, {"clear": ["label"]}]
)
def test_a_fact_has_no_label_pose_or_sense(memory: RobotMemory, given: dict[str, Any]) -> None:
    fact = memory.learn("the sink drips").memory_id
    with pytest.raises(InvalidFieldError, match=f"is for perceptions only, and memory {fact} is a fact"):
        memory.update(fact, **given)


def test_the_sense_of_a_perception_can_be_corrected(memory: RobotMemory, mug: int) -> None:
    memory.update(mug, perception_type="tactile")
    assert read(memory, mug).perception_type == "tactile"
    assert memory.history(mug)[0].before == {"perception_type": "visual"}


def test_a_corrected_label_of_an_object_keeps_its_votes_and_is_found_by_word_and_condition(memory: RobotMemory) -> None:
    seen = [memory.save_perception("a cup on a desk", label="cup", pose=[1, 1, 0]).memory_id for _ in range(3)]
    assert len(set(seen)) == 1
    memory.update(seen[0], label="Mug")
    assert [one.id for one in memory.recall("mug", labels="mug", min_relevance=0.0)] == [seen[0]]
    assert len(memory.recall(**ALL, query="", n=9)) == 1
    assert memory.save_perception("a mug", label="mug", pose=[1, 1, 0]).times_seen == 4
    with sqlite3.connect(memory.path) as connection:
        (votes,) = connection.execute("SELECT votes FROM objects").fetchone()
    connection.close()
    assert json.loads(votes) == {"Mug": 3, "mug": 1}
    assert read(memory, seen[0]).label == "Mug"
    assert check_file(memory.path) == 1


def test_a_corrected_position_of_an_object_is_where_it_is_seen_next(memory: RobotMemory) -> None:
    chair = memory.save_perception("a chair", label="chair", pose=[1, 1, 0]).memory_id
    memory.update(chair, pose=[7, 7, 0])
    assert check_file(memory.path) == 1
    assert memory.save_perception("a chair", label="chair", pose=[7, 7, 0]).memory_id == chair
    assert memory.save_perception("a chair", label="chair", pose=[1, 1, 0]).memory_id != chair
    assert nearest(memory, 6, 6) == chair


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"clear": ["label"]}, "label: '' does not fit memory 1: an object has a label"),
        ({"clear": ["pose"]}, "pose: None does not fit memory 1"),
        ({"perception_type": "procedural"}, "perception_type: 'procedural' does not fit memory 1"),
        ({"pose": [0, 0, 0], "frame_id": "odom"}, "frame_id: 'odom' differs from the frame 'map' of the object's"),
    ],
)
def test_an_object_keeps_what_makes_it_one(memory: RobotMemory, given: dict[str, Any], error: str) -> None:
    chair = memory.save_perception("a chair", label="chair", pose=[1, 1, 0]).memory_id
    with pytest.raises(InvalidFieldError, match=f"^{error}"):
        memory.update(chair, **given)


def test_the_area_follows_a_moved_memory(open_memory: OpenMemory, tmp_path: Path) -> None:
    areas = tmp_path / "areas.yaml"
    areas.write_text("areas: {kitchen: [[0, 0], [4, 0], [4, 4], [0, 4]], hall: [[4, 0], [9, 0], [9, 4], [4, 4]]}")
    memory = open_memory(areas_file=str(areas))

    def area(memory_id: int) -> object:
        return read(memory, memory_id).context.get("spatial", {}).get("area")

    for label in ("", "lamp"):
        seen = memory.save_perception("a lamp", pose=[1, 1, 0], label=label).memory_id
        memory.update(seen, pose=[5, 1, 0])
        assert area(seen) == "hall"
        memory.update(seen, context={"on": True})
        assert area(seen) == "hall"
        memory.update(seen, pose=[99, 1, 0])
        assert area(seen) is None
    own = memory.save_perception("a rug", pose=[1, 1, 0]).memory_id
    memory.update(own, context={"spatial": {"area": "corner"}})
    assert area(own) == "corner"
    fact = memory.learn("the tap is here", {"spatial": {"position": [1, 1]}}).memory_id
    memory.update(fact, context={"spatial": {"position": [5, 1]}})
    assert area(fact) == "hall"
    memory.update(own, clear=["pose", "context"])
    assert area(own) is None


def test_a_memory_decays_at_its_own_rate_until_that_is_cleared(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    ids = [memory.save_perception(text, confidence=0.8).memory_id for text in ("a leaf", "a stone", "a brick")]
    rule = memory.learn("never lift the lid", category="constraint", confidence=0.8).memory_id
    memory.update(ids[0], decay_rate=0.5)
    memory.update(ids[1], decay_rate=0)
    memory.update(rule, decay_rate=0.1)
    live(memory, clock, 2)
    result = memory.recall(n=9, min_confidence=0.0, kinds=["perception"])
    assert {one.id: one.memory.confidence for one in result} == pytest.approx(
        {ids[0]: 0.8 * 0.5**2, ids[1]: 0.8, ids[2]: 0.8 * 0.99**2}
    )
    assert [one.id for one in memory.recall(n=9, min_confidence=0.64, kinds=["fact"])] == [rule]
    assert memory.recall(n=9, min_confidence=0.6481, kinds=["fact"]).memories == ()
    memory.update(ids[0], clear=["decay_rate"])
    assert memory.history(ids[0])[0].before == {"decay_rate": 0.5}
    assert read(memory, ids[0]).confidence == pytest.approx(0.8 * 0.99**2)


CORRECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.sampled_from(("red mug", "blue cup", "the mug is red")),
        "human_summary": st.sampled_from(("mug", "lamp")),
        "context": st.sampled_from(({"a": 1}, {"spatial": {"goal": [1.0, 2.0]}}, {"spatial": {"frame_id": "odom"}})),
        "category": st.sampled_from(("hazard", "constraint")),
        "add_tags": st.lists(st.sampled_from("abc"), min_size=1),
        "confidence": st.floats(0, 1),
        "decay_rate": st.floats(0, 1),
        "label": st.sampled_from(("mug", "Cup", "lamp")),
        "perception_type": st.sampled_from(("visual", "tactile", "procedural")),
        "pose": st.lists(st.floats(-9, 9), min_size=3, max_size=3),
        "frame_id": st.sampled_from(("map", "odom")),
        "clear": st.lists(st.sampled_from(("human_summary", "context", "category", "tags", "label", "pose"))),
    },
)


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(corrections=st.lists(st.tuples(st.integers(1, 3), CORRECTIONS), max_size=6))
def test_after_any_corrections_every_index_is_what_the_memories_say(
    tmp_path_factory: pytest.TempPathFactory, corrections: list[tuple[int, dict[str, Any]]]
) -> None:
    path = tmp_path_factory.mktemp("update") / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("the mug is red")
        memory.save_perception("a mug", label="mug", pose=[1, 1, 1])
        memory.save_perception("a cup", label="cup", pose=[1, 1, 1], as_object=False)
        for memory_id, given_values in corrections:
            before = read(memory, memory_id)
            changes = len(memory.history(memory_id))
            try:
                memory.update(memory_id, **given_values)
            except InvalidFieldError:
                assert read(memory, memory_id) == before
                assert len(memory.history(memory_id)) == changes
    assert check_file(path) == 3
