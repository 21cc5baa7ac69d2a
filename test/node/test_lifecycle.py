"""The node comes up, goes down and says why when it cannot; nothing accepted is lost on the way."""

from __future__ import annotations

import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState

from robotmem_ros.msg import Perception
from robotmem_ros.srv import (
    Consolidate,
    Doctor,
    EndSession,
    Forget,
    GetData,
    Learn,
    Recall,
    SavePerception,
    StartSession,
    Update,
)

from ..memory.storage.test_unusable import HOLD
from ..support.forks import running
from ..support.node.graph import Client

SERVICES = [
    (Learn, "learn", {"insight": "x"}),
    (SavePerception, "save_perception", {"perception": Perception(description="x")}),
    (Recall, "recall", {"query": "x"}),
    (Forget, "forget", {"memory_id": 1, "reason": "x"}),
    (Update, "update", {"memory_id": 1, "content": "x"}),
    (GetData, "get_data", {"memory_id": 1}),
    (StartSession, "start_session", {}),
    (EndSession, "end_session", {"session_id": "x"}),
    (Consolidate, "consolidate", {"session_id": "x"}),
    (Doctor, "doctor", {}),
]
TEXT_ONLY = ("-p", "embedding_model:=''")


def change(client: Client, transition: int) -> bool:
    return bool(client.call(ChangeState, "change_state", transition=Transition(id=transition)).success)


def state(client: Client) -> str:
    return str(client.call(GetState, "get_state").current_state.label)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_node_with_all_that_was_accepted_on_disk(own: Any, tmp_path: Path, number: int) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    node = start("-p", f"db_path:={path}", *TEXT_ONLY)
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Perception, "/memory/perception")
    for index in range(500):
        publisher.publish(Perception(description=f"thing {index}"))
    received = client.until_status(lambda status: status.received > 0, "perceptions").received
    assert node.stop(number) == 0, node.output
    assert "finalized" in node.output
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone()[0] >= received
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    connection.close()


def test_a_signal_leaves_no_request_without_an_answer(own: Any, tmp_path: Path) -> None:
    start, connect = own
    node = start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    client.until_active()
    assert client.call(Learn, "learn", insight="a red mug").success
    # The model may still be on its way: that is part of it.
    waiting = [client.start(Recall, "recall", query=f"red mug {number}") for number in range(100)]
    client.result(waiting[0])
    assert node.stop() == 0, node.output
    answers = [client.result(future) for future in waiting]
    assert {answer.error for answer in answers} <= {"", "the node is shutting down"}
    assert "Traceback" not in node.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_another_process_holds_the_file_is_told_to_all_who_wait(
    own: Any, tmp_path: Path, number: int
) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    node = start("-p", f"db_path:={path}", "-p", "busy_timeout:=2.0", "-p", "worker_threads:=1", *TEXT_ONLY)
    client: Client = connect()
    client.until_active()
    assert client.call(Learn, "learn", insight="a red mug").success
    assert client.call(SavePerception, "save_perception", perception=Perception(description="a mug")).success
    with running(HOLD, path, "BEGIN IMMEDIATE") as holder:
        assert holder.stdout.readline() == "held\n"
        publisher = client.publisher(Perception, "/memory/perception")
        for index in range(1000):
            publisher.publish(Perception(description=f"thing {index}"))
        # Each within its own time, not one after the other.
        saving = [
            client.start(SavePerception, "save_perception", perception=Perception(description=f"mug {number}"))
            for number in range(10)
        ]
        assert all("database is locked" in client.result(future).error for future in saving)
        learning = [client.start(Learn, "learn", insight=f"mug {number}") for number in range(20)]
        client.until_status(lambda status: "database is locked" in status.reason, "the lock in the status")
        assert node.stop(number) == 0, node.output
        errors = {client.result(future).error for future in learning}
    assert "the node is shutting down" in errors
    assert all(error == "the node is shutting down" or "database is locked" in error for error in errors)
    assert "Traceback" not in node.output


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, Transition.TRANSITION_ACTIVE_SHUTDOWN])
def test_a_node_that_cannot_write_ends_soon_and_counts_what_it_throws_away(own: Any, tmp_path: Path, how: int) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    node = start("-p", f"db_path:={path}", "-p", "busy_timeout:=600.0", *TEXT_ONLY)
    client: Client = connect()
    client.until_active()
    confirmed = client.call(SavePerception, "save_perception", perception=Perception(description="a mug")).memory_id
    with running(HOLD, path, "BEGIN IMMEDIATE") as holder:
        assert holder.stdout.readline() == "held\n"
        publisher = client.publisher(Perception, "/memory/perception")
        for index in range(500):
            publisher.publish(Perception(description=f"thing {index}"))
        client.until_status(lambda status: status.received == 500, "all perceptions")
        saving = client.start(SavePerception, "save_perception", perception=Perception(description="a cup"))
        if how == Transition.TRANSITION_ACTIVE_SHUTDOWN:
            assert change(client, how)
        assert node.stop(how if isinstance(how, signal.Signals) else signal.SIGINT) == 0, node.output
        assert not client.result(saving).success
    (line,) = [line for line in node.output.splitlines() if "were thrown away: " in line]
    assert "none of them was confirmed" in line
    assert int(line.split("were thrown away: ")[1].split()[0]) >= 501
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT id FROM memories").fetchall() == [(confirmed,)]
    connection.close()


