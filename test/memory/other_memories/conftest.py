"""A memory that knows the file of another robot."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.other_robots import fill_forklift
from ..conftest import OpenMemory


@pytest.fixture
def other(tmp_path: Path, open_memory: OpenMemory) -> Path:
    """The closed file of a forklift."""
    path = tmp_path / "forklift.db"
    with open_memory(path, collection="yard") as memory:
        fill_forklift(memory)
    return path


@pytest.fixture
def memory(open_memory: OpenMemory, other: Path) -> RobotMemory:
    """The own memory, which knows the forklift's."""
    own = open_memory(other_memories=f"forklift: {other}")
    own.learn("the red mug is heavy", tags=["mug"])
    own.flush()
    return own
