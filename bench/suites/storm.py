"""Time recall through a real node while perceptions pour in.

The node is queried while nothing else happens, while repeated descriptions come in, and while new ones come in, each of
which needs its vector.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bench import ROOT
from bench.options import add_model
from bench.report import Conditions
from bench.ros import flood
from bench.ros.client import Client, Service
from bench.ros.graph import NAMESPACE, join, memory_node
from bench.table import show
from bench.timing import Series, query_in_turns
from bench.worlds.house import make_world
from bench.worlds.house_queries import Query, plain_queries

_HEAD = ("while", "p50, ms", "p95, ms", "p95 / idle", "stored a second", "lost")
_STORMS = {"repeated": "repeated descriptions come in", "perceptions": "new descriptions come in"}
_WARM_UP = 20
_STATUS_PERIOD = 0.1
_SECONDS = 60.0
_VECTORS = 600.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", type=int, default=1000, help="perceptions a second")
    parser.add_argument("--memories", type=int, default=20_000, help="number of memories before the storm")
    parser.add_argument("--queries", type=int, default=100, help="queries in each state")
    add_model(parser)


def run(options: argparse.Namespace) -> None:
    conditions = Conditions()
    with join(), closing(Client()) as client, tempfile.TemporaryDirectory(prefix="robotmem-storm-") as work:
        show(_HEAD, _rows(client, options, Path(work)))
    print(conditions)


def _rows(client: Client, options: argparse.Namespace, work: Path) -> Iterator[tuple[str, ...]]:
    queries = plain_queries(_WARM_UP + (1 + len(_STORMS)) * options.queries, 5)
    with memory_node(work / "memory.db", options.model, work, status_period=_STATUS_PERIOD):
        client.wait_until_active(0)
        client.publish(make_world(options.memories, 0, 1).memories)
        client.wait("vectors", lambda: client.status.pending_vectors == 0, _VECTORS)
        _recall(client, queries[:_WARM_UP])
        sets = [queries[start : start + options.queries] for start in range(_WARM_UP, len(queries), options.queries)]
        idle = _recall(client, sets[0])
        yield "nothing comes in", f"{idle.percentile(50):.1f}", f"{idle.percentile(95):.1f}", "1.0", "0", "0"
        for (kind, label), selection in zip(_STORMS.items(), sets[1:], strict=True):
            store_count, drops = int(client.status.stored), int(client.status.dropped)
            with _flood(kind, options.rate):
                client.wait("the storm", lambda: int(client.status.stored) > store_count + options.rate)  # noqa: B023
                first, start = int(client.status.stored), client.status.stamp
                series = _recall(client, selection)
                seconds = _seconds(client.status.stamp) - _seconds(start)
                rate = (int(client.status.stored) - first) / seconds
            losses = str(int(client.status.dropped) - drops)
            ratio = f"{series.percentile(95) / idle.percentile(95):.2f}"
            yield label, f"{series.percentile(50):.1f}", f"{series.percentile(95):.1f}", ratio, f"{rate:.0f}", losses


def _recall(client: Client, queries: Sequence[Query]) -> Series:
    series = query_in_turns({"ours": Service(client, "memory/recall")}, queries)["ours"]
    # No status was handled during the query, and a node without news sends none.
    until = time.perf_counter() + 3 * _STATUS_PERIOD
    client.wait("statuses", lambda: time.perf_counter() > until)
    return series


@contextmanager
def _flood(kind: str, rate: int) -> Iterator[None]:
    command = flood.command(kind, f"{NAMESPACE}/memory/perception", rate, _SECONDS, 77)
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        if child.poll() is not None:
            raise RuntimeError("the storm was over before the queries; run fewer")
    finally:
        child.terminate()
        child.wait()


def _seconds(stamp: object) -> float:
    return float(stamp.sec) + float(stamp.nanosec) / 1e9  # type: ignore[attr-defined]
