"""Nodes of py_trees on a real graph: what a tree asks, and what a memory knows of its task afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from nav_msgs.msg import OccupancyGrid

from robotmem_ros.client import MemoryClient, pose_stamped
from robotmem_ros.memory import SessionNotFoundError
from robotmem_ros.node.subscriptions import latched

from ..support.node.configured import IN_MEMORY
from ..support.node.graph import DEADLINE, Client

py_trees = pytest.importorskip("py_trees", reason="py_trees is not in this environment")
from py_trees.common import Status  # noqa: E402

from robotmem_ros.client.trees import Approach, Episode, IsRemembered, LearnOutcome, RecallNearest  # noqa: E402


@pytest.fixture(scope="module")
def memory(client: Client) -> Iterator[MemoryClient]:
    with MemoryClient(client.node, timeout=DEADLINE) as connected:
        connected.save_perception("a red mug", label="tree mug", pose=(3.0, 1.0, 0.8))
        connected.save_perception("a blue mug", label="tree mug", pose=(9.0, 1.0, 0.8))
        yield connected


def ticked(tree: Any) -> Any:
    """Tick a tree until it is done; return its status."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        tree.tick_once()
        if tree.status is not Status.RUNNING:
            return tree.status
        time.sleep(0.005)
    raise AssertionError(f"still running: {tree.feedback_message}")


def fact(memory: MemoryClient, name: str) -> Any:
    """Return the one fact of a task."""
    (hit,) = memory.recall(context_filter={"task.name": name}, kinds="fact")
    return hit.memory


def test_what_is_nearest_stands_on_the_blackboard(memory: MemoryClient) -> None:
    nearest = RecallNearest("nearest mug", memory, labels="tree mug", frame_id="map", include_unconfirmed=True)
    assert ticked(nearest) is Status.SUCCESS
    board = py_trees.blackboard.Client()
    board.register_key("target", access=py_trees.common.Access.READ)
    assert board.target.memory.content == "a red mug"


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"labels": "tree mug", "include_unconfirmed": True}, Status.SUCCESS),
        ({"labels": "tree cup", "include_unconfirmed": True}, Status.FAILURE),
        ({"labels": 7}, Status.FAILURE),
    ],
)
def test_a_condition_tells_whether_something_is_remembered(
    memory: MemoryClient, conditions: dict[str, Any], status: Any
) -> None:
    asked = IsRemembered("mug?", memory, **conditions)
    assert ticked(asked) is status
    assert asked.feedback_message


def test_a_child_is_run_for_one_pose_after_the_other_until_it_succeeds(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    board = py_trees.blackboard.Client()
    board.register_key("target", access=py_trees.common.Access.WRITE)
    board.register_key("goal", access=py_trees.common.Access.READ)
    goals: list[Any] = []

    class Drive(py_trees.behaviour.Behaviour):  # type: ignore[name-defined]
        def update(self) -> Any:
            goals.append(board.goal)
            return Status.SUCCESS if len(goals) == 2 else Status.FAILURE

    with MemoryClient(client.node, timeout=DEADLINE) as memory:
        memory.save_perception("a mug", label="mug", pose=(3.0, 4.0, 0.8))
        (board.target,) = memory.recall(labels="mug", include_unconfirmed=True)
        tree = Approach("approach", Drive("drive"), memory, distance=0.8, n=3)
        assert (ticked(tree), goals) == (Status.FAILURE, [])
        assert tree.feedback_message == "there is no occupancy grid of the map"
        floor = OccupancyGrid(data=[0] * 10_000)
        floor.header.frame_id, floor.info.resolution = "map", 0.1
        floor.info.width = floor.info.height = 100
        client.publisher(OccupancyGrid, "/map", latched(1)).publish(floor)
        client.until(lambda: bool(memory.maps.approach(board.target.memory.id).poses), "a map")
        assert ticked(tree) is Status.SUCCESS
        found = memory.maps.approach(board.target.memory.id, distance=0.8, n=3)
        assert goals == [pose_stamped(pose, "map") for pose in found.poses[:2]]
        assert ticked(tree) is Status.FAILURE  # with all of them
        assert len(goals) == 5
        refused = Approach("too near", Drive("drive"), memory, distance=-1.0)
        assert ticked(refused) is Status.FAILURE
        assert "distance: -1.0" in refused.feedback_message


def test_no_tick_waits_for_a_memory_that_is_not_there(client: Client) -> None:
    with MemoryClient(client.node, "nobody", timeout=0.3) as nobody:
        asked = IsRemembered("mug?", nobody, labels="mug")
        asked.tick_once()
        assert asked.status is Status.RUNNING
        assert ticked(asked) is Status.FAILURE
        assert "no such service" in asked.feedback_message
        # An episode of which nothing can be told is run all the same.
        assert ticked(Episode("untold", py_trees.behaviours.Success("done"), nobody)) is Status.SUCCESS


@pytest.mark.parametrize(("child", "outcome"), [("Success", 1.0), ("Failure", 0.0)])
def test_an_episode_learns_the_outcome_of_its_child_as_often_as_it_runs(
    memory: MemoryClient, child: str, outcome: float
) -> None:
    task = getattr(py_trees.behaviours, child)("drive")
    seen = {"task": {"name": f"see {child}"}}
    learn = LearnOutcome("tell", memory, f"the {child} was seen", success=True, context=seen)
    sequence = py_trees.composites.Sequence("fetch", memory=True, children=[learn, task])
    task.feedback_message = "the door was shut"
    tree = Episode(f"fetch {child}", sequence, memory, {"spatial": {"room": "kitchen"}})
    before = memory.counts("sessions")
    assert [ticked(tree), ticked(tree)] == [Status.SUCCESS if outcome else Status.FAILURE] * 2
    told = fact(memory, f"fetch {child}")
    assert told.context["task"]["success"] is bool(outcome)
    assert told.content.startswith(f"fetch {child} {'worked' if outcome else 'failed'}")
    assert told.context["spatial"]["room"] == "kitchen"
    # Both runs told the same two facts, which belong to the session of the first.
    assert len(memory.counts("sessions")) == len(before) + 1
    assert fact(memory, f"see {child}").session_id == told.session_id
    with pytest.raises(SessionNotFoundError):
        memory.end_session(told.session_id)


def test_an_episode_that_is_interrupted_ends_without_a_fact(memory: MemoryClient) -> None:
    before = memory.start_session().known_sessions  # those that have ended
    tree = Episode("patrol for ever", py_trees.behaviours.Running("drive"), memory)

    def is_driving() -> bool:
        tree.tick_once()
        return bool(tree.decorated.status is Status.RUNNING)

    until(is_driving)
    tree.stop(Status.INVALID)
    until(lambda: memory.start_session().known_sessions == before + 1)
    assert not memory.recall(context_filter={"task.name": "patrol for ever"}, kinds="fact")


def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
