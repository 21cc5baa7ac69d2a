"""The node as a process of its own, and a client that talks to it over the real ROS graph."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import Point, PointStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import serialize_message

from bench.measure import Asked
from bench.questions import Question
from bench.world import WorldMemory
from robotmem_ros.msg import MemoryStatus, Perception, SpatialSort
from robotmem_ros.srv import Recall

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = f"/bench_{os.getpid()}"
"""A memory node of someone else, in a domain that happens to be the same, must not take part."""
_PATIENCE = 60.0
_IN_FLIGHT = 800
"""Messages sent and not yet received: fewer than the depth of the node's queue, so that none is lost."""


@contextmanager
def process(name: str, arguments: Sequence[str], work: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a Python program of this repository; ended by its own id, politely first."""
    environment = dict(os.environ, ROS_LOG_DIR=str(work))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with (work / f"{name}.log").open("ab") as log:
        command = [sys.executable, *arguments, "--ros-args", "-r", f"__ns:={NAMESPACE}"]
        child = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield child
        finally:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@contextmanager
def memory_node(database: Path, model: Path, work: Path, **parameters: object) -> Iterator[None]:
    """The memory node on a database."""
    values = {"db_path": database, "embedding_model": model, **parameters}
    options = [part for name, value in values.items() for part in ("-p", f"{name}:={value}")]
    with process("memory_node", [str(ROOT / "scripts" / "memory_node"), "--ros-args", *options, "--"], work) as child:
        yield
    if child.returncode != 0:
        raise RuntimeError(f"memory_node ended with {child.returncode}; see {work / 'memory_node.log'}")


class Client:
    """A planner's side of the graph: asks `~/recall`, publishes on `~/perception`, follows `~/status`."""

    def __init__(self) -> None:
        self._node = rclpy.create_node("planner", namespace=NAMESPACE)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        # Who asks does nothing else: an executor looks at all it has for each answer, and that would count as ours.
        bare = {"start_parameter_services": False, "enable_rosout": False}
        self._asker = rclpy.create_node("asker", namespace=NAMESPACE, **bare)
        self._asking = SingleThreadedExecutor()
        self._asking.add_node(self._asker)
        self._recalls: dict[str, Any] = {}
        self._publisher = self._node.create_publisher(Perception, "memory/perception", 1000)
        self.status = MemoryStatus()
        latched = QoSProfile(
            depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
        )
        self._node.create_subscription(MemoryStatus, "memory/status", self._follow, latched)

    def close(self) -> None:
        """Leaves the graph."""
        for executor, node in ((self._asking, self._asker), (self._executor, self._node)):
            executor.shutdown()
            node.destroy_node()

    def wait(self, why: str, done: Callable[[], bool], patience: float = _PATIENCE) -> float:
        """Takes messages until something is so; the seconds that took.

        Raises:
            TimeoutError: it is not so after `patience` seconds without any new status.
        """
        began = last = time.perf_counter()
        seen = self.status
        while not done():
            self._executor.spin_once(timeout_sec=0.02)
            now = time.perf_counter()
            if self.status is not seen:
                seen, last = self.status, now
            if now - last > patience:
                raise TimeoutError(f"{why}: nothing for {patience:.0f} s; the last status was {self.status}")
        return time.perf_counter() - began

    def wait_until_active(self, memories: int) -> None:
        """Waits for a node that serves so many memories, with its model."""
        self.status = MemoryStatus()
        self.wait("activation", lambda: bool(self.status.mode == "hybrid" and self.status.memories == memories))

    def publish(self, memories: Sequence[WorldMemory]) -> float:
        """Publishes perceptions as quickly as the node takes them; the seconds until all are committed."""
        self.wait("a subscriber", lambda: bool(self._publisher.get_subscription_count()))
        # Serialised before: what is measured is the node, not its feeder.
        messages = [serialize_message(perception(memory)) for memory in memories]
        before, sent = int(self.status.stored), 0
        began = time.perf_counter()

        def settled() -> bool:
            nonlocal sent
            upto = min(len(messages), int(self.status.received) - before + _IN_FLIGHT)
            for message in messages[sent:upto]:
                self._publisher.publish(message)
            sent = max(sent, upto)
            return int(self.status.stored) - before == len(messages)

        self.wait("all perceptions stored", settled)
        return time.perf_counter() - began

    def ask(self, service: str, question: Question) -> Asked:
        """Asks a service of type Recall; the time is that of the caller, its message included."""
        if service not in self._recalls:
            self._recalls[service] = self._asker.create_client(Recall, service)
            self.wait(service, lambda: bool(self._recalls[service].service_is_ready()))
        began = time.perf_counter()
        future = self._recalls[service].call_async(_request(question))
        self._asking.spin_until_future_complete(future, timeout_sec=_PATIENCE)
        seconds = time.perf_counter() - began
        response = future.result()
        if response is None or not response.success:
            raise RuntimeError(f"{service} failed: {response.error if response else 'no answer'}")
        return Asked(seconds, tuple(memory.content for memory in response.memories))

    def _follow(self, status: MemoryStatus) -> None:
        self.status = status


class Service:
    """One service as a system under measurement."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name

    def ask(self, question: Question) -> Asked:
        """Answers one question and says how long that took."""
        return self._client.ask(self._name, question)


def _request(question: Question) -> Recall.Request:
    request = Recall.Request(query=question.query)
    if question.context_filter:
        request.context_filter = json.dumps(question.context_filter)
    if question.spatial_sort:
        x, y, z = question.spatial_sort["target"]
        target = PointStamped(point=Point(x=x, y=y, z=z))
        request.spatial_sort = [SpatialSort(field=question.spatial_sort["field"], target=target)]
    return request


def perception(memory: WorldMemory) -> Perception:
    """A memory of a world as a robot would publish it."""
    message = Perception(description=memory.content, context=json.dumps(memory.context))
    message.header.stamp.sec, fraction = int(memory.stamp), memory.stamp % 1
    message.header.stamp.nanosec = int(fraction * 1e9)
    return message
