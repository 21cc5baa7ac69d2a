"""A folder of notes, and a memory that has read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.embedders import WordVectors
from ...support.notes import PAGE
from ..conftest import OpenMemory


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    """A folder with one page."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "safety.md").write_text(PAGE)
    return folder


@pytest.fixture
def embedder() -> WordVectors:
    """What embeds the texts of the memory."""
    return WordVectors()


@pytest.fixture
def memory(open_memory: OpenMemory, handbook: Path, embedder: WordVectors) -> RobotMemory:
    """A memory that has read the folder."""
    opened = open_memory(embedder=embedder, notes_folders=[str(handbook)])
    opened.flush()
    return opened
