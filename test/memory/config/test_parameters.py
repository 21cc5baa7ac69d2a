"""The table of parameters checks every value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import pytest

from robotmem_ros.memory import InvalidFieldError, Parameters, RobotMemory
from robotmem_ros.memory.argument import MAX_CONTEXT, MAX_SUMMARY

from ..conftest import OpenMemory


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rrf_k": 0}, "rrf_k: 0 must lie in 1 to 1000"),
        ({"rrf_k": 60.0}, "rrf_k: 60.0 must be of type int"),
        ({"rrf_k": True}, "rrf_k: True must be of type int"),
        ({"real_weight": math.nan}, "real_weight: nan must be a finite number"),
        ({"real_weight": "1"}, "real_weight: '1' must be of type float"),
        ({"busy_timeout": 601}, "busy_timeout: 601.0 must lie in 0.0 to 600.0 s"),
        ({"content_limit": 0}, "content_limit: 0 must lie in 1 to 1000000 characters"),
        ({"fusion": "sum"}, "fusion: 'sum' must be one of scores, rrf"),
        ({"synchronous": "off"}, "synchronous: 'off' must be one of full, normal"),
        ({"collection": None}, "collection: None must be of type str"),
        ({"map_id": "a\0"}, r"map_id: 'a\\x00' must be printable text"),
        ({"autostart": 1}, "autostart: 1 must be of type bool"),
        ({"text_weight": 0, "vector_weight": 0}, "vector_weight: 0.0 must not be 0 if text_weight is 0 as well"),
        ({"bm25_b": 1.5}, "bm25_b: 1.5 must lie in 0.0 to 1.0"),
        ({"no_such": 1}, "no_such: 1 is no parameter; there are areas_file, "),
    ],
)
def test_a_bad_value_is_named_with_what_would_be_right(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{message}"):
        Parameters().changed(**changes)


def test_a_whole_number_is_welcome_where_a_float_is_wanted() -> None:
    parameters = Parameters().changed(real_weight=2)
    assert (parameters.real_weight, type(parameters.real_weight)) == (2.0, float)


@pytest.mark.parametrize("entry", fields(Parameters), ids=lambda entry: str(entry.name))
def test_each_parameter_is_described_and_its_limits_are_its_own(entry: object) -> None:
    from dataclasses import Field

    assert isinstance(entry, Field)
    assert entry.metadata["description"].endswith(".")
    if isinstance(entry.default, (int, float)) and not isinstance(entry.default, bool):
        for limit in ("minimum", "maximum"):
            value = type(entry.default)(entry.metadata[limit])
            assert getattr(Parameters().changed(**{entry.name: value}), entry.name) == value
        beyond = type(entry.default)(entry.metadata["maximum"]) + 1
        with pytest.raises(InvalidFieldError, match=f"^{entry.name}: .* must lie in "):
            Parameters().changed(**{entry.name: beyond})


def test_lengths_are_limited(open_memory: OpenMemory) -> None:
    memory = open_memory(content_limit=5, data_limit=2)
    longest = "x" * (MAX_CONTEXT - len('{"a":""}'))
    assert memory.learn("12345", {"a": longest}, human_summary="1" * MAX_SUMMARY).memory_id == 1
    calls: list[tuple[str, Callable[[], object]]] = [
        ("insight", lambda: memory.learn("123456")),
        ("human_summary", lambda: memory.learn("1", human_summary="1" * (MAX_SUMMARY + 1))),
        ("context", lambda: memory.learn("1", {"a": f"{longest}x"})),
        ("data", lambda: memory.save_perception("1", data=b"123")),
    ]
    for field, call in calls:
        with pytest.raises(InvalidFieldError, match=f"^{field}: .* at most "):
            call()
    assert memory.status().memories == 1


@pytest.mark.parametrize("k", [1, 60, 1000])
def test_the_constant_of_the_fusion_and_the_weight_of_the_real_are_parameters(k: int) -> None:
    with RobotMemory(":memory:", embedding_model="", fusion="rrf", rrf_k=k, real_weight=3.0) as memory:
        memory.save_perception("mug", context={"env": {"sim_or_real": "real"}})
        memory.save_perception("mug")
        best = max(3.0 / (k + 2), 1 / (k + 1))
        assert {found.id: found.score for found in memory.recall("mug", fold=False)} == pytest.approx(
            {1: 3.0 / (k + 2) / best, 2: 1 / (k + 1) / best}
        )
