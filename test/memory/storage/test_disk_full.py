"""On a disk without room, what is not stored is refused, and nothing has to be restarted when there is room again."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.storage.disk_room import DiskReserve

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
from pathlib import Path
from robotmem_ros.memory import PurgeUnfinishedError, RobotMemory, StorageError

def saved(memory, collection):
    number = 0
    while True:
        try:
            memory.save_perception(f"a red box {number} on the shelf", data=bytes(1500), collection=collection)
        except StorageError as error:
            assert "disk is full" in str(error), error
            return number
        number += 1

path = Path(sys.argv[1]) / "memory.db"
options = {"embedding_model": "", "synchronous": "normal", "disk_reserve": int(sys.argv[2])}
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


def small_disk(folder: Path) -> list[str]:
    """The start of a command that sees a disk of 6 MB in a folder; the test is skipped where there can be none."""
    mine = [] if os.getuid() == 0 else ["--map-root-user"]
    command = [
        "unshare",
        "--mount",
        *mine,
        "sh",
        "-c",
        'mount -t tmpfs -o size=6m tmpfs "$0" && exec "$@"',
        str(folder),
    ]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only where a process may mount a file system for itself")
    return command


def test_the_log_leaves_room_to_empty_it_and_writing_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    lost, first, second = map(int, output_of(FILL, tmp_path, before=small_disk(tmp_path)).split())
    assert lost == 0
    # With a log that is emptied only now and then, there was room for 36.
    assert first > 1000
    assert second > 1000


def test_a_full_disk_still_takes_what_frees_room_and_then_takes_memories_again(tmp_path: Path) -> None:
    # What is deleted is overwritten where it is.
    assert output_of(FREE, tmp_path, 4_194_304, before=small_disk(tmp_path)) == "True False True\n"


def test_without_a_reserve_a_full_disk_takes_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="disk is full"):
        output_of(FREE, tmp_path, 0, before=small_disk(tmp_path))


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every disk count as one with little room left."""
    monkeypatch.setattr("robotmem_ros.memory.storage.disk_room._LOW", 2**62)


@pytest.mark.usefixtures("little_room")
def test_room_is_held_only_while_the_disk_has_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    reserve = tmp_path / "memory.db.reserve"
    with RobotMemory(path, embedding_model="", disk_reserve=100_000) as memory:
        assert reserve.stat().st_size == 100_000
        assert reserve.stat().st_blocks * 512 >= 100_000
        assert reserve.stat().st_mode & 0o777 == 0o600
        assert memory.status().db_bytes < 2**20
        monkeypatch.setattr("robotmem_ros.memory.storage.disk_room._LOW", 0)
        memory.flush()
        assert not reserve.exists()


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("options", [{"disk_reserve": 0}, {"read_only": True}, {"db_path": ":memory:"}])
def test_no_room_is_held_for_a_memory_that_needs_none(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "memory.db"
    RobotMemory(path, embedding_model="", disk_reserve=0).close()
    arguments: dict[str, Any] = {"db_path": path, "embedding_model": ""} | options
    with RobotMemory(**arguments):
        assert list(tmp_path.glob("*.reserve")) == []


@pytest.mark.usefixtures("little_room")
def test_the_room_is_lent_in_two_halves_and_held_again(tmp_path: Path) -> None:
    reserve = DiskReserve(tmp_path / "memory.db", 100_000)
    reserve.update()
    with reserve.lent():
        assert reserve.path.stat().st_size == 50_000
        updating = threading.Thread(target=reserve.update)
        updating.start()
        updating.join()
        assert reserve.path.stat().st_size == 50_000, "maintenance takes nothing back"
        with reserve.lent(whole=True):
            assert not reserve.path.exists()
    assert reserve.path.stat().st_size == 100_000
