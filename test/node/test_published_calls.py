"""The calls of the published robotmem, as services of a real node: see docs/features.md."""

from __future__ import annotations

import json

from geometry_msgs.msg import Point, PointStamped

from robotmem_ros.msg import Perception, SpatialSort
from robotmem_ros.srv import (
    EndSession,
    Forget,
    GetData,
    GetMemories,
    Learn,
    Recall,
    SavePerception,
    StartSession,
    Timeline,
    Update,
)

from ..support import published
from ..support.node.graph import Client
from ..support.published import COLLECTION


def test_the_calls_of_robotmem(client: Client) -> None:
    robot = '{"robot_id": "arm-01"}'
    session = client.call(StartSession, "start_session", context=robot, collection=COLLECTION).session_id
    learned = client.call(Learn, "learn", **published.LEARN, session_id=session)
    assert (learned.success, learned.status, learned.category) == (True, "stored", "root_cause")
    given = {name: value for name, value in published.SAVE_PERCEPTION.items() if name != "metadata"}
    perception = Perception(**given, data_format="wrench", session_id=session)
    saved = client.call(SavePerception, "save_perception", perception=perception)
    assert client.call(GetData, "get_data", memory_id=saved.memory_id).data_format == "wrench"

    def found(**conditions: object) -> list[int]:
        answer = client.call(Recall, "recall", collection=COLLECTION, n=5, min_confidence=[0.3], **conditions)
        assert answer.success, answer.error
        assert not answer.memories or answer.memories[0].score == 1.0
        return [memory.id for memory in answer.memories]

    assert found(query="*", session_id=session) == [saved.memory_id, learned.memory_id]
    for conditions in published.FILTERS:
        assert found(query=published.QUERY, context_filter=json.dumps(conditions)) == [learned.memory_id], conditions
    for conditions in published.OTHER_FILTERS:
        assert found(query=published.QUERY, context_filter=json.dumps(conditions)) == [], conditions
    target = PointStamped(point=Point(x=1.3, y=0.7, z=0.42))
    place = SpatialSort(field="spatial.object_position", target=target, max_distance=0.1)
    assert found(query=published.QUERY, spatial_sort=[place]) == [learned.memory_id]
    page = client.call(Timeline, "timeline", collection=COLLECTION, session_ids=[session])
    assert [entry.id for entry in page.entries] == [saved.memory_id, learned.memory_id]
    (details,) = client.call(GetMemories, "get_memories", ids=[learned.memory_id]).memories
    assert json.loads(details.memory.context) == published.CONTEXT

    update = client.call(
        Update, "update", memory_id=learned.memory_id, content="grip_force=11N works", context="softer"
    )
    assert update.success, update.error
    assert client.call(Forget, "forget", memory_id=saved.memory_id, reason="a test").success
    assert found(query="*", session_id=session) == [learned.memory_id]
    report = client.call(EndSession, "end_session", session_id=session, outcome_score=[0.9])
    assert (report.success, report.facts, report.perceptions) == (True, 1, 0)
