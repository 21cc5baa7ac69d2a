"""A console that tests which change nothing share, and a memory for a console of one's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the web server is optional: `make test` brings it")

from ..support.web import Server, console, seed


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the file of a memory that nobody opens, and the id of its session."""
    db = tmp_path_factory.mktemp("seeded") / "memory.db"
    return db, seed(db)


@pytest.fixture(scope="session")
def shared_db(seeded: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the file of a memory and the id of its session."""
    db, session = seeded
    return Path(shutil.copy(db, tmp_path_factory.mktemp("console"))), session


@pytest.fixture(scope="session")
def server(shared_db: tuple[Path, str]) -> Iterator[Server]:
    with console(shared_db[0]) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as connected:
        yield connected


@pytest.fixture
def db(seeded: tuple[Path, str], tmp_path: Path) -> Path:
    """Return the file of a memory that a test may change."""
    return Path(shutil.copy(seeded[0], tmp_path / "memory.db"))
