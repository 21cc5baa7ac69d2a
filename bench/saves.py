"""How many memories a second, and how many bytes each: through the topic, in process, and with the peer.

The peer's world is loaded with the vectors that our node computed for the same texts, by the same model: that spares
minutes and changes no measurement. What the peer saves in a second is measured afterwards, model included.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import peer as peers
from bench.node import Client, memory_node
from bench.world import World, WorldMemory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.embedding import codec

_STATUS_PERIOD = 0.05
_VECTOR_PATIENCE = 120.0


@dataclass(frozen=True)
class Files:
    """Where the databases of a run lie."""

    work: Path

    @property
    def node(self) -> Path:
        """The node's own."""
        return self.work / "node.db"

    @property
    def in_process(self) -> Path:
        """A copy of the node's, so that the two do not wait for each other."""
        return self.work / "in_process.db"

    @property
    def least(self) -> Path:
        """A copy for the service that does nothing but recall."""
        return self.work / "least.db"

    @property
    def peer(self) -> Path:
        """The peer's."""
        return self.work / "peer.db"


@dataclass(frozen=True)
class Filled:
    """What storing the whole world took: seconds, and bytes on disk per memory."""

    topic_seconds: float
    vector_seconds: float
    bytes_each: float


def fill_through_topic(client: Client, world: World, model: Path, files: Files) -> Filled:
    """Publishes the world to a node with an empty database and waits for its vectors; then copies the database."""
    with memory_node(files.node, model, files.work, status_period=_STATUS_PERIOD):
        client.wait_until_active(0)
        began = time.perf_counter()
        stored = client.publish(world.memories)
        print(f"  topic: {len(world.memories)} stored in {stored:.1f} s; waiting for the vectors", flush=True)
        client.wait("vectors", lambda: client.status.pending_vectors == 0, _VECTOR_PATIENCE)
        embedded = time.perf_counter() - began
    if client.status.refused:
        raise RuntimeError(f"the node refused {client.status.refused} perceptions: {client.status.refused_reasons}")
    each = bytes_on_disk(files.node) / len(world.memories)
    for copy in (files.in_process, files.least):
        shutil.copy(files.node, copy)
    return Filled(stored, embedded, each)


def fill_peer(peer: peers.Peer, world: World, files: Files) -> Filled:
    """Has the peer learn the world, its search for similar memories off; the time is without the model.

    Raises:
        RuntimeError: it did not keep all memories, so that there would be nothing to compare.
    """
    memories, vectors = files.work / "world.jsonl", files.work / "vectors.npy"
    memories.write_text("".join(json.dumps(peers.as_json(memory)) + "\n" for memory in world.memories))
    np.save(vectors, _vectors(files.node, world.memories))
    peer.open(files.peer)
    seconds, kept = peer.load(memories, vectors, lambda count: _show(f"  robotmem: {count} loaded"))
    _show(f"  robotmem: {kept} loaded in {seconds:.1f} s\n")
    if kept != len(world.memories):
        raise RuntimeError(f"robotmem kept {kept} of {len(world.memories)} memories")
    peer.close_database()
    each = bytes_on_disk(files.peer) / len(world.memories)
    peer.open(files.peer)
    return Filled(seconds, seconds, each)


@dataclass(frozen=True)
class SaveRates:
    """Memories a second with the whole world stored already, one call after the other, new texts, model included."""

    learn: float
    peer_learn: float
    peer_save: float
    peer_published: int
    """How many of `sample` the peer's learn keeps as published, with its search for similar memories."""
    sample: int


def save_rates(memory: RobotMemory, peer: peers.Peer, later: tuple[WorldMemory, ...]) -> SaveRates:
    """Measures single saves in process, ours and the peer's, each with texts that are new to it."""
    sample = len(later) // 3
    began = time.perf_counter()
    for new in later:
        memory.learn(new.content, new.context, observed_at=int(new.stamp * 1e9))
    ours = len(later) / (time.perf_counter() - began)
    learned, _ = peer.learn(later[:sample], similar=False)
    saved = peer.save(later[sample : 2 * sample])
    _, kept = peer.learn(later[2 * sample : 3 * sample], similar=True)
    return SaveRates(ours, sample / learned, sample / saved, kept, sample)


def bytes_on_disk(database: Path) -> int:
    """A closed database with all that lies beside it."""
    return sum(file.stat().st_size for file in database.parent.glob(f"{database.name}*"))


def _vectors(database: Path, memories: tuple[WorldMemory, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    connection = sqlite3.connect(database)
    rows = connection.execute(
        "SELECT m.content, v.embedding FROM memories_vec AS mv JOIN memories AS m ON m.id = mv.memory_id "
        "JOIN vectors AS v ON v.id = mv.vector_id"
    ).fetchall()
    decoded = codec.decode([kept for _, kept in rows], codec.dimension(rows[0][1]))
    found = dict(zip((content for content, _ in rows), decoded, strict=True))
    connection.close()
    return np.stack([found[memory.content] for memory in memories])


def _show(text: str) -> None:
    sys.stdout.write(f"\r{text}")
    sys.stdout.flush()
