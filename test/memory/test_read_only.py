"""A memory that is only looked at: everything can be asked, nothing is written, whoever else has the file open."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import DatabaseUnusableError, FieldOfView, ReadOnlyError, RobotMemory

from ..support.forks import output_of
from ..support.subprocesses import NOBODY, without
from .conftest import OpenMemory

WORDS = ("机器人", "充电站", "护士站", "实验室", "杯子")
STATUS_WITHOUT_JIEBA = (
    without("jieba")
    + """
import sys
from robotmem_ros.cli.main import main
sys.exit(main(["status", "--db", sys.argv[1]]))
"""
)
RECALL_WITHOUT_JIEBA = (
    without("jieba")
    + """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="", read_only=True) as memory:
    print(memory.recall("mug")[0].memory.content)
    print(memory.recall("mug").reason)
"""
)
LEARN_WITHOUT_JIEBA = (
    without("jieba")
    + """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="", similar_jaccard=0.6) as memory:
    print(memory.learn(sys.argv[2]).similar_ids)
"""
)
READ_AS_NOBODY = f"""
import os, sys
if os.getuid() == 0:
    os.setgid({NOBODY})
    os.setuid({NOBODY})
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="", read_only=True) as memory:
    print(memory.recall("mug")[0].memory.content)
"""


VIEW = FieldOfView((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1, max_range=5.0, horizontal=1.0, vertical=0.5)


def contents_of(folder: Path) -> dict[str, str]:
    """What the files of a folder hold; but not what readers note in the index of the log, which is no part of it."""
    files = [file for file in sorted(folder.iterdir()) if not file.name.endswith("-shm")]
    # In a process of its own: a file that this one closes loses the locks of the connections that it has open.
    sums = subprocess.run(["sha256sum", *files], capture_output=True, check=True, text=True).stdout.splitlines()
    return {file.name: line.split()[0] for file, line in zip(files, sums, strict=True)}


def filled(path: Path) -> Path:
    """A closed memory that has some of everything, and an open session."""
    with RobotMemory(path, embedding_model="") as memory:
        memory.store_sightings([]).result()
        memory.save_perception("a red mug on the table", label="mug", pose=(1.0, 2.0, 0.0))
        memory.learn("hold mugs by the handle", session_id=memory.start_session().session_id)
        memory.forget(memory.learn("doors are locked at night").memory_id, "it is not so")
    return path


def test_every_query_works_read_only_and_writes_nothing(tmp_path: Path) -> None:
    path = filled(tmp_path / "memory.db")
    before = contents_of(tmp_path)
    with RobotMemory(path, embedding_model="", read_only=True, max_memories=1) as memory:
        assert {found.id for found in memory.recall("mugs")} == {1, 2}
        assert memory.history(3)[0].reason == "it is not so"
        assert memory.explain(2).memory_id == 2
        (session,) = memory.sessions.latest()
        assert session.is_open
        assert memory.sessions.consolidate(session.session_id, dry_run=True).superseded == 0
        assert memory.retain(dry_run=True).memories == 2
        assert memory.purge(ids=[1], dry_run=True).memories == 1
        assert [seen.label for seen in memory.objects()] == ["mug"]
        assert memory.status().memories == 2
        memory.warm_up()
        memory.flush()
    assert {name: value for name, value in contents_of(tmp_path).items() if name != "memory.db-wal"} == before
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT sum(access_count) FROM memories").fetchone() == (0,)


@pytest.mark.parametrize(
    "write",
    [
        lambda memory: memory.learn("a fact"),
        lambda memory: memory.save_perception("a red mug"),
        lambda memory: memory.store_sightings([], field_of_view=VIEW),
        lambda memory: memory.forget(1, "a test"),
        lambda memory: memory.restore(3),
        lambda memory: memory.update(1, "a blue mug"),
        lambda memory: memory.start_session(),
        lambda memory: memory.end_session("session"),
        lambda memory: memory.sessions.consolidate(memory.sessions.latest()[0].session_id),
        lambda memory: memory.purge(ids=[1]),
        lambda memory: memory.finish_purge(),
        lambda memory: memory.retain(),
        lambda memory: memory.imports.finish(1),
    ],
)
def test_every_verb_that_writes_is_refused_read_only(tmp_path: Path, write: Callable[[RobotMemory], Any]) -> None:
    path = filled(tmp_path / "memory.db")
    with (
        RobotMemory(path, embedding_model="", read_only=True) as memory,
        pytest.raises(ReadOnlyError, match="opened with read_only=True; open another RobotMemory without it"),
    ):
        write(memory)


def test_a_read_only_memory_sees_writes_of_others_and_blocks_none(open_memory: OpenMemory) -> None:
    memory = open_memory()
    looking = open_memory(memory.path, read_only=True)
    memory.learn("hold mugs by the handle")
    assert [found.memory.content for found in looking.recall("mugs")] == ["hold mugs by the handle"]
    memory.update(1, "hold mugs by their handle")
    assert [found.memory.content for found in looking.recall("mugs")] == ["hold mugs by their handle"]


def test_a_file_of_another_schema_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = filled(tmp_path / "memory.db")
    for version, wanted in ((0, "older than .* start the node with it once"), (99, "newer than .* use a newer")):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        before = path.read_bytes()
        with pytest.raises(DatabaseUnusableError, match=f"has schema version {version}, {wanted}"):
            RobotMemory(path, read_only=True)
        assert path.read_bytes() == before


@pytest.mark.parametrize("path", ["missing.db", ":memory:"])
def test_opening_read_only_creates_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatabaseUnusableError, match=f"{path}' does not exist"):
        RobotMemory(path, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_on_a_disk_that_cannot_be_written_is_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("copy")
    path = filled(folder / "memory.db")
    parents = [parent for parent in folder.parents if parent.stat().st_uid == os.getuid() and parent != Path("/")]
    modes = {parent: parent.stat().st_mode for parent in [folder, *parents]}
    for parent in parents:
        parent.chmod(parent.stat().st_mode | 0o055)
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert output_of(READ_AS_NOBODY, path) == "a red mug on the table\n"
        assert [file.name for file in folder.iterdir()] == ["memory.db"]
    finally:
        for parent, mode in modes.items():
            parent.chmod(mode)


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["recall", "mug", "--no-model"],
        ["history", "3"],
        ["explain", "2"],
        ["sessions"],
        ["consolidate", "SESSION", "--dry-run"],
        ["purge", "--id", "1", "--dry-run"],
        ["retention", "--rows", "1", "--dry-run"],
    ],
)
def test_commands_that_look_change_nothing_beside_a_running_memory(
    tmp_path: Path, open_memory: OpenMemory, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    path = filled(tmp_path / "memory.db")
    memory = open_memory(path, embedder=None, embedding_model="")
    (session,) = memory.sessions.latest()
    memory.flush()
    before = contents_of(tmp_path)
    arguments = [session.session_id if part == "SESSION" else part for part in command]
    assert main([*arguments, "--db", str(path)]) == 0
    assert capsys.readouterr().out
    assert contents_of(tmp_path) == before


def test_who_looks_without_jieba_leaves_the_index_of_a_running_memory_alone(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    for text in ("红色的杯子在桌子上 mug", "机器人在充电站旁边", "护士站在三楼", "实验室的门是蓝色的"):
        memory.save_perception(text)
    before = {word: [found.id for found in memory.recall(word)] for word in WORDS}
    assert "memory.db" in output_of(STATUS_WITHOUT_JIEBA, memory.path)
    content, _ = output_of(RECALL_WITHOUT_JIEBA, memory.path).splitlines()
    assert content == "红色的杯子在桌子上 mug"
    assert {word: [found.id for found in memory.recall(word)] for word in WORDS} == before


def test_facts_that_were_learned_without_jieba_are_compared_by_its_words(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="", similar_jaccard=0.6)
    first = memory.learn("机器人在充电站旁边等待护士")
    told = output_of(LEARN_WITHOUT_JIEBA, memory.path, "机器人在充电站旁边等待医生")
    assert told == f"({first.memory_id},)\n"
    assert memory.learn("机器人在充电站旁边等待病人").similar_ids == (2, first.memory_id)
