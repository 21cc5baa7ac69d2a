"""The index and the model in one process: the one is opened while the other is being loaded."""

from __future__ import annotations

from pathlib import Path

from ....support.subprocesses import output_of

FILL = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], vector_index_size=100) as memory:
    for number in range(120):
        memory.learn(f"box number {number} stands on shelf {number % 7}")
    memory.learn("the couch is in the parlour")
    memory.flush()
    memory.vectors.flush()
"""
ASK = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], vector_index_size=100) as memory:
    result = memory.recall("sofa in the living room", n=1)
    print(result.mode.value, result[0].content)
"""


def test_a_vector_index_opened_before_the_model_does_not_break_the_model(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    output_of(FILL, path)
    assert len(list(tmp_path.glob("*.usearch"))) == 1
    for _ in range(3):
        assert output_of(ASK, path).split(" ", 1)[1] == "the couch is in the parlour\n"
