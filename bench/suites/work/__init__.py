"""Let a robot work for minutes: perceptions and recalls come in all the time, through a node and in process.

Both sides take in the same perceptions, each with a text of its own, and the same queries, one after the other: first
the core in a process of its own, then a real node. A row tells of one period: the memories at its end, the CPU that a
process took (100 % is a core), its resident set, and how long recalls took; those of the node with the graph.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench import ROOT
from bench.options import add_model
from bench.report import Conditions
from bench.ros import flood
from bench.ros.client import Client
from bench.ros.graph import NAMESPACE, PATIENCE, join, memory_node
from bench.suites.work.periods import SEED, Period, Work, recall_steadily
from bench.table import show
from bench.usage import cpu_seconds, resident_bytes

_HEAD = (
    "memories", "CPU, core", "CPU, node", "node / core", "RSS, core, MB", "RSS, node, MB", "recall p50 / p95, core, ms",
    "recall p50 / p95, node, ms",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", type=int, default=200, help="perceptions a second")
    parser.add_argument("--recalls", type=float, default=5.0, help="recalls a second")
    parser.add_argument("--periods", type=int, default=10, help="number of periods")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of a period")
    add_model(parser)


def run(options: argparse.Namespace) -> None:
    conditions = Conditions()
    work = Work(options.rate, options.recalls, options.periods, options.seconds)
    with tempfile.TemporaryDirectory(prefix="robotmem-work-") as folder:
        core = list(_core(work, options.model, Path(folder)))
        losses: list[int] = []
        show(_HEAD, _rows(core, _node(work, options.model, Path(folder), losses)))
    print(f"lost by the node: {sum(losses)} of {work.rate * work.periods * work.seconds:.0f}")
    print(conditions)


def _rows(core: list[Period], node: Iterator[Period]) -> Iterator[tuple[str, ...]]:
    for inside, outside in zip(core, node, strict=True):
        yield (
            f"{outside.memories:,}", f"{100 * inside.cpu:.0f} %", f"{100 * outside.cpu:.0f} %",
            f"{outside.cpu / inside.cpu:.2f}", f"{inside.resident / 1e6:.0f}", f"{outside.resident / 1e6:.0f}",
            _percentiles(inside.recalls), _percentiles(outside.recalls),
        )  # fmt: skip


def _percentiles(seconds: list[float]) -> str:
    return " / ".join(f"{1000 * value:.1f}" for value in np.percentile(seconds, (50, 95)))


def _core(work: Work, model: str, folder: Path) -> Iterator[Period]:
    command = [sys.executable, "-m", "bench.suites.work.core", str(folder / "core.db"), model, json.dumps(work)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield from (Period(**json.loads(line)) for line in child.stdout)
    if child.returncode:
        raise RuntimeError(f"the core ended with {child.returncode}")


def _node(work: Work, model: str, folder: Path, losses: list[int]) -> Iterator[Period]:
    with (
        join(), closing(Client()) as client, memory_node(folder / "node.db", model, folder, status_period=1.0) as node,
    ):  # fmt: skip
        client.wait_until_active(0)

        def usage() -> dict[str, Any]:
            return {
                "memories": int(client.status.memories), "cpu": cpu_seconds(node.pid),
                "resident": resident_bytes(node.pid),
            }  # fmt: skip

        def recall(query: Any) -> float:
            seconds = client.recall("memory/recall", query).seconds
            client.handle()
            return seconds

        with _flood(work):
            client.wait("the first perceptions", lambda: int(client.status.stored) > 0)
            yield from recall_steadily(work, recall, usage)
        end = time.perf_counter()
        client.wait("the last status", lambda: time.perf_counter() > end + 3.0, PATIENCE)
        losses.append(int(client.status.dropped))


@contextmanager
def _flood(work: Work) -> Iterator[None]:
    seconds = work.periods * work.seconds + PATIENCE
    command = flood.command("perceptions", f"{NAMESPACE}/memory/perception", work.rate, seconds, SEED)
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        if child.poll() is not None:
            raise RuntimeError("the perceptions were over before the recalls")
    finally:
        child.terminate()
        child.wait()
