"""The files of a memory are their owner's, and it is told if others may read them."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory


def test_every_file_of_a_new_memory_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with RobotMemory(tmp_path / "new" / "memory.db", embedding_model="") as memory:
            memory.learn("the valve sticks")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)
    assert {"memory.db", "memory.db-wal", "memory.db-shm"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.parametrize(("mode", "may"), [(0o644, "read"), (0o666, "change"), (0o604, "read")])
def test_a_file_that_everybody_may_read_is_told_in_the_log_and_in_status(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, may: str
) -> None:
    db = tmp_path / "memory.db"
    with RobotMemory(db, embedding_model="") as memory:
        memory.learn("the valve sticks")
    db.chmod(mode)
    told = f"every user of this machine may {may} the database '{db}', whose mode is {mode:04o}; chmod o= it"
    for read_only in (False, True):
        caplog.clear()
        with caplog.at_level(logging.WARNING), RobotMemory(db, embedding_model="", read_only=read_only) as memory:
            assert told in caplog.messages
            assert told in memory.status().reason
            db.chmod(0o660)
            assert "chmod" not in memory.status().reason
        db.chmod(mode)
