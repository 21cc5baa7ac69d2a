"""A robot asks its memory where things are and from where to see them, drives there, and sees them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.house import DOCK, LAP, THINGS
from robotmem_ros.client import MemoryClient
from robotmem_ros.memory import Hit

from ..support.node.configured import topic
from ..support.node.graph import Client

for package in ("nav2_msgs.action", "tf2_msgs.msg", "vision_msgs.msg"):
    pytest.importorskip(package, reason="`make test` builds it: scripts/build_test_interfaces.sh")

from nav2_msgs.action import NavigateToPose  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402

from ..support.node.simulated_robot import OPENING, RANGE, House, Place, SimulatedRobot  # noqa: E402

LABELS = ("mug", "glass", "chair", "plant")
MOVED = {
    "a red mug on the kitchen counter": (10.6, 5.7, 0.4),
    "an office chair pushed under the desk": (5.6, 8.2, 0.5),
}
"""Where things are carried after the patrol."""
ROUND = ((6.1, 6.8), (9.4, 7.0), (11.6, 7.0))
"""Places from which what is still missing is looked for, in the hall and the study."""
DISTANCE = 0.8
"""Metres between robot and thing."""


@pytest.fixture
def house() -> House:
    return House({thing.description: (thing.label, thing.position) for thing in THINGS if thing.label in LABELS})


@pytest.fixture
def robot(own: Any, tmp_path: Path, house: House) -> Iterator[tuple[SimulatedRobot, Client]]:
    """A robot that has a memory node and has driven through the house once."""
    start, connect = own
    client: Client = connect()
    simulated = SimulatedRobot(client.domain, house, DOCK)
    try:
        parameters: dict[str, object] = {
            "db_path": tmp_path / "memory.db", "embedding_model": "''", "use_sim_time": True, "status_period": 0.1,
            "watch_actions": "['navigate_to_pose']",
        }  # fmt: skip
        view = {"range": RANGE, "horizontal": OPENING, "vertical": 2.0}
        start(
            *(word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")),
            *topic("camera", topic="/detections", type="vision_msgs/msg/Detection3DArray"),
            *(word for key, value in view.items() for word in ("-p", f"camera.field_of_view.{key}:={value}")),
        )
        client.until(simulated.is_ready, "a node that listens to the camera")
        client.until_active()
        simulated.patrol(LAP)
        yield simulated, client
    finally:
        simulated.close()


class Planner:
    """What a planner does with what it is told: drive to the nearest thing that it has not been to."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._actions = ActionClient(client.node, NavigateToPose, "navigate_to_pose")
        self._memory = MemoryClient(client.node)
        self.been: set[int] = set()
        self.reached: set[str] = set()
        self.in_vain = 0

    def nearest(self) -> Hit | None:
        """Return the nearest thing that it has not been to."""
        hits = self._memory.recall(n=50, labels=LABELS, spatial_sort="base_link")
        return next((hit for hit in hits if hit.memory.id not in self.been), None)

    def outcomes(self) -> dict[str, int]:
        """Return how many goals ended how, as the memory knows it."""
        found = self._memory.recall("navigate", n=100, fold=False, context_filter={"action": "navigate_to_pose"})
        names = [hit.memory.context["outcome"] for hit in found]
        return {name: names.count(name) for name in names}

    def drive_to(self, hit: Hit) -> None:
        """Drive to where a thing can be seen from."""
        self.been.add(hit.memory.id)
        approach = self._memory.maps.approach(hit.memory.id, distance=DISTANCE)
        assert approach.poses, approach.reason
        goal = NavigateToPose.Goal()
        goal.pose.header.frame_id = approach.frame_id
        x, y, _, _, _, goal.pose.pose.orientation.z, goal.pose.pose.orientation.w = approach.poses[0]
        goal.pose.pose.position.x, goal.pose.pose.position.y = x, y
        handle = self.client.result(self._actions.send_goal_async(goal))
        status = self.client.result(handle.get_result_async()).status
        assert status == 4, status  # succeeded

    def tour(self, robot: SimulatedRobot) -> None:
        """Drive to all things that it has not been to, the nearest one first, and check what is there."""
        while hit := self.nearest():
            self.drive_to(hit)
            assert hit.memory.pose is not None
            place = hit.memory.pose[:3]
            assert math.dist(robot.spot, place[:2]) == pytest.approx(DISTANCE, abs=0.01)
            assert robot.sees(place), "a wall is before it"
            name = name_of(robot.house, hit.memory.label, place)
            robot.look(3.0)
            if name is None:
                self.look_until_gone(robot, hit.memory.id)
                self.in_vain += 1
            else:
                self.reached.add(name)

    def look_until_gone(self, robot: SimulatedRobot, memory_id: int) -> None:
        """Look at where a thing was, for a minute at most, until the memory does not believe that it is there."""
        for _ in range(12):
            robot.look(5.0)
            if not any(hit.memory.id == memory_id for hit in self._memory.recall(n=50, labels=LABELS)):
                return
        raise AssertionError("it is still believed")


@pytest.mark.rare
def test_it_sees_all_that_it_drives_to_and_finds_what_was_moved(
    robot: tuple[SimulatedRobot, Client], house: House
) -> None:
    simulated, client = robot
    planner = Planner(client)
    for name, place in MOVED.items():
        house.things[name] = house.things[name][0], place
    planner.tour(simulated)
    assert planner.reached >= house.things.keys() - MOVED.keys()
    assert planner.in_vain <= len(MOVED)
    simulated.patrol(ROUND)
    planner.tour(simulated)
    assert planner.reached == house.things.keys()
    assert planner.in_vain <= len(MOVED)
    client.until(lambda: planner.outcomes() == {"succeeded": len(planner.been)}, "the outcomes of all goals")


def name_of(house: House, label: str, place: Place) -> str | None:
    """Return the name of the thing of a label that stands at a place, give or take 20 cm."""
    return next(
        (name for name, (own, at) in house.things.items() if own == label and math.dist(at, place) <= 0.2), None
    )
