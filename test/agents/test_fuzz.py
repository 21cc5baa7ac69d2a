"""Random arguments, from the schemas and without them: never anything but an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.agents.tool import json_schema
from robotmem_ros.agents.toolbox import opened
from robotmem_ros.agents.tools import TOOLS

from ..support.agents import kitchen

TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["", "mug", "red mug", "\0", "\ud800", "a" * 5000, "yesterday", "3 minutes ago", "'; DROP", "杯子", "*"]
    ),
)
NUMBERS = st.one_of(st.integers(), st.integers(-3, 12), st.floats(), st.sampled_from([2**63, 10**400, -0.0]))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw what a part of a schema describes, about."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([fitting(one) for one in schema["anyOf"]])
    kinds = schema.get("type", "object")
    if isinstance(kinds, list):
        return st.one_of([fitting({**schema, "type": kind}) for kind in kinds])
    if kinds == "object" and schema.get("properties"):
        parts = {name: fitting(part) for name, part in schema["properties"].items()}
        required = set(schema.get("required", ()))
        optional = {name: part for name, part in parts.items() if name not in required}
        return st.fixed_dictionaries({name: parts[name] for name in required}, optional=optional)
    if kinds == "array":
        return st.lists(
            fitting(schema["items"]), min_size=schema.get("minItems", 0), max_size=schema.get("maxItems", 3)
        )
    simple: dict[str, st.SearchStrategy[Any]] = {
        "string": TEXTS,
        "integer": st.integers(-5, 30),
        "number": st.floats(-100, 100),
        "boolean": st.booleans(),
        "object": st.dictionaries(TEXTS, JSON, max_size=3),
    }
    return simple[kinds]


def spoiled(arguments: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw arguments of which some are anything."""
    names = st.sampled_from([*arguments, "other"]) if arguments else st.just("other")
    return st.dictionaries(names, JSON, max_size=3).map(lambda wrong: {**arguments, **wrong})


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_random_arguments_get_an_answer(tool: Any, tmp_path: Path) -> None:
    schema = json_schema(tool)
    validator = jsonschema.Draft202012Validator(schema)
    with opened(kitchen(tmp_path / "memory.db"), {"embedding_model": ""}, read_only=False) as toolbox:

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.one_of(fitting(schema), fitting(schema).flatmap(spoiled), JSON))
        def call(arguments: object) -> None:
            answer = toolbox.call(tool.name, arguments)
            assert "unexpected" not in answer.text, (arguments, answer.text)
            json.dumps(answer.text).encode()
            answer.text.encode()
            if answer.is_error:
                assert answer.text
                assert "\n" not in answer.text
                assert len(answer.text) < 2000
            elif isinstance(arguments, dict):
                # What is taken is in the schema, but for what is read although it is written in another way.
                unknown = arguments.keys() - schema["properties"].keys()
                assert not {name for name in unknown if arguments[name] is not None}
            if isinstance(arguments, dict) and validator.is_valid(arguments):
                assert ": is no argument of " not in answer.text
                assert " is missing; " not in answer.text

        call()
