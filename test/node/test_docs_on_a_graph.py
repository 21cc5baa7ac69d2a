"""The ROS examples of the README and of docs/, run as they stand against a real node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..support.docs import BLOCKS, looks_like
from ..support.node.graph import DEADLINE, Client

CALL = Path(__file__).resolve().parents[1] / "support" / "node" / "ros2_service_call.py"


ON_A_GRAPH = [block for block in BLOCKS if block.needs == "ROS"]
CALLS = [call for block in ON_A_GRAPH if block.kind == "console" for call in block.commands()]


def test_the_planner_is_answered_and_the_topic_is_remembered(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    client.until_active()
    (learn,) = (command for command, _ in CALLS if "/memory/learn " in command)
    assert "success=True" in called(learn, tmp_path, client)
    planner, many, publishing = (block.text for block in ON_A_GRAPH if block.kind == "python")
    matched = "while not publisher.get_subscription_count(): rclpy.spin_once(node, timeout_sec=0.1)\n"
    publishing = publishing.replace("publisher.publish", f"{matched}publisher.publish")
    result = subprocess.run(
        [sys.executable, "-c", planner + many + publishing + "publisher.wait_for_all_acked()"],
        env={**os.environ, "ROS_DOMAIN_ID": str(client.domain)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert looks_like("".join(block.output for block in ON_A_GRAPH), result.stdout)
    client.until_status(lambda status: status.stored == 1, "the perception")


def called(command: str, folder: Path, client: Client) -> str:
    """Call a service by the command line of ROS 2, or by what stands for it; return what is printed."""
    if not shutil.which("ros2"):
        program = folder / "ros2"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {CALL} "$@"\n')
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:{folder}", "ROS_DOMAIN_ID": str(client.domain)}
    result = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def fields(response: str) -> set[str]:
    """The names of all fields that a printed message has."""
    return set(re.findall(r"(?<=[(\s])(\w+)=", response))


def test_the_calls_of_services_are_answered_as_is_shown(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    client.until_active("hybrid")
    for command, shown in CALLS:
        response = called(command, tmp_path, client).partition("response:\n")[2]
        assert re.findall("success=\\w+", response) == re.findall("success=\\w+", shown), command
        assert fields(response) == fields(shown), command
