"""A node sends what it remembers to its fleet, brings what others know, and says when it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="the fleet is optional: `make test` brings psycopg")

from robotmem_ros.memory import RobotMemory
from robotmem_ros.srv import Learn

from ..fleet.conftest import Fleet, push
from ..support.node.configured import diagnostic, recalled, values
from ..support.node.graph import Client
from ..support.postgres import server


def test_a_node_sends_what_it_learns_brings_what_others_know_and_says_when_it_cannot(own: Any, tmp_path: Path) -> None:
    start, connect = own
    with server() as running:
        fleet = Fleet(running, tmp_path)
        url = fleet.add("node")
        with RobotMemory(tmp_path / "other.db", embedding_model="") as other:
            other.learn("the gate is open")
            push(other, fleet.add("other"))
        fleet.query("INSERT INTO robotmem.grants SELECT id, 'default' FROM robotmem.robots WHERE name = 'node'")
        parameters = {"db_path": tmp_path / "memory.db", "fleet_url": url, "fleet_subscriptions": "default"}
        node = start(*(part for name, value in parameters.items() for part in ("-p", f"{name}:={value}")))
        client: Client = connect()
        client.until_active()
        assert client.call(Learn, "learn", insight="the lab is open").success
        client.until(lambda: len(fleet.units("node")) == 1, "the fact in the fleet")
        client.until(lambda: bool(recalled(client, query="gate", kinds=["fact"])), "what the other robot knows")
        assert recalled(client, query="gate", kinds=["fact"])[0].collection == "@other/default"
        client.until(lambda: values(client, "memory").get("fleet_backlog") == "0", "no backlog")
        client.until_status(lambda status: (status.fleet_backlog, status.fleet_trouble) == (0, ""), "no backlog")
    assert client.call(Learn, "learn", insight="the lab is closed").success
    failed = "push to the fleet failed"
    status = client.until_status(lambda status: failed in status.fleet_trouble and status.fleet_backlog > 0, "trouble")
    assert failed in status.reason
    client.until(lambda: int(values(client, "memory")["fleet_backlog"]) > 0, "the backlog")
    assert "robot_node" not in diagnostic(client, "memory").message
    assert node.stop() == 0
