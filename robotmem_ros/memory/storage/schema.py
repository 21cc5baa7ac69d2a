"""Create the schema in a new database, and refuse a database of another schema."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from pathlib import Path

from ..errors import DatabaseUnusableError

SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
VERSION = 1
APPLICATION_ID = 0x726F626D  # "robm"


def create_or_check(connection: sqlite3.Connection, path: Path, schema: str = SCHEMA) -> None:
    """Create the schema in an empty database, in one transaction; check that of any other.

    Raises:
        DatabaseUnusableError: it belongs to another program, or has another schema.
    """
    is_new = _is_empty(connection)
    if not is_new:
        check(connection, path)
    # Readers go on while the writer writes. The mode stays with the file, so set it only in a file of ours.
    connection.execute("PRAGMA journal_mode = WAL")
    if is_new:
        _create(connection, schema)


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a database has the schema of this program.

    Raises:
        DatabaseUnusableError: it belongs to another program, or has another schema.
    """
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise DatabaseUnusableError(path, "was not made by robotmem_ros", "give the path of another file")
    version = schema_version(connection)
    if version > VERSION:
        raise DatabaseUnusableError(
            path, f"has schema version {version}, newer than {VERSION}", "use a newer robotmem_ros"
        )
    row = connection.execute("SELECT value FROM settings WHERE name = 'schema'").fetchone()
    schema = (version, row[0] if row else "none")
    # Before the first release a schema changes without its number.
    if schema != (own := (VERSION, _digest(SCHEMA))):
        raise DatabaseUnusableError(
            path,
            "has another schema than this program (version {}, digest {}; here {}, {})".format(*schema, *own),
            "export it with the program that made it (`robotmem export`), and import that into a new file",
        )


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of a database; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _digest(schema: str) -> str:
    # A digest of the statements: comments and blanks may change.
    statements = " ".join(re.sub("--.*", "", schema).split())
    return hashlib.blake2b(statements.encode(), digest_size=8).hexdigest()


def _create(connection: sqlite3.Connection, schema: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_empty(connection):  # another process may have created it since
            for statement in _statements(schema):
                connection.execute(statement)
            connection.execute("INSERT INTO settings VALUES ('schema', ?)", (_digest(schema),))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
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
    return statements
