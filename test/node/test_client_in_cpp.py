"""memory_client.hpp on a real graph, where rclcpp is found; what it declares, everywhere."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from robotmem_ros.srv import List

from ..support.node.cpp import built
from ..support.node.graph import DEADLINE, Client
from .conftest import StartNode

ROOT = Path(__file__).resolve().parents[2]
CALLS = ROOT / "test" / "support" / "node" / "calls.cpp"
PRINTED = """\
nobody: no answer: /nobody/recall: no such service within 0.1 s: is the memory node running\\?
of another type: no answer: /old/recall: no such service within 5 s: /old/recall has another type: is its node of \
another version of robotmem_ros\\?
learned: stored
in a callback: 1 kind
at once: 50
of no kind: field: 'colors' is unknown; use one of .*
stopped: no answer: /memory/learn: no answer within 0.5 s
closed: the client is closed, or rclcpp was shut down
learned: duplicate
shut down: the client is closed, or rclcpp was shut down
"""


def test_the_header_has_every_service() -> None:
    header = (ROOT / "include" / "robotmem_ros" / "memory_client.hpp").read_text()
    services = sorted(path.stem for path in (ROOT / "srv").glob("*.srv"))
    files = [re.sub(r"(?<!^)(?=[A-Z])", "_", service).lower() for service in services]
    assert re.findall(r'#include "robotmem_ros/srv/(\w+)\.hpp"', header) == files
    assert re.findall(r"Client<srv::(\w+)>", header.partition("std::tuple<")[2].partition("clients_")[0]) == services
    methods = re.findall(r"Answer<srv::(\w+)> (\w+)\(srv::", header)
    assert methods == [pair for pair in zip(services, files, strict=True) if pair[0] != "Watch"]


def test_calls_in_cpp_are_answered_or_fail_as_those_in_python(
    own: tuple[StartNode, Callable[..., Client]], tmp_path: Path
) -> None:
    program = built(CALLS.read_text(), tmp_path)
    start, connect = own
    node = start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    client.until_active()
    client.node.create_service(List, "/old/recall", lambda _, response: response)
    result = subprocess.run(
        [program, str(node.pid)], env={**os.environ, "ROS_DOMAIN_ID": str(client.domain)},
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert re.fullmatch(PRINTED, result.stdout), result.stdout + result.stderr
    assert result.returncode == 0, result.stderr
