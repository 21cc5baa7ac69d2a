"""A real ROS graph for tests: a memory node in a process of its own, and a client that talks to it over DDS."""

from __future__ import annotations

import math
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from lifecycle_msgs.srv import GetState
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

from robotmem_ros.msg import MemoryStatus

from ..forks import Forked, fork_server

EXECUTABLE = Path(__file__).resolve().parents[3] / "scripts" / "memory_node"
DEADLINE = 180.0
"""Seconds after which a test gives up: on a machine that does much else, all takes long."""
_FIRST_PORT = 27_300
_MAIN = "import sys, robotmem_ros.node.main\nsys.exit(robotmem_ros.node.main.main())"
_IMPORTED = (
    "robotmem_ros.node.main", "rclpy.experimental.events_executor", "rosidl_generator_py", "rosidl_parser.parser",
    "sensor_msgs.msg", "nav_msgs.msg", "vision_msgs.msg", "tf2_msgs.msg", "type_description_interfaces.msg", "bond.msg",
    "sqlite_vec",
)  # fmt: skip
"""What a node imports until it is active, but the runtime of the model, which is none after a fork."""


@contextmanager
def own_domain() -> Iterator[int]:
    """Reserve a ROS domain by binding a port, so that no other run of these tests on this machine uses it.

    A domain in which somebody takes part already, such as a demo that was kept, is not taken.
    """
    for domain in random.sample(range(1, 100), 99):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reservation:
            try:
                reservation.bind(("127.0.0.1", _FIRST_PORT + domain))
                _check_is_empty(domain)
            except OSError:
                continue
            yield domain
            return
    raise RuntimeError("no free ROS domain")


def _check_is_empty(domain: int) -> None:
    # Where the participants of a domain listen: one may be left of a run that was killed.
    for participant in range(20):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("", 7410 + 250 * domain + 2 * participant))


def _started(command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("w") as output:
        return subprocess.Popen(
            [sys.executable, *command],
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _forked(command: list[str], environment: dict[str, str], log: Path) -> Forked:
    with Path(os.devnull).open() as nothing, log.open("w") as output:
        return Forked(fork_server(*_IMPORTED), _MAIN, command, environment, nothing, output, output)


class NodeProcess:
    """`memory_node` as a process: started anew if it has an environment of its own, else forked.

    What it prints goes to a file.
    """

    def __init__(self, domain: int, log: Path, arguments: list[str], environment: dict[str, str] | None = None) -> None:
        self._log = log
        log.touch()
        command = [str(EXECUTABLE), "--ros-args", *arguments]
        variables = {**os.environ, "ROS_DOMAIN_ID": str(domain), **(environment or {})}
        self._process = _started(command, variables, log) if environment else _forked(command, variables, log)
        self.pid = self._process.pid

    @property
    def output(self) -> str:
        """Return what the node printed so far."""
        return self._log.read_text(errors="replace")

    def ended(self) -> int:
        """Wait for the node to end by itself; return its exit code."""
        return self._process.wait(DEADLINE)

    def pause(self) -> None:
        """Let the node do nothing more until it is ended."""
        self._process.send_signal(signal.SIGSTOP)

    def stop(self, number: int = signal.SIGINT, *, again_every: float = math.inf) -> int:
        """Send a signal, or one after the other so many seconds apart, and wait; return the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        while math.isfinite(again_every) and self._process.poll() is None:
            time.sleep(again_every)
            self._process.send_signal(number)
        try:
            return self._process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(DEADLINE)
            raise AssertionError(f"the node did not end after signal {number}:\n{self.output}") from None


class Client:
    """A node of the test's own process, in a context of its own."""

    def __init__(self, domain: int, **node_options: Any) -> None:
        self.domain = domain
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = Node("test_client", context=self._context, **node_options)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}
        self.status: MemoryStatus | None = None
        self.node.create_subscription(
            MemoryStatus,
            "/memory/status",
            self._keep_status,
            QoSProfile(
                depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
            ),
        )

    def of(self, service: Any, name: str) -> Any:
        """Return the client of /memory/<name>."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(
                service, f"/memory/{name}", qos_profile=QoSProfile(depth=1000)
            )
        return self._clients[name]

    def start(self, service: Any, name: str, /, **fields: Any) -> Any:
        """Send a request to /memory/<name>; return the future of its response."""
        is_new = name not in self._clients
        client = self.of(service, name)
        assert client.wait_for_service(DEADLINE), f"no service /memory/{name}"
        if is_new:
            self._greet()
        return client.call_async(service.Request(**fields))

    def _greet(self) -> None:
        # What is found last is a client that was made last: when that is answered, all others are known to the node.
        greeting = self.node.create_client(GetState, "/memory/get_state")
        self.ask(greeting, GetState.Request())
        self.node.destroy_client(greeting)

    def ask(self, client: Any, request: Any) -> Any:
        """Send a request to a process that has just started until it answers; return the response.

        wait_for_service() tells that this side has found the service. Until the service has found this side too,
        its responses are lost.
        """
        assert client.wait_for_service(DEADLINE), f"no service {client.srv_name}"
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            future = client.call_async(request)
            self._executor.spin_until_future_complete(future, timeout_sec=2.0)
            if future.done():
                return future.result()
            client.remove_pending_request(future)
        raise AssertionError(f"no answer of {client.srv_name}")

    def result(self, future: Any) -> Any:
        """Wait for a response."""
        self._executor.spin_until_future_complete(future, timeout_sec=DEADLINE)
        assert future.done(), "no answer"
        return future.result()

    def call(self, service: Any, name: str, /, **fields: Any) -> Any:
        """Call /memory/<name> and wait for the response."""
        return self.result(self.start(service, name, **fields))

    def publisher(self, kind: Any, topic: str, qos: Any = 1000) -> Any:
        """Return a publisher that the node has found."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self.until(lambda: publisher.get_subscription_count() > 0, f"a subscription of {topic}")
        return publisher

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Spin until a condition holds."""
        deadline = time.monotonic() + DEADLINE
        while not holds():
            assert time.monotonic() < deadline, f"waited in vain for {what}; last status: {self.status}"
            self._executor.spin_once(timeout_sec=0.05)

    def until_active(self, mode: str = "") -> MemoryStatus:
        """Spin until the node accepts messages and requests, in `mode` if given; return its status."""
        return self.until_status(
            lambda status: status.state == "active" and mode in ("", status.mode), f"an active node {mode}"
        )

    def until_status(self, holds: Callable[[MemoryStatus], bool], what: str) -> MemoryStatus:
        """Spin until a status meets a condition; return that status."""
        self.until(lambda: self.status is not None and holds(self.status), what)
        assert self.status is not None
        return self.status

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _keep_status(self, message: MemoryStatus) -> None:
        self.status = message
