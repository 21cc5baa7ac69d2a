"""The services of a real node, as a planner calls them."""

from __future__ import annotations

import json
import math
import re

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PointStamped, Pose, Quaternion
from std_msgs.msg import Header

from robotmem_ros.msg import Box, Perception, Place, SpatialSort
from robotmem_ros.srv import Forget, GetData, Learn, Recall, Restore, SavePerception, Update

from ..support.node.graph import Client

_COLLECTIONS = iter(range(10_000))


@pytest.fixture
def collection() -> str:
    """A namespace of the test's own."""
    return f"test-{next(_COLLECTIONS)}"


def target(x: float, y: float, frame: str = "map", **sort: object) -> list[SpatialSort]:
    stamped = PointStamped(header=Header(frame_id=frame), point=Point(x=x, y=y))
    return [SpatialSort(target=stamped, **sort)]


def mug(x: float, colour: str = "red", **fields: object) -> Perception:
    pose = Pose(position=Point(x=x), orientation=Quaternion(z=1.0, w=1.0))
    return Perception(description=f"a {colour} mug on the table", label="mug", pose=[pose], **fields)


def test_a_learned_fact_comes_back_with_all_that_a_planner_needs(client: Client, collection: str) -> None:
    context = {"params": {"force": {"value": 12.5}}, "task": {"success": True}}
    learned = client.call(
        Learn,
        "learn",
        insight="grip force of 12.5 N works for a glass",
        human_summary="12.5 N",
        context=json.dumps(context),
        category="grasp",
        tags=["glass", "force"],
        scope_files=["grasp.yaml"],
        scope_entities=["glass"],
        confidence=[0.8],
        stamp=Time(sec=100, nanosec=7),
        session_id="s1",
        collection=collection,
    )
    assert (learned.success, learned.error) == (True, "")
    answer = client.call(Recall, "recall", query="grasping a glass", collection=collection)
    assert (answer.success, answer.error) == (True, "")
    assert answer.mode in {"hybrid", "bm25_only"}  # the vector may follow a moment later
    (memory,) = answer.memories
    assert memory.id == learned.memory_id
    assert (memory.kind, memory.content, memory.human_summary) == (
        "fact",
        "grip force of 12.5 N works for a glass",
        "12.5 N",
    )
    assert (memory.category, list(memory.tags), memory.session_id) == ("grasp", ["force", "glass"], "s1")
    assert (list(memory.scope_files), list(memory.scope_entities)) == (["grasp.yaml"], ["glass"])
    assert json.loads(memory.context) == context
    assert memory.source == "service"
    assert (memory.stamp.sec, memory.stamp.nanosec, memory.collection) == (100, 7, collection)
    assert memory.created.sec > 1_700_000_000
    assert memory.confidence == pytest.approx(0.8)
    assert memory.score == 1.0
    assert math.isnan(memory.distance)
    assert list(memory.pose) == []


def test_what_a_request_leaves_open_is_found_by_rules(client: Client, collection: str) -> None:
    insight = "grip_force=12.5N works best because sensor was calibrated"
    learned = client.call(Learn, "learn", insight=insight, collection=collection)
    assert (learned.success, learned.category, learned.confidence) == (True, "root_cause", pytest.approx(0.9))
    (memory,) = client.call(Recall, "recall", query="grip force", collection=collection).memories
    assert (memory.category, list(memory.tags)) == (learned.category, list(learned.tags))
    assert json.loads(memory.context) == {"params": {"grip_force": {"value": 12.5, "unit": "N"}}}


def test_a_fact_learned_again_raises_the_confidence_of_the_first(client: Client, collection: str) -> None:
    first = client.call(Learn, "learn", insight="Hold the glass with 12.5 N", collection=collection)
    again = client.call(Learn, "learn", insight="hold the glass with 12.5 N!", collection=collection)
    assert (first.status, first.method, first.similarity) == (Learn.Response.STORED, "", 0.0)
    assert (again.success, again.status) == (True, Learn.Response.DUPLICATE)
    assert (again.memory_id, again.method, again.similarity) == (first.memory_id, "exact", 1.0)
    assert again.confidence > first.confidence


