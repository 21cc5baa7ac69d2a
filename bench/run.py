"""The benchmark: one command, one table. Ours in process and through a real node beside the published robotmem.

    python3 bench/run.py [--memories 20000]

Needs the environment of `. scripts/env.sh` and the folder of the model in ROBOTMEM_MODEL. The peer is installed into an
environment of its own outside of the repository.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path

# The benchmark is a package, and it measures the source beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import rclpy

from bench.measure import load
from bench.node import ROOT, Client, memory_node, process
from bench.peer import DEFAULT_ENVIRONMENT, Peer, prepare
from bench.recall import measure_recall
from bench.saves import Files, fill_peer, fill_through_topic, save_rates
from bench.table import Results, text
from bench.world import make_world
from robotmem_ros.memory import RobotMemory

_LATER = 900
_SEED = 1


def main() -> int:
    """Measures and writes the table."""
    options = _options()
    # Nothing of this is for other machines, nor for other nodes of this one, to see.
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(215 + os.getpid() % 18)
    model = Path(os.environ.get("ROBOTMEM_MODEL", "")).expanduser()
    if not (model / "config.json").is_file():
        print("bench: ROBOTMEM_MODEL names no folder of a model; run `make bench`", file=sys.stderr)
        return 1
    python = prepare(options.peer_environment.expanduser())
    when, load_before = datetime.now(timezone.utc), load()
    with _folder(options.keep) as work:
        results = _measure(options, model, python, work)
    command = f"python3 bench/run.py --memories {options.memories}"
    page = text(results, command, f"{when:%Y-%m-%d %H:%M} UTC", f"{load_before} before, {load()} after")
    print(f"\n{page}")
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / f"{when:%Y-%m-%d}-{options.memories}.md"
    file.write_text(page)
    print(f"written to {file}")
    return 0


def _measure(options: argparse.Namespace, model: Path, python: Path, work: Path) -> Results:
    world = make_world(options.memories, _LATER, _SEED)
    files = Files(work)
    peer = Peer(python, work, model)
    rclpy.init()
    try:
        with closing(Client()) as client:
            print(f"storing {options.memories} memories", flush=True)
            ours = fill_through_topic(client, world, model, files)
            theirs = fill_peer(peer, world, files)
            with RobotMemory(files.in_process, embedding_model=str(model)) as memory:
                memory.warm_up()
                print("asking", flush=True)
                empty = process("empty_service", ["-m", "bench.empty_service"], work)
                least = process("least_service", ["-m", "bench.least_service", str(files.least), str(model)], work)
                with memory_node(files.node, model, work), empty, least:
                    client.wait_until_active(options.memories)
                    recalls = measure_recall(memory, client, peer, world, questions=options.questions)
                print("saving one by one", flush=True)
                rates = save_rates(memory, peer, world.later)
    finally:
        peer.end()
        rclpy.try_shutdown()
    return Results(options.memories, ours, theirs, recalls, rates)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-") as folder:
        yield Path(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures robotmem_ros beside the published robotmem.")
    parser.add_argument("--memories", type=int, default=20_000, help="how many memories each system holds (20000)")
    parser.add_argument("--questions", type=int, default=300, help="how many questions of each sort (300)")
    parser.add_argument(
        "--peer-environment",
        type=Path,
        default=Path(os.environ.get("ROBOTMEM_BENCH_PEER", DEFAULT_ENVIRONMENT)),
        help="virtual environment of the peer, made where it is missing (variable ROBOTMEM_BENCH_PEER)",
    )
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results", help="where the table is written")
    parser.add_argument("--keep", type=Path, help="a new folder for databases and logs, which are kept then")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
