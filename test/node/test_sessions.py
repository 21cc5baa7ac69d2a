"""Sessions through a real node: from start to report, over a restart and a crash."""

from __future__ import annotations

import json
import signal
import uuid
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose
from rcl_interfaces.msg import Log
from rclpy.qos import QoSPresetProfiles

from robotmem_ros.msg import Perception
from robotmem_ros.srv import Consolidate, EndSession, Learn, SavePerception, StartSession

from ..support.node.graph import Client, NodeProcess

FACTS = ("hold the thin glass softly", "hold the thin glass softly at its rim", "charge before noon")


def learn(client: Client, session: str, text: str, **fields: object) -> int:
    fields |= {"insight": text, "session_id": session, "category": "grasp", "confidence": [0.8]}
    learned = client.call(Learn, "learn", **fields)
    assert learned.success, learned.error
    return int(learned.memory_id)


def test_a_session_from_its_start_to_its_report(client: Client) -> None:
    context = json.dumps({"task": {"name": "tidy"}})
    first = client.call(StartSession, "start_session", context=context, collection="flat")
    assert (first.success, first.error, first.collection) == (True, "", "flat")
    assert (first.known_facts, first.known_perceptions, first.known_sessions) == (0, 0, 0)
    assert str(uuid.UUID(first.session_id)) == first.session_id
    ids = [learn(client, first.session_id, text, collection="flat") for text in FACTS]
    mug = Perception(description="a red mug", label="mug", pose=[Pose(position=Point(x=1.0))], collection="flat")
    mug.session_id = first.session_id
    assert client.call(SavePerception, "save_perception", perception=mug).success
    told = client.call(Consolidate, "consolidate", session_id=first.session_id, dry_run=True)
    assert (told.success, told.considered, len(told.groups)) == (True, 3, 1)
    report = client.call(EndSession, "end_session", session_id=first.session_id, outcome_score=[0.9])
    assert (report.success, report.error) == (True, "")
    assert (report.facts, report.perceptions, report.considered) == (3, 1, 3)
    assert [(count.name, count.n) for count in report.categories] == [("grasp", 3)]
    (group,) = report.groups
    assert (group.representative, list(group.members), group.category) == (ids[1], [ids[0]], "grasp")
    assert (group.content, list(group.member_contents)) == (FACTS[1], [FACTS[0]])
    assert (list(group.superseded), list(group.superseded_contents)) == ([], [])
    assert 0.5 < group.similarity < 1.0
    assert (report.decay.memories, report.decay.decayed, report.decay.faded) == (4, 0, 0)
    assert abs(report.decay.mean_stored - 3.3 / 4) < 1e-6
    assert report.ended.sec >= report.started.sec > 0
    assert list(report.proactive) == []
    second = client.call(StartSession, "start_session", context=context, collection="flat")
    assert (second.known_facts, second.known_perceptions, second.known_sessions) == (3, 1, 1)
    report = client.call(EndSession, "end_session", session_id=second.session_id)
    assert [memory.id for memory in report.proactive] == ids[::-1]
    assert report.proactive[0].score == 1.0


def test_wrong_requests_are_answered_with_what_would_be_right(client: Client) -> None:
    refused = client.call(StartSession, "start_session", context="[1]")
    assert not refused.success
    assert "context: '[1]' must be a JSON object" in refused.error
    refused = client.call(EndSession, "end_session", session_id="nobody")
    assert refused.error == "session_id: 'nobody' cannot be used, there is no such session; start one"
    session = client.call(StartSession, "start_session").session_id
    refused = client.call(EndSession, "end_session", session_id=session, outcome_score=[1.5])
    assert refused.error == "outcome_score: 1.5 must lie in 0 to 1"
    assert client.call(EndSession, "end_session", session_id=session).success
    refused = client.call(EndSession, "end_session", session_id=session)
    assert refused.error == f"session_id: '{session}' cannot be used, it has ended already"
    refused = client.call(Consolidate, "consolidate", session_id="")
    assert refused.error.startswith("session_id: '' is blank")


def test_a_session_goes_on_over_a_restart_and_a_crash_of_the_node(own: Any, tmp_path: Path) -> None:
    start, connect = own

    def started() -> tuple[NodeProcess, Client]:
        node: NodeProcess = start("-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=''")
        # A client of its own, which cannot take the last words of the node before for those of this one.
        client: Client = connect()
        client.until_active()
        return node, client

    node, client = started()
    session = client.call(StartSession, "start_session").session_id
    assert node.stop() == 0
    node, client = started()
    learn(client, session, "the door is open")
    assert node.stop(signal.SIGKILL) != 0
    node, client = started()
    learn(client, session, "the lamp is on")
    report = client.call(EndSession, "end_session", session_id=session, outcome_score=[0.9])
    assert (report.success, report.error, report.facts) == (True, "", 2)


def test_a_forgotten_session_is_closed_with_a_warning_in_the_log_and_takes_its_outcome(
    own: Any, tmp_path: Path
) -> None:
    start, connect = own
    node: NodeProcess = start("-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    session = client.call(StartSession, "start_session", max_duration=Duration(nanosec=1)).session_id
    said: list[Log] = []
    client.node.create_subscription(Log, "/rosout", said.append, QoSPresetProfiles.ROSOUT_DEFAULT.value)
    client.until(lambda: any(session in one.msg and one.level == Log.WARN for one in said), "a warning")
    assert "[WARN]" in next(line for line in node.output.splitlines() if session in line)
    report = client.call(EndSession, "end_session", session_id=session, outcome_score=[0.9])
    assert (report.success, report.error) == (True, "")
    refused = client.call(StartSession, "start_session", max_duration=Duration(sec=-1))
    assert refused.error == "max_duration: '-1 s 0 ns' is no duration of 0 s or more"
