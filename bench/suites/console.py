"""Compare recall while nobody uses the console with recall while several clients hammer it.

A memory is queried in this process, as by a node, and stores a perception every tenth query. `robotmem web` serves the
same file in another process. Blocks of queries with and without clients take turns.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import ROOT
from bench.internals.database import save
from bench.options import add_model
from bench.table import show
from bench.worlds.house import make_world
from bench.worlds.house_queries import Query, plain_queries
from robotmem_ros.memory import RobotMemory

_SEED = 7
_PACE = 0.01
"""Seconds between two queries."""
_BLOCKS = 3
_SETTLE = 2.0
"""Seconds from the start of the clients to the first query."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=20_000, help="number of memories")
    parser.add_argument("--queries", type=int, default=200, help="number of queries in each of six blocks")
    parser.add_argument("--clients", type=int, default=8, help="number of clients")
    add_model(parser, required=False)


def run(options: argparse.Namespace) -> None:
    queries = plain_queries(2 * _BLOCKS * options.queries, _SEED)
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-") as folder:
        file = Path(folder) / "memory.db"
        with RobotMemory(file, embedding_model=options.model) as memory:
            _fill(memory, options.count)
            idle: list[float] = []
            hammered: list[float] = []
            answered = refused = 0
            with _console(file, options.model) as port:
                for block in range(_BLOCKS):
                    begin = 2 * block * options.queries
                    idle += _times(memory, queries[begin : begin + options.queries])
                    with _clients(port, options.clients) as counts:
                        hammered += _times(memory, queries[begin + options.queries : begin + 2 * options.queries])
                    answered, refused = answered + counts[0], refused + counts[1]
    show(
        ("recall", "median ms", "p95 ms", "p99 ms"),
        [_row("console idle", idle), _row(f"console with {options.clients} clients", hammered)],
    )
    print(f"the console answered {answered:,} requests and refused or lost {refused:,}")
    print(f"p95 with clients is {_percentile(hammered, 95) / _percentile(idle, 95):.2f} times that without")


def _fill(memory: RobotMemory, count: int) -> None:
    world = make_world(count, 0, _SEED)
    for one in world.memories:
        last = save(memory, one.content, pose=one.position, context=one.context, label=one.thing, as_object=False)
    last.result()
    memory.flush()
    memory.warm_up()


def _times(memory: RobotMemory, queries: list[Query]) -> list[float]:
    times = []
    for number, query in enumerate(queries):
        began = time.perf_counter()
        memory.recall(**query.arguments())
        times.append(time.perf_counter() - began)
        if number % 10 == 0:
            memory.save_perception(f"a thing that came by, number {number}", pose=[1.0, 2.0, 0.0])
        time.sleep(_PACE)
    return times


@contextmanager
def _console(file: Path, model: str) -> Iterator[int]:
    options = ["--port", "0", "--db", str(file), *([] if model else ["--no-model"])]
    command = [sys.executable, "-m", "robotmem_ros.cli", "web", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r":(\d+)/", process.stdout.readline())
            if not found:
                raise RuntimeError("the console did not start")
            yield int(found[1])
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
            printed, _ = process.communicate()
            counts += map(int, printed.split())


def _row(name: str, times: list[float]) -> tuple[str, ...]:
    return (name, *(f"{_percentile(times, percent):.1f}" for percent in (50, 95, 99)))


def _percentile(times: list[float], percent: int) -> float:
    return statistics.quantiles([1000 * one for one in times], n=100)[percent - 1]
