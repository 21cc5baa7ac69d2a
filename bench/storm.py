"""How long a recall takes while perceptions pour in: `python3 bench/storm.py [--rate 1000] [--memories 20000]`.

A real node, asked through its service: while nothing else goes on, while repeated descriptions come in, and while new
ones do, each of which needs its vector. Needs the environment of `. scripts/env.sh` and the model in ROBOTMEM_MODEL.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import rclpy

from bench.markdown import markdown
from bench.measure import Series, ask_in_turns, load
from bench.node import NAMESPACE, ROOT, Client, Service, memory_node
from bench.questions import Question, plain_questions
from bench.world import make_world

_HEAD = ("while", "p50, ms", "p95, ms", "p95 / idle", "stored a second", "lost")
_STORMS = {"repeated": "repeated descriptions come in", "perceptions": "new descriptions come in"}
_WARM_UP = 20
_STATUS_PERIOD = 0.1
_SECONDS = 60.0
_VECTORS = 600.0


def main() -> int:
    """Measures and prints the table."""
    options = _options()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(215 + os.getpid() % 18)
    model = Path(os.environ.get("ROBOTMEM_MODEL", "")).expanduser()
    if not (model / "config.json").is_file():
        print("storm: ROBOTMEM_MODEL names no folder of a model", file=sys.stderr)
        return 1
    before = load()
    rclpy.init()
    try:
        with closing(Client()) as client, tempfile.TemporaryDirectory(prefix="robotmem-storm-") as work:
            rows = list(_rows(client, options, model, Path(work)))
    finally:
        rclpy.try_shutdown()
    command = f"python3 bench/storm.py --rate {options.rate} --memories {options.memories}"
    print(f"`{command}`, load average {before} before, {load()} after\n")
    print("\n".join(markdown(_HEAD, rows)))
    return 0


def _rows(client: Client, options: argparse.Namespace, model: Path, work: Path) -> Iterator[tuple[str, ...]]:
    asked = plain_questions(_WARM_UP + (1 + len(_STORMS)) * options.questions, 5)
    with memory_node(work / "memory.db", model, work, status_period=_STATUS_PERIOD):
        client.wait_until_active(0)
        client.publish(make_world(options.memories, 0, 1).memories)
        client.wait("vectors", lambda: client.status.pending_vectors == 0, _VECTORS)
        _ask(client, asked[:_WARM_UP])
        sets = [asked[start : start + options.questions] for start in range(_WARM_UP, len(asked), options.questions)]
        idle = _ask(client, sets[0])
        yield "nothing comes in", f"{idle.median():.1f}", f"{idle.p95():.1f}", "1.0", "0", "0"
        for (kind, told), questions in zip(_STORMS.items(), sets[1:], strict=True):
            stored, refused = int(client.status.stored), int(client.status.refused)
            with _flood(kind, options.rate):
                client.wait("the storm", lambda: int(client.status.stored) > stored + options.rate)  # noqa: B023
                first, began = int(client.status.stored), client.status.stamp
                series = _ask(client, questions)
                seconds = _seconds(client.status.stamp) - _seconds(began)
                rate = (int(client.status.stored) - first) / seconds
            lost = str(int(client.status.refused) - refused)
            ratio = f"{series.p95() / idle.p95():.2f}"
            yield told, f"{series.median():.1f}", f"{series.p95():.1f}", ratio, f"{rate:.0f}", lost


def _ask(client: Client, questions: Sequence[Question]) -> Series:
    series = ask_in_turns({"ours": Service(client, "memory/recall")}, questions)["ours"]
    # Nobody took statuses meanwhile; a node with nothing to tell sends none.
    until = time.perf_counter() + 3 * _STATUS_PERIOD
    client.wait("statuses", lambda: time.perf_counter() > until)
    return series


@contextmanager
def _flood(kind: str, rate: int) -> Iterator[None]:
    arguments = ["-m", "bench.flood", kind, f"{NAMESPACE}/memory/perception", str(rate), str(_SECONDS), "77"]
    command = [sys.executable, *arguments]
    flood = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        if flood.poll() is not None:
            raise RuntimeError("the storm was over before the questions; ask fewer")
    finally:
        flood.terminate()
        flood.wait()


def _seconds(stamp: object) -> float:
    return float(stamp.sec) + float(stamp.nanosec) / 1e9  # type: ignore[attr-defined]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures recall while perceptions pour in.")
    parser.add_argument("--rate", type=int, default=1000, help="perceptions a second (1000)")
    parser.add_argument("--memories", type=int, default=20_000, help="how many there are before (20000)")
    parser.add_argument("--questions", type=int, default=100, help="questions in each state (100)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
