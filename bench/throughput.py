#!/usr/bin/env python3
"""How much a memory takes: through the real graph from topic to commit, and from recordings.

    python3 bench/throughput.py [--bag RECORDING ...] [--model FOLDER] [--only strings detections frames imports]

- steps of rates: what was published in three seconds, what of it was committed, what was lost and why, and how long
  after the last message the last commit came
- the CPU that the node takes while 30 arrays of 20 detections come a second
- imports: messages a second and multiples of real time
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor

from bench.flood import IN_AN_ARRAY, kind_of
from bench.imports import Imported, measure_import
from bench.node import NAMESPACE, ROOT, process
from demo.record_patrol import record

RATES = {"strings": (1000, 2000, 4000, 8000, 12_000), "detections": (30, 60, 100, 150, 200, 300)}
SECONDS = 3.0
_PATIENCE = 60.0
_FRAMES, _FRAME_SECONDS = 30, 10.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Step(NamedTuple):
    """One rate."""

    published: int
    """Messages."""
    stored: int
    """Perceptions."""
    lost: dict[str, int]
    """Messages or perceptions that were not stored, by reason."""
    took: float
    """Seconds of publishing."""
    behind: float
    """Seconds from the last message to the last commit, to a tenth of a second."""
    cpu: float
    """Seconds that the node took of a core."""


class Follower:
    """Follows what the node says of a topic on /diagnostics."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._node = rclpy.create_node("follower", namespace=NAMESPACE)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._follow, 10)
        self.values: dict[str, str] = {}

    def close(self) -> None:
        """Leaves the graph."""
        self._executor.shutdown()
        self._node.destroy_node()

    def counts(self) -> tuple[int, int, dict[str, int]]:
        """Messages received, perceptions stored, and what was left out by reason."""
        left_out = {key.partition(".")[2]: int(value) for key, value in self.values.items() if "left_out." in key}
        return int(self.values.get("received", 0)), int(self.values.get("stored", 0)), left_out

    def settle(self) -> float:
        """Waits until nothing changes and nothing waits any more; when that was, by the monotonic clock."""
        last, before = time.monotonic(), self.counts()
        while time.monotonic() - last < 2.5:
            self._executor.spin_once(timeout_sec=0.05)
            if self.counts() != before or self.values.get("waiting", "0") != "0":
                last, before = time.monotonic(), self.counts()
        return last

    def _follow(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith(f": {self._name}"):
                self.values = {value.key: value.value for value in status.values}


def live(name: str, rates: Iterable[float], seconds: float, work: Path) -> list[tuple[float, Step]]:
    """Floods a node of its own at each of the rates."""
    topic = f"{NAMESPACE}/{name}"
    parameters = {
        "db_path": work / f"{name}.db", "embedding_model": "''", "perception_topics": "[flood]", "flood.topic": topic,
        "flood.type": kind_of(name)[1], "flood.qos.depth": 5000, "queue_limit": 100_000,
    }  # fmt: skip
    options = [part for key, value in parameters.items() for part in ("-p", f"{key}:={value}")]
    node = [str(ROOT / "scripts" / "memory_node"), "--ros-args", *options, "--"]
    found = []
    first = 0
    with closing(Follower("flood")) as follower, process(f"node_{name}", node, work) as child:
        for rate in rates:
            follower.settle()
            found.append((rate, _step(follower, child.pid, [name, topic, str(rate), str(seconds), str(first)])))
            first += round(rate * seconds)
    return found


def _step(follower: Follower, pid: int, arguments: Sequence[str]) -> Step:
    before, cpu = follower.counts(), _cpu(pid)
    command = [sys.executable, "-m", "bench.flood", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=_PATIENCE + SECONDS)
    ended = time.monotonic()
    published, took = done.stdout.split()
    settled = follower.settle()
    after = follower.counts()
    lost = {reason: number - before[2].get(reason, 0) for reason, number in after[2].items()}
    return Step(
        int(published), after[1] - before[1], {reason: number for reason, number in lost.items() if number},
        float(took), max(0.0, settled - ended), _cpu(pid) - cpu,
    )  # fmt: skip


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _live_rows(name: str, steps: Iterable[tuple[float, Step]]) -> list[tuple[str, ...]]:
    each = IN_AN_ARRAY if name == "detections" else 1
    return [
        (
            name, f"{rate:g}", f"{step.published / step.took:.0f}", f"{each * step.published / step.took:.0f}",
            f"{step.stored}/{each * step.published}", f"{step.behind:.1f}", f"{100 * step.cpu / step.took:.0f} %",
            ", ".join(f"{number} {reason}" for reason, number in step.lost.items()) or "nothing",
        )
        for rate, step in steps
    ]  # fmt: skip


def _import_row(one: Imported) -> tuple[str, ...]:
    return (
        one.bag, one.how, str(one.messages), str(one.stored), f"{one.seconds:.2f}",
        f"{one.messages / one.seconds:,.0f}", f"{one.span / one.seconds:,.0f}",
    )  # fmt: skip


def _print(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(flush=True)


def main() -> None:
    """Prints the tables."""
    options = _options()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(215 + os.getpid() % 18)
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-") as folder:
        work = Path(folder)
        rclpy.init()
        steps = [row for name in RATES if name in options.only for row in _live_rows(name, _steps(name, work))]
        if steps:
            _print(("topic", "rate", "published/s", "perceptions/s", "stored", "seconds behind", "CPU", "lost"), steps)
        if "frames" in options.only:
            _print_frames(work)
        rclpy.try_shutdown()
        if "imports" in options.only:
            _measure_imports(work, options)


def _steps(name: str, work: Path) -> list[tuple[float, Step]]:
    return live(name, RATES[name], SECONDS, work)


def _print_frames(work: Path) -> None:
    ((_, step),) = live("detections", [_FRAMES], _FRAME_SECONDS, work)
    print(f"{_FRAMES} arrays of {IN_AN_ARRAY} a second for {step.took:.0f} s: {step.cpu / step.took:.0%} of a core\n")


def _measure_imports(work: Path, options: Any) -> None:
    record(work / "patrol")
    rows = [
        _import_row(measure_import(bag, work, model=model, sampled=sampled))
        for bag in (work / "patrol", *options.bag)
        for sampled in (True, False)
        for model in ("", *([options.model] if options.model else ()))
    ]
    _print(("recording", "stored is", "messages", "stored", "seconds", "messages/s", "times real time"), rows)


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bag", type=Path, nargs="+", default=[], help="more recordings to import")
    parser.add_argument("--model", default=os.environ.get("ROBOTMEM_MODEL", ""), help="folder of the model")
    parts = (*RATES, "frames", "imports")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, help="what to measure")
    return parser.parse_args()


if __name__ == "__main__":
    main()
