"""One memory node for the tests that do not need their own, and the means to start more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Read when rclpy and the messages are imported: nothing leaves this machine, and a field of the wrong type is an error.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"
pytest.importorskip("rclpy", reason="ROS 2 is not in this environment: `make test` brings it")

from ..support.node.graph import Client, NodeProcess, own_domain

StartNode = Callable[..., NodeProcess]


@pytest.fixture(scope="session")
def domain() -> Iterator[int]:
    with own_domain() as number:
        yield number


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[StartNode, Callable[..., Client]]]:
    """Starts nodes and clients in a domain of the test's own; ends them all."""
    nodes: list[NodeProcess] = []
    clients: list[Client] = []
    with own_domain() as number:

        def start(*arguments: str, environment: dict[str, str] | None = None) -> NodeProcess:
            log = tmp_path / f"node{len(nodes)}.log"
            nodes.append(NodeProcess(number, log, list(arguments), environment))
            return nodes[-1]

        def connect(**node_options: object) -> Client:
            clients.append(Client(number, **node_options))
            return clients[-1]

        yield start, connect
        for client in clients:
            client.close()
        for node in nodes:
            node.stop()
            sys.stdout.write(node.output)  # pytest shows it if the test failed: a node may have ended at its start


@pytest.fixture(scope="session")
def shared_node(domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    folder = tmp_path_factory.mktemp("node")
    node = NodeProcess(domain, folder / "node.log", ["-p", f"db_path:={folder / 'memory.db'}"])
    yield node
    code = node.stop()
    assert code == 0, node.output
    assert "Traceback" not in node.output


@pytest.fixture(scope="session")
def client(domain: int, shared_node: NodeProcess) -> Iterator[Client]:
    """A client of a node that is up, with the model loaded."""
    connected = Client(domain)
    connected.until_active("hybrid")
    yield connected
    connected.close()