def test_a_similar_fact_is_stored_and_both_are_named(client: Client, collection: str) -> None:
    first = client.call(Learn, "learn", insight="Never enter the storage room", collection=collection)
    again = client.call(Learn, "learn", insight="Never enter the storage room alone", collection=collection)
    assert (again.success, again.status) == (True, Learn.Response.SIMILAR)
    assert (list(again.similar_ids), again.method) == ([first.memory_id], "jaccard")
    assert again.similarity == pytest.approx(0.8)
    found = client.call(Recall, "recall", query="storage room", collection=collection).memories
    assert {memory.id: list(memory.similar_ids) for memory in found} == {
        first.memory_id: [again.memory_id],
        again.memory_id: [first.memory_id],
    }


def test_a_contradicted_fact_names_the_contradicting_one(client: Client, collection: str) -> None:
    older = client.call(Learn, "learn", insight="Hold the glass with 12.5 N", collection=collection)
    newer = client.call(Learn, "learn", insight="Hold the glass with 15 N", collection=collection)
    assert list(newer.contradicts) == [older.memory_id]
    answer = client.call(Recall, "recall", query="hold the glass", collection=collection)
    assert [(memory.id, memory.contradicted_by) for memory in answer.memories] == [
        (newer.memory_id, 0),
        (older.memory_id, newer.memory_id),
    ]


def test_a_perception_comes_back_with_its_pose_frame_and_distance(client: Client, collection: str) -> None:
    header = Header(stamp=Time(sec=5), frame_id="odom")
    perception = mug(3.0, header=header, confidence=0.3, collection=collection)
    perception.data, perception.data_format = b"\x00\xff", "raw"
    assert client.call(SavePerception, "save_perception", perception=perception).success
    answer = client.call(Recall, "recall", spatial_sort=target(0.0, 4.0, "odom"), collection=collection)
    (memory,) = answer.memories
    assert (answer.mode, memory.kind, memory.perception_type, memory.label) == (
        "structured",
        "perception",
        "visual",
        "mug",
    )
    assert (memory.frame_id, memory.stamp.sec, memory.distance) == ("odom", 5, 5.0)
    turn = memory.pose[0].orientation
    assert (memory.pose[0].position.x, turn.z, turn.w) == (3.0, pytest.approx(0.5**0.5), pytest.approx(0.5**0.5))


def test_the_default_min_confidence_keeps_a_memory_of_just_that_confidence(client: Client, collection: str) -> None:
    client.call(Learn, "learn", insight="a vague lesson", confidence=[0.3], collection=collection)
    assert len(client.call(Recall, "recall", query="lesson", collection=collection).memories) == 1


def test_the_nearest_red_mug_comes_before_nearer_blue_ones(client: Client, collection: str) -> None:
    for x, colour in ((30.0, "red"), (1.0, "blue"), (0.5, "blue"), (40.0, "red")):
        client.call(SavePerception, "save_perception", perception=mug(x, colour, collection=collection))
    answer = client.call(
        Recall, "recall", query="where is the nearest red mug?", spatial_sort=target(0.0, 0.0), collection=collection
    )
    assert [memory.distance for memory in answer.memories][:2] == [30.0, 40.0]


def test_conditions_hold_exactly(client: Client, collection: str) -> None:
    for force, success in ((8.0, False), (12.0, True), (14.0, True), (20.0, True)):
        context = json.dumps({"params": {"force": {"value": force}}, "task": {"success": success}})
        client.call(Learn, "learn", insight=f"grasped with {force} N", context=context, collection=collection)
    wanted = json.dumps({"task.success": True, "params.force.value": {"$lt": 15}})
    answer = client.call(Recall, "recall", context_filter=wanted, collection=collection)
    forces = [json.loads(memory.context)["params"]["force"]["value"] for memory in answer.memories]
    assert sorted(forces) == [12.0, 14.0]


def test_the_window_is_half_open(client: Client, collection: str) -> None:
    for second in (9, 10, 19, 20):
        client.call(Learn, "learn", insight=f"second {second}", stamp=Time(sec=second), collection=collection)
    answer = client.call(Recall, "recall", after=Time(sec=10), before=Time(sec=20), collection=collection)
    assert [memory.stamp.sec for memory in answer.memories] == [19, 10]


