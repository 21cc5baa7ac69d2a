"""What a nav2_lifecycle_manager hears of the node that it activated."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from ..support.node.graph import Client

Status = pytest.importorskip("bond.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh").Status

BY_HAND = ("-p", "db_path:=':memory:'", "-p", "embedding_model:=''", "-p", "autostart:=false")


def change(client: Client, transition: int) -> None:
    assert client.call(ChangeState, "change_state", transition=Transition(id=transition)).success


def heard(client: Client) -> list[Any]:
    """What comes on the bond's topic from now on."""
    messages: list[Any] = []
    client.node.create_subscription(Status, "/bond", messages.append, 1000)
    client.until(lambda: client.node.count_publishers("/bond") > 0, "a publisher")
    return messages


def test_the_node_keeps_a_bond_from_its_activation_until_it_is_deactivated(own: Any) -> None:
    start, connect = own
    start(*BY_HAND, "-p", "bond_heartbeat_period:=0.05")
    client: Client = connect()
    messages = heard(client)
    change(client, Transition.TRANSITION_CONFIGURE)
    assert messages == [], "not before it is active"
    change(client, Transition.TRANSITION_ACTIVATE)
    client.until(lambda: len(messages) >= 3, "heartbeats")
    assert {(one.id, one.active) for one in messages} == {("memory", True)}
    assert messages[0].heartbeat_period == pytest.approx(0.05)
    change(client, Transition.TRANSITION_DEACTIVATE)
    client.until(lambda: not messages[-1].active, "the end of the bond")
    assert len({one.instance_id for one in messages}) == 1
    change(client, Transition.TRANSITION_ACTIVATE)
    client.until(lambda: bool(messages[-1].active), "a new bond")
    assert messages[-1].instance_id != messages[0].instance_id


def test_a_node_that_is_stopped_says_so(own: Any) -> None:
    start, connect = own
    node = start(*BY_HAND[:-2])
    client: Client = connect()
    messages = heard(client)
    client.until(lambda: bool(messages), "a heartbeat")
    assert node.stop(signal.SIGTERM) == 0
    client.until(lambda: not messages[-1].active, "the end of the bond")


def test_a_period_of_zero_makes_no_bond(own: Any) -> None:
    start, connect = own
    start(*BY_HAND[:-2], "-p", "bond_heartbeat_period:=0.0")
    client: Client = connect()
    client.until_active()
    assert client.node.count_publishers("/bond") == 0
