"""What a filter means, operator by operator and type by type."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, RobotMemory, Stored
from robotmem_ros.memory.conditions.comparison import OWN_FIELDS
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.context_path import split
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest

from ..conftest import OpenMemory

VALUES: list[Any] = [True, False, None, 0, 1, 1.5, -1, "", "1", "true", "null", [], [1], {}, {"b": 1}, "ABSENT"]


@pytest.fixture
def one_of_each(memory: RobotMemory) -> RobotMemory:
    """A memory for each value, under the path `a`; the last one has no `a`."""
    for index, value in enumerate(VALUES):
        memory.learn(f"fact {index}", {} if value == "ABSENT" else {"a": value})
    return memory


def matched(memory: RobotMemory, wanted: Any, path: str = "a") -> list[Any]:
    """The values whose memories a comparison matches."""
    found = memory.recall(context_filter={path: wanted}, n=100)
    return [VALUES[one.id - 1] for one in sorted(found, key=lambda one: one.id)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (True, [True]),
        (False, [False]),
        (None, [None]),
        (1, [1]),
        (1.0, [1]),
        (0, [0]),
        ("1", ["1"]),
        ("true", ["true"]),
        ("", [""]),
        ({"$eq": 1}, [1]),
        ({"$lt": 1}, [0, -1]),
        ({"$lte": 1}, [0, 1, -1]),
        ({"$gt": 0}, [1, 1.5]),
        ({"$gte": 1}, [1, 1.5]),
        ({"$gt": ""}, ["1", "true", "null"]),
        ({"$gte": ""}, ["", "1", "true", "null"]),
        ({"$lt": "n"}, ["", "1"]),
        ({"$gte": 0, "$lt": 1.5}, [0, 1]),
        ({"$in": [1, "1", None, True]}, [True, None, 1, "1"]),
        ({"$in": []}, []),
        ({"$exists": False}, ["ABSENT"]),
        ([], [[]]),
        ([1.0], [[1]]),
        ({"$eq": [True]}, []),
        ({"$contains": 1}, [[1]]),
        ({"$contains": True}, []),
        ({"$contains": "1"}, []),
        ({"$prefix": ""}, ["", "1", "true", "null"]),
        ({"$prefix": "t"}, ["true"]),
        ({"$not": {"$exists": True}}, ["ABSENT"]),
        ({"$not": {"$gt": 0}, "$gte": 0}, [0]),
    ],
)
def test_equality_tells_types_apart(one_of_each: RobotMemory, wanted: Any, expected: list[Any]) -> None:
    found = matched(one_of_each, wanted)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


def test_exists_is_everything_that_is_there_null_included(one_of_each: RobotMemory) -> None:
    assert matched(one_of_each, {"$exists": True}) == VALUES[:-1]


def test_not_equal_is_every_other_value_that_is_there(one_of_each: RobotMemory) -> None:
    others = matched(one_of_each, {"$ne": 1})
    assert others == [value for value in VALUES[:-1] if value is True or value != 1]
    assert None not in matched(one_of_each, {"$ne": None})


def test_a_list_that_is_not_equal_is_still_there(one_of_each: RobotMemory) -> None:
    assert matched(one_of_each, {"$ne": [1]}) == [value for value in VALUES[:-1] if value != [1]]


@pytest.mark.parametrize("path", ["seen", "a.b", 'an "odd" name', "back\\slash", 'a."b.c"."".$d', '"$a"'])
def test_lists_are_searched_wherever_they_are(memory: RobotMemory, path: str) -> None:
    def stored(value: object) -> int:
        context: Any = value
        for name in reversed(split(path)):
            context = {name: context}
        return memory.learn(f"fact {value}", context).memory_id

    first = stored(["mug", "mug", "plate", 5, None, {"name": "cup"}, [1, 2.0]])
    second = stored(["plate", 5.0, "mug", False])
    stored("mug")

    def found(**wanted: object) -> list[int]:
        wanted_ = {f"${name}": value for name, value in wanted.items()}
        return sorted(one.id for one in memory.recall(context_filter={path: wanted_}, n=100))

    assert found(contains="mug") == found(contains=5) == found(contains="plate") == [first, second]
    assert found(contains=None) == found(contains={"name": "cup"}) == found(contains=[1.0, 2]) == [first]
    assert found(contains=False) == found(eq=["plate", 5, "mug", False]) == [second]
    assert found(contains="mu") == found(contains={"name": "cu"}) == found(eq=["mug", "plate", 5.0, False]) == []
    memory.update(first, context={})
    assert found(contains="mug") == [second]
    memory.forget(second, "a test")
    assert found(contains="mug") == []


@pytest.mark.parametrize("last", ["a", "\ud7ff", "\uffff", "\U0010ffff", "é"])
def test_a_prefix_may_end_with_any_character(memory: RobotMemory, last: str) -> None:
    ids = [memory.learn(f"fact {end!r}", {"name": f"x{end}"}).memory_id for end in (last, f"{last}{last}", f"y{last}")]
    memory.learn("another", {"name": "x"})
    assert sorted(one.id for one in memory.recall(context_filter={"name": {"$prefix": f"x{last}"}})) == ids[:2]
    assert len(memory.recall(context_filter={"content": {"$prefix": "fact"}})) == 3


def test_filters_are_joined(memory: RobotMemory) -> None:
    for number in range(6):
        memory.learn(f"fact {number}", {"a": number % 2, "b": number % 3}, tags=["low"] if number < 3 else [])

    def found(**wanted: object) -> list[str]:
        filter_ = {f"${name}": value for name, value in wanted.items()}
        return sorted(one.memory.content[-1] for one in memory.recall(context_filter=filter_, n=100))

    odd, third = {"a": 1}, {"b": 0}
    assert found(**{"or": [odd, third]}) == ["0", "1", "3", "5"]
    assert found(**{"and": [odd, third]}) == ["3"]
    assert found(**{"not": {"$or": [odd, third]}}) == ["2", "4"]
    assert found(**{"or": [{**odd, **third}, {"tags": {"$contains": "low"}, "b": {"$gt": 1}}]}) == ["2", "3"]
    assert found(**{"not": {"c": 1}}) == ["0", "1", "2", "3", "4", "5"]
    assert len(found(**{"or": [{"a": 7}] * 99 + [odd]})) == 3


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"$or": []}, r"context_filter.\$or: \[\] must be a list of filters"),
        ({"$or": {"a": 1}}, r"context_filter.\$or: .* must be a list of filters"),
        ({"$and": [{"a": 1}, {}]}, r"context_filter.\$and: .* each a JSON object with at least one"),
        ({"$not": 5}, r"context_filter.\$not: 5 must be a filter"),
        ({"$nor": [{"a": 1}]}, r"context_filter: '\$nor' is an unknown operator; \$and, \$or, \$not join filters"),
        ({"$or": [{"a": {"$is": 1}}]}, r"context_filter.\$or.a: '\$is' is an unknown operator; there are"),
        ({"a": {"$not": 5}}, r"context_filter.a.\$not: 5 must be an operator"),
        ({"a": {"$prefix": 5}}, r"context_filter.a.\$prefix: 5 must be a text"),
        ({"a": {"$eq": {"b": 1}}}, "context_filter.a: .* cannot be compared; compare a number"),
        (
            {"tags": "kitchen"},
            "context_filter.tags: 'kitchen' cannot be compared with tags, .* `tags` and `any_tags`",
        ),
        ({"label": {"$contains": "mug"}}, r"context_filter.label.\$contains: 'mug' .*`label` of a memory is no list"),
        ({"label": ["mug"]}, "context_filter.label: .*`label` of a memory is no list"),
    ],
)
def test_what_a_filter_cannot_say_is_an_error_that_names_the_way(
    memory: RobotMemory, wanted: dict[str, Any], error: str
) -> None:
    memory.learn("one", {"a": 1})
    with pytest.raises(InvalidFieldError, match=f"^{error}"):
        memory.recall("one", context_filter=wanted)


def test_a_key_of_the_context_may_have_a_name_that_means_something_else(memory: RobotMemory) -> None:
    memory.learn("one", {"distance": 5})
    assert len(memory.recall(context_filter={"distance": {"$gt": 4}})) == 1
    assert len(memory.recall(context_filter={"context.position": {"$exists": False}})) == 1


@pytest.mark.parametrize(
    ("name", "instead"), [("observed_at", "`after` and `before`"), ("areas", "`areas`"), ("x", "`near`")]
)
def test_the_reason_tells_what_asks_for_the_memory_itself(memory: RobotMemory, name: str, instead: str) -> None:
    memory.learn("one")
    result = memory.recall("one", context_filter={"$not": {name: 5}})
    assert len(result) == 1
    assert f"context_filter: no memory here has {name!r}; for the memory itself use {instead}" in result.reason


def test_a_key_of_the_context_may_have_the_name_of_any_column(memory: RobotMemory) -> None:
    with memory.parts.database.snapshot() as snapshot:
        columns = snapshot.rows(
            "SELECT DISTINCT c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table'"
        )
    names = {name for (name,) in columns} | {"rowid", "oid", "_rowid_", "position", "kinds"}
    names |= {name for name in OWN_FIELDS if "." not in name}  # of others see test_sizes.py
    assert {"x", "uuid", "revision", "label", "value", "path"} <= names
    memory.learn("another fact")
    for name in names:
        path = f"context.{name}" if name in OWN_FIELDS else name
        assert not memory.recall("fact", context_filter={path: 7.5})
    memory.learn("a fact of many keys", dict.fromkeys(names, 7.5))
    for name in names:
        path = f"context.{name}" if name in OWN_FIELDS else name
        (hit,) = memory.recall("fact", context_filter={path: {"$gt": 7}})
        assert hit.memory.content == "a fact of many keys"


def test_a_path_leads_through_objects(memory: RobotMemory) -> None:
    memory.learn("deep", {"a": {"b": {"c": 1}}})
    memory.learn("flat", {"a.b.c": 1})
    assert [found.memory.content for found in memory.recall(context_filter={"a.b.c": 1})] == ["deep"]
    assert [found.memory.content for found in memory.recall(context_filter={"a.b": {"$exists": True}})] == ["deep"]
    assert len(memory.recall(context_filter={"a.b.c.d": 1})) == 0
    assert len(memory.recall(context_filter={"a.b": 1})) == 0


def test_a_filter_names_the_fields_of_the_memory_itself(memory: RobotMemory) -> None:
    fact = memory.learn(
        "red mug", {"label": "inner"}, "s1", category="grasp", confidence=0.7, observed_at=5_000_000_000
    )
    seen = memory.save_perception("blue mug", "tactile", label="mug", observed_at=6_500_000_000)
    cases: list[tuple[dict[str, Any], list[Stored]]] = [
        ({"kind": "fact"}, [fact]),
        ({"content": "red mug"}, [fact]),
        ({"session_id": "s1"}, [fact]),
        ({"session_id": {"$exists": False}}, [seen]),
        ({"category": {"$in": ["grasp", "place"]}}, [fact]),
        ({"confidence": 0.7}, [fact]),
        ({"confidence": {"$gt": 0.7}}, [seen]),
        ({"confidence": "0.7"}, []),
        ({"perception_type": "tactile"}, [seen]),
        ({"perception_type": {"$ne": "visual"}}, [seen]),
        ({"label": "mug"}, [seen]),
        ({"label": {"$exists": False}}, [fact]),
        ({"context.label": "inner"}, [fact]),
        ({"stamp": {"$gte": 5, "$lt": 6}}, [fact]),
        ({"stamp": 6.5}, [seen]),
        ({"id": fact.memory_id}, [fact]),
        ({"id": str(fact.memory_id)}, []),
        ({"frame_id": "map", "kind": "perception"}, [seen]),
    ]
    for wanted, expected in cases:
        assert [one.id for one in memory.recall(context_filter=wanted)] == [one.memory_id for one in expected], wanted


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**62), 2**62))
def test_a_number_is_found_by_its_own_value_and_not_by_the_next(memory: RobotMemory, number: float) -> None:
    memory_id = memory.learn("a number", {"x": number}).memory_id
    mine = {"id": memory_id}
    assert len(memory.recall(context_filter={**mine, "x": number})) == 1
    assert len(memory.recall(context_filter={**mine, "x": {"$gte": number, "$lte": number}})) == 1
    assert len(memory.recall(context_filter={**mine, "x": {"$ne": number}})) == 0
    if isinstance(number, float) and math.isfinite(math.nextafter(number, math.inf)):
        assert len(memory.recall(context_filter={**mine, "x": math.nextafter(number, math.inf)})) == 0


def test_a_filter_may_be_json_text(memory: RobotMemory) -> None:
    memory.learn("red mug", {"task": {"success": True}})
    assert len(memory.recall(context_filter='{"task.success": true, "kind": "fact"}')) == 1
    assert len(memory.recall("mug", context_filter="  ")) == 1


def test_a_query_is_parsed_with_its_defaults(memory: RobotMemory) -> None:
    request = RecallRequest("  red mug ", spatial_sort={"target": (1, 2)}, after=1, collection="")
    query = parse_query(memory.parameters, request, decay=Decay(0.01, now=1))
    assert (query.text, query.n, query.collections.names) == ("red mug", 5, ("default",))
    assert query.spatial_sort is not None
    assert (query.spatial_sort.field.name, query.spatial_sort.field.frame_id) == ("position", "map")
    assert query.spatial_sort.max_distance == math.inf


def test_a_window_is_half_open(memory: RobotMemory) -> None:
    for stamp in (10, 11, 12):
        memory.save_perception(f"mug {stamp}", observed_at=stamp)
    assert [found.memory.observed_at for found in memory.recall(after=10, before=12)] == [11, 10]
    assert [found.memory.observed_at for found in memory.recall("mug", after=12)] == [12]
    assert [found.memory.observed_at for found in memory.recall("mug", before=10, after=0)] == []
    with pytest.raises(InvalidFieldError, match="after: 12 must lie before"):
        memory.recall(after=12, before=11)


def test_a_filter_may_have_a_hundred_comparisons(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    names = [f"k{number}" for number in range(100)]
    memory.learn("red mug", context=dict.fromkeys(names, 1))
    memory.learn("blue mug", context=dict.fromkeys(names[:-1], 1))
    for comparison in (1, {"$exists": True}, {"$gte": 1}):
        found = memory.recall("mug", context_filter=dict.fromkeys(names, comparison))
        assert [one.memory.content for one in found] == ["red mug"]
