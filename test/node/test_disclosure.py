"""Scan, search in brief, read in full: the services of a real node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PointStamped, Pose
from std_msgs.msg import Header

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.msg import Perception, SpatialSort
from robotmem_ros.srv import Forget, GetMemories, Learn, List, Recall, SavePerception, Timeline, Update

from ..support.node.graph import Client

_COLLECTIONS = iter(range(10_000))


@pytest.fixture
def collection() -> str:
    """A namespace of the test's own."""
    return f"disclosure-{next(_COLLECTIONS)}"


def learn(client: Client, collection: str, insight: str, second: int = 100, **fields: object) -> int:
    stamp = Time(sec=second, nanosec=7)
    learned = client.call(Learn, "learn", insight=insight, collection=collection, stamp=stamp, **fields)
    assert learned.success, learned.error
    return int(learned.memory_id)


def see_mug(client: Client, collection: str, second: int, x: float = 3.0) -> int:
    perception = Perception(
        header=Header(stamp=Time(sec=second), frame_id="map"), description="a red mug on the table", label="mug",
        pose=[Pose(position=Point(x=x, y=1.0))], data=[1, 2, 255], data_format="raw", collection=collection,
    )  # fmt: skip
    return int(client.call(SavePerception, "save_perception", perception=perception).memory_id)


def test_a_timeline_is_read_page_by_page(client: Client, collection: str) -> None:
    ids = [learn(client, collection, f"fact number {n}", 100 + n, category="grasp", tags=["t"]) for n in range(5)]
    found, cursor = [], ""
    while True:
        page = client.call(Timeline, "timeline", n=2, cursor=cursor, collection=collection, kinds=["fact"])
        assert (page.success, page.error) == (True, "")
        found += page.entries
        cursor = page.cursor
        if not cursor:
            break
    assert [one.id for one in found] == ids[::-1]
    first = found[0]
    assert (first.kind, first.category, list(first.tags), first.snippet) == ("fact", "grasp", ["t"], "fact number 4")
    assert (first.stamp.sec, first.stamp.nanosec, first.status, list(first.pose)) == (104, 7, "active", [])
    between = client.call(
        Timeline, "timeline", oldest_first=True, collection=collection, after=Time(sec=101), before=Time(sec=103)
    )
    assert [one.id for one in between.entries] == ids[1:3]


def test_a_recall_in_brief_marks_the_words_of_the_query(client: Client, collection: str) -> None:
    mug = see_mug(client, collection, 100)
    target = PointStamped(header=Header(frame_id="map"), point=Point(x=3.0))
    answer = client.call(
        Recall,
        "recall",
        query="the red mug",
        brief=True,
        collection=collection,
        spatial_sort=[SpatialSort(target=target)],
    )
    assert (answer.success, list(answer.memories)) == (True, [])
    (found,) = answer.brief_memories
    assert (found.id, found.kind, found.label, found.frame_id) == (mug, "perception", "mug", "map")
    assert found.snippet == "a **red** **mug** on the table"
    assert (found.distance, found.pose[0].position.x, found.score, found.stamp.sec) == (1.0, 3.0, 1.0, 100)
    full = client.call(Recall, "recall", query="the red mug", collection=collection)
    assert [one.id for one in full.memories] == [mug]
    assert list(full.brief_memories) == []


def test_a_recall_gives_a_text_once_with_its_count(client: Client, collection: str) -> None:
    mugs = [see_mug(client, collection, 100, x=4.0 * x) for x in range(3)]
    request = {"query": "the red mug", "collection": collection}
    (mug,) = client.call(Recall, "recall", **request).memories
    assert (mug.id, mug.folded_count, list(mug.folded_ids)) == (mugs[2], 2, [mugs[1], mugs[0]])
    (brief,) = client.call(Recall, "recall", brief=True, **request).brief_memories
    assert (brief.id, brief.folded_count) == (mugs[2], 2)
    assert len(client.call(Recall, "recall", fold=False, **request).memories) == 3


