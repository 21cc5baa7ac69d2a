"""Long work tells how far it is, and ends between two pieces if whoever is told raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.doctor import Severity, worst
from robotmem_ros.memory.errors import CancelledError
from robotmem_ros.memory.progress import told_to

FACTS = [f"door {number} of hall {number % 7} sticks" for number in range(600)]


@pytest.fixture
def memory(tmp_path: Path) -> RobotMemory:
    memory = RobotMemory(tmp_path / "memory.db", embedding_model="")
    memory.learn_many({"insight": fact, "session_id": "long"} for fact in FACTS)
    return memory


def cancel_at(share: float) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if done >= share * total:
            raise CancelledError("it", done, total)

    return tell


def count(memory: RobotMemory) -> int:
    return memory.status().memories


def test_a_purge_tells_of_each_piece(memory: RobotMemory) -> None:
    told: list[tuple[int, int]] = []
    with memory, told_to(lambda *news: told.append(news)):
        assert memory.purge(session_id="long").memories == 600
    assert told == [(250, 600), (500, 600), (600, 600)]


def test_a_cancelled_purge_keeps_what_it_did_not_come_to(memory: RobotMemory) -> None:
    with memory:
        with told_to(cancel_at(0.5)), pytest.raises(CancelledError, match="it: cancelled at 500 of 600"):
            memory.purge(session_id="long")
        assert count(memory) == 100
        assert len(memory.recall("door sticks", 5)) == 5
        assert worst(memory.doctor()) is not Severity.ERROR
        assert memory.purge(session_id="long").memories == 100
        assert count(memory) == 0


def test_a_backup_is_one_state_of_the_file_while_others_write(memory: RobotMemory, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    def write(done: int, total: int) -> None:
        told.append((done, total))
        memory.learn(f"the lamp {len(told)} flickers")

    with memory:
        memory.learn_many(f"{fact} {'and ' * 400}" for fact in FACTS)  # so that it takes several pieces
        before = count(memory)
        with told_to(write):
            memory.backup(tmp_path / "copy.db")
        assert 1 < len(told) < 100
        assert told[-1][0] == told[-1][1]
    with RobotMemory(tmp_path / "copy.db", embedding_model="", read_only=True) as copy:
        assert count(copy) == before


def test_a_cancelled_backup_leaves_no_file(memory: RobotMemory, tmp_path: Path) -> None:
    with memory, told_to(cancel_at(0.0)), pytest.raises(CancelledError):
        memory.backup(tmp_path / "copy.db")
    assert [file.name for file in tmp_path.iterdir() if "copy" in file.name] == []


def test_cancelled_perceptions_are_all_unsaved(memory: RobotMemory) -> None:
    cups = [{"description": f"cup {n}", "label": "cup", "pose": [0.5 * n, 0.0, 0.0]} for n in range(3000)]
    with memory:
        with told_to(cancel_at(0.0)), pytest.raises(CancelledError):
            memory.save_many(cups)
        assert count(memory) == 600
        memory.save_many(cups[:10])
        assert count(memory) == 610


def test_a_cancelled_consolidation_changes_nothing(memory: RobotMemory) -> None:
    with memory:
        for how in ("softly", "very softly", "always softly"):
            memory.learn(f"hold the thin glass {how}", session_id="alike", category="grasp", confidence=0.8)
        with told_to(cancel_at(0.5)), pytest.raises(CancelledError):
            memory.sessions.consolidate("alike")
        assert memory.sessions.consolidate("alike").grouped > 0
