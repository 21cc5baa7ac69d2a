"""Templates: Python's format specs over dot paths."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.perception.errors import NoValueError, PathError
from robotmem_ros.perception.message_types import FieldType
from robotmem_ros.perception.template import Constant, Template, reader

from ..support.perception.messages import HEADER, Maker

ODOMETRY = FieldType("nav_msgs/msg/Odometry")


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.text())
def test_a_template_writes_what_format_writes(before: str, value: float, after: str) -> None:
    escaped = [text.replace("{", "{{").replace("}", "}}") for text in (before, after)]
    template = Template(f"{escaped[0]}{{a.b:.2f}}{escaped[1]}")
    assert template.read(SimpleNamespace(a=SimpleNamespace(b=value)), None) == f"{before}{value:.2f}{after}"


@given(st.text())
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        Template(text)
    except PathError as cause:
        refused = cause.path
    else:
        refused = text
    assert refused in text


@given(st.text())
def test_a_text_is_written_as_it_is(value: str) -> None:
    assert Template("{data}").read(SimpleNamespace(data=value), None) == value


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        (math.nan, ":.2f", "unknown"), (math.inf, ":.1f", "inf"), (0.30000001192092896, "", "0.3"), (True, "", "True"),
        (b"\x02", "", "2"), ([1.0, 2.0], ":.1f", "1.0, 2.0"), ([], "", ""), (["a"], "", "a"),
        (list(range(21)), "", ", ".join(map(str, range(20))) + ", …"),
    ],
)  # fmt: skip
def test_numbers_are_written_for_a_reader(value: object, spec: str, expected: str) -> None:
    assert Template(f"{{x{spec}}}").read(SimpleNamespace(x=value), None) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no template"), ("}", "is no template"), ("{}", "has no path between"),
        ("{a!r}", "only a format spec"),
        ("{a:{b}}", "only a format spec"), ("{a[0]}", "is no path"), ("{a.__class__}", "is no path"),
    ],
)  # fmt: skip
def test_an_invalid_template_is_refused(text: str, said: str) -> None:
    with pytest.raises(PathError, match=said):
        Template(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{header}", "would write a whole std_msgs/msg/Header, which has stamp, frame_id; choose one value"),
        ("{header.frame_id:.2f}", "formats a string with '.2f'"),
        ("{pose.pose.position.x:d}", "formats a float64 with 'd'"),
        ("{twist.x}", "for 'x'; it has twist, covariance"),
    ],
)
def test_a_template_that_does_not_fit_the_type_is_refused(maker: Maker, text: str, said: str) -> None:
    with pytest.raises(PathError, match=said):
        Template(text).check(maker.types, ODOMETRY, ODOMETRY)


def test_the_message_around_an_element_is_within_reach(maker: Maker) -> None:
    message = maker.make("diagnostic_msgs/msg/DiagnosticArray", {"header": HEADER, "status": [{"name": "motor"}]})
    assert Template("{name} in {/header.frame_id}").read(message.status[0], message) == "motor in map"


def test_names_come_before_fields() -> None:
    template = Template("{score:.1f} {x}", {"score": Constant(0.25), "x": Constant("named")})
    assert template.read(SimpleNamespace(x="field"), None) == "0.2 named"


def test_a_missing_value_is_reported() -> None:
    with pytest.raises(NoValueError):
        Template("{a.0}").read(SimpleNamespace(a=[]), None)


def test_a_source_is_a_constant_a_template_or_a_path() -> None:
    message = SimpleNamespace(dock="bay 4")
    assert [reader(text).read(message, message) for text in ("'dock'", "{dock}", "dock", 0.5)] == [
        "dock", "bay 4", "bay 4", 0.5,
    ]  # fmt: skip


def test_a_message_is_never_written_out() -> None:
    with pytest.raises(TypeError, match="neither a number nor text"):
        Template("{a}").read(SimpleNamespace(a=SimpleNamespace()), None)
