"""Compare the fields of services and messages with the arguments and values of the core that they carry."""

from __future__ import annotations

import dataclasses
import inspect
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros import msg, srv
from robotmem_ros.memory.verbs.requests import WatchRequest
from robotmem_ros.memory.verbs.table import OWNERS
from robotmem_ros.messages.fields import FieldError, field_types, from_field, set_field, to_field
from robotmem_ros.messages.verbs import VERBS

SERVICES = sorted(file.stem for file in (Path(__file__).resolve().parents[2] / "srv").glob("*.srv"))
FIELDS_ALONE = {
    "Learn": {"stamp"},  # `observed_at`, as a time of ROS
    "Look": {"stamp"},  # as above
    "Recall": {"brief"},  # what the response is filled with
    "SavePerception": {"header", "data_format"},  # `frame_id` and `observed_at` together; and a part of `metadata`
}
"""Fields of a request that are no argument of the same name."""
ARGUMENTS_ALONE = {
    "Learn": {"observed_at"},  # as above
    "Look": {"observed_at"},  # as above
    "Recall": {"count_usage", "time_words", "caller"},  # as Python alone may say
    "SavePerception": {"frame_id", "observed_at", "metadata", "received_at"},  # as above; streams alone set the last
}
"""Arguments of a verb that are no field of the same name."""


def arguments_of(service: str) -> set[str]:
    """Return the arguments of the verb that a service calls."""
    if service == "Watch":  # which calls `watch` of the memory with all that it gets
        return {entry.name for entry in dataclasses.fields(WatchRequest)}
    (path,) = (verb.path for verb in VERBS if verb.service is getattr(srv, service))
    owner, _, name = path.rpartition(".")
    return set(inspect.signature(getattr(OWNERS[owner], name)).parameters) - {"self"}


def request_of(service: str) -> Any:
    """Return the message with the fields of a request: that of save_perception holds a single one, the perception."""
    return msg.Perception if service == "SavePerception" else getattr(srv, service).Request


def result_types(message: Any) -> Iterator[str]:
    """Give the types of the fields of a message, and of those of the messages of this package in them."""
    for _, kind in field_types(message):
        yield kind
        package, _, name = kind.removeprefix("sequence<").partition("/")
        if package == "robotmem_ros":
            yield from result_types(getattr(msg, name.partition(",")[0].rstrip(">")))


@pytest.mark.parametrize("service", SERVICES)
def test_the_fields_of_a_request_are_the_arguments_of_its_verb(service: str) -> None:
    names, arguments = {name for name, _ in field_types(request_of(service))}, arguments_of(service)
    assert names - arguments == FIELDS_ALONE.get(service, set()), f"fields of {service} that its verb does not take"
    lacking = f"arguments that {service} has no field for, or `make build` did not generate it yet"
    assert arguments - names == ARGUMENTS_ALONE.get(service, set()), lacking


@pytest.mark.parametrize("service", SERVICES)
def test_every_field_of_a_request_has_a_conversion(service: str) -> None:
    for name, kind in field_types(request_of(service)):
        if name != "header":
            from_field(kind)


@pytest.mark.parametrize("message", [*(f"{name}.Response" for name in SERVICES), "MemoryStatus"])
def test_every_field_of_a_result_has_a_conversion(message: str) -> None:
    name, *response = message.split(".")
    for kind in result_types(getattr(srv, name).Response if response else getattr(msg, name)):
        to_field(kind)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("uint32", 7, 7),
        ("sequence<uint32>", array("I", [7, 8]), [7, 8]),
        ("sequence<double>", array("d", [0.5]), [0.5]),
        ("sequence<boolean, 3>", [True, False], [True, False]),
        ("sequence<string>", ["a"], ["a"]),
        ("sequence<uint16, 1>", array("H", [0]), 0),
        ("sequence<uint16, 1>", array("H"), None),
        ("double[2]", array("d", [0.5, 1.5]), [0.5, 1.5]),
    ],
)
def test_numbers_and_texts_go_both_ways_alone_and_in_sequences(kind: str, field: Any, value: object) -> None:
    assert from_field(kind)("n", field) == value
    made = to_field(kind)(value)
    assert (list(made) == list(field)) if isinstance(made, list) else made == field


def test_a_type_without_a_conversion_is_named() -> None:
    with pytest.raises(KeyError, match=r"sensor_msgs/Image needs a row in _FROM_FIELD"):
        from_field("sequence<sensor_msgs/Image>")
    with pytest.raises(KeyError, match=r"sensor_msgs/Image needs a row in _FROM_FIELD"):
        to_field("sequence<sensor_msgs/Image>")


@pytest.mark.parametrize(
    ("message", "name", "value", "error"),
    [
        (msg.Count, "name", None, "Count.name: None does not fit string: it must be text"),
        (msg.Count, "n", 2**70, f"Count.n: {2**70} does not fit uint64: it must lie in 0 to {2**64 - 1}"),
        (msg.Count, "n", "many", "Count.n: 'many' does not fit uint64: invalid literal for int"),
        (srv.List.Response, "counts", None, "List_Response.counts: None does not fit sequence<robotmem_ros/Count>: "),
        (msg.MemoryStatus, "stamp", "now", "MemoryStatus.stamp: 'now' does not fit builtin_interfaces/Time: "),
    ],
)
def test_a_value_that_does_not_fit_its_field_is_an_error_that_names_both(
    message: Any, name: str, value: object, error: str
) -> None:
    with pytest.raises(FieldError, match=f"^{re.escape(error)}"):
        set_field(message(), name, dict(field_types(message))[name], value)
