"""One PostgreSQL server for the tests of the fleet, and a database for each test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="the fleet is optional: `make test` brings psycopg")

from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import connect, open_database
from robotmem_ros.fleet.push import Push
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import BEGINNING
from robotmem_ros.memory.storage.feed import LINKS

from ..support.postgres import Server, server

_NUMBERS = count()
_EMPTY = "empty_fleet"
"""A fleet without robots, which is copied."""
Units = dict[str, dict[str, Any]]


class Fleet:
    """A fleet in a database of its own, as its administrator sees it."""

    def __init__(self, running: Server, folder: Path) -> None:
        self.server = running
        self.folder = folder
        self.database = f"fleet{next(_NUMBERS)}"
        self.url = running.url(self.database)
        if not self.query("SELECT 1 FROM pg_database WHERE datname = %s", _EMPTY, database="postgres"):
            self.query(f"CREATE DATABASE {_EMPTY}", database="postgres")
            with closing(open_database(running.url(_EMPTY))) as connection:
                administration.initialize(connection)
        # That takes a quarter of the time.
        self.query(f"CREATE DATABASE {self.database} TEMPLATE {_EMPTY} STRATEGY file_copy", database="postgres")

    def query(self, sql: str, *values: object, database: str = "") -> list[tuple[Any, ...]]:
        with closing(open_database(self.server.url(database or self.database))) as connection:
            cursor = connection.execute(sql.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def add(self, name: str, *, add: Callable[..., str] = administration.add_robot, port: int = 0) -> str:
        """Add a robot, or an operator, and return the URL by which it logs in."""
        password_file = self.folder / f"{self.database}.{name}.pass"
        with closing(connect(self.url)) as connection:
            role = add(connection, name, password_file)
        return self.server.url(self.database, role, password_file, port)

    def units(self, name: str) -> Units:
        """Return all units of a robot by UUID."""
        rows = self.query(
            "SELECT uuid, body FROM robotmem.memories JOIN robotmem.robots ON id = robot WHERE name = %s UNION ALL "
            "SELECT uuid, body FROM robotmem.units JOIN robotmem.robots ON id = robot WHERE name = %s",
            name, name,
        )  # fmt: skip
        return {uuid.hex: without(body, *LINKS) for uuid, body in rows}

    def everything(self) -> str:
        """Return all rows of all tables as text, but for the stamps of robots."""
        tables = [name for (name,) in self.query("SELECT tablename FROM pg_tables WHERE schemaname = 'robotmem'")]
        assert len(tables) == 9
        rows = [row for name in tables for (row,) in self.query(f"SELECT t::text FROM robotmem.{name} AS t")]
        return re.sub(r"\b\d{16}\b", "STAMP", "\n".join(rows))


def units_of(memory: RobotMemory) -> Units:
    """Return all units of a file by UUID, as the fleet should have them, without links: the later of two has them."""
    units: Units = {}
    cursor = BEGINNING
    while batch := memory.changes_since(cursor, 1000):
        units |= {row["uuid"]: row for row in batch.rows}
        cursor = batch.cursor
    return {uuid: without(row, "id", "unit", "uuid", "perception_data", *LINKS) for uuid, row in units.items()}


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in row if name not in names}


def push(memory: RobotMemory, url: str) -> Push:
    """Push all that a memory has, and return what has done it."""
    pusher = Push(memory, url)
    with closing(pusher):
        for _ in pusher.pieces():
            pass
    return pusher


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture
def fleet(postgres: Server, tmp_path: Path) -> Fleet:
    return Fleet(postgres, tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[RobotMemory]:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as opened:
        yield opened
