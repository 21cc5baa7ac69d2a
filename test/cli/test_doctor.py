"""The commands `doctor` and `recalls`: what they print, and their exit codes, whatever the file is."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.doctor import CHECKS

Out = pytest.CaptureFixture[str]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        for number in range(5):
            memory.learn(f"mug {number} hangs on hook {number}")
        memory.recall("mug", 2, caller="planner")
        memory.recall("zeppelin")
    return path


def examine(path: Path, capsys: Out, *options: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code, and the findings by their names."""
    capsys.readouterr()
    code = main(["doctor", "--db", str(path), "--no-model", "--json", *options])
    told = json.loads(capsys.readouterr().out)
    findings = {finding["name"]: finding for finding in told["findings"]}
    severities = {finding["severity"] for finding in findings.values()}
    assert code == {"ok": 0, "warn": 1, "error": 2}[told["severity"]]
    assert told["severity"] in severities
    return code, findings


def test_each_check_has_a_line(db: Path, capsys: Out) -> None:
    assert main(["doctor", "--db", str(db), "--no-model"]) in {0, 1}  # a machine may lack packages or room
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [check.name for check in CHECKS]
    (indexes,) = (line for line in lines if line.split()[1] == "indexes")
    assert indexes.startswith("ok")
    assert indexes.endswith("5 of 5 memories have their vectors, and all objects their boxes")


def test_what_is_broken_is_an_error_until_it_is_mended(db: Path, capsys: Out) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as connection:
        connection.execute("INSERT INTO objects_rtree (id) VALUES (99)")
    before = db.read_bytes()
    code, findings = examine(db, capsys)
    assert (code, findings["indexes"]["remedy"]) == (2, "robotmem doctor --fix")
    assert db.read_bytes() == before
    code, findings = examine(db, capsys, "--fix")
    assert (code < 2, findings["indexes"]["severity"]) == (True, "ok")
    assert examine(db, capsys)[1]["indexes"]["severity"] == "ok"


def nothing(path: Path) -> None:
    """Leave no file."""


def text(path: Path) -> None:
    path.write_text("no database, but a long enough text " * 100)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (x)")


def newer(path: Path) -> None:
    RobotMemory(path, embedding_model="").close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 99")


def cut(path: Path) -> None:
    RobotMemory(path, embedding_model="").close()
    path.write_bytes(path.read_bytes()[:5000])


def other_header(path: Path) -> None:
    RobotMemory(path, embedding_model="").close()
    path.write_bytes(b"y" * 100 + path.read_bytes()[100:])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (nothing, "does not exist"),
        (Path.mkdir, "does not exist"),
        (Path.touch, "is empty"),
        (text, "is damaged or no SQLite database"),
        (foreign, "was not made by robotmem_ros"),
        (newer, "has schema version 99, newer than 1"),
        (cut, "is damaged or no SQLite database"),
        (other_header, "is damaged or no SQLite database"),
    ],
)
def test_a_file_that_cannot_be_opened_is_one_finding(
    tmp_path: Path, capsys: Out, make: Callable[[Path], None], problem: str
) -> None:
    path = tmp_path / "memory.db"
    make(path)
    code, findings = examine(path, capsys)
    assert (code, [*findings]) == (2, ["file"])
    assert problem in findings["file"]["seen"]
    assert findings["file"]["remedy"]


HOLD = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="", read_only=True):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_an_index_is_not_rebuilt_while_another_program_has_the_file_open(db: Path, capsys: Out) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as connection:
        connection.execute("INSERT INTO objects_rtree (id) VALUES (99)")
    command = [sys.executable, "-c", HOLD, str(db)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        finding = examine(db, capsys, "--fix")[1]["indexes"]
        assert (finding["severity"], f"({other.pid})" in finding["remedy"]) == ("error", True)
        other.communicate()
    assert examine(db, capsys, "--fix")[1]["indexes"]["severity"] == "ok"


def test_recalls_and_the_most_used_memories_are_listed(db: Path, capsys: Out) -> None:
    assert main(["recalls", "--db", str(db)]) == 0
    head, latest, first, _, used_head, *used = capsys.readouterr().out.splitlines()
    assert head.split() == ["recalled_at", "caller", "mode", "hits", "relevance", "milliseconds", "digest"]
    assert ("planner" in first, "python" in latest, "mug" in first) == (True, True, False)
    assert used_head.split()[:3] == ["memory_id", "collection", "snippet"]
    assert len(used) == 2
    assert main(["recalls", "--db", str(db), "--json", "--n", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (len(told["recalls"]), told["recalls"][0]["hits"], len(told["most_used"])) == (1, 0, 1)
    assert main(["get", "5", "--db", str(db)]) == 0
    assert "\nreturn count: 1\n" in capsys.readouterr().out


def test_recalls_of_an_empty_log(tmp_path: Path, capsys: Out) -> None:
    RobotMemory(tmp_path / "memory.db", embedding_model="").close()
    assert main(["recalls", "--db", str(tmp_path / "memory.db")]) == 0
    assert capsys.readouterr().out == "no recalls\n"
