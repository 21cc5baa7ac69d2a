"""/diagnostics: levels and numbers that a fleet's monitor can act on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import String

from robotmem_ros.msg import Perception
from robotmem_ros.srv import Learn

from ..support.node.configured import CAPTIONS, IN_MEMORY, diagnostic, topic, values
from ..support.node.graph import Client


def test_a_working_node_says_what_it_holds_and_how_fast_it_takes(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}", *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active("hybrid")
    publisher = client.publisher(String, "/vlm/caption")
    for index in range(20):
        publisher.publish(String(data=f"sentence {index}"))
    client.until(lambda: values(client, "captions")["stored"] == "20", "twenty stored")
    told = values(client, "captions")
    assert (told["received"], told["publishers"], told["qos"]) == ("20", "1", "reliable, volatile")
    assert diagnostic(client, "captions").level == DiagnosticStatus.OK
    memory = diagnostic(client, "memory")
    assert (memory.level, memory.message) == (DiagnosticStatus.OK, "active")
    numbers = values(client, "memory")
    assert (numbers["mode"], numbers["memories"], numbers["waiting_to_be_written"]) == ("hybrid", "20", "0")
    assert numbers["removed_by_retention"] == "0"
    assert int(numbers["database_bytes"]) > 0


def test_diagnostics_count_dropped_perceptions_by_reason(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    client.publisher(Perception, "/memory/perception").publish(Perception(description=""))
    client.until(lambda: values(client, "memory").get("dropped.bad_description") == "1", "the reason")


def test_what_is_wrong_warns_and_a_node_that_cannot_serve_is_an_error(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start("-p", f"db_path:={tmp_path}", "-p", "embedding_model:=''")
    client: Client = connect()
    told = diagnostic(client, "memory", "is a directory")
    assert told.level == DiagnosticStatus.ERROR
    assert "is a directory" in {value.key: value.value for value in told.values}["last_error"]


def test_what_is_wrong_with_messages_hides_nothing_of_what_is_wrong_with_the_memory(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    client.publisher(Perception, "/memory/perception").publish(Perception(description=""))
    told = diagnostic(client, "memory", "bad_description")
    assert "no embedding model is configured" in told.message
    assert told.level == DiagnosticStatus.WARN


def test_a_database_that_cannot_be_written_is_an_error(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    start("-p", f"db_path:={path}", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    assert client.call(Learn, "learn", insight="x").success
    path.unlink()
    told = diagnostic(client, "memory", "the file was taken away while it was open")
    assert told.level == DiagnosticStatus.ERROR
    assert "was taken away" in client.call(Learn, "learn", insight="y").error


def test_a_topic_that_loses_messages_warns(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, "/vlm/caption")
    publisher.publish(String(data=""))
    told = diagnostic(client, "captions", "no_description")
    assert (told.level, told.message) == (DiagnosticStatus.WARN, "dropped: 1 no_description")
    assert diagnostic(client, "captions", "ok").level == DiagnosticStatus.OK
    assert client.call(Learn, "learn", insight="x").success
