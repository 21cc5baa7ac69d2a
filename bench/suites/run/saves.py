"""Measure how many memories a second are saved, and their bytes: through the topic, in process, and by robotmem.

robotmem's world is loaded with the vectors that our node computed for the same texts, by the same model: that spares
minutes and changes no figure. What robotmem saves in a second is measured afterwards, the model included.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.internals.database import vectors_by_text
from bench.peers.robotmem_client import Robotmem, as_json
from bench.ros.client import Client
from bench.ros.graph import memory_node
from bench.worlds.house import HouseMemory, World
from robotmem_ros.memory import RobotMemory

_STATUS_PERIOD = 0.05
_VECTOR_PATIENCE = 120.0


class Files:
    """The databases of a run."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.node = work / "node.db"
        # Copies of the node's, so that nobody waits for another's lock.
        self.in_process = work / "in_process.db"
        self.least_file = work / "least.db"
        self.robotmem = work / "robotmem.db"


@dataclass(frozen=True)
class Filled:
    """Cost of storing the whole world: seconds, and bytes on disk per memory."""

    stored_seconds: float
    vector_seconds: float
    bytes_each: float


@dataclass(frozen=True)
class Saves:
    """Memories saved a second into the whole world, one call after the other, new texts, model included."""

    learn: float
    peer_learn: float
    """With its search for similar memories, as published."""
    peer_learn_alone: float
    """Without that search."""
    peer_save: float
    peer_published: int
    """Number of `sample` that robotmem's learn keeps as published."""
    sample: int


def fill_through_topic(client: Client, world: World, model: str, files: Files) -> Filled:
    """Publish the world to a node with an empty database, wait for its vectors, and copy the database."""
    with memory_node(files.node, model, files.work, status_period=_STATUS_PERIOD):
        client.wait_until_active(0)
        start = time.perf_counter()
        count = client.publish(world.memories)
        print(f"  topic: {len(world.memories)} stored in {count:.1f} s; waiting for the vectors", flush=True)
        client.wait("vectors", lambda: client.status.pending_vectors == 0, _VECTOR_PATIENCE)
        embedding_time = time.perf_counter() - start
    if client.status.dropped:
        raise RuntimeError(f"the node dropped {client.status.dropped} perceptions: {client.status.drop_reasons}")
    bytes_each = _bytes_on_disk(files.node) / len(world.memories)
    for copy in (files.in_process, files.least_file):
        shutil.copy(files.node, copy)
    return Filled(count, embedding_time, bytes_each)


def fill_robotmem(robotmem: Robotmem, world: World, files: Files) -> Filled:
    """Have robotmem learn the world without its search for similar memories; the time is without the model.

    Raises:
        RuntimeError: it did not keep all memories, so that nothing can be compared.
    """
    rows, vectors = files.work / "world.jsonl", files.work / "vectors.npy"
    rows.write_text("".join(json.dumps(as_json(memory)) + "\n" for memory in world.memories))
    known = vectors_by_text(files.node)
    np.save(vectors, np.stack([known[memory.content] for memory in world.memories]))
    robotmem.open(files.robotmem)
    report = robotmem.load(rows, vectors, len(world.memories))
    print(f"  robotmem: {report.rows} loaded in {report.seconds:.1f} s", flush=True)
    if report.rows != len(world.memories):
        raise RuntimeError(f"robotmem kept {report.rows} of {len(world.memories)} memories")
    robotmem.call("close")
    bytes_each = _bytes_on_disk(files.robotmem) / len(world.memories)
    robotmem.open(files.robotmem)
    return Filled(report.seconds, report.seconds, bytes_each)


def measure_saves(memory: RobotMemory, robotmem: Robotmem, later: tuple[HouseMemory, ...]) -> Saves:
    """Measure single saves, ours in process and robotmem's, each with texts that are new to it."""
    sample = len(later) // 3
    start = time.perf_counter()
    for new in later:
        memory.learn(new.content, new.context, observed_at=int(new.stamp * 1e9))
    own_rate = len(later) / (time.perf_counter() - start)
    learn_time = robotmem.learn(later[:sample], similar=False).seconds
    save_time = robotmem.save(later[sample : 2 * sample])
    published = robotmem.learn(later[2 * sample :], similar=True)
    peer_rate = (len(later) - 2 * sample) / published.seconds
    return Saves(own_rate, peer_rate, sample / learn_time, sample / save_time, published.rows, sample)


def _bytes_on_disk(database: Path) -> int:
    # With the files of a closed database that lie beside it.
    return sum(file.stat().st_size for file in database.parent.glob(f"{database.name}*"))
