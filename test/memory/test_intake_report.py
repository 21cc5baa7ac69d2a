"""What a node reports of its intake: every program that has the file reads it, with its age."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from robotmem_ros.memory import RobotMemory, Severity
from robotmem_ros.memory.intake_report import FRESH, Intake

from ..support.intake import DROPPED, healthy, report
from .conftest import OpenMemory


def intake(memory: RobotMemory) -> Intake:
    return memory.status().intake


def finding(memory: RobotMemory) -> tuple[Severity, str]:
    return next((one.severity, one.seen) for one in memory.doctor() if one.name == "intake")


def test_a_file_of_which_no_node_tells_is_not_seen_and_nothing_is_wrong_with_it(memory: RobotMemory) -> None:
    assert intake(memory) == Intake((), False, "")
    assert finding(memory) == (Severity.OK, "no node has reported what it takes in")


def test_what_a_node_drops_is_told_to_every_program(memory: RobotMemory, open_memory: OpenMemory) -> None:
    told = report()
    memory.store_intake("a", told).result()
    for reader in (memory, open_memory(read_only=True)):
        seen = intake(reader)
        assert (replace(seen.reports[0], age=0.0), seen.is_seen) == (told, True)
        assert seen.trouble == f"/detections: {DROPPED}"
        severity, words = finding(reader)
        assert severity is Severity.WARN
        assert "85 messages received, 5 observations stored, 80 dropped" in words


def test_a_node_without_trouble_is_well(memory: RobotMemory) -> None:
    memory.store_intake("a", healthy()).result()
    assert (intake(memory).is_seen, intake(memory).trouble) == (True, "")
    assert finding(memory)[0] is Severity.OK


@pytest.mark.parametrize("age", [FRESH + 5, 90_000.0, -FRESH - 5], ids=["a minute", "a day", "from the future"])
def test_an_old_report_says_that_nothing_is_seen_now(memory: RobotMemory, age: float) -> None:
    memory.store_intake("a", healthy(age)).result()
    seen = intake(memory)
    assert not seen.is_seen
    assert "what comes in now cannot be seen" in seen.trouble
    assert abs(seen.reports[0].age - age) < FRESH
    assert finding(memory)[0] is Severity.WARN


@pytest.mark.parametrize(
    ("state", "is_trouble"), [("active", False), ("inactive", True), ("unconfigured", True), ("finalized", False)]
)
def test_a_node_that_takes_nothing_in_is_trouble_unless_it_has_ended(
    memory: RobotMemory, state: str, is_trouble: bool
) -> None:
    memory.store_intake("a", replace(healthy(), state=state)).result()
    assert (intake(memory).is_seen, bool(intake(memory).trouble)) == (state == "active", is_trouble)


def test_what_a_node_lacks_as_a_whole_is_trouble(memory: RobotMemory) -> None:
    memory.store_intake("a", replace(healthy(), problem="tf2_msgs is not installed")).result()
    assert intake(memory).trouble == "tf2_msgs is not installed"


def test_each_node_on_a_file_has_its_own_report_also_those_of_one_name(memory: RobotMemory) -> None:
    memory.store_intake("a", report()).result()
    memory.store_intake("b", healthy()).result()
    memory.store_intake("c", replace(healthy(), node="/robot/memory")).result()
    assert [one.node for one in intake(memory).reports] == ["/robot/memory", "/memory", "/memory"]
    assert intake(memory).trouble == f"/memory: /detections: {DROPPED}"


def test_a_problem_that_names_its_topic_is_told_as_it_is(memory: RobotMemory) -> None:
    silent = replace(report().topics[0], problem="nobody publishes /detections")
    memory.store_intake("a", replace(report(), topics=(silent,))).result()
    assert intake(memory).trouble == "nobody publishes /detections"


def test_a_report_takes_the_place_of_that_of_an_earlier_process_and_of_nodes_that_are_long_gone(
    memory: RobotMemory,
) -> None:
    memory.store_intake("killed", report(FRESH + 5)).result()
    memory.store_intake("gone", replace(report(8 * 86_400), node="/old")).result()
    memory.store_intake("other", replace(report(86_400), node="/other")).result()
    memory.store_intake("now", healthy()).result()
    assert [one.node for one in intake(memory).reports] == ["/memory", "/other"]
    assert intake(memory).reports[0].is_current


@pytest.mark.parametrize("value", ["", "[]", "{}", '{"topics": 3}', '{"node": "/x", "topics": [{"a": 1}]}', "null"])
def test_a_report_that_another_program_spoilt_is_left_out_and_replaced(memory: RobotMemory, value: str) -> None:
    with closing(sqlite3.connect(memory.path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO settings VALUES ('intake x', ?)", (value,))
    assert intake(memory).reports == ()
    memory.store_intake("now", healthy()).result()
    with closing(sqlite3.connect(memory.path)) as connection:
        assert connection.execute("SELECT name FROM settings WHERE name LIKE 'intake%'").fetchall() == [("intake now",)]


def test_a_report_is_no_change_that_an_export_or_the_fleet_takes_along(memory: RobotMemory) -> None:
    memory.learn("a fact")
    batch = memory.changes_since()
    assert batch is not None
    memory.store_intake("a", report()).result()
    assert memory.changes_since(batch.cursor) is None
    assert memory.activity().last_written_at is not None
