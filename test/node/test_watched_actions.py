"""Goals of an action server become sessions with their outcomes, on a real graph with a real server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import TransformStamped
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.qos import QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState
from std_msgs.msg import String

from robotmem_ros.memory import MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.intake_report import TopicReport
from robotmem_ros.replay.bag import Bag

from ..support.node.graph import Client
from ..support.subprocesses import without

nav2_msgs = pytest.importorskip("nav2_msgs.action", reason="`make test` builds it: scripts/build_test_interfaces.sh")
tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")

NAVIGATE = nav2_msgs.NavigateToPose


class Navigator:
    """A server of navigate_to_pose whose goals go on until a test ends them, its client, and the robot's transform."""

    def __init__(self, client: Client, file: RobotMemory) -> None:
        self.client = client
        self._file = file
        self.handles: list[Any] = []
        self._server = ActionServer(
            client.node, NAVIGATE, "navigate_to_pose",
            execute_callback=self._execute, handle_accepted_callback=self.handles.append,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )  # fmt: skip
        if hasattr(self._server, "configure_introspection"):  # from Kilted on
            state = ServiceIntrospectionState.CONTENTS
            self._server.configure_introspection(client.node.get_clock(), QoSProfile(depth=10), state)
        self._actions = ActionClient(client.node, NAVIGATE, "navigate_to_pose")
        self._tf = client.node.create_publisher(tf2_msgs.TFMessage, "/tf", 100)
        self._x = 0.0
        self._outcome = "succeed"
        client.node.create_timer(0.02, self._tell_where)

    def until_watched(self) -> None:
        """Wait until the node listens to status, feedback and goals."""
        for part in ("status", "feedback", "send_goal/_service_event"):
            topic = f"/navigate_to_pose/_action/{part}"
            if part != "send_goal/_service_event" or hasattr(self._server, "configure_introspection"):
                self.client.until(partial(self._is_heard, topic), topic)

    def drive(self, x: float) -> None:
        """Be somewhere else, and wait until the node knows it."""
        self._x = x
        self.client.until(lambda: [point.x for point in self._file.maps.path()][-1:] == [x], "the robot's path")

    def send(self, x: float) -> Any:
        """Send a goal; return its handle at the client."""
        goal = NAVIGATE.Goal(behavior_tree="careful")
        goal.pose.header.frame_id = "map"
        goal.pose.pose.position.x = x
        count = len(self.handles)
        future = self._actions.send_goal_async(goal)
        self.client.until(lambda: future.done() and len(self.handles) > count, "a goal that was accepted")
        return future.result()

    def end(self, outcome: str) -> None:
        """End the last goal."""
        self._outcome = outcome
        handle = self.handles[-1]
        handle.publish_feedback(NAVIGATE.Feedback(distance_remaining=0.5))
        handle.execute()
        self.client.until(lambda: not handle.is_active, outcome)

    def _execute(self, handle: Any) -> Any:
        getattr(handle, self._outcome)()
        return NAVIGATE.Result()

    def _is_heard(self, topic: str) -> bool:
        infos = self.client.node.get_subscriptions_info_by_topic(topic)
        return any(info.node_name == "memory" for info in infos)

    def _tell_where(self) -> None:
        transform = TransformStamped(child_frame_id="base_link")
        transform.header.frame_id = "map"
        transform.header.stamp = self.client.node.get_clock().now().to_msg()
        transform.transform.translation.x = self._x
        transform.transform.rotation.w = 1.0
        self._tf.publish(tf2_msgs.TFMessage(transforms=[transform]))


def arguments(folder: Path, **parameters: object) -> list[str]:
    """Return the arguments of a node that watches the server."""
    given: dict[str, object] = {
        "db_path": folder / "memory.db", "embedding_model": "''", "status_period": 0.1, "path_interval": 0.0,
        "watch_actions": "['navigate_to_pose']",
    }  # fmt: skip
    return [word for name, value in (given | parameters).items() for word in ("-p", f"{name}:={value}")]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RobotMemory]:
    """The file of the node, which another program made before, opened as another process does."""
    path = tmp_path / "memory.db"
    RobotMemory(path, embedding_model="").close()
    with RobotMemory(path, embedding_model="", read_only=True) as memory:
        yield memory


