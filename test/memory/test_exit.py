"""A program that ends without closing its memory ends in order, whatever the threads of the memory are doing."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ..support.subprocesses import output_of, running

pytestmark = pytest.mark.slow

END = """
import sys, threading
from robotmem_ros.memory import RobotMemory
memory = RobotMemory(sys.argv[1], synchronous="normal")
"""
IN_THE_MODEL = (
    END
    + """
memory.wait_for_model()
for number in range(60):
    memory.save_perception(f"box number {number} on the shelf of the room {number * 7}")
"""
)
WHILE_THE_MODEL_IS_LOADED = END + 'memory.save_perception("a red mug")'
IN_THREADS_OF_THE_PROGRAM = (
    END
    + """
from contextlib import suppress
from itertools import count
from robotmem_ros.memory import MemoryClosedError
memory.warm_up()
begun = threading.Semaphore(0)
def work(call):
    # Python aborts if such a thread writes a traceback in the moment in which the interpreter ends.
    with suppress(MemoryClosedError):
        for number in count():
            begun.release()
            call(f"the box number {number} on the shelf of the room {number * 7} holds {number} bolts")
for call in (memory.learn, memory.recall):
    threading.Thread(target=work, args=(call,), daemon=True).start()
for _ in range(20):
    begun.acquire()
"""
)
BY_AN_ERROR = END + 'memory.save_perception("a red mug")\nsys.exit(3)'
THREADS_GO_ON = (
    END
    + """
memory.save_perception("a red mug")
ended = threading.Event()
def ask():
    threading.main_thread().join()
    print(memory.recall("mug", n=1)[0].memory.content, memory.learn("hold mugs by the handle").memory_id)
threading.Thread(target=ask).start()
"""
)


def end_of(code: str, path: Path) -> tuple[int, str]:
    """The exit code of a program, and what it complained about."""
    with running(code, path) as process:
        _, complaints = process.communicate(timeout=120)
        return process.returncode, complaints


def memories(path: Path) -> int:
    """How many a file holds."""
    with RobotMemory(path, embedding_model="") as memory:
        return memory.status().memories


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.rare)])
def test_a_program_can_end_again_and_again_in_the_middle_of_embedding(tmp_path: Path, times: int) -> None:
    for attempt in range(times):
        path = tmp_path / f"{attempt}.db"
        assert end_of(IN_THE_MODEL, path) == (0, "")
        assert memories(path) == 60
        assert not path.with_name(f"{path.name}-wal").exists()


def test_a_program_can_end_while_the_model_is_being_loaded(tmp_path: Path) -> None:
    assert end_of(WHILE_THE_MODEL_IS_LOADED, tmp_path / "memory.db") == (0, "")


def test_a_program_can_end_while_its_own_daemon_threads_learn_and_ask(tmp_path: Path) -> None:
    for attempt in range(3):
        assert end_of(IN_THREADS_OF_THE_PROGRAM, tmp_path / f"{attempt}.db") == (0, "")


def test_a_program_that_fails_keeps_its_exit_code(tmp_path: Path) -> None:
    assert end_of(BY_AN_ERROR, tmp_path / "memory.db") == (3, "")
    assert memories(tmp_path / "memory.db") == 1


def test_threads_that_go_on_after_the_main_thread_can_use_the_memory(tmp_path: Path) -> None:
    assert output_of(THREADS_GO_ON, tmp_path / "memory.db") == "a red mug 2\n"
    assert not (tmp_path / "memory.db-wal").exists()


def test_a_closed_memory_is_not_kept_alive(tmp_path: Path) -> None:
    memory = RobotMemory(tmp_path / "memory.db", embedding_model="")
    memory.close()
    alive = weakref.ref(memory)
    del memory
    gc.collect()
    assert alive() is None