def test_a_forgotten_memory_is_found_no_more(client: Client, collection: str) -> None:
    learned = client.call(Learn, "learn", insight="the door is locked", collection=collection)
    assert client.call(Forget, "forget", memory_id=learned.memory_id, reason="it was opened").success
    assert client.call(Recall, "recall", query="door", collection=collection).memories == []
    again = client.call(Forget, "forget", memory_id=learned.memory_id, reason="twice")
    assert not again.success
    assert "invalidated (it was opened)" in again.error


def test_a_forgotten_memory_can_be_restored(client: Client, collection: str) -> None:
    learned = client.call(Learn, "learn", insight="the door is locked", collection=collection)
    assert client.call(Forget, "forget", memory_id=learned.memory_id, reason="by mistake").success
    assert client.call(Restore, "restore", memory_id=learned.memory_id).success
    (memory,) = client.call(Recall, "recall", query="door", collection=collection).memories
    assert memory.id == learned.memory_id
    again = client.call(Restore, "restore", memory_id=learned.memory_id)
    assert not again.success
    assert "it is active; there is nothing to restore" in again.error


def test_an_update_changes_what_it_names_and_nothing_else(client: Client, collection: str) -> None:
    learned = client.call(Learn, "learn", insight="the dock is in the hall", tags=["dock"], collection=collection)
    fields = {"content": "the dock is in the garage", "confidence": [0.5]}
    assert client.call(Update, "update", memory_id=learned.memory_id, **fields).success
    (memory,) = client.call(Recall, "recall", query="dock garage", collection=collection).memories
    assert (memory.content, list(memory.tags), memory.confidence) == ("the dock is in the garage", ["dock"], 0.5)


def test_chinese_queries_find_chinese_memories(client: Client, collection: str) -> None:
    for content in ("厨房的桌子上有一个红色的杯子", "客厅里有一把椅子"):
        client.call(Learn, "learn", insight=content, collection=collection)
    answer = client.call(Recall, "recall", query="红色杯子在哪里?", collection=collection)
    assert answer.memories[0].content == "厨房的桌子上有一个红色的杯子"


NAN, INF = math.nan, math.inf
BAD_QUESTIONS: list[tuple[dict[str, object], str]] = [
    ({}, "query: '' is empty"),
    ({"query": "\u200b"}, "query: .* is empty"),
    ({"query": "x" * 2001}, "query: .* at most 2000"),
    ({"query": "mug", "min_confidence": [NAN]}, "min_confidence: nan must be a finite number"),
    ({"query": "mug", "min_confidence": [1.5]}, "min_confidence: 1.5 must lie in 0 to 1"),
    ({"query": "mug", "kinds": ["thought"]}, "kinds: 'thought' is unknown; use one of fact, perception, note"),
    ({"query": "mug", "context_filter": '{"task":'}, "context_filter: .* is not valid JSON"),
    ({"query": "mug", "context_filter": "[1]"}, "context_filter: .* must be a JSON object"),
    ({"query": "mug", "context_filter": '{"a": NaN}'}, "context_filter: 'NaN' is no JSON number"),
    ({"query": "mug", "context_filter": '{"a":' * 10_000 + "1" + "}" * 10_000}, "context_filter: .* is nested deeper"),
    ({"query": "mug", "context_filter": '{"a": "' + "x" * 10_000_000 + '"}'}, "context_filter: .* at most 65536 bytes"),
    ({"query": "mug", "context_filter": '{"a": {"$like": 1}}'}, r"context_filter.a: '\$like' is an unknown operator"),
    ({"query": "mug", "after": Time(sec=-1)}, "after: .* is no time after the epoch"),
    ({"query": "mug", "after": Time(sec=2), "before": Time(sec=1)}, "after: .* must lie before"),
    ({"spatial_sort": target(NAN, 0.0)}, r"spatial_sort.target\[0\]: nan must be a finite number"),
    ({"spatial_sort": target(INF, 0.0)}, r"spatial_sort.target\[0\]: inf must be a finite number"),
    ({"spatial_sort": target(0.0, 0.0, max_distance=-1.0)}, "spatial_sort.max_distance: -1.0 must lie in"),
    ({"spatial_sort": target(0.0, 0.0, field="pose")}, "spatial_sort.field: 'pose' must be `position`"),
    ({"near": [Place()]}, "near.max_distance: None is no radius; give one in metres"),
    ({"within": [Box(frame_id="odd")]}, "within.frame_id: frame 'odd' cannot be compared .* 'map'"),
    ({"spatial_sort": target(0.0, 0.0, "base_link")}, "frame 'base_link' cannot be compared .* 'map'"),
]


