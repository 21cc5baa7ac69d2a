"""Brings a database to the schema of this program: ordered steps, each in one transaction, after a backup."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import DatabaseUnusableError
from . import (
    appending_schema,
    contribution_schema,
    history_schema,
    import_schema,
    label_schema,
    leaf_schema,
    learning_schema,
    moving_schema,
    object_schema,
    object_source_schema,
    object_tree_schema,
    retention_schema,
    rtree_schema,
    schema,
    session_schema,
    subject_schema,
    text_change_schema,
    text_schema,
    vector_schema,
    wording_schema,
)
from .connection import create_empty

MIGRATIONS: Sequence[str] = (
    schema.VERSION_1,
    object_schema.OBJECT_TABLES,
    import_schema.IMPORT_TABLES,
    object_source_schema.OBJECT_SOURCES,
    session_schema.SESSION_TABLES,
    leaf_schema.LEAF_TRIGGERS,
    history_schema.HISTORY_TABLES,
    retention_schema.REMOVED,
    learning_schema.LEARNING_TABLES,
    wording_schema.WORDING_TABLES,
    text_schema.TEXT_TABLES,
    rtree_schema.THICK_SPACES,
    vector_schema.VECTOR_TABLES,
    appending_schema.APPENDING,
    subject_schema.SUBJECT_TABLES,
    session_schema.CONSOLIDATED,
    text_change_schema.TEXT_CHANGES,
    object_tree_schema.OBJECT_TREE,
    session_schema.EXPIRY,
    contribution_schema.CONTRIBUTION_TABLES,
    label_schema.LABEL_KEYS,
    moving_schema.MOVING,
)
"""Step i brings a database from version i to version i + 1. Never change one that was released; add one."""

INCREMENTAL = 2
"""The value of PRAGMA auto_vacuum with which free pages can be given back in small steps."""


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Brings the database of a connection to version `len(migrations)`.

    An older database is first copied to `<name>.v<version>.bak` beside it.

    Raises:
        DatabaseUnusableError: it belongs to another program, or to a newer version of this one.
    """
    version = schema_version(connection)
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        _check_application(connection, path)
    # Readers go on while the writer writes. It stays with the file, so it comes after the question whose file it is.
    connection.execute("PRAGMA journal_mode = WAL")
    if version > len(migrations):
        raise _newer(path, version, len(migrations))
    if 0 < version < len(migrations):
        _back_up(connection, path, version)
    for step in range(version, len(migrations)):
        _run(connection, migrations[step], step)
    if 0 < version < len(migrations) and connection.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:
        # A file of an older program begins to give free pages back only when it is written anew. It works without, too.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("VACUUM")


def check_version(connection: sqlite3.Connection, path: Path, wanted: int = len(MIGRATIONS)) -> None:
    """Check that a database can be read as it is.

    Raises:
        DatabaseUnusableError: it belongs to another program, or to another version of this one.
    """
    _check_application(connection, path)
    version = schema_version(connection)
    if version > wanted:
        raise _newer(path, version, wanted)
    if version < wanted:
        raise DatabaseUnusableError(
            path,
            f"has schema version {version}, older than {wanted}, and is not changed by what only reads",
            "start the node with it once, or open it in Python with RobotMemory(path): it is brought up to date after "
            "a backup",
        )


def schema_version(connection: sqlite3.Connection) -> int:
    """The schema version of a database; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_application(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
        raise DatabaseUnusableError(path, "was not made by robotmem_ros", "give the path of another file")


def _newer(path: Path, version: int, wanted: int) -> DatabaseUnusableError:
    return DatabaseUnusableError(path, f"has schema version {version}, newer than {wanted}", "use a newer robotmem_ros")


def _run(connection: sqlite3.Connection, script: str, step: int) -> None:
    # The version is read again inside the transaction: another process may have run the step meanwhile.
    connection.execute("BEGIN IMMEDIATE")
    try:
        if schema_version(connection) == step:
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


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
    backup = path.with_name(f"{path.name}.v{version}.bak")
    create_empty(backup)
    with sqlite3.connect(backup) as target:
        connection.backup(target)
    target.close()
