"""The services that the benchmarks compare a node with answer as a node does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.srv import Recall

from ..support.node.graph import Client
from ..support.subprocesses import started


@pytest.mark.parametrize(("name", "found"), [("least", ["a red mug"]), ("empty", [])])
def test_a_bare_service_answers(own: Any, tmp_path: Path, name: str, found: list[str]) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a red mug")
    connect: Callable[[], Client] = own[1]
    client = connect()
    command = (sys.executable, "-m", "bench.ros.services", name, str(path), "")
    with started(*command, environment={**os.environ, "ROS_DOMAIN_ID": str(client.domain)}):
        service = client.node.create_client(Recall, f"/{name}/recall")
        response = client.ask(service, Recall.Request(query="red mug"))
    assert response.success
    assert [memory.content for memory in response.memories] == found
