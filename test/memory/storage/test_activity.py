"""Who is at work on the file of a memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.clock import DAY, SECOND, Clock
from ...support.subprocesses import ROOT
from ..conftest import OpenMemory

_HOLD = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model=""):
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def program(script: Path, db: Path) -> Iterator[int]:
    """Run another program that has a memory open; give the id of its process."""
    script.write_text(_HOLD)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen(
        [sys.executable, "-u", "-X", "utf8", str(script), str(db)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"open\n"
        yield process.pid


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell who holds a lock")
def test_other_programs_that_have_the_file_open_are_told(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "memory.db", embedding_model="")
    assert memory.activity().programs == ()
    with program(tmp_path / "memory_node", memory.path) as process:
        assert memory.activity().programs == (f"memory_node ({process})",)
    assert memory.activity().programs == ()


def test_the_last_write_is_that_of_the_last_new_memory_whatever_its_stamp(open_memory: OpenMemory) -> None:
    memory = open_memory(embedding_model="", clock=Clock(12 * SECOND))
    assert memory.activity().last_written_at is None
    before = time.time_ns()
    memory.learn("the bowl is on the shelf")
    activity = memory.activity()
    assert activity.last_written_at is not None
    assert before - 1000 <= activity.last_written_at <= activity.answered_at <= time.time_ns()


def test_a_sighting_of_a_known_object_is_a_write_but_what_a_clock_ahead_of_time_stamps_is_none(
    open_memory: OpenMemory,
) -> None:
    clock = Clock(time.time_ns())
    memory = open_memory(embedding_model="", clock=clock)
    memory.save_perception("a mug", pose=(1.0, 2.0, 0.0), label="mug")
    stored_at = memory.activity().last_written_at
    clock.now = time.time_ns()
    memory.save_perception("a mug", pose=(1.0, 2.0, 0.0), label="mug")
    assert memory.activity().last_written_at == clock.now
    clock.now += 300 * DAY
    memory.save_perception("a mug", pose=(1.0, 2.0, 0.0), label="mug")
    assert memory.activity().last_written_at == stored_at


def test_the_room_on_the_disk_is_told(open_memory: OpenMemory) -> None:
    free = open_memory(embedding_model="").activity().free_bytes
    assert free is not None
    assert free > 0


def test_a_memory_in_ram_has_no_other_programs() -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        assert memory.activity().programs is None
