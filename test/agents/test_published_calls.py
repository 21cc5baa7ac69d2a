"""The calls of the published designs, as tools for agents: see docs/features.md."""

from __future__ import annotations

import json
from typing import Any

from robotmem_ros.agents.toolbox import Toolbox

from ..support import published
from ..support.published import COLLECTION


def called(toolbox: Toolbox, name: str, **arguments: object) -> Any:
    answer = toolbox.call(name, arguments)
    assert not answer.is_error, answer.text
    return json.loads(answer.text)


def test_the_calls_of_robotmem(toolbox: Toolbox) -> None:
    begun = called(toolbox, "start_session", context='{"robot_id": "arm-01"}', collection=COLLECTION)
    session = begun["session_id"]
    learned = called(toolbox, "learn", **published.LEARN, session_id=session)["memory_id"]
    perception = {name: value for name, value in published.SAVE_PERCEPTION.items() if name not in {"data", "metadata"}}
    saved = called(toolbox, "save_perception", **perception, session_id=session)["memory_id"]

    def found(**conditions: object) -> list[int]:
        memories = called(toolbox, "recall", collection=COLLECTION, n=5, min_confidence=0.3, **conditions)["memories"]
        return [memory["id"] for memory in memories]

    assert found(query="*", session_id=session) == [saved, learned]
    for conditions in published.FILTERS:
        assert found(query=published.QUERY, context_filter=json.dumps(conditions)) == [learned], conditions
    assert found(query=published.QUERY, spatial_sort=json.dumps(published.SPATIAL_SORT)) == [learned]
    called(toolbox, "update", memory_id=learned, content="grip_force=11N works", context="softer")
    called(toolbox, "forget", memory_id=saved, reason="a test")
    assert found(query="*", session_id=session) == [learned]
    assert called(toolbox, "end_session", session_id=session, outcome_score=0.9)["facts"] == 1


def test_those_of_openclaw_and_mcb_under_our_names(toolbox: Toolbox) -> None:
    asked = {"query": "how long does the battery last in winter", "n": 1, "kinds": ["note"]}
    (note,) = called(toolbox, "recall", **asked)["memories"]
    path, _, line = note["note"].partition(":")
    lines = called(toolbox, "read_note", path=path, first_line=int(line.partition("-")[0]), lines=3)
    assert "Winter" in lines["text"]
    entries = called(toolbox, "timeline", after="2026-01-01", before="2100-01-01")["memories"]
    assert called(toolbox, "get_memories", ids=[entries[0]["id"]])["memories"]