def test_the_node_can_be_led_through_its_states_by_hand(own: Any, tmp_path: Path) -> None:
    start, connect = own
    node = start("-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "autostart:=false", *TEXT_ONLY)
    client: Client = connect()
    assert state(client) == "unconfigured"
    client.until(lambda: "`ros2 lifecycle set /memory configure`" in node.output, "the line of what it waits for")
    for service, name, fields in SERVICES:
        response = client.call(service, name, **fields)
        assert (response.success, response.error) == (False, "the node is unconfigured, not active")
    assert change(client, Transition.TRANSITION_CONFIGURE)
    client.until(lambda: "`ros2 lifecycle set /memory activate`" in node.output, "the next one")
    assert "the node is inactive" in client.call(Recall, "recall", query="x").error
    assert change(client, Transition.TRANSITION_ACTIVATE)
    assert client.call(Learn, "learn", insight="a lesson that lasts").success
    assert change(client, Transition.TRANSITION_DEACTIVATE)
    assert not client.call(Recall, "recall", query="lesson").success
    assert change(client, Transition.TRANSITION_CLEANUP)
    assert change(client, Transition.TRANSITION_CONFIGURE)
    assert change(client, Transition.TRANSITION_ACTIVATE)
    assert len(client.call(Recall, "recall", query="lesson").memories) == 1
    client.until_status(lambda status: status.state == "active" and status.memories == 1, "the status")


@pytest.mark.parametrize("before", [(), ("configure",), ("configure", "activate")])
def test_a_node_that_was_shut_down_by_a_manager_ends_in_order_on_a_signal(own: Any, before: tuple[str, ...]) -> None:
    start, connect = own
    node = start("-p", "db_path:=':memory:'", "-p", "autostart:=false", *TEXT_ONLY)
    client: Client = connect()
    for name in before:
        assert change(client, getattr(Transition, f"TRANSITION_{name.upper()}"))
    shutdown = f"TRANSITION_{state(client).upper()}_SHUTDOWN"
    assert change(client, getattr(Transition, shutdown))
    assert state(client) == "finalized"
    assert client.call(Recall, "recall", query="x").error == "the node is finalized, not active"
    assert node.stop() == 0, node.output
    assert "Traceback" not in node.output


def test_a_killed_node_keeps_what_it_answered(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = f"db_path:={tmp_path / 'memory.db'}"
    node = start("-p", path, *TEXT_ONLY)
    client: Client = connect()
    client.until_active()
    ids = [client.call(Learn, "learn", insight=f"lesson {index}").memory_id for index in range(20)]
    assert node.stop(signal.SIGKILL) == -signal.SIGKILL
    start("-p", path, *TEXT_ONLY)
    client = connect()
    client.until_active()
    found = client.call(Recall, "recall", query="lesson", n=100).memories
    assert sorted(memory.id for memory in found) == ids


def test_a_database_that_cannot_be_opened_leaves_the_node_up_and_saying_why(own: Any, tmp_path: Path) -> None:
    start, connect = own
    node = start("-p", f"db_path:={tmp_path}", *TEXT_ONLY)
    client: Client = connect()
    status = client.until_status(lambda status: bool(status.reason), "a status with the reason")
    assert status.state == "unconfigured"
    assert f"database '{tmp_path}' is a directory" in status.reason
    response = client.call(Recall, "recall", query="mug")
    assert "is a directory" in response.error
    assert "cannot be configured" in node.output
    assert node.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_further_signals_do_not_change_how_the_node_ends(own: Any, tmp_path: Path, number: int) -> None:
    start, connect = own
    node = start("-p", f"db_path:={tmp_path}", *TEXT_ONLY)
    connect().until_status(lambda status: bool(status.reason), "a status with the reason")
    assert node.stop(number, again_every=0.002) == 0, node.output
    assert "finalized" in node.output


def test_without_a_model_the_node_answers_by_text_and_says_so(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=/no/such/model")
    client: Client = connect()
    client.until_active()
    status = client.until_status(lambda status: "/no/such/model" in status.reason, "the reason in the status")
    assert (status.mode, status.embedding_model) == ("bm25_only", "")
    assert client.call(Learn, "learn", insight="the glass needs 12 N").success
    answer = client.call(Recall, "recall", query="glasses")
    assert (answer.success, answer.mode, len(answer.memories)) == (True, "bm25_only", 1)
    assert "'/no/such/model' is neither a folder" in answer.reason


def test_a_quick_request_does_not_wait_for_slow_ones(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", *TEXT_ONLY)
    client: Client = connect()
    client.until_active()
    slow = [client.start(Recall, "recall", query=" ".join(f"word{index}" for index in range(200))) for _ in range(20)]
    assert client.call(Learn, "learn", insight="quick").success
    assert all(client.result(future).success for future in slow)


def test_nodes_in_namespaces_have_files_of_their_own_by_default(own: Any, tmp_path: Path) -> None:
    start, connect = own
    home, no_model = {"HOME": str(tmp_path)}, ("-p", "embedding_model:=''")
    for namespace in ("/", "/robot1", "/site/robot2"):
        start("-r", f"__ns:={namespace}", *no_model, environment=home)
    client: Client = connect()
    for folder in ("", "robot1", "site/robot2"):
        file = tmp_path / ".robotmem" / folder / "memory.db"
        client.until(file.exists, str(file))