def test_memories_are_read_in_full(client: Client, collection: str) -> None:
    fact = learn(client, collection, "a glass needs 12.5 N")
    assert client.call(Update, "update", memory_id=fact, content="a glass needs 13 N").success
    mug = see_mug(client, collection, 100)
    see_mug(client, collection, 101)
    assert client.call(Forget, "forget", memory_id=fact, reason="wrong").success
    answer = client.call(GetMemories, "get_memories", ids=[mug, fact, 10**12])
    assert [one.memory.id for one in answer.memories] == [mug]
    forgotten = f"memory {fact} is invalidated (wrong); include_forgotten reads it"
    assert answer.reason == f"{forgotten}; memory {10**12} is unknown: no memory had this id"
    of_mug, of_fact = client.call(GetMemories, "get_memories", ids=[mug, fact], include_forgotten=True).memories
    assert (of_mug.memory.times_seen, of_mug.status) == (2, "active")
    assert [one.stamp.sec for one in of_mug.sightings] == [101, 100]
    assert (bytes(of_mug.data[0].data), of_mug.data[0].data_format) == (b"\1\2\xff", "raw")
    assert (of_fact.status, of_fact.status_reason, list(of_fact.data)) == ("invalidated", "wrong", [])
    assert [one.change for one in of_fact.history] == ["forget", "update"]
    assert json.loads(of_fact.history[1].before)["content"] == "a glass needs 12.5 N"
    assert of_fact.history[0].changed.sec > 1_700_000_000


def test_values_are_listed_with_their_counts(client: Client, collection: str) -> None:
    learn(client, collection, "one", tags=["x", "y"])
    learn(client, collection, "another one", tags=["x"])
    answer = client.call(List, "list", field=List.Request.TAGS, collection=collection)
    assert (answer.success, [(one.name, one.n) for one in answer.counts]) == (True, [("x", 2), ("y", 1)])


@pytest.mark.parametrize(
    ("kind", "name", "fields", "error"),
    [
        (Timeline, "timeline", {"cursor": "x"}, "cursor: 'x' is no cursor of a timeline"),
        (Timeline, "timeline", {"after": Time(sec=-1)}, "after: "),
        (Timeline, "timeline", {"min_confidence": 2.0}, "min_confidence: 2.0 "),
        (GetMemories, "get_memories", {"ids": list(range(101))}, "ids: '101 ids' are too many"),
        (List, "list", {"field": "colours"}, "field: 'colours' is unknown"),
    ],
)
def test_a_bad_request_is_answered_with_its_field(
    client: Client, kind: type, name: str, fields: dict[str, object], error: str
) -> None:
    answer = client.call(kind, name, **fields)
    assert (answer.success, answer.error[: len(error)]) == (False, error)


def test_another_robots_memory_is_asked_by_its_name(own: Any, tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "forklift.db", embedding_model="") as forklift:
        forklift.learn("the ramp is steep")
    RobotMemory(tmp_path / "memory.db", embedding_model="").close()
    export = str(tmp_path / "forklift.jsonl")
    assert main(["export", export, "--db", str(tmp_path / "forklift.db")]) == 0
    assert main(["import", export, "--robot", "forklift", "--db", str(tmp_path / "memory.db")]) == 0
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    for collection in ("", "default", "@forklift", "@forklift/default", "*"):
        (found,) = client.call(Recall, "recall", query="steep ramp", collection=collection).memories
        assert (found.content, found.collection) == ("the ramp is steep", "@forklift/default")
    (entry,) = client.call(Timeline, "timeline", collection="@forklift").entries
    (details,) = client.call(GetMemories, "get_memories", ids=[entry.id]).memories
    assert (entry.id, details.memory.content) == (found.id, "the ramp is steep")
    learned = client.call(Learn, "learn", insight="a fact", collection="@forklift/default")
    assert learned.error.startswith("collection: '@forklift/default' begins with '@', as what other robots made")
    forgotten = client.call(Forget, "forget", memory_id=found.id, reason="wrong")
    assert forgotten.error.startswith(f"memory_id: {found.id} cannot be used, it is of another robot")
