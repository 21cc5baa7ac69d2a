"""What goes from the database goes from the files of the index, sooner or later; for a purge, at once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from robotmem_ros.memory.search.vector_index.segment import SegmentBuilder
from robotmem_ros.memory.storage import vector_rows
from robotmem_ros.memory.storage.vector_rows import SegmentRow

from ....support.vector_corpus import VECTORS, files, fill, indexed, opened, recall_at_10


def test_an_index_half_of_which_is_gone_is_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as (database, index):
        fill(database, VECTORS)
        index.flush()
        (whole,) = files(path)
        for first, last, expected in ((1, 1400, 3000), (1401, 1600, 1400), (1601, 3000, 0)):
            database.write(
                lambda connection, ids=(first, last): connection.execute(  # type: ignore[misc]
                    "DELETE FROM memories WHERE id BETWEEN ? AND ?", ids
                )
            ).result()
            index.flush()
            assert indexed(database) == expected
            assert (whole in files(path)) is (expected == 3000)
        assert files(path) == []


def test_a_stopped_index_makes_no_file_and_abandons_the_one_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    begun, going_on = threading.Event(), threading.Event()
    add = SegmentBuilder.add

    def slow_add(builder: SegmentBuilder, kept: Sequence[tuple[int, bytes]]) -> None:
        add(builder, kept)
        begun.set()
        assert going_on.wait(60)

    monkeypatch.setattr(SegmentBuilder, "add", slow_add)
    with opened(path) as (database, index):
        fill(database, VECTORS)
        building = threading.Thread(target=index.flush)
        building.start()
        assert begun.wait(60)
        # Whoever stops it waits for the piece at hand.
        releasing = threading.Timer(0.2, going_on.set)
        releasing.start()
        with index.stopped():
            assert files(path) == []
            assert indexed(database) == 0
            assert recall_at_10(database, index) >= 0.99
        building.join()
        index.flush()
        assert indexed(database) == 3000
        assert recall_at_10(database, index) >= 0.99
        releasing.join()


def test_an_index_that_is_updated_piece_by_piece_covers_all_when_nothing_is_left_to_do(filled: Path) -> None:
    with opened(filled, 100) as (database, index):
        fill(database, VECTORS[:150], 3000)
        while index.update():
            pass
        assert indexed(database) == 3150


def test_files_that_hold_what_is_gone_are_dropped_with_those_after_them(tmp_path: Path) -> None:
    rows = [SegmentRow(0, 300, 300, 1, "a"), SegmentRow(300, 500, 200, 2, "b"), SegmentRow(500, 600, 100, 3, "c")]
    with opened(tmp_path / "memory.db", 10**6) as (database, _):
        fill(database, VECTORS[:700])

        def work(connection: sqlite3.Connection, gone: int) -> list[SegmentRow]:
            generation = vector_rows.current_generation(connection)
            assert vector_rows.set_segments(connection, rows, generation)
            connection.execute("DELETE FROM memories WHERE id = ?", (gone,))
            left = vector_rows.drop_stale_segments(connection)
            assert left == vector_rows.segments(connection)
            assert not vector_rows.set_segments(connection, rows, generation)
            return left

        for gone, expected in ((601, rows), (501, rows[:2]), (400, rows[:1]), (300, [])):
            assert database.write(lambda connection, gone=gone: work(connection, gone)).result() == expected  # type: ignore[misc]
