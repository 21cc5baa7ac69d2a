"""The table of tools: its schemas, and what each tool answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from robotmem_ros.agents.tool import Tool, check_arguments, json_schema
from robotmem_ros.agents.toolbox import Answer, Toolbox, opened
from robotmem_ros.agents.tools import BY_NAME, TOOLS
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.argument import arguments_of

EXAMPLES = [pytest.param(tool, example, id=tool.name) for tool in TOOLS for example in tool.examples]


def values(answer: Answer) -> Any:
    """Return what a tool returned, which must be no error."""
    assert not answer.is_error, answer.text
    return json.loads(answer.text)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_schema_is_one_and_tells_of_each_argument(tool: Tool) -> None:
    schema = json_schema(tool)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not schema["additionalProperties"]
    assert "$ref" not in json.dumps(schema)
    assert all(part.get("description") for part in schema["properties"].values())
    arguments = {argument.name for argument in arguments_of(tool.request)}
    assert schema["properties"].keys() == arguments - tool.left_out
    assert tool.left_out <= arguments


@pytest.mark.parametrize(("tool", "example"), EXAMPLES)
def test_examples_are_valid_and_are_taken(tool: Tool, example: dict[str, Any]) -> None:
    jsonschema.validate(example, json_schema(tool), jsonschema.Draft202012Validator)
    assert check_arguments(tool, example).keys() >= example.keys()


@pytest.mark.parametrize(("tool", "example"), EXAMPLES)
def test_each_tool_answers_its_examples(tool: Tool, example: dict[str, Any], toolbox: Toolbox) -> None:
    given = dict(example)
    if tool.name == "end_session":
        given["session_id"] = values(toolbox.call("start_session", {}))["session_id"]
    if tool.name == "object_history":
        given["memory_id"] = values(toolbox.call("objects", {"query": "red"}))["objects"][0]["id"]
    if tool.name == "restore":
        values(toolbox.call("forget", {**given, "reason": "a mistake"}))
    if given.get("place") == "kitchen":
        assert "no area" in toolbox.call(tool.name, given).text
        return
    answer = toolbox.call(tool.name, given)
    assert not answer.is_error, answer.text
    assert answer.text


def test_a_tool_that_writes_is_marked_and_a_tool_that_is_not_writes_nothing(toolbox: Toolbox, db: Path) -> None:
    assert {tool.name for tool in TOOLS if tool.writes} == {
        "learn", "save_perception", "update", "look", "forget", "restore", "add_tag", "rename_tag", "remove_tag",
        "start_session", "end_session",
    }  # fmt: skip
    assert {tool.name for tool in TOOLS if tool.destructive} == {"update", "forget", "rename_tag", "remove_tag"}
    with opened(db, {"embedding_model": ""}, read_only=True) as reading:
        assert {tool.name for tool in reading.tools} == {tool.name for tool in TOOLS if not tool.writes}
        for tool in reading.tools:
            reading.call(tool.name, dict(tool.examples[0]))
        refused = reading.call("learn", {"insight": "x"})
    assert refused.is_error
    assert refused.text == "learn: the memory is open read-only here, so nothing can be changed; only look"


def test_what_is_learned_is_recalled_with_its_time(toolbox: Toolbox) -> None:
    learned = values(toolbox.call("learn", {"insight": "the kettle boils in 180 s", "observed_at": "2 hours ago"}))
    (found,) = values(toolbox.call("recall", {"query": "kettle", "n": 1}))["memories"]
    assert found["id"] == learned["memory_id"]
    assert found["text"] == "the **kettle** boils in 180 s"
    assert found["ago"] == "2 h ago"
    assert (found["source"], found["params"]) == ("agent", {"duration": {"value": 180, "unit": "s"}})
    assert found["at"][-6] in "+-"
    window = {"after": "3 hours ago", "before": "1 hour ago"}
    assert [one["id"] for one in values(toolbox.call("timeline", window))["memories"]] == [found["id"]]


def test_objects_come_nearest_first_and_have_a_history(toolbox: Toolbox) -> None:
    near = {"labels": ["mug"], "nearest_to": {"target": [5.0, 1.0]}}
    blue, red = values(toolbox.call("objects", near))["objects"]
    assert (blue["text"], blue["distance"]) == ("a blue mug in the sink", 0.0)
    assert (red["times_seen"], red["position"]) == (3, [3.0, 1.0, 0.8])
    seen = values(toolbox.call("object_history", {"memory_id": red["id"], "n": 2}))["sightings"]
    assert [one["position"] for one in seen] == [[3.0, 1.0, 0.8]]


def test_a_memory_in_full_has_its_context_and_its_changes(toolbox: Toolbox) -> None:
    (found,) = values(toolbox.call("recall", {"query": "grip force that holds", "n": 1}))["memories"]
    changed = "a grip force of 12 N holds the red mug"
    values(toolbox.call("update", {"memory_id": found["id"], "content": changed}))
    answer = values(toolbox.call("get_memories", {"ids": [found["id"], 999]}))
    (full,) = answer["memories"]
    assert (full["text"], full["params"]) == (changed, {"force": 12.5})
    assert full["changes"][0]["was"]["content"] == "a grip force of 12.5 N holds the red mug"
    assert (answer["not_found"], answer["reason"]) == ([999], "memory 999 is unknown: no memory had this id")
    values(toolbox.call("forget", {"memory_id": found["id"], "reason": "measured again"}))
    assert values(toolbox.call("get_memories", {"ids": [found["id"]]}))["not_found"] == [found["id"]]
    wanted = {"ids": [found["id"]], "include_forgotten": True}
    assert values(toolbox.call("get_memories", wanted))["memories"][0]["status"] == "invalidated"
    assert values(toolbox.call("restore", {"memory_id": found["id"]})) == {"restored": found["id"]}
    assert values(toolbox.call("get_memories", {"ids": [found["id"]]}))["memories"][0]["text"] == changed


def test_a_text_comes_once_with_its_count(toolbox: Toolbox) -> None:
    for x in (1.0, 3.0, 5.0):
        values(toolbox.call("save_perception", {"description": "a green cup", "label": "cup", "pose": [x, 0.0, 0.0]}))
    (cup,) = values(toolbox.call("recall", {"query": "cup"}))["memories"]
    assert cup["folded_count"] == 2
    near = {"query": "cup", "spatial_sort": {"target": [0.0, 0.0]}}
    assert [one["distance"] for one in values(toolbox.call("recall", near))["memories"]] == [1.0, 3.0, 5.0]


def test_many_memories_are_withdrawn_and_brought_back_at_once(toolbox: Toolbox) -> None:
    ids = [one["id"] for one in values(toolbox.call("timeline", {"n": 2}))["memories"]]
    assert values(toolbox.call("forget", {"memory_id": ids, "reason": "a test"})) == {"forgotten": ids}
    assert values(toolbox.call("get_memories", {"ids": ids}))["not_found"] == ids
    assert values(toolbox.call("restore", {"memory_id": ids})) == {"restored": ids}
    refused = toolbox.call("forget", {"memory_id": "all", "reason": "a test"})
    assert refused.text == "memory_id: 'all' must be a whole number or a list"


def test_an_episode_is_told_what_to_know_the_next_time(toolbox: Toolbox) -> None:
    started = values(toolbox.call("start_session", {"context": {"task": "clear the table"}}))
    values(toolbox.call("learn", {"insight": "cups go first", "session_id": started["session_id"]}))
    ended = values(toolbox.call("end_session", {"session_id": started["session_id"], "outcome_score": 1}))
    assert ended["session"]["outcome"] == 1.0
    assert ended["facts"] == 1
    again = toolbox.call("end_session", {"session_id": started["session_id"]})
    assert again.is_error
    assert "it has ended already" in again.text


def test_timelines_go_on_at_the_cursor(toolbox: Toolbox) -> None:
    ids: list[int] = []
    page = values(toolbox.call("timeline", {"n": 3}))
    while True:
        ids += [one["id"] for one in page["memories"]]
        if "cursor" not in page:
            break
        page = values(toolbox.call("timeline", {"n": 3, "cursor": page["cursor"]}))
    assert len(ids) == len(set(ids)) == 8


def test_the_doctor_tells_the_clock_and_what_is_missing(toolbox: Toolbox, tmp_path: Path) -> None:
    told = values(toolbox.call("doctor", {}))
    assert (told["facts"], told["perceptions"], told["clock"]) == (5, 3, "of this machine")
    assert "no embedding model is configured" in told["missing"]
    simulated = tmp_path / "simulated.db"
    with RobotMemory(simulated, embedding_model="") as memory:
        memory.learn("the door opens at 20 s", observed_at=20 * 10**9)
        memory.learn("the door closes at 90 s", observed_at=90 * 10**9)
    with opened(simulated, {"embedding_model": ""}, read_only=False) as tools:
        told = values(tools.call("doctor", {}))
        assert told["now"].endswith(":01:30+00:00") or told["now"][13:].startswith(":01:30")
        assert "of a simulation" in told["clock"]
        (found,) = values(tools.call("timeline", {"after": "30 s ago"}))["memories"]
        assert (found["text"], found["ago"]) == ("the door closes at 90 s", "now")


def test_the_doctor_tells_what_is_wrong_and_the_command_that_mends_it(toolbox: Toolbox, tmp_path: Path) -> None:
    assert values(toolbox.call("doctor", {}))["findings"] == []
    path = tmp_path / "memory.db"
    RobotMemory(path, embedding_model="").close()
    path.chmod(0o644)
    with opened(path, {"embedding_model": ""}, read_only=True) as tools:
        (finding,) = values(tools.call("doctor", {}))["findings"]
    assert (finding["name"], finding["severity"]) == ("permissions", "warn")
    assert finding["remedy"] == f"chmod o= '{path}'"


def test_the_collection_in_use_is_found_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="", collection="robot7") as memory:
        memory.learn("the ramp is slippery")
    with opened(path, {"embedding_model": ""}, read_only=False) as tools:
        assert values(tools.call("doctor", {}))["collection"] == "robot7"
        assert len(values(tools.call("recall", {"query": "ramp"}))["memories"]) == 1
    with opened(tmp_path / "new.db", {"embedding_model": ""}, read_only=False) as tools:
        assert values(tools.call("doctor", {}))["collection"] == "default"
        with RobotMemory(tmp_path / "new.db", embedding_model="", collection="robot8") as node:
            node.learn("the ramp is dry")
        assert len(values(tools.call("recall", {"query": "ramp"}))["memories"]) == 1
        assert values(tools.call("doctor", {}))["collections"] == {"robot8": 1}
    with opened(path, {"embedding_model": "", "collection": "other"}, read_only=False) as tools:
        assert values(tools.call("recall", {"query": "ramp"}))["memories"] == []
        values(tools.call("learn", {"insight": "the ramp is steep"}))
        told = tools.call("digest", {}).text
        assert "This is of the collection 'other'; there are also 'robot7' (1)." in told


def test_tools_are_found_by_their_names() -> None:
    assert list(BY_NAME.items()) == [(tool.name, tool) for tool in TOOLS]


def test_notes_are_found_with_their_lines_and_read(toolbox: Toolbox) -> None:
    (found, *_) = values(toolbox.call("recall", {"query": "battery in winter", "kinds": ["note"]}))["memories"]
    assert found["note"] == "handbook/battery.md:5-7"
    read = values(toolbox.call("read_note", {"path": "handbook/battery.md", "first_line": 5, "lines": 3}))
    assert read["text"] == "## Winter\n\nIt lasts 2 hours below 5 °C."
    assert (read["last_line"], read["of_lines"]) == (7, 7)


def test_looking_at_objects_is_no_use_and_marks_those_that_have_faded(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        seen = memory.save_perception("a grey sofa", label="sofa", pose=[1, 2, 0], observed_at=1_700_000_000 * 10**9)
        memory.update(seen.memory_id, decay_rate=0.7)
    with opened(path, {"embedding_model": ""}, read_only=False) as toolbox:
        for _ in range(2):
            (sofa,) = values(toolbox.call("objects", {"query": "sofa"}))["objects"]
            assert (sofa["confidence"], sofa["faded"]) == (pytest.approx(0.27), True)
        answer = values(toolbox.call("recall", {"query": "where is the sofa?"}))
        assert [one["faded"] for one in answer["memories"]] == [True]
        assert "has faded" in answer["reason"]
        (full,) = values(toolbox.call("get_memories", {"ids": [seen.memory_id]}))["memories"]
        assert full["faded"]
    with RobotMemory(path, embedding_model="", read_only=True) as memory, memory.parts.database.snapshot() as snapshot:
        assert snapshot.rows("SELECT access_count FROM memories") == [(1,)]
