"""Find how many messages a second a real node stores, from topic to commit.

- steps of rates: what was published in three seconds, what of it was committed, what was lost and why, and how long
  after the last message the last commit came
- the CPU that the node takes while 30 arrays of 20 detections come a second
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor

from bench import ROOT
from bench.ros import flood
from bench.ros.graph import NAMESPACE, PATIENCE, join, memory_node
from bench.table import show
from bench.usage import cpu_seconds

_HEAD = ("topic", "rate", "published/s", "perceptions/s", "stored", "seconds behind", "CPU", "lost")
_RATES = {"strings": (1000, 2000, 4000, 8000, 12_000), "detections": (30, 60, 100, 150, 200, 300)}
_FRAMES, _FRAME_SECONDS = 30, 10.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parts = (*_RATES, "frames")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts), help="what to measure")
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of each step")


def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-") as folder, join():
        if names := [name for name in _RATES if name in options.only]:
            show(_HEAD, chain.from_iterable(_rows(name, _RATES[name], options.seconds, Path(folder)) for name in names))
        if "frames" in options.only:
            (row,) = _rows("detections", [_FRAMES], _FRAME_SECONDS, Path(folder))
            cpu = row[_HEAD.index("CPU")]
            print(f"{_FRAMES} arrays of {flood.IN_AN_ARRAY} a second for {_FRAME_SECONDS:.0f} s: {cpu} of a core")


def _rows(name: str, rates: Iterable[float], seconds: float, work: Path) -> Iterator[tuple[str, ...]]:
    # Flood a separate node at each of the rates.
    topic, first = f"{NAMESPACE}/{name}", 0
    parameters = {
        "perception_topics": "[flood]", "flood.topic": topic, "flood.type": flood.type_of(name),
        "flood.qos.depth": 5000, "queue_limit": 100_000,
    }  # fmt: skip
    per_message = flood.IN_AN_ARRAY if name == "detections" else 1
    with closing(_Follower("flood")) as follower, memory_node(work / f"{name}.db", "", work, **parameters) as node:
        for rate in rates:
            follower.settle()
            (store_count, losses), cpu = follower.counts(), cpu_seconds(node.pid)
            command = flood.command(name, topic, rate, seconds, first)
            process = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=2 * PATIENCE
            )
            end = time.monotonic()
            published, took = map(float, process.stdout.split())
            behind = max(0.0, follower.settle() - end)
            store_count, losses = follower.counts()[0] - store_count, follower.counts()[1] - losses
            cpu = cpu_seconds(node.pid) - cpu
            yield (
                name, f"{rate:g}", f"{published / took:.0f}", f"{per_message * published / took:.0f}",
                f"{store_count}/{per_message * published:.0f}", f"{behind:.1f}", f"{100 * cpu / took:.0f} %",
                ", ".join(f"{number} {reason}" for reason, number in losses.items()) or "nothing",
            )  # fmt: skip
            first += round(rate * seconds)


class _Follower:
    """Follows what the node says about a topic on /diagnostics."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._node = rclpy.create_node("follower", namespace=NAMESPACE)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._follow, 10)
        self._values: dict[str, str] = {}

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()

    def counts(self) -> tuple[int, Counter[str]]:
        """Return the perceptions stored, and the messages or perceptions that were not, by reason."""
        left_out = {key.partition(".")[2]: int(value) for key, value in self._values.items() if "dropped." in key}
        return int(self._values.get("stored", 0)), Counter(left_out)

    def settle(self) -> float:
        """Wait until nothing changes and nothing is pending; return since when, by the monotonic clock."""
        last, before = time.monotonic(), self._changing()
        while time.monotonic() - last < 2.5:
            self._executor.spin_once(timeout_sec=0.05)
            if self._changing() != before or self._values.get("waiting", "0") != "0":
                last, before = time.monotonic(), self._changing()
        return last

    def _changing(self) -> tuple[object, ...]:
        return self._values.get("received"), *self.counts()

    def _follow(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith(f": {self._name}"):
                self._values = {value.key: value.value for value in status.values}
