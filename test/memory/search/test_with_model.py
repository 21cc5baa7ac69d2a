"""The model and numkong in one process, whichever is loaded first."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...support.forks import output_of

FIRST = {
    "the model": "import onnxruntime",
    "numkong": "import numkong, numpy; numkong.cdist(numpy.ones((1, 8), 'i1'), numpy.ones((4, 8), 'i1'), metric='dot')",
}
USE = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1]) as memory:
    for number in range(120):
        memory.learn(f"box number {number} stands on shelf {number % 7}")
    memory.learn("the couch is in the parlour")
    memory.flush()
    result = memory.recall("sofa in the living room", n=1)
    print(result.mode.value, result[0].memory.content)
"""


@pytest.mark.parametrize("first", FIRST)
def test_vectors_are_compared_beside_the_model_whichever_is_loaded_first(tmp_path: Path, first: str) -> None:
    assert output_of(f"{FIRST[first]}\n{USE}", tmp_path / "memory.db") == "vec_only the couch is in the parlour\n"
