"""A purge that is cut off is known to be unfinished, and loses nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from robotmem_ros.memory.purge import finish
from robotmem_ros.memory.storage import revisions
from robotmem_ros.memory.storage.purge_rows import Selection, delete_batch

from ...support.consistency import check_file
from ...support.forks import running
from ...support.raw_bytes import found, of_words
from ...support.waiting import until
from ..conftest import OpenMemory

PURGE = """
import sys
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.storage.disk import is_read_elsewhere

with RobotMemory(sys.argv[1], embedding_model="") as memory:
    for number in range(80):
        memory.save_perception(f"plain mug {number}", data=bytes(100_000))
    secret = [memory.learn(f"qzxjvsecret {number}").memory_id for number in range(9)]
    memory.flush()
    memory.parts.database.write_alone(is_read_elsewhere).result()
    print("purging", flush=True)
    memory.purge(ids=secret)
"""


def test_a_purge_that_is_killed_while_it_writes_pages_anew_is_finished_later(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "killed.db"
    log = Path(f"{path}-wal")
    with running(PURGE, path) as purging:
        assert purging.stdout.readline() == "purging\n"
        until(lambda: log.exists() and log.stat().st_size > 2_000_000, "log of all pages")
        purging.kill()
    memory = open_memory(path)
    finish(memory.parts.database)
    assert found(path, of_words(["qzxjvsecret"])) == set()
    assert [file.name for file in path.parent.glob("etilqs*")] == []
    memory.close()
    assert check_file(path) == 80


def test_what_is_deleted_while_another_purge_ends_is_not_taken_for_overwritten(open_memory: OpenMemory) -> None:
    memory = open_memory()
    database = memory.parts.database
    marks = []
    for number in range(2):
        chosen = Selection(ids=(memory.learn(f"mug {number}").memory_id,))
        database.write(partial(delete_batch, selection=chosen, limit=250)).result()
        with database.snapshot() as snapshot:
            marks.append(revisions.last_purge(snapshot))
    for mark, is_left in zip(marks, (True, False), strict=True):
        database.write(partial(revisions.note_erased, purge=mark)).result()
        with database.snapshot() as snapshot:
            assert revisions.last_purge(snapshot) == marks[1]._replace(is_unfinished=is_left)
