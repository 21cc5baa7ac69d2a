"""The doctor of a real node: its service, its line in the diagnostics, and the log of what its services recalled."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.doctor import CHECKS
from robotmem_ros.srv import Doctor, GetMemories, Learn, Recall

from ..support.node.configured import diagnostic, values
from ..support.node.graph import Client


def test_a_node_examines_its_memory_mends_it_and_logs_recalls(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    start("-p", f"db_path:={path}", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    learned = client.call(Learn, "learn", insight="the red mug is on the shelf").memory_id
    assert len(client.call(Recall, "recall", query="mug").memories) == 1
    told = client.call(Doctor, "doctor")
    assert (told.success, [finding.name for finding in told.findings]) == (True, [check.name for check in CHECKS])
    assert {finding.severity for finding in told.findings} <= {"ok", "warn"}
    client.until(lambda: values(client, "memory")["doctor"] != "not examined yet", "the verdict")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO objects_rtree (id) VALUES (99)")
    (broken,) = (finding for finding in client.call(Doctor, "doctor").findings if finding.name == "indexes")
    assert (broken.severity, broken.remedy) == ("error", "robotmem doctor --fix")
    assert diagnostic(client, "memory", "doctor: indexes: boxes").level == DiagnosticStatus.ERROR
    (mended,) = (finding for finding in client.call(Doctor, "doctor", fix=True).findings if finding.name == "indexes")
    assert mended.severity == "ok"

    def used() -> Any:
        return client.call(GetMemories, "get_memories", ids=[learned]).memories[0]

    client.until(lambda: used().access_count == 1, "the count of the recall")
    assert (used().return_count, used().last_accessed.sec > 0) == (1, True)
    with RobotMemory(path, embedding_model="", read_only=True) as memory:
        (entry,) = memory.recalls().recalls
        assert (entry.caller, entry.hits, entry.query) == ("service", 1, "")
