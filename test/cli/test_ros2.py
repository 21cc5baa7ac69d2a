"""The commands of `ros2 memory`, as ros2cli would add and parse them; and what a shell is told of a line."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import COMMANDS
from robotmem_ros.cli.ros2 import NODE_COMMANDS, MemoryCommand
from robotmem_ros.memory import RobotMemory

ROOT = Path(__file__).parents[2]


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="ros2 memory")
    MemoryCommand().add_arguments(made, "ros2 memory")
    return made


def test_the_commands_are_those_of_robotmem_without_what_opens_a_file(parser: argparse.ArgumentParser) -> None:
    own = {command.name: command for command in COMMANDS}
    assert {"recall", "learn", "save", "forget", "tag add", "doctor"} <= {command.name for command in NODE_COMMANDS}
    for command in NODE_COMMANDS:
        assert command.work is own[command.name].work
    arguments = parser.parse_args(["recall", "mug", "--near", "-1,2", "--node", "/robot1/memory", "--n", "3"])
    assert (arguments.query, arguments.near, arguments.n, arguments.node) == ("mug", "-1,2", 3, "/robot1/memory")
    assert not hasattr(arguments, "db")
    assert parser.parse_args(["tag", "add", "fridge", "--parent", "home"]).called.verb == "tags.add"


def test_what_a_command_does_is_the_same_on_a_memory(
    parser: argparse.ArgumentParser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        for line in (["learn", "the door sticks"], ["recall", "door", "--brief"], ["list", "kinds"]):
            arguments: Any = parser.parse_args(line)
            assert arguments.called.show(arguments, arguments.called.work(memory, arguments)) == 0
    told = capsys.readouterr().out
    assert told.startswith("stored: 1 (")
    assert "the **door** sticks" in told
    assert told.splitlines()[-1].split() == ["fact", "1"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["recall", "--n", "x"], "ros2 memory recall: argument --n: 'x' is no whole number from 1 to 100"),
        (["recal"], "invalid choice: 'recal'"),
        (["recall", "--db", "x"], "'--db' is not understood"),
        (["recall", "--timeout", "-1"], "argument --timeout"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(
    parser: argparse.ArgumentParser, line: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parser.parse_args(line)
    assert end.value.code == 2
    assert words in capsys.readouterr().err


def completed(line: str) -> list[str]:
    """Return what argcomplete tells a shell by which the line goes on."""
    pytest.importorskip("argcomplete")
    environment = {
        **os.environ, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }  # fmt: skip
    answer = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m robotmem_ros.cli 8>&1 9>/dev/null >/dev/null"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return [word.strip() for word in answer.stdout.splitlines()]


def test_a_shell_completes_commands_options_and_values() -> None:
    assert {"recall", "recalls", "restore"} <= {*completed("robotmem re")}
    assert completed("robotmem tag ") == ["list", "add", "rename", "remove"]
    assert completed("robotmem recall mug --lab") == ["--labels"]
    assert {"csv", "jsonl", "mcp", "places"} == {*completed("robotmem import facts.csv --from ")}
