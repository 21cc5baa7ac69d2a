"""A snapshot reads rows as SQLite does one by one, says what fails, and reads once what it was asked to read once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.errors import StorageError
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction

WHOLE = st.integers(-(2**63), 2**63 - 1)
# SQLite tells texts up to a NUL only, and writes 15 digits of a number.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NUMBER = st.floats(-1e9, 1e9).map(lambda number: float(f"{number:.12g}"))
ROWS = st.lists(st.tuples(WHOLE, TEXT, NUMBER))


def table(rows: list[tuple[int, str, float]]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (id INTEGER, words TEXT, measure REAL)")
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    return connection


@given(ROWS)
def test_columns_are_read_as_row_by_row(rows: list[tuple[int, str, float]]) -> None:
    connection = table(rows)
    sql = "SELECT * FROM rows WHERE id <> ? ORDER BY id DESC, rowid"
    expected = connection.execute(sql, (7,)).fetchall()
    ids, words, measures = Snapshot(connection).columns(sql, (7,), "id", "words", "measure")
    assert list(zip(ids, words, measures, strict=True)) == expected
    assert Snapshot(connection).ids(sql, (7,)) == ids
    array = Snapshot(connection).array(sql, (7,))
    assert array.dtype == "int64"
    assert array.tolist() == ids
    connection.close()


@pytest.mark.parametrize("number", [0, 1, 15, 16, 17, 63, 64, 65, 80, 147])
def test_so_many_rows_are_inserted_as_are_given_and_in_their_order(number: int) -> None:
    connection = table([])
    rows = [(number - index, f"row {index}", index / 2) for index in range(number)]
    Transaction(connection).insert("rows (id, words, measure)", "(?, ?, ?)", rows)
    assert connection.execute("SELECT id, words, measure FROM rows ORDER BY rowid").fetchall() == rows
    connection.close()


@pytest.mark.parametrize("read", [Snapshot.rows, Snapshot.row, Snapshot.mappings, Snapshot.ids, Snapshot.array])
def test_what_sqlite_raises_is_a_storage_error_that_says_what_failed(read: Callable[[Snapshot, str], object]) -> None:
    connection = table([])
    with pytest.raises(StorageError, match=r"^could not read 'a': no such table: missing$") as raised:
        read(Snapshot(connection, "read 'a'"), "SELECT id FROM missing")
    assert isinstance(raised.value.cause, sqlite3.OperationalError)
    assert not raised.value.is_damage
    connection.close()


def test_only_a_snapshot_takes_what_it_read_for_what_is_there() -> None:
    connection = table([(1, "a", 0.5)])

    def count(snapshot: Snapshot) -> int:
        return int(snapshot.row("SELECT count(*) FROM rows")[0])

    snapshot, transaction = Snapshot(connection), Transaction(connection)
    assert (snapshot.read_once(count), transaction.read_once(count)) == (1, 1)
    transaction.execute("DELETE FROM rows")
    assert (snapshot.read_once(count), transaction.read_once(count)) == (1, 0)
    connection.close()
