"""Whatever a request carries, a service answers it, and never with an error of its own."""

from __future__ import annotations

import math
from array import array
from typing import Any

import pytest
from builtin_interfaces.msg import Duration, Time
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros import srv
from robotmem_ros.messages.fields import field_types
from robotmem_ros.messages.verbs import VERBS

from ..support.node.graph import Client

SERVICES = {**{verb.name: verb.service for verb in VERBS}, "watch": srv.Watch}
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
    st.sampled_from(
        ["*", "map", "mug", "a red mug", "{}", '{"a": 1e400}', '{"a": {"$in": [1]}}', "task.success", "x" * 3000]
    ),
)
FLOATS = st.floats(-(2.0**127), 2.0**127, width=32) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 0.5, 1.0])
NUMBERS = {
    f"{sign}int{bits}": st.one_of(st.integers(0, 9), st.integers(low, low + 2**bits - 1))
    for bits in (8, 16, 32, 64)
    for sign, low in (("", -(2 ** (bits - 1))), ("u", 0))
}
SEQUENCES = {"float": "f", "double": "d", "int64": "q", "uint32": "I", "uint16": "H"}


def values(kind: str) -> st.SearchStrategy[Any]:
    """Draw what a field of a type can carry."""
    simple = {**NUMBERS, "boolean": st.booleans(), "string": TEXTS, "float": FLOATS, "double": FLOATS}
    if kind in simple:
        return simple[kind]
    if kind == "sequence<uint8>":
        return st.binary(max_size=20).map(lambda data: array("B", data))
    if kind.startswith("sequence<"):
        element, _, most = kind.removeprefix("sequence<").removesuffix(">").partition(", ")
        listed = st.lists(values(element), max_size=int(most) if most else 3)
        return listed.map(lambda items: array(SEQUENCES[element], items)) if element in SEQUENCES else listed
    package, _, name = kind.partition("/")
    if kind == "builtin_interfaces/Time":
        return st.builds(Time, sec=NUMBERS["int32"], nanosec=NUMBERS["uint32"])
    if kind == "builtin_interfaces/Duration":
        return st.builds(Duration, sec=NUMBERS["int32"], nanosec=NUMBERS["uint32"])
    return messages(getattr(__import__(f"{package}.msg").msg, name))


def messages(message: Any) -> st.SearchStrategy[Any]:
    """Draw messages of which some fields are set."""
    parts = {name: values(kind) for name, kind in field_types(message)}
    return st.fixed_dictionaries({}, optional=parts).map(lambda fields: message(**fields))


def test_all_services_are_asked() -> None:
    assert set(SERVICES.values()) == {kind for kind in vars(srv).values() if hasattr(kind, "Request")}


@pytest.mark.parametrize("name", SERVICES)
def test_random_requests_get_an_answer(client: Client, name: str) -> None:
    kind = SERVICES[name]

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(messages(kind.Request))
    def call(request: Any) -> None:
        answer = client.call(kind, name, **{field: getattr(request, field) for field, _ in field_types(request)})
        assert "internal error" not in answer.error, (request, answer.error)
        assert answer.success == (not answer.error)

    call()
