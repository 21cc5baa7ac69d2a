"""The service that corrects a memory, as a planner calls it."""

from __future__ import annotations

from geometry_msgs.msg import Point, Pose, Quaternion

from robotmem_ros.msg import Perception
from robotmem_ros.srv import Recall, SavePerception, Update

from ..support.node.graph import Client


def test_an_update_empties_what_clear_names_and_moves_what_has_a_pose(client: Client) -> None:
    collection = "corrections"
    here = Pose(position=Point(x=1.0), orientation=Quaternion(w=1.0))
    seen = Perception(description="a red mug", label="mug", pose=[here], as_object=False, context='{"room": "lab"}')
    seen.collection = collection
    memory_id = client.call(SavePerception, "save_perception", perception=seen).memory_id
    there = Pose(position=Point(x=-4.0, y=1.0), orientation=Quaternion(w=1.0))
    fields = {"pose": [there], "perception_type": "tactile", "decay_rate": [0.25], "add_tags": ["hot", "full"]}
    answer = client.call(Update, "update", memory_id=memory_id, clear=["label", "context"], **fields)
    assert (answer.success, answer.error) == (True, "")
    assert client.call(Update, "update", memory_id=memory_id, remove_tags=["hot"]).success
    (memory,) = client.call(Recall, "recall", kinds=["perception"], collection=collection).memories
    assert (memory.label, memory.context, memory.perception_type) == ("", "{}", "tactile")
    assert (memory.pose[0], list(memory.tags)) == (there, ["full"])
    refused = client.call(Update, "update", memory_id=memory_id, label="cup", clear=["label"])
    assert not refused.success
    assert refused.error.startswith("label: 'cup' is given, and `clear` names label")
