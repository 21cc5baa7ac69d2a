"""On a disk without room, what is not stored is refused, and nothing has to be restarted when there is room again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.subprocesses import output_of

FILL = """
import sys
from pathlib import Path
from robotmem_ros.memory import RobotMemory, StorageError

def saved(memory):
    number = 0
    while True:
        try:
            memory.save_perception(f"a red box {number} on the shelf of room {number}", pose=(number, 0, 0))
        except StorageError as error:
            assert "disk is full" in str(error), error
            return number
        number += 1

folder = Path(sys.argv[1])
ballast = folder / "ballast"
ballast.write_bytes(bytes(1 << 20))
with RobotMemory(folder / "memory.db", embedding_model="") as memory:
    counts = [saved(memory)]
    ballast.unlink()
    counts.append(saved(memory))
    kept = memory.status().memories
print(kept - sum(counts), *counts)
"""

FREE = """
import sys
import time
from pathlib import Path
from robotmem_ros.memory import PurgeUnfinishedError, RobotMemory, StorageError

def saved(memory, collection):
    # While something reads, such as who makes the postings, the log cannot give its room back: that ends soon.
    number, full_since = 0, None
    while full_since is None or time.monotonic() < full_since + 2:
        try:
            memory.save_perception(f"a red box {number} on the shelf", data=bytes(1500), collection=collection)
            number, full_since = number + 1, None
        except StorageError as error:
            assert "disk is full" in str(error), error
            full_since = full_since or time.monotonic()
            time.sleep(0.02)
    return number

path = Path(sys.argv[1]) / "memory.db"
options = {"embedding_model": "", "synchronous": "normal"}
with RobotMemory(path, **options) as memory:
    saved(memory, "kitchen")
