"""A console that tests which change nothing share, and a memory for a console of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the web server is optional: `make test` brings it")

from ..support.web import Server, console, seed


@pytest.fixture(scope="session")
def shared_db(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the file of a memory and the id of its session."""
    db = tmp_path_factory.mktemp("console") / "memory.db"
    return db, seed(db)


@pytest.fixture(scope="session")
def server(shared_db: tuple[Path, str]) -> Iterator[Server]:
    with console(shared_db[0]) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as connected:
        yield connected


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Return the file of a memory that a test may change."""
    seed(tmp_path / "memory.db")
    return tmp_path / "memory.db"
