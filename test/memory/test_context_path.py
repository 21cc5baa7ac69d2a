"""Every key that a context can have can be asked for, by one way of quoting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.conditions.comparison import OWN_FIELDS, filter_name
from robotmem_ros.memory.conditions.condition import value_at
from robotmem_ros.memory.context_path import join, split
from robotmem_ros.memory.search.reasons import paths_of_contexts

KEYS = st.one_of(
    st.sampled_from(
        ["", ".", "$", "$and", "$set", '"', '"a"', "a.b", "a", "[0]", "a[0]", "'", "`", "\\", '\\"', " ", " a", "a\n",
         "é", "电梯", "\u200b", "\x1f", "context", "context.a", "tags", "position", "x", "a.", ".a", "*", *OWN_FIELDS]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
)  # fmt: skip
SCALARS = st.one_of(
    st.booleans(),
    st.none(),
    st.integers(-9, 9),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3),
)
CONTEXTS = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS | st.lists(SCALARS, max_size=3), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
    ),
    min_size=1,
    max_size=4,
)
NUMBERS = count()


def paths_in(value: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, item in value.items():
        yield (*above, key), item
        if isinstance(item, dict):
            yield from paths_in(item, (*above, key))


@given(st.lists(KEYS, min_size=1, max_size=5))
def test_a_path_is_read_as_it_was_written(keys: list[str]) -> None:
    path = join(keys)
    assert split(path) == tuple(keys)
    assert path == path.strip()
    assert join(split(".".join(map(json.dumps, keys)))) == path


@pytest.mark.parametrize(
    "path", ["task.success", "odd key!", "a[0].b", 'an "odd" name', "back\\slash", "a.$b", "è", "'"]
)
def test_keys_without_a_dot_need_no_quotes(path: str) -> None:
    assert list(split(path)) == path.split(".")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CONTEXTS)
def test_every_path_of_any_context_can_be_asked_for(memory: RobotMemory, context: dict[str, Any]) -> None:
    collection = f"c{next(NUMBERS)}"
    memory_id = memory.learn(f"fact {collection}", context, collection=collection).memory_id
    with memory.parts.tables.reading() as view:
        listed = paths_of_contexts(view)
    mine = dict(paths_in(context))
    names = {split(path): filter_name(path) for path in listed}
    assert mine.keys() <= names.keys()
    for keys, value in mine.items():
        name = names[keys]
        tests: list[object] = [{"$exists": True}]
        if isinstance(value, list):
            tests += [value, *({"$contains": item} for item in value)]
        elif not isinstance(value, dict):
            tests += [value, {"$in": [value]}]
            tests += [{"$gte": value, "$lte": value}] if type(value) in (int, str) else []
        tests += [{"$ne": "another"}, {"$not": {"$eq": "another"}}]
        for wanted in tests:
            found = memory.recall(context_filter={name: wanted}, collection=collection, min_confidence=0.0)
            assert [one.id for one in found] == [memory_id], (name, wanted)
            assert "no memory" not in found.reason
        assert value_at(context, join(keys)) == value
        assert not memory.recall(context_filter={name: {"$exists": False}}, collection=collection)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ('params."max.speed', 'is no dot path .* such as params."max.speed"'),
        ('params."max"speed', "is no dot path"),
        ('"a".', "is no dot path"),
        ('"\\q"', "is no dot path"),
        (".".join("a" * 65), "has 65 keys, and a context at most 64"),
        ("$set", 'a key that begins so stands in double quotes, such as "\\$set"'),
    ],
)
def test_what_is_no_path_is_refused_with_what_would_be_right(memory: RobotMemory, path: str, problem: str) -> None:
    with pytest.raises(InvalidFieldError, match=problem):
        memory.recall(context_filter={path: 1})


def test_characters_that_no_key_has_are_refused(memory: RobotMemory) -> None:
    for path, problem in (('"\\u0000"', "NUL"), ('"\\ud800"', "surrogate")):
        with pytest.raises(InvalidFieldError, match=problem):
            memory.recall(context_filter={path: 1})
        with pytest.raises(InvalidFieldError, match="must be `position` or a path"):
            memory.recall(spatial_sort={"field": path, "target": [0, 0]})


def test_a_path_without_its_quotes_is_answered_with_the_right_one(memory: RobotMemory) -> None:
    memory.learn("one", {"params": {"controller.max_speed": 0.5}})
    result = memory.recall(context_filter={"params.controller.max_speed": 0.5})
    assert result.reason == (
        "context_filter: no memory here has 'params.controller.max_speed'; "
        "did you mean 'params.\"controller.max_speed\"'?"
    )


def test_a_name_in_quotes_is_a_key_of_the_context(memory: RobotMemory) -> None:
    memory.learn("a fact with a key", {"label": "mug", "$and": 1})
    memory.save_perception("an object", label="mug")
    assert [one.memory.content for one in memory.recall(context_filter={'"label"': "mug"})] == ["a fact with a key"]
    assert [one.memory.content for one in memory.recall(context_filter={"label": "mug"})] == ["an object"]
    assert [one.memory.content for one in memory.recall(context_filter={'"$and"': 1})] == ["a fact with a key"]
