"""docs/features.md names only what there is, and the tests call what it says is called as published."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros import memory as core
from robotmem_ros.agents.prompts import PROMPTS
from robotmem_ros.agents.tools import BY_NAME
from robotmem_ros.memory import Mode, Parameters, RobotMemory
from robotmem_ros.memory.argument import arguments_of
from robotmem_ros.memory.conditions.comparison import JOINS, OPERATORS
from robotmem_ros.memory.embedding.embedder import Embedder

from .support import published
from .support.docs import PAGES, ROOT
from .support.published import COLLECTION, features, spans


def names() -> set[str]:
    """Return every name of the code, the interfaces, the schema and the doors."""
    schema = (ROOT / "robotmem_ros" / "memory" / "storage" / "schema.sql").read_text()
    interfaces = "\n".join(file.read_text() for kind in ("srv", "msg") for file in (ROOT / kind).iterdir())
    classes = [getattr(core, name) for name in core.__all__]
    return {
        *re.findall(r"\w+", re.sub(r"--.*", "", schema)),
        *re.findall(r"^\S+ (\w+)", interfaces, re.MULTILINE),
        *(entry.name for entry in fields(Parameters)),
        *core.__all__, *(name for one in classes for name in (*vars(one), *getattr(one, "__annotations__", ()))),
        *BY_NAME, *(argument.name for tool in BY_NAME.values() for argument in arguments_of(tool.request)),
        *(str(prompt["name"]) for prompt in PROMPTS), *vars(Embedder), Embedder.__name__,
        *OPERATORS, *JOINS, *(mode.value for mode in Mode), "auto", "none", "context", "note", "user_context",
    }  # fmt: skip


def test_every_name_exists() -> None:
    doors = PAGES["interfaces.md"] + PAGES["web.md"]
    known = names()
    for feature in features():
        for span in spans(feature.where):
            if span.startswith(("~/", "GET ", "PUT ", "DELETE ")):
                assert f"`{span}`" in doors, feature
            elif not span.startswith(("robotmem ", "python3 ")):  # test_docs.py reads commands
                assert {name for name in re.split(r"\.(?=\w)", span) if name not in known} == set(), feature


def test_every_row_says_whether_it_is_here_and_where_or_why() -> None:
    rows = list(features())
    assert {feature.here for feature in rows} == {"yes", "otherwise", "no"}
    assert [feature for feature in rows if feature.here != "yes" and not feature.where] == []


def test_each_call_and_route_that_is_here_is_called_as_published() -> None:
    asked = [span for feature in features() if feature.here == "yes" for span in spans(feature.asked)]
    calls = [match.groups() for span in asked if (match := re.fullmatch(r"(\w+)\((\w[\w, ]*)\)", span))]
    assert {name: tuple(arguments.split(", ")) for name, arguments in calls} == published.CALLS
    assert {span for span in asked if re.match(r"[A-Z]+ /", span)} == set(published.ROUTES)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[RobotMemory]:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as opened:
        yield opened


def test_the_calls_of_robotmem(memory: RobotMemory) -> None:
    session = memory.start_session(context='{"robot_id": "arm-01"}', collection=COLLECTION).session_id
    learned = memory.learn(**published.LEARN, session_id=session)  # type: ignore[arg-type]
    assert (learned.status, learned.category) == ("stored", "root_cause")
    saved = memory.save_perception(**published.SAVE_PERCEPTION, session_id=session)  # type: ignore[arg-type]
    assert memory.data(saved.memory_id).metadata == {"format": "wrench", "units": "N"}

    def found(**conditions: Any) -> list[int]:
        result = memory.recall(collection=COLLECTION, n=5, min_confidence=0.3, **conditions)
        assert not result or result[0].score == 1.0
        return [hit.id for hit in result]

    both = [saved.memory_id, learned.memory_id]
    assert found(query="*", session_id=session) == found(query="", session_id=session) == both
    as_given: tuple[Callable[[Any], Any], ...] = (dict, json.dumps)
    for given in as_given:
        for conditions in published.FILTERS:
            assert found(query=published.QUERY, context_filter=given(conditions)) == [learned.memory_id], conditions
        for conditions in published.OTHER_FILTERS:
            assert found(query=published.QUERY, context_filter=given(conditions)) == [], conditions
        assert found(query=published.QUERY, spatial_sort=given(published.SPATIAL_SORT)) == [learned.memory_id]
    memory.update(memory_id=learned.memory_id, content="grip_force=11N works", context="softer")
    first, *_ = memory.recall("grip force", collection=COLLECTION)
    assert first.memory.context["user_context"] == "softer"
    memory.forget(memory_id=saved.memory_id, reason="a test")
    assert found(query="*", session_id=session) == [learned.memory_id]
    report = memory.end_session(session_id=session, outcome_score=0.9)
    assert (report.session.outcome, report.facts, report.perceptions) == (0.9, 1, 0)
