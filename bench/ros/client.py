"""A client of the memory node: queries `~/recall`, publishes on `~/perception`, follows `~/status`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from geometry_msgs.msg import Point, PointStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import serialize_message

from bench.ros.graph import NAMESPACE, PATIENCE
from bench.timing import Result
from bench.worlds.house import HouseMemory
from bench.worlds.house_queries import Query
from robotmem_ros.msg import MemoryStatus, Perception, SpatialSort
from robotmem_ros.srv import Recall

_IN_FLIGHT = 800
"""Messages sent and not yet received: fewer than the depth of the node's queue, so that none is lost."""


class Client:
    """A planner's side of the graph."""

    def __init__(self) -> None:
        self._node = rclpy.create_node("planner", namespace=NAMESPACE)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        # The caller has a separate node: an executor checks all its entities for each response, which would count
        # as time of the service.
        bare = {"start_parameter_services": False, "enable_rosout": False}
        self._caller = rclpy.create_node("caller", namespace=NAMESPACE, **bare)
        self._calls = SingleThreadedExecutor()
        self._calls.add_node(self._caller)
        self._recalls: dict[str, Any] = {}
        self._publisher = self._node.create_publisher(Perception, "memory/perception", 1000)
        self.status = MemoryStatus()
        latched = QoSProfile(
            depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
        )
        self._node.create_subscription(MemoryStatus, "memory/status", self._follow, latched)

    def close(self) -> None:
        """Leave the graph."""
        for executor, node in ((self._calls, self._caller), (self._executor, self._node)):
            executor.shutdown()
            node.destroy_node()

    def wait(self, purpose: str, is_done: Callable[[], bool], patience: float = PATIENCE) -> float:
        """Handle messages until a condition holds; return the seconds that took.

        Raises:
            TimeoutError: there was no new status for `patience` seconds.
        """
        start = last = time.perf_counter()
        status = self.status
        while not is_done():
            self._executor.spin_once(timeout_sec=0.02)
            now = time.perf_counter()
            if self.status is not status:
                status, last = self.status, now
            if now - last > patience:
                raise TimeoutError(f"{purpose}: nothing for {patience:.0f} s; the last status was {self.status}")
        return time.perf_counter() - start

    def handle(self) -> None:
        """Handle a message if one has come in."""
        self._executor.spin_once(timeout_sec=0.0)

    def wait_until_active(self, memories: int) -> None:
        """Wait for a node that has its model and so many memories."""
        self.status = MemoryStatus()
        self.wait("activation", lambda: bool(self.status.mode == "hybrid" and self.status.memories == memories))

    def publish(self, memories: Sequence[HouseMemory]) -> float:
        """Publish perceptions as quickly as the node takes them; return the seconds until all are committed."""
        self.wait("a subscriber", lambda: bool(self._publisher.get_subscription_count()))
        # Serialised before: the node is measured, not its publisher.
        messages = [serialize_message(perception(memory)) for memory in memories]
        before, count = int(self.status.stored), 0
        start = time.perf_counter()

        def settled() -> bool:
            nonlocal count
            upto = min(len(messages), int(self.status.received) - before + _IN_FLIGHT)
            for message in messages[count:upto]:
                self._publisher.publish(message)
            count = max(count, upto)
            return int(self.status.stored) - before == len(messages)

        self.wait("all perceptions stored", settled)
        return time.perf_counter() - start

    def recall(self, service: str, query: Query) -> Result:
        """Call a service of type Recall; the time is the caller's, with conversion of the messages."""
        if service not in self._recalls:
            self._recalls[service] = self._caller.create_client(Recall, service)
            self.wait(service, lambda: bool(self._recalls[service].service_is_ready()))
            self.wait(f"an answer of {service}", lambda: self._answers(service))
        start = time.perf_counter()
        future = self._recalls[service].call_async(_request(query))
        self._calls.spin_until_future_complete(future, timeout_sec=PATIENCE)
        seconds = time.perf_counter() - start
        response = future.result()
        if response is None or not response.success:
            raise RuntimeError(f"{service} failed: {response.error if response else 'no response'}")
        return Result(seconds, tuple(memory.content for memory in response.memories))

    def _answers(self, service: str) -> bool:
        # Until a service that has just started has found this side too, its responses are lost.
        future = self._recalls[service].call_async(Recall.Request(query="anything"))
        self._calls.spin_until_future_complete(future, timeout_sec=2.0)
        return bool(future.done())

    def _follow(self, status: MemoryStatus) -> None:
        self.status = status


class Service:
    """A service of type Recall as a system under measurement."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name

    def recall(self, query: Query) -> Result:
        """Run one query and time it."""
        return self._client.recall(self._name, query)


def _request(query: Query) -> Recall.Request:
    request = Recall.Request(query=query.text)
    if query.context_filter:
        request.context_filter = json.dumps(query.context_filter)
    if query.spatial_sort:
        x, y, z = query.spatial_sort["target"]
        target = PointStamped(point=Point(x=x, y=y, z=z))
        request.spatial_sort = [SpatialSort(field=query.spatial_sort["field"], target=target)]
    return request


def perception(memory: HouseMemory) -> Perception:
    """Return a memory of a world as a robot would publish it."""
    message = Perception(description=memory.content, context=json.dumps(memory.context))
    message.header.stamp.sec, fraction = int(memory.stamp), memory.stamp % 1
    message.header.stamp.nanosec = int(fraction * 1e9)
    return message
