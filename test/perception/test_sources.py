"""Sources: dot paths read the same from both kinds of messages, templates take Python's format specs over them.

What does not fit is refused at start, with the fields that exist.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.perception.message_types import FieldType, from_rclpy
from robotmem_ros.perception.sources import Constant, DotPath, NoValueError, PathError, Template, reader
from robotmem_ros.perception.values import scalar

from ..support.perception.messages import HEADER, Maker, pose

ODOMETRY = FieldType("nav_msgs/msg/Odometry")
names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
steps = st.lists(st.one_of(names, st.integers(0, 3)), min_size=1, max_size=6)


def nested(path: list[str | int], value: object) -> Any:
    for step in reversed(path):
        value = [None] * step + [value] if isinstance(step, int) else SimpleNamespace(**{step: value})
    return value


@given(steps, st.integers())
def test_a_path_reads_what_lies_at_its_end(path: list[str | int], value: int) -> None:
    text = ".".join(map(str, path))
    assert DotPath(text).read(nested(path, value), None) == value
    assert DotPath(f"/{text}").read(None, nested(path, value)) == value


@given(st.text())
def test_any_text_is_a_path_or_refused_as_none(text: str) -> None:
    try:
        path = DotPath(text)
    except PathError as cause:
        refused = str(cause)
    else:
        refused = ""
        assert path.text == text
    assert not refused or "is no path" in refused


@given(st.lists(st.floats(), min_size=1))
def test_best_is_the_element_with_the_highest_value_that_is_a_number(scores: list[float]) -> None:
    array = [SimpleNamespace(score=score, at=at) for at, score in enumerate(scores)]
    best = DotPath("best(score).at").read(array, None)
    comparable = [-math.inf if math.isnan(score) else score for score in scores]
    assert best == comparable.index(max(comparable))


@pytest.mark.parametrize("text", ["", "a..b", ".a", "a.", "__class__", "a._b", "a.-1", "a[0]", "a b", "a.best()",
                                  "best(a",                                  "é", "a.0x1", "//a"])  # fmt: skip
def test_an_invalid_path_is_refused(text: str) -> None:
    with pytest.raises(PathError, match="is no path"):
        DotPath(text)


@pytest.mark.parametrize(
    ("path", "type_name", "values", "expected"),
    [
        ("pose.pose.position.x", "nav_msgs/msg/Odometry", {"pose": {"pose": pose(1.5, 2, 3)}}, (1.5, "float64")),
        ("pose.covariance.35", "nav_msgs/msg/Odometry", {"pose": {"covariance": [0.0] * 35 + [7.0]}}, (7.0, "float64")),
        ("header.stamp.sec", "nav_msgs/msg/Odometry", {"header": HEADER}, (928, "int32")),
        ("name.1", "sensor_msgs/msg/JointState", {"name": ["a", "b"]}, ("b", "string")),
        ("position.best(.)", "sensor_msgs/msg/JointState", {"position": [1.0, 3.0, 2.0]}, (3.0, "float64")),
        ("markers.0.ns", "visualization_msgs/msg/MarkerArray", {"markers": [{"ns": "n"}]}, ("n", "string")),
        ("status.0.level", "diagnostic_msgs/msg/DiagnosticArray", {"status": [{"level": 2}]}, (2, "byte")),
        ("present", "sensor_msgs/msg/BatteryState", {"present": True}, (True, "bool")),
    ],
)  # fmt: skip
def test_both_kinds_of_messages_are_read_alike(
    maker: Maker, path: str, type_name: str, values: dict[str, Any], expected: tuple[object, str]
) -> None:
    compiled = DotPath(path)
    message = maker.make(type_name, values)
    whole = FieldType(type_name)
    assert (scalar(compiled.read(message, message)), str(compiled.check(maker.types, whole, whole))) == expected


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("pos", "'pos' asks nav_msgs/msg/Odometry for 'pos'; it has header, child_frame_id, pose, twist"),
        ("pose.position", r"PoseWithCovariance \(at 'pose'\) for 'position'; it has pose, covariance"),
        ("pose.0", r"for '0', but that is no array; it has pose, covariance"),
        ("pose.covariance.x", r"float64\[36\] \(at 'pose.covariance'\) for 'x'; choose an element, such as '0.x'"),
        ("pose.covariance.36", "for element 36, but the last one is 35"),
        ("header.frame_id.x", "for 'x', but that has no fields"),
        ("header.frame_id.0", "for '0', but that is no array"),
        ("/header.stamp.seconds", "for 'seconds'; it has sec, nanosec"),
    ],
)
def test_a_path_that_leads_nowhere_lists_the_fields_that_exist(maker: Maker, path: str, said: str) -> None:
    whole = FieldType("nav_msgs/msg/Odometry")
    with pytest.raises(PathError, match=said):
        DotPath(path).check(maker.types, whole, whole)


def test_best_wants_a_number(maker: Maker) -> None:
    whole = FieldType("visualization_msgs/msg/MarkerArray")
    with pytest.raises(PathError, match="compares by 'ns', which is string and no number"):
        DotPath("markers.best(ns).pose").check(maker.types, whole, whole)


@pytest.mark.parametrize("path", ["name.2", "name.best(.)"])
def test_an_index_beyond_the_end_is_no_value(maker: Maker, path: str) -> None:
    message = maker.make("sensor_msgs/msg/JointState", {})
    with pytest.raises(NoValueError, match="the array"):
        DotPath(path).read(message, message)


@pytest.mark.parametrize(
    ("rclpy", "plain"),
    [
        ("sequence<geometry_msgs/Pose, 1>", "geometry_msgs/msg/Pose[]"), ("double[36]", "float64[36]"),
        ("sequence<string<5>, 3>", "string[]"), ("string<5>", "string"), ("octet", "byte"), ("boolean", "bool"),
        ("sequence<uint8>", "uint8[]"), ("std_msgs/Header", "std_msgs/msg/Header"), ("string<5>[2]", "string[2]"),
    ],
)  # fmt: skip
def test_the_words_of_rclpy_are_those_of_msg_files(rclpy: str, plain: str) -> None:
    assert str(from_rclpy(rclpy)) == plain


@pytest.mark.parametrize("text", ["", "sequence<a>>", "a b", "float64[36", "x[]]"])
def test_an_invalid_field_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no type of a message field"):
        from_rclpy(text)


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
