"""`robotmem learn`, `save` and `objects`, and the table that commands are made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import COMMANDS, main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.argument import arguments_of
from robotmem_ros.memory.models import NewFact, NewPerception
from robotmem_ros.memory.verbs.requests import SeenObjectsRequest


def test_a_fact_and_its_repetition_are_told_with_all_that_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["learn", "a grip of 12 N holds the mug", "--no-model", "--db", str(tmp_path / "new.db")]
    assert main([*line, "--tags", "grip", "--confidence", "0.8", "--context", '{"arm": "left"}']) == 0
    assert capsys.readouterr().out == "stored: 1 (grasp, confidence 0.80, tags grip)\n"
    assert main([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["memory_id"], told["status"], told["is_new"]) == (1, "duplicate", False)
    with RobotMemory(tmp_path / "new.db", embedding_model="") as memory:
        (details,) = memory.get_memories([1])
    assert details.memory.context["arm"] == "left"


def test_a_labelled_perception_with_a_pose_is_an_object_that_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", str(tmp_path / "new.db")]
    for _ in range(2):
        assert main(["save", "a red mug", "--label", "mug", "--pose", "-1", "2", "0.8", *db]) == 0
    assert main(["save", "a dent", "--label", "mug", "--pose", "-1", "2", "0.8", "--no-as-object", *db]) == 0
    assert capsys.readouterr().out == "saved: 1\nsaved: 1, seen 2 times\nsaved: 2\n"
    assert main(["objects", "--columns", "memory_id,label,times_seen", "--csv", *db]) == 0
    assert capsys.readouterr().out == "memory_id,label,times_seen\n1,mug,2\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["learn", "!!"], "insight: '!!' has no letter and no digit"),
        (["learn", "a fact", "--confidence", "7"], "confidence: 7.0 must lie in 0 to 1"),
        (["save", "a mug", "--pose", "1", "2"], "pose: [1.0, 2.0] must be 3 numbers"),
        (["save", "a mug", "--perception-type", "taste"], "perception_type: 'taste'"),
        (["learn", "a fact", "--observed-at", "soon"], "'soon' is no time"),
        (["learn"], "the following arguments are required: text"),
    ],
)  # fmt: skip
def test_what_cannot_be_stored_is_named(
    tmp_path: Path, line: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main([*line, "--db", str(tmp_path / "new.db")])
    except SystemExit as end:
        code = int(str(end.code))
    assert code in {1, 2}
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "request_type"), [("learn", NewFact), ("save", NewPerception), ("objects", SeenObjectsRequest)]
)
def test_a_command_has_each_argument_of_its_verb(name: str, request_type: type) -> None:
    (command,) = (one for one in COMMANDS if one.name == name)
    options = [entry for entry in command.options if hasattr(entry, "settings")]
    named = {one.settings.get("dest") or one.names[0].lstrip("-").replace("-", "_") for one in options}
    assert {entry.name for entry in arguments_of(request_type)} <= named
