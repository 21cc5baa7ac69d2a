"""A kitchen that a robot remembers, and its tools."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from robotmem_ros.agents.toolbox import Toolbox, opened

from ..support.agents import kitchen


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file that nobody changes: to fill one takes longer than most tests."""
    return kitchen(tmp_path_factory.mktemp("kitchen") / "memory.db")


@pytest.fixture
def db(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path / "memory.db"))


@pytest.fixture
def toolbox(db: Path) -> Iterator[Toolbox]:
    with opened(db, {"embedding_model": ""}, read_only=False) as tools:
        yield tools
