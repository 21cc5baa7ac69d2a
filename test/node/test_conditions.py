"""The conditions of Recall.srv, as a planner gives them to a real node."""

from __future__ import annotations

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, PointStamped, Pose

from robotmem_ros.msg import Box, Perception, Place
from robotmem_ros.srv import Learn, Recall, SavePerception

from ..support.node.graph import Client


def test_every_condition_reaches_the_memory(client: Client) -> None:
    collection = "conditions"
    begun = client.call(Learn, "learn", insight="Grasp the mug", session_id=f"{collection}-1", tags=["fragile", "cup"],
                        category="grasp", collection=collection)  # fmt: skip
    for x, session in ((1.0, "2"), (5.0, "3")):
        perception = Perception(
            description="a red mug", label="mug", pose=[Pose(position=Point(x=x))], as_object=False,
            collection=collection, session_id=f"{collection}-{session}",
        )  # fmt: skip
        client.call(SavePerception, "save_perception", perception=perception)
    place = PointStamped(point=Point(x=1.0))

    def found(**conditions: object) -> list[str]:
        answer = client.call(Recall, "recall", collections=[collection], **conditions)
        assert answer.success, answer.error
        return [memory.session_id[-1] for memory in answer.memories]

    assert found(ids=[begun.memory_id]) == ["1"]
    assert found(kinds=["fact"]) == found(categories=["grasp", "place"]) == ["1"]
    assert found(tags=["cup", "fragile"]) == found(any_tags=["cup", "plate"]) == ["1"]
    assert found(tags=["cup", "plate"]) == []
    assert found(labels=["MUG"]) == ["3", "2"]
    assert found(session_ids=[f"{collection}-1", f"{collection}-3"]) == ["3", "1"]
    assert found(session_id=f"{collection}-1") == ["1"]
    assert found(excluded_session_ids=[f"{collection}-1", f"{collection}-3"]) == ["2"]
    assert found(near=[Place(target=place, max_distance=1.0)]) == ["2"]
    assert found(within=[Box(min_corner=Point(x=4.0), max_corner=Point(x=6.0, y=1.0))]) == ["3"]
    assert found(within=[Box(min_corner=Point(x=4.0, z=1.0), max_corner=Point(x=6.0, y=1.0, z=2.0))]) == []
    assert len(found(max_age=Duration(sec=600))) == 3
    assert found(max_age=Duration(nanosec=1)) == []
    # All of it was observed just now, on the first visit.
    assert len(found(since_last_visit=[Place(target=place, max_distance=1.0)])) == 3


def test_a_number_that_is_not_set_is_the_default_and_one_out_of_range_is_told(client: Client) -> None:
    for number in range(7):
        client.call(Learn, "learn", insight=f"Rule {number} of the yard", collection="numbers")
    unset = client.call(Recall, "recall", collection="numbers", n=0)
    many = client.call(Recall, "recall", collection="numbers", n=101)
    assert (len(unset.memories), unset.reason) == (5, "")
    assert (len(many.memories), many.reason) == (7, "n: 101 was cut to 100; it lies in 1 to 100")
