"""The demo's side of the ROS graph: a node that plays a recording, tells facts, and asks as a planner would."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosbags.rosbag2 import Reader

from demo.record_patrol import TOPIC
from robotmem_ros.msg import MemoryStatus, Perception
from robotmem_ros.srv import Learn, Recall

_LATCHED = QoSProfile(
    depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
)
_LOSSLESS = QoSProfile(depth=1000, reliability=QoSReliabilityPolicy.RELIABLE)
_TURN = 0.05


class DemoError(Exception):
    """The demo cannot go on; the message gives the reason."""


class Planner:
    """Client of the node `memory` in a namespace, on a ROS domain; None means the one of the environment.

    `check` is called while waiting, and may raise if waiting has become pointless.
    """

    def __init__(self, domain: int | None, check: Callable[[], None] = lambda: None, namespace: str = "") -> None:
        self.status = MemoryStatus()
        self._check = check
        self._context = Context()
        # Signals stay Python's: Ctrl-C must reach whoever has to end the memory node.
        rclpy.init(context=self._context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("planner", namespace=namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._recall = self._node.create_client(Recall, "memory/recall")
        self._learn = self._node.create_client(Learn, "memory/learn")
        self._perceptions = self._node.create_publisher(Perception, "memory/perception", _LOSSLESS)
        self._node.create_subscription(MemoryStatus, "memory/status", self._take_status, _LATCHED)

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def wait_until(self, is_done: Callable[[], bool], *, seconds: float, purpose: str) -> None:
        """Take messages until `done`.

        Raises:
            DemoError: `seconds` passed before.
        """
        deadline = time.monotonic() + seconds
        while not is_done():
            self._check()
            if time.monotonic() > deadline:
                raise DemoError(f"waited {seconds:.0f} s in vain until {purpose}")
            self._executor.spin_once(timeout_sec=_TURN)

    def wait_for_node(self, seconds: float) -> None:
        """Wait until the memory node is active and connected both ways."""
        self.wait_until(lambda: self.status.state == "active", seconds=seconds, purpose="the memory node is active")
        self.wait_until(
            lambda: self._perceptions.get_subscription_count() > 0 and self._recall.service_is_ready(),
            seconds=seconds,
            purpose="the memory node listens",
        )

    def play(
        self, recording: Path, *, speed: float, progress: Callable[[int, int], None], between: range | None = None
    ) -> None:
        """Publish the perceptions of a recording with their own stamps, `speed` times as fast as they were recorded.

        `between` is the times of those to publish, in nanoseconds; None means all.
        """
        with Reader(recording) as reader:
            heard = [connection for connection in reader.connections if connection.topic == TOPIC]
            messages = [
                (time_ns, bytes(raw))
                for _, time_ns, raw in reader.messages(heard)
                if between is None or time_ns in between
            ]
        start, first = time.monotonic(), messages[0][0]
        for count, (time_ns, raw) in enumerate(messages, start=1):
            next_time = start + (time_ns - first) / 1e9 / speed
            self._check()
            while (remaining_time := next_time - time.monotonic()) > 0:
                self._executor.spin_once(timeout_sec=remaining_time)
            self._perceptions.publish(raw)
            progress(count, len(messages))

    def recall(self, request: Recall.Request) -> tuple[Recall.Response, float]:
        """Call `~/recall`; return the response and the milliseconds it took."""
        start = time.perf_counter()
        response = self._call(self._recall, request)
        return response, (time.perf_counter() - start) * 1e3

    def learn(self, fact: str) -> None:
        """Let the robot learn a fact.

        Raises:
            DemoError: it was refused.
        """
        response = self._call(self._learn, Learn.Request(insight=fact))
        if not response.success:
            raise DemoError(f"{fact!r} was not learned: {response.error}")

    def _call(self, client: Any, request: object) -> Any:
        future = client.call_async(request)
        self.wait_until(future.done, seconds=10.0, purpose="the memory node answers")
        return future.result()

    def _take_status(self, status: MemoryStatus) -> None:
        self.status = status
