"""Nothing but SQLite opens the database, so that the locks of a process hold as long as its memories are open."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ...support.forks import output_of, running

SAVE_WITH_TWO_MEMORIES = """
import sys
from robotmem_ros.memory import RobotMemory
memory = RobotMemory(sys.argv[1], embedding_model="")
memory.save_perception("saved before")
RobotMemory(sys.argv[1], embedding_model="").close()
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    print(memory.save_perception(f"saved after {number}").memory_id, flush=True)
sys.stdin.readline()
"""
OPEN_AND_CLOSE = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    print(len(memory.recall("saved")))
"""
EVERYTHING_WITH_TWO_MEMORIES = """
import sys
from pathlib import Path
opened = set()
sys.addaudithook(lambda event, arguments: opened.add(str(arguments[0])) if event == "open" else None)

from robotmem_ros.memory import RobotMemory
path = Path(sys.argv[1]).resolve()
with RobotMemory(path, embedding_model="", retention_export=f"{path.parent}/export.jsonl") as memory:
    with RobotMemory(path, embedding_model=""):
        for number in range(5):
            memory.save_perception(f"a red mug {number}", label="mug", pose=(number, 0, 0))
        memory.update(memory.learn("hold mugs by the handle").memory_id, "hold mugs by their handle")
        session = memory.start_session()
        memory.recall("mug")
        memory.end_session(session.session_id, 1.0)
        memory.purge(ids=[1])
        memory.parameters = memory.parameters.changed(max_memories=2)
        memory.retain()
        memory.status()
# SQLite locks the database and -shm, never the log: that may be read and closed.
print(sorted(name for name in opened if name in {f"{path}{suffix}" for suffix in ("", "-shm", "-journal")}))
print(f"{path.parent}/export.jsonl" in opened)
"""


def test_saves_outlive_another_process_that_closes_the_file_while_two_memories_of_this_one_used_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with running(SAVE_WITH_TWO_MEMORIES, path) as saver:
        assert saver.stdout.readline() == "ready\n"
        assert output_of(OPEN_AND_CLOSE, path) == "1\n"
        saver.stdin.write("go on\n")
        saver.stdin.flush()
        saved = {int(saver.stdout.readline()) for _ in range(20)}
        saver.kill()
        saver.wait()
    with closing(sqlite3.connect(path)) as connection:
        found = {memory_id for (memory_id,) in connection.execute("SELECT id FROM memories")}
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert saved < found


def test_python_never_opens_the_database_itself(tmp_path: Path) -> None:
    assert output_of(EVERYTHING_WITH_TWO_MEMORIES, tmp_path / "memory.db") == "[]\nTrue\n"


def test_a_link_to_a_file_that_is_not_there_yet_makes_it_for_its_owner_alone(tmp_path: Path) -> None:
    link, target = tmp_path / "link.db", tmp_path / "target.db"
    link.symlink_to(target)
    assert output_of(OPEN_AND_CLOSE, link) == "0\n"
    assert target.stat().st_mode & 0o777 == 0o600