with RobotMemory(path, **options) as memory:
    saved(memory, "kitchen")
    before = memory.status().memories
    memory.forget(before, "gone")
    try:
        memory.purge(ids=[1, 2, 3])
    except PurgeUnfinishedError as error:
        print("unfinished" if "make room and finish the purge" in str(error) else error, end=" ")
    assert memory.status().memories == before - 4
    memory.parameters = memory.parameters.changed(max_memories=before * 4 // 5)
    memory.retain()
    memory.parameters = memory.parameters.changed(max_memories=0)
    assert memory.status().memories <= before * 4 // 5
    print(saved(memory, "hall") >= before // 10, end=" ")
    memory.purge(collection="kitchen")
    print(memory.finish_purge(), saved(memory, "hall") >= before // 2)
"""

HELD = """
import sys
import threading
from pathlib import Path
from robotmem_ros.memory import RobotMemory, StorageError

path = Path(sys.argv[1]) / "memory.db"
with RobotMemory(path, embedding_model="", busy_timeout=60.0, synchronous="normal") as memory:
    try:
        while True:
            memory.save_perception("a red box", collection="kitchen", data=bytes(6000))
    except StorageError as error:
        assert "disk is full" in str(error), error
    with memory.parts.database.snapshot() as snapshot:
        snapshot.row("SELECT count(*) FROM memories")
        thread = threading.Thread(target=memory.purge, kwargs={"collection": "kitchen"})
        thread.start()
        thread.join(2)
    thread.join()
    print(memory.status().memories)
"""

OWED = """
import sys
from pathlib import Path
from robotmem_ros.memory import RobotMemory, StorageError

def save(size):
    try:
        memory.save_perception("a red box", data=bytes(size))
    except StorageError as error:
        assert "disk is full" in str(error), error
        return False
    return True

with RobotMemory(Path(sys.argv[1]) / "memory.db", embedding_model="", synchronous="normal") as memory:
    save(0)
    if sys.argv[2] == "log":
        with memory.parts.database.snapshot() as snapshot:
            snapshot.row("SELECT count(*) FROM memories")
            while save(20_000):
                pass
    else:
        print(save(3_500_000), end=" ")
    for memory_id in range(1, memory.status().memories):
        memory.forget(memory_id, "gone")
    print(save(0))
"""


BACK_UP = """
import sys
from pathlib import Path
from robotmem_ros.memory import RobotMemory, StorageError

folder = Path(sys.argv[1])
with RobotMemory(folder.parent / "memory.db", embedding_model="") as memory:
    memory.save_many([f"a red box {number} in room {number}" for number in range(2000)])
    try:
        memory.backup(folder / "copy.db")
    except StorageError as error:
        print(error, [file.name for file in folder.iterdir()])
"""

LACK = """
import re
import subprocess
import sys
from pathlib import Path
from robotmem_ros.memory import PurgeUnfinishedError, RobotMemory
from robotmem_ros.memory.storage.disk import is_read_elsewhere

def is_found():
    return subprocess.run(["grep", "-qa", "zxjvsecre", path, f"{path}-wal"]).returncode == 0

folder = Path(sys.argv[1])
path, ballast = folder / "memory.db", folder / "ballast"
with RobotMemory(path, embedding_model="") as memory:
    secret = memory.learn("qzxjvsecret").memory_id
    for number in range(29):
        memory.save_perception(f"a red box {number}", data=bytes(100_000))
    memory.flush()
    memory.parts.database.write_alone(is_read_elsewhere).result()
    ballast.write_bytes(bytes(5 << 20))
    try:
        memory.purge(ids=[secret])
    except PurgeUnfinishedError as error:
        numbers = re.findall("([0-9,]+) (?:bytes|are free)", str(error))
        needed, free = (int(number.replace(",", "")) for number in numbers)
        assert is_found(), error
        ballast.write_bytes(bytes((5 << 20) - (needed - free) - 8192))
    print(memory.finish_purge(), is_found(), memory.status().memories)
"""


def small_disk(folder: Path, size: str = "6m") -> list[str]:
    """The start of a command that sees a disk of a size in a folder; the test is skipped where there can be none."""
    mine = [] if os.getuid() == 0 else ["--map-root-user"]
    command = [
        "unshare",
        "--mount",
        *mine,
        "sh",
        "-c",
        "mount -t tmpfs -o size=" + size + ' tmpfs "$0" && exec "$@"',
        str(folder),
    ]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only where a process may mount a file system for itself")
    return command


@pytest.mark.rare
def test_the_log_leaves_room_to_empty_it_and_writing_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    lost, first, second = map(int, output_of(FILL, tmp_path, before=small_disk(tmp_path)).split())
    assert lost == 0
    # With a log that is emptied only now and then, there was room for 36.
    assert first > 1000
    assert second > 1000


def test_a_full_disk_still_takes_what_frees_room_and_then_takes_memories_again(tmp_path: Path) -> None:
    assert output_of(FREE, tmp_path, before=small_disk(tmp_path)) == "unfinished True False True\n"


def test_a_purge_on_a_full_disk_waits_for_who_reads_the_log(tmp_path: Path) -> None:
    assert output_of(HELD, tmp_path, before=small_disk(tmp_path)) == "0\n"


def test_a_log_that_was_held_can_be_emptied_into_a_full_disk(tmp_path: Path) -> None:
    assert output_of(OWED, tmp_path, "log", before=small_disk(tmp_path)) == "True\n"


def test_what_fits_into_the_log_but_not_into_the_file_as_well_is_refused(tmp_path: Path) -> None:
    assert output_of(OWED, tmp_path, "one", before=small_disk(tmp_path)) == "False True\n"


def test_a_purge_says_how_much_room_it_lacks_and_needs_no_more(tmp_path: Path) -> None:
    assert output_of(LACK, tmp_path, before=small_disk(tmp_path, "12m")) == "True False 29\n"


def test_a_file_of_somebody_else_beside_the_database_stays(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    others = [tmp_path / f"memory.db.{name}" for name in ("reserve", "ballast", "old")]
    for other in others:
        other.write_text("not a file of the memory")
    with RobotMemory(path, embedding_model="") as memory:
        memory.purge(ids=[memory.save_perception("a cup").memory_id])
    assert [other.read_text() for other in others] == ["not a file of the memory"] * 3


def test_a_backup_without_room_says_which_disk_is_full(tmp_path: Path) -> None:
    folder = tmp_path / "stick"
    folder.mkdir()
    said = output_of(BACK_UP, folder, before=small_disk(folder, "300k"))
    copy, database = str(folder / "copy.db"), str(tmp_path / "memory.db")
    assert f"could not copy the database {database!r} to {copy!r}: the disk is full on which" in said
    assert said.endswith("[]\n")