def outcomes(file: RobotMemory) -> list[Any]:
    """Return what is remembered of goals, the one that ended last last."""
    found = file.recall("navigate to pose", 50, fold=False, context_filter={"action": "navigate_to_pose"})
    return sorted((hit.memory for hit in found), key=lambda memory: memory.id)


def until_begun(client: Client, file: RobotMemory, count: int) -> None:
    """Wait until so many goals have begun in the file."""
    client.until(lambda: len(file.sessions.latest(n=50)) == count, "a session")


def until_ended(client: Client, file: RobotMemory, count: int) -> list[Any]:
    """Wait until so many goals have ended in the file; return what is remembered of them."""
    client.until(lambda: sum(one.ended_at is not None for one in file.sessions.latest(n=50)) >= count, "the outcome")
    return outcomes(file)


def test_a_goal_is_a_session_with_its_outcome_and_where_the_robot_was(
    own: Any, tmp_path: Path, file: RobotMemory
) -> None:
    start, connect = own
    client: Client = connect()
    navigator = Navigator(client, file)
    start(*arguments(tmp_path))
    client.until_active()
    navigator.until_watched()
    for number, (outcome, word, score) in enumerate(
        [("succeed", "succeeded", 1.0), ("abort", "aborted", 0.0), ("canceled", "canceled", None)], 1
    ):
        navigator.drive(1.0)
        goal = navigator.send(4.0)
        until_begun(client, file, number)
        if outcome == "canceled":
            cancelling = goal.cancel_goal_async()
            client.until(cancelling.done, "the cancellation")
        navigator.drive(3.0)
        navigator.end(outcome)
        remembered = until_ended(client, file, number)[-1]
        session = file.sessions.latest(n=1)[0]
        assert remembered.content.startswith(f"navigate to pose {word} after ")
        assert remembered.session_id == session.session_id == str(uuid.UUID(bytes=bytes(goal.goal_id.uuid)))
        assert session.outcome == score
        assert remembered.pose[:3] == pytest.approx((3.0, 0.0, 0.0))
        context = remembered.context
        assert (context["outcome"], context["spatial"]) == (word, {"begin": [1.0, 0.0, 0.0]})
        assert context["feedback"]["distance_remaining"] == 0.5
        if "goal" in context or hasattr(ActionServer, "configure_introspection"):
            assert context["goal"]["behavior_tree"] == "careful"
            assert context["goal"]["pose"]["pose"]["position"] == [4.0, 0.0, 0.0]
    failed = file.recall("navigate", context_filter={"outcome": "aborted"}, near=(3.0, 0.0))
    assert [hit.memory.context["outcome"] for hit in failed] == ["aborted"]


def test_a_goal_goes_on_when_the_node_is_started_again(own: Any, tmp_path: Path, file: RobotMemory) -> None:
    start, connect = own
    client: Client = connect()
    navigator = Navigator(client, file)
    node = start(*arguments(tmp_path))
    client.until_active()
    navigator.until_watched()
    navigator.send(4.0)
    until_begun(client, file, 1)
    assert node.stop() == 0
    node = start(*arguments(tmp_path))
    navigator.until_watched()
    navigator.drive(2.0)
    navigator.end("abort")
    (remembered,) = until_ended(client, file, 1)
    assert (remembered.context["outcome"], remembered.pose[:3]) == ("aborted", (2.0, 0.0, 0.0))
    # One that ends while there is no node has its outcome, but not where that was.
    navigator.send(5.0)
    until_begun(client, file, 2)
    assert node.stop() == 0
    navigator.end("succeed")
    start(*arguments(tmp_path))
    remembered = until_ended(client, file, 2)[-1]
    assert (remembered.context["outcome"], remembered.pose) == ("succeeded", None)
    assert file.sessions.latest(n=1)[0].outcome == 1.0


