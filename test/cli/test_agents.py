"""The commands for agents: tools, call, mcp."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main

from ..support.agents import kitchen
from ..support.forks import ROBOTMEM, running
from ..support.subprocesses import without


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(kitchen(tmp_path / "memory.db"))


def test_tools_are_listed_for_agents_without_mcp(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--json"]) == 0
    tools = json.loads(capsys.readouterr().out)["tools"]
    assert len(tools) == 20
    recall = next(tool for tool in tools if tool["name"] == "recall")
    assert recall["input_schema"]["properties"]["query"] == {
        "description": "words, or a question", "maxLength": 2000, "type": "string",
    }  # fmt: skip
    assert recall["annotations"] == {
        "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False,
    }  # fmt: skip
    assert main(["tools", "--json", "--functions", "--read-only"]) == 0
    functions = json.loads(capsys.readouterr().out)["tools"]
    assert len(functions) == 9
    assert {one["type"] for one in functions} == {"function"}
    assert all(one["function"].keys() == {"name", "description", "parameters"} for one in functions)


def test_tools_are_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools"]) == 0
    assert "\nlearn            changes  Remember a fact\n" in capsys.readouterr().out


def test_a_tool_is_called(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "recall", '{"query": "chair", "n": 1}', "--db", db, "--no-model"]) == 0
    assert json.loads(capsys.readouterr().out)["memories"][0]["label"] == "chair"
    assert main(["call", "doctor", "--db", db, "--no-model", "--read-only"]) == 0
    assert json.loads(capsys.readouterr().out)["read_only"]
    assert main(["call", "doctor", "--db", db, "--read-only"]) == 0
    assert json.loads(capsys.readouterr().out)["search"] == "hybrid"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["recall", '{"n": "x"}'], "robotmem: n: 'x' must be a whole number\n"),
        (["recall", "{"], "robotmem: '{' is no JSON: "),
        (["nothing"], "robotmem: tool: 'nothing' is unknown; there are "),
        (["learn", '{"insight": "x"}', "--read-only"], "robotmem: learn: the memory is open read-only here"),
        (["doctor", "--config", "/nowhere"], "robotmem: config: '/nowhere' "),
    ],
)
def test_a_wrong_call_is_told_on_stderr(
    arguments: list[str], complaint: str, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", *arguments, "--db", db, "--no-model"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(complaint)


@pytest.mark.parametrize(("package", "command"), [("mcp", ["mcp"]), ("jsonschema", ["call", "doctor"])])
def test_a_missing_library_is_named_with_the_extra(package: str, command: list[str], db: str) -> None:
    with running(without(package) + ROBOTMEM, *command, "--db", db) as process:
        _, complaints = process.communicate(timeout=180)
    assert process.returncode == 1
    assert complaints.endswith(f"{package} is not installed; pip install 'robotmem_ros[mcp]' brings what agents need\n")
    assert "Traceback" not in complaints


def test_a_parameter_file_of_the_node_is_followed(db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "memory.yaml"
    config.write_text("/**:\n  ros__parameters:\n    collection: attic\n    max_memories: 1\n    embedding_model: ''\n")
    assert main(["call", "learn", '{"insight": "dusty"}', "--db", db, "--config", str(config)]) == 0
    capsys.readouterr()
    assert main(["call", "doctor", "--db", db, "--config", str(config)]) == 0
    told = json.loads(capsys.readouterr().out)
    # The budget is for the node to keep.
    assert (told["collection"], told["facts"]) == ("attic", 6)
