"""A kitchen that a robot remembers, and its tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from robotmem_ros.agents.toolbox import Toolbox, opened

from ..support.agents import kitchen


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return kitchen(tmp_path / "memory.db")


@pytest.fixture
def toolbox(db: Path) -> Iterator[Toolbox]:
    with opened(db, {"embedding_model": ""}, read_only=False) as tools:
        yield tools
