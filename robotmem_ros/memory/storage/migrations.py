"""Bring a database to the schema of this program: ordered steps, each in one transaction, after a backup."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from ..errors import DatabaseUnusableError
from .disk import copy_into

MIGRATIONS: Sequence[str] = (Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"),)
"""Step i brings a database from version i to version i + 1. Never change a released step; add one."""

APPLICATION_ID = 0x726F626D  # "robm"


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the database of a connection to version `len(migrations)`.

    An older database is first copied to `<name>.v<version>.bak` beside it.

    Raises:
        DatabaseUnusableError: it belongs to another program, to a newer version of this program, or
            to a version with another schema of the same number.
    """
    version = schema_version(connection)
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        _check_application(connection, path)
    # Readers go on while the writer writes. The mode stays with the file, so set it only in a file of ours.
    connection.execute("PRAGMA journal_mode = WAL")
    if version > len(migrations):
        raise _newer(path, version, len(migrations))
    if version:
        _check_digest(connection, path, migrations[:version])
    if 0 < version < len(migrations):
        _back_up(connection, path, version)
    for step in range(version, len(migrations)):
        _run(connection, migrations, step)


def check_version(connection: sqlite3.Connection, path: Path, newest: int = len(MIGRATIONS)) -> None:
    """Check that a database can be read as it is.

    Raises:
        DatabaseUnusableError: it belongs to another program, or to another version of this one.
    """
    _check_application(connection, path)
    version = schema_version(connection)
    if version > newest:
        raise _newer(path, version, newest)
    if version < newest:
        raise DatabaseUnusableError(
            path,
            f"has schema version {version}, older than {newest}, and is opened to be read only",
            "start the node with it once, or open it in Python with RobotMemory(path): it is migrated after a backup",
        )
    _check_digest(connection, path, MIGRATIONS[:version])


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of a database; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _application(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def _check_application(connection: sqlite3.Connection, path: Path) -> None:
    if _application(connection) != APPLICATION_ID:
        raise DatabaseUnusableError(path, "was not made by robotmem_ros", "give the path of another file")


def _newer(path: Path, version: int, newest: int) -> DatabaseUnusableError:
    return DatabaseUnusableError(path, f"has schema version {version}, newer than {newest}", "use a newer robotmem_ros")


def _check_digest(connection: sqlite3.Connection, path: Path, migrations: Sequence[str]) -> None:
    # Before the first release a schema changes without its number.
    row = connection.execute("SELECT value FROM settings WHERE name = 'schema'").fetchone()
    digest, expected = row[0] if row else "none", _digest(migrations)
    if digest != expected:
        raise DatabaseUnusableError(
            path,
            f"has another schema of version {len(migrations)} than this program (digest {digest}, here {expected})",
            "export it with the program that made it (`robotmem export`), and import that into a new file",
        )


def _digest(migrations: Sequence[str]) -> str:
    # A digest of the statements: comments and blanks may change.
    statements = (" ".join(re.sub("--.*", "", script).split()) for script in migrations)
    return hashlib.blake2b("\n".join(statements).encode(), digest_size=8).hexdigest()


def _run(connection: sqlite3.Connection, migrations: Sequence[str], step: int) -> None:
    # Another process may have run the step since the version was read, so read it again inside the transaction.
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if schema_version(connection) == step:
            for statement in _statements(migrations[step]):
                connection.execute(statement)
            digest = _digest(migrations[: step + 1])
            connection.execute("INSERT OR REPLACE INTO settings VALUES ('schema', ?)", (digest,))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step + 1}")


def _statements(script: str) -> list[str]:
    # Not executescript(): that would commit the transaction it runs in.
    statements, current = [], ""
    for piece in script.split(";"):
        current += f"{piece};"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    if current.strip("; \n"):
        statements.append(current)
    return statements


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    copy_into(connection, path.with_name(f"{path.name}.v{version}.bak"))