def test_what_was_over_before_is_not_remembered_and_what_is_quick_is(
    own: Any, tmp_path: Path, file: RobotMemory
) -> None:
    start, connect = own
    client: Client = connect()
    navigator = Navigator(client, file)
    navigator.send(1.0)
    navigator.end("succeed")
    start(*arguments(tmp_path))
    client.until_active()
    navigator.until_watched()
    for _ in range(5):
        navigator.send(1.0)
        navigator.end("succeed")
    assert [memory.context["outcome"] for memory in until_ended(client, file, 5)] == ["succeeded"] * 5


def test_an_action_whose_type_is_not_installed_has_its_outcome_all_the_same(
    own: Any, tmp_path: Path, file: RobotMemory
) -> None:
    start, connect = own
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(without("nav2_msgs"))
    client: Client = connect()
    navigator = Navigator(client, file)
    start(
        *arguments(tmp_path, robot_frame="''"),
        environment={"PYTHONPATH": f"{site}:{os.environ.get('PYTHONPATH', '')}"},
    )
    client.until_active()
    wanted = "nav2_msgs is not installed: neither feedback nor goals are kept"
    client.until(lambda: wanted in str(file.status().intake), wanted)
    navigator.send(4.0)
    navigator.end("abort")
    (remembered,) = until_ended(client, file, 1)
    assert set(remembered.context) == {"action", "outcome", "duration"}


def test_a_name_that_no_action_can_have_is_refused(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start(*arguments(tmp_path, watch_actions="['navigate to pose']"))
    client: Client = connect()
    wanted = "watch_actions: 'navigate to pose' is no name of a topic"
    client.until_status(lambda status: wanted in status.reason, wanted)


def test_the_seconds_before_an_abortion_are_kept_with_it_as_a_recording(
    own: Any, tmp_path: Path, file: RobotMemory
) -> None:
    start, connect = own
    client: Client = connect()
    navigator = Navigator(client, file)
    speech = client.node.create_publisher(String, "/speech", 10)
    start(*arguments(tmp_path, ring_topics="['speech', '/speech', 'tf', 'nobody']", ring_seconds=60.0))
    client.until_active()
    navigator.until_watched()
    client.until(lambda: speech.get_subscription_count() == 1, "/speech")
    for number, (outcome, words) in enumerate([("succeed", "all well"), ("abort", "what is that")], 1):
        navigator.send(4.0)
        speech.publish(String(data=words))
        client.until(partial(has_come, file, "/speech", number), words)
        navigator.end(outcome)
    well, failed = until_ended(client, file, 2)
    with pytest.raises(MemoryNotFoundError):
        file.data(well.id)
    data = file.data(failed.id)
    assert data.data_format == "mcap"
    assert data.metadata["messages"]["/speech"] == 2
    assert set(data.metadata["messages"]) == {"/speech", "/tf"}
    recording = tmp_path / "before.mcap"
    recording.write_bytes(data.data)
    with Bag(recording) as bag:
        assert [bag.deserialised(message).data for message in bag.messages(["/speech"])] == ["all well", "what is that"]
    problems = {topic: report.problem for topic, report in rings(file).items()}
    assert problems == {"/speech": "", "/tf": "", "/nobody": "nobody publishes it"}


def has_come(file: RobotMemory, topic: str, number: int) -> bool:
    """Return whether the node reports so many messages of one of `ring_topics`."""
    return rings(file)[topic].received >= number


def rings(file: RobotMemory) -> dict[str, TopicReport]:
    """Return what the node reports of `ring_topics`, by topic."""
    reports = file.status().intake.reports
    return {one.topic: one for report in reports for one in report.topics if one.role == "ring"}