@pytest.mark.parametrize(("fields", "error"), BAD_QUESTIONS, ids=[error[:40] for _, error in BAD_QUESTIONS])
def test_a_bad_query_is_answered_with_what_is_wrong(client: Client, fields: dict[str, object], error: str) -> None:
    response = client.call(Recall, "recall", **fields)
    assert not response.success
    assert response.memories == []
    assert re.search(error, response.error), response.error


BAD_PERCEPTIONS: list[tuple[Perception, str]] = [
    (Perception(), "description: '' is blank"),
    (Perception(description="\u200b\u2060"), "description: .* is blank"),
    (Perception(description="mug", perception_type="telepathic"), "perception_type: 'telepathic' is unknown"),
    (Perception(description="mug", confidence=2.0), "confidence: 2.0 must lie in 0 to 1"),
    (Perception(description="mug", pose=[Pose(position=Point(x=NAN))]), r"pose\[0\]: nan must be a finite number"),
    (Perception(description="mug", context="{"), "context: '{' is not valid JSON"),
    (Perception(description="mug", header=Header(stamp=Time(sec=-5))), "header.stamp: .* is no time after the epoch"),
    (Perception(description="x" * 2001), "description: .* is 2001 characters long; at most 2000 are allowed"),
]


@pytest.mark.parametrize(("perception", "error"), BAD_PERCEPTIONS, ids=[error[:40] for _, error in BAD_PERCEPTIONS])
def test_a_bad_perception_is_answered_with_what_is_wrong(client: Client, perception: Perception, error: str) -> None:
    response = client.call(SavePerception, "save_perception", perception=perception)
    assert (response.success, response.memory_id) == (False, 0)
    assert re.search(error, response.error), response.error


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("forget", Forget, {"reason": "gone"}),
        ("restore", Restore, {}),
        ("update", Update, {"content": "new"}),
        ("get_data", GetData, {}),
    ],
)
def test_an_unknown_id_is_named_in_the_error(client: Client, name: str, kind: type, fields: dict[str, object]) -> None:
    response = client.call(kind, name, memory_id=987_654, **fields)
    assert not response.success
    assert "memory_id: 987654" in response.error


def test_sql_and_fts_syntax_are_words_like_others(client: Client, collection: str) -> None:
    evil = "'; DROP TABLE memories; -- \" OR NEAR(mug) AND * ^ content:mug"
    assert client.call(Learn, "learn", insight=evil, session_id=evil, collection=collection, tags=[evil]).success
    answer = client.call(Recall, "recall", query=evil, session_id=evil, collection=collection)
    assert [memory.content for memory in answer.memories] == [evil]


def test_the_data_of_a_perception_is_given_back_until_it_is_forgotten(client: Client, collection: str) -> None:
    data = bytes(range(256)) * 500
    told = {"data_format": "cdr/sensor_msgs/msg/Range", "perception_type": "tactile", "collection": collection}
    scan = mug(1.0, data=data, **told)
    memory_id = client.call(SavePerception, "save_perception", perception=scan).memory_id
    found = client.call(GetData, "get_data", memory_id=memory_id)
    assert (found.success, found.error, bytes(found.data)) == (True, "", data)
    assert (found.data_format, found.perception_type) == ("cdr/sensor_msgs/msg/Range", "tactile")
    assert json.loads(found.metadata) == {"format": "cdr/sensor_msgs/msg/Range"}
    assert client.call(Forget, "forget", memory_id=memory_id, reason="too private").success
    gone = client.call(GetData, "get_data", memory_id=memory_id)
    assert (gone.success, bytes(gone.data), gone.data_format) == (False, b"", "")
    assert gone.error == f"memory_id: {memory_id} cannot be used, it is invalidated (too private)"


def test_what_was_stored_without_data_says_so(client: Client, collection: str) -> None:
    memory_id = client.call(SavePerception, "save_perception", perception=mug(2.0, collection=collection)).memory_id
    answer = client.call(GetData, "get_data", memory_id=memory_id)
    assert not answer.success
    assert answer.error == f"memory_id: {memory_id} cannot be used, it is a perception without data and metadata"
