"""The table of verbs, of which doors are made."""

from __future__ import annotations

import inspect
import json

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.maps.maps import Maps
from robotmem_ros.memory.notes.notes import Notes
from robotmem_ros.memory.verbs.sessions import Sessions
from robotmem_ros.memory.verbs.table import VERBS
from robotmem_ros.memory.verbs.tags import Tags

OWNERS = {"": RobotMemory, "maps": Maps, "notes": Notes, "sessions": Sessions, "tags": Tags}


@pytest.mark.parametrize("path", VERBS)
def test_a_verb_that_writes_is_among_those_that_change(path: str) -> None:
    verb = VERBS[path]
    work = inspect.getsource(getattr(OWNERS[verb.owner], f"_{verb.name}"))
    is_writing = any(word in work for word in (".writable", "_access.write(", "self.store", "self._exchange("))
    assert verb.changes == is_writing


@pytest.mark.parametrize("path", VERBS)
def test_a_verb_says_what_it_does_in_a_sentence(path: str) -> None:
    assert VERBS[path].about.endswith(".")
    assert "\n" not in VERBS[path].about


def test_a_result_is_told_as_json_whatever_its_shape() -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        for path, arguments, told in (
            ("learn", {"insight": "the door sticks"}, {"memory_id": 1, "status": "stored"}),
            ("tags.add", {"tag": "kitchen"}, {"added": "kitchen"}),
            ("sessions.latest", {}, {"sessions": []}),
            ("look", {"labels": "mug", "near": (0, 0)}, {"gone": []}),
            ("recalls", {"n": 1}, {"recalls": [], "most_used": []}),
        ):
            values = VERBS[path].to_json(VERBS[path].call(memory, arguments), arguments)
            assert told.items() <= json.loads(json.dumps(values)).items()
