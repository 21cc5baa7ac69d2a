"""`ros2 memory` on a real graph, by its class and, where ros2cli is found, by `ros2` itself."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from robotmem_ros.cli.ros2 import NODE_COMMANDS, MemoryCommand
from robotmem_ros.messages.verbs import VERBS

from ..support.node.graph import DEADLINE, NodeProcess


def ros2(capfd: pytest.CaptureFixture[str], *line: str) -> tuple[int, str]:
    parser = argparse.ArgumentParser(prog="ros2 memory")
    extension = MemoryCommand()
    extension.add_arguments(parser, "ros2 memory")
    code = extension.main(parser=parser, args=parser.parse_args([*line, "--timeout", str(DEADLINE)]))
    captured = capfd.readouterr()
    return code, captured.out if code == 0 else captured.err


def test_every_command_calls_a_verb_that_is_a_service() -> None:
    served = {verb.path for verb in VERBS}
    assert {command.verb for command in NODE_COMMANDS} <= served


def test_the_memory_of_a_node_is_filled_queried_and_changed(
    domain: int, shared_node: NodeProcess, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    line = ["learn", "the lift of hall seven rattles", "--collection", "ros2", "--json"]
    learned = json.loads(ros2(capfd, *line)[1])
    fact = str(learned["memory_id"])
    assert learned["status"] == "stored"
    code, text = ros2(capfd, "recall", "lift", "--collection", "ros2", "--columns", "id,content", "--csv")
    assert (code, text) == (0, f"id,content\n{fact},the lift of hall seven rattles\n")
    code, text = ros2(capfd, "save", "a mug", "--label", "mug", "--pose", "1", "2", "0.5", "--collection", "ros2")
    assert (code, text.startswith("saved: ")) == (0, True)
    assert ros2(capfd, "list", "labels", "--collection", "ros2") == (0, "value  memories\nmug           1\n")
    assert ros2(capfd, "forget", fact, "--reason", "it was mended") == (0, f"forgotten: {fact}\n")
    code, text = ros2(capfd, "get", fact)
    assert (code, "it was mended" in text) == (1, True)


def test_a_node_that_is_not_there_is_named(
    domain: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    parser = argparse.ArgumentParser(prog="ros2 memory")
    MemoryCommand().add_arguments(parser, "ros2 memory")
    arguments = parser.parse_args(["recall", "lift", "--node", "/nobody", "--timeout", "0.5"])
    assert MemoryCommand().main(parser=parser, args=arguments) == 1
    assert "/nobody/recall: no such service within 0.5 s: is the memory node running?" in capfd.readouterr().err


def test_ros2cli_finds_the_command_and_calls_it(domain: int, shared_node: NodeProcess) -> None:
    pytest.importorskip("ros2cli", reason="ros2cli is not in this environment")
    (entry,) = (entry for entry in entry_points(group="ros2cli.command") if entry.name == "memory")
    assert entry.load() is MemoryCommand
    line = [sys.executable, "-c", "import sys; from ros2cli.cli import main; sys.exit(main())", "memory"]
    called = subprocess.run(
        [*line, "list", "kinds", "--json", "--timeout", str(DEADLINE)],
        env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
        capture_output=True, text=True, check=True, timeout=2 * DEADLINE,
    )  # fmt: skip
    assert "kinds" in json.loads(called.stdout)
