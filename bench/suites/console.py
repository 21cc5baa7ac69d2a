"""Compare recall while nobody uses the console with recall while several clients hammer it.

A memory is queried in this process and, with `--ros`, by service calls to a node; a perception is stored every tenth
query. `robotmem web` serves the same file in another process. Blocks of queries with and without clients take turns.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench import ROOT
from bench.internals.database import save
from bench.options import add_model
from bench.table import show
from bench.worlds.house import HouseMemory, make_world
from bench.worlds.house_queries import Query, plain_queries
from robotmem_ros.memory import RobotMemory

_SEED = 7
_PACE = 0.01
"""Seconds between two queries."""
_BLOCKS = 3
_WARM_UP = 20
_SETTLE = 2.0
"""Seconds from the start of the clients to the first query."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=20_000, help="number of memories")
    parser.add_argument("--queries", type=int, default=200, help="number of queries in each of six blocks")
    parser.add_argument("--clients", type=int, default=8, help="number of clients")
    parser.add_argument("--ros", action="store_true", help="query a node, too")
    add_model(parser, required=False)


def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-") as folder:
        file = Path(folder) / "memory.db"
        with RobotMemory(file, embedding_model=options.model) as memory:
            _fill(memory, options.count)
            _measure("recall", _InProcess(memory), file, options)
        if options.ros:
            with _node(file, options.model) as system:
                _measure("~/recall over ROS", system, file, options)


class _System(Protocol):
    """A memory that is queried, and stores something now and then."""

    def recall(self, query: Query) -> float:
        """Run a query and return its seconds."""

    def save(self, memory: HouseMemory) -> None:
        """Store a perception."""


@dataclass
class _InProcess:
    memory: RobotMemory

    def recall(self, query: Query) -> float:
        start = time.perf_counter()
        self.memory.recall(**query.arguments())
        return time.perf_counter() - start

    def save(self, memory: HouseMemory) -> None:
        self.memory.save_perception(memory.content, pose=memory.position)


@contextmanager
def _node(file: Path, model: str) -> Iterator[_System]:
    # Without ROS the memory in process can still be measured.
    from bench.ros.client import Client
    from bench.ros.graph import join, memory_node

    class Node:
        """A memory node."""

        def recall(self, query: Query) -> float:
            return client.recall("memory/recall", query).seconds

        def save(self, memory: HouseMemory) -> None:
            client.publish([memory])

    with join(), closing(Client()) as client, memory_node(file, model, file.parent, status_period=0.1):
        client.wait("activation", lambda: client.status.mode == "hybrid")
        yield Node()


def _measure(name: str, system: _System, file: Path, options: argparse.Namespace) -> None:
    queries = plain_queries(_WARM_UP + 2 * _BLOCKS * options.queries, _SEED)
    new_memories = make_world(options.queries // 10 + 1, 0, _SEED + 1).memories
    idle: list[float] = []
    hammered: list[float] = []
    answers = refusals = 0
    _times(system, queries[:_WARM_UP], new_memories)
    with _console(file, options.model) as port:
        for block in range(_BLOCKS):
            begin = _WARM_UP + 2 * block * options.queries
            idle += _times(system, queries[begin : begin + options.queries], new_memories)
            with _clients(port, options.clients) as counts:
                hammered += _times(system, queries[begin + options.queries : begin + 2 * options.queries], new_memories)
            answers, refusals = answers + counts[0], refusals + counts[1]
    show(
        (name, "median ms", "p95 ms", "p99 ms"),
        [_row("console idle", idle), _row(f"console with {options.clients} clients", hammered)],
    )
    print(f"the console answered {answers:,} requests and refused or lost {refusals:,}")
    print(f"p95 with clients is {_percentile(hammered, 95) / _percentile(idle, 95):.2f} times that without")


def _fill(memory: RobotMemory, count: int) -> None:
    world = make_world(count, 0, _SEED)
    for one in world.memories:
        last = save(memory, one.content, pose=one.position, context=one.context, label=one.thing, as_object=False)
    last.result()
    memory.flush()
    memory.warm_up()


def _times(system: _System, queries: Sequence[Query], new_memories: Sequence[HouseMemory]) -> list[float]:
    times = []
    for number, query in enumerate(queries):
        times.append(system.recall(query))
        if number % 10 == 0:
            system.save(new_memories[number // 10])
        time.sleep(_PACE)
    return times


@contextmanager
def _console(file: Path, model: str) -> Iterator[int]:
    options = ["--port", "0", "--db", str(file), *([] if model else ["--no-model"])]
    command = [sys.executable, "-m", "robotmem_ros.cli", "web", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            match = re.search(r":(\d+)/", process.stdout.readline())
            if not match:
                raise RuntimeError("the console did not start")
            yield int(match[1])
        finally:
            process.terminate()


@contextmanager
def _clients(port: int, clients: int) -> Iterator[list[int]]:
    counts: list[int] = []
    command = [sys.executable, "-m", "bench.hammer", str(port), str(clients)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(_SETTLE)
        try:
            yield counts
        finally:
            output, _ = process.communicate()
            counts += map(int, output.split())


def _row(name: str, times: list[float]) -> tuple[str, ...]:
    return (name, *(f"{_percentile(times, percent):.1f}" for percent in (50, 95, 99)))


def _percentile(times: list[float], percent: int) -> float:
    return statistics.quantiles([1000 * seconds for seconds in times], n=100)[percent - 1]
