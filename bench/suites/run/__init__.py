"""Compare with the published robotmem in one run: ours in process and through a real node.

Writes one table. robotmem is installed into a separate virtual environment.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.options import add_environments, add_model, add_results
from bench.peers import environment
from bench.peers.robotmem_client import Robotmem
from bench.report import Report
from bench.ros.client import Client
from bench.ros.graph import join, memory_node, process
from bench.suites.run import page
from bench.suites.run.recall import measure_recall
from bench.suites.run.saves import Files, fill_robotmem, fill_through_topic, measure_saves
from bench.worlds.house import make_world
from robotmem_ros.memory import RobotMemory

_LATER = 900
_SEED = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=20_000, help="number of memories in each system")
    parser.add_argument("--queries", type=int, default=300, help="queries of each sort")
    parser.add_argument("--keep", type=Path, help="new folder for databases and logs, which are kept then")
    add_model(parser, default="small")  # the published one needs tokenizer.json, which the default model has not
    add_environments(parser)
    add_results(parser)


def run(options: argparse.Namespace) -> None:
    python = environment.of_robotmem(options.environments)
    report = Report(options.results, str(options.memories))
    with _folder(options.keep) as work, join():
        results = _measure(options, python, work)
    title = f"{options.memories} memories beside {Robotmem.name}"
    report.write(title, page.table(results), page.notes(results))


def _measure(options: argparse.Namespace, python: Path, work: Path) -> page.Results:
    world = make_world(options.memories, _LATER, _SEED)
    files = Files(work)
    with closing(Robotmem(python, work, options.model)) as robotmem, closing(Client()) as client:
        print(f"storing {options.memories} memories", flush=True)
        node_fill = fill_through_topic(client, world, options.model, files)
        peer_fill = fill_robotmem(robotmem, world, files)
        with RobotMemory(files.in_process, embedding_model=options.model) as memory:
            memory.warm_up()
            services = ["-m", "bench.ros.services"]
            empty = process("empty_service", [*services, "empty"], work)
            least_service = process("least_service", [*services, "least", str(files.least_file), options.model], work)
            with memory_node(files.node, options.model, work), empty, least_service:
                client.wait_until_active(options.memories)
                recalls = measure_recall(memory, client, robotmem, world, options.queries)
            print("saving one by one", flush=True)
            saves = measure_saves(memory, robotmem, world.later)
    return page.Results(options.memories, node_fill, peer_fill, recalls, saves)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-") as folder:
        yield Path(folder)
