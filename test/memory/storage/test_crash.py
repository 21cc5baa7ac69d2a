"""What was acknowledged survives kill -9, in every index."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.consistency import check_file
from ...support.forks import running

SAVE_FOR_EVER = """
import sys
from itertools import count
from threading import Thread
from robotmem_ros.memory import RobotMemory
from test.support.embedders import WordVectors

memory = RobotMemory(sys.argv[1], embedder=WordVectors(), synchronous=sys.argv[2])

def save(index):
    context = {"index": index, "spatial": {"target": [index, 0.5, 1]}, "task": {"success": index % 2 == 0}}
    stored = memory.save_perception(f"mug number n{index}", context=context, pose=(index, 1, 2))
    if index % 5 == 0:
        memory.update(stored.memory_id, f"cup number n{index}", context=context)
    if index % 7 == 0:
        memory.forget(stored.memory_id, "a test")
    else:
        sys.stdout.write(f"{stored.memory_id} {index}\\n")
        sys.stdout.flush()

def save_for_ever(start):
    for index in count(start, 8):
        save(index)

for start in range(8):
    Thread(target=save_for_ever, args=(start,)).start()
"""


@pytest.mark.parametrize(("acknowledged", "synchronous"), [(1, "full"), (40, "full"), (700, "normal")])
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, acknowledged: int, synchronous: str) -> None:
    path = tmp_path / "memory.db"
    with running(PREAMBLE + SAVE_FOR_EVER, path, synchronous) as child:
        lines = [child.stdout.readline() for _ in range(acknowledged)]
        child.kill()
        lines += child.stdout.readlines()
    pairs = [line.split() for line in lines if line.endswith("\n")]
    saved = {int(memory_id): int(index) for memory_id, index in pairs}
    assert len(saved) >= acknowledged
    assert check_file(path) >= len(saved)
    with RobotMemory(path, embedding_model="") as memory:
        for memory_id, index in list(saved.items())[-20:]:
            answer = memory.recall(f"n{index}", context_filter={"index": index})
            assert [found.id for found in answer] == [memory_id]
            near = memory.recall(spatial_sort={"field": "position", "target": [index, 1, 2]}, n=1)
            assert near[0].distance <= 1.0
    with sqlite3.connect(path) as connection:
        active = {row[0] for row in connection.execute("SELECT id FROM memories WHERE status = 'active'")}
    connection.close()
    assert saved.keys() <= active


PREAMBLE = """
import sys, types
package = types.ModuleType("test")
package.__path__ = ["test"]
sys.modules["test"] = package
"""
