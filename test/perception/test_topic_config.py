"""What can be configured for a topic, and how a mistake is said at start."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.perception import TopicConfig, TopicError, parse_topic
from robotmem_ros.perception.topic_config import key_of, table

from ..support.perception.messages import PRESETS, Maker, extractor

STRING = {"topic": "/caption", "type": "std_msgs/msg/String"}


def parse(**values: Any) -> TopicConfig:
    return parse_topic("captions", STRING | values, PRESETS)


def test_topic_and_type_suffice_where_there_is_a_preset() -> None:
    config = parse()
    assert (config.name, config.topic, config.description) == ("captions", "/caption", "{data}")
    assert (config.qos_reliability, config.qos_durability, config.min_interval) == ("match", "match", 0.0)


def test_nested_and_dotted_keys_mean_the_same() -> None:
    nested = parse(
        qos={"depth": 5, "reliability": "reliable"}, context={"task": {"name": "data"}}, thumbnail={"width": 9}
    )
    dotted = parse(**{"qos.depth": 5, "qos.reliability": "reliable", "context.task.name": "data", "thumbnail.width": 9})
    assert nested == dotted
    assert (nested.qos_depth, nested.context, nested.thumbnail_width) == (5, {"task.name": "data"}, 9)


def test_configured_keys_override_the_preset_and_an_empty_key_removes_a_source() -> None:
    own: dict[str, Any] = {"topic": "/odom", "type": "nav_msgs/Odometry", "min_interval": 2, "covariance": ""}
    config = parse_topic("odom", own | {"context": {"robot": {"linear_velocity": ""}}}, PRESETS)
    assert (config.type, config.min_interval, config.covariance) == ("nav_msgs/msg/Odometry", 2.0, "")
    assert list(config.context) == ["robot.angular_velocity"]


def test_numbers_as_rclpy_gives_them_are_taken() -> None:
    assert parse(only={"data": array("q", [1, 2])}).only == {"data": [1, 2]}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"topics": "x"}, "captions.topics: 'x' is no key of a topic; did you mean 'topic'"),
        ({"qos": {"dept": 5}}, "captions.qos.dept: 5 is no key"),
        ({"qos_depth": 5}, "captions.qos_depth: 5 is no key"),
        ({"topic": ""}, "captions.topic: '' is no name of a topic"),
        ({"topic": "/a b"}, "captions.topic: '/a b' is no name of a topic"),
        ({"type": "String"}, "captions.type: 'String' is no message type"),
        ({"type": "os/path/join"}, "captions.type: 'os/path/join' is no message type"),
        ({"type": 5}, "captions.type: 5 is no message type"),
        ({"perception_type": "smell"}, "captions.perception_type: 'smell' must be one of visual, tactile"),
        ({"description": 5}, "captions.description: 5 must be of type str"),
        ({"min_interval": "1"}, "captions.min_interval: '1' must be of type float"),
        ({"min_interval": -1.0}, "captions.min_interval: -1.0 must lie in 0.0 to 1000000.0 s"),
        ({"min_interval": float("nan")}, "captions.min_interval: nan must be a finite number"),
        ({"min_confidence": 2}, "captions.min_confidence: 2.0 must lie in 0.0 to 1.0"),
        ({"confidence": 1.5}, "captions.confidence: 1.5 must lie in 0 to 1"),
        ({"labels": "mug"}, "captions.labels: 'mug' must be a list of texts"),
        ({"labels": [1]}, r"captions.labels: \[1\] must be a list of texts"),
        ({"gate": 1}, "captions.gate: 1 must be of type bool"),
        ({"qos": {"depth": 0}}, "captions.qos.depth: 0 must lie in 1 to 100000 messages"),
        ({"qos": {"depth": True}}, "captions.qos.depth: True must be of type int"),
        ({"qos": {"reliability": "maybe"}}, "captions.qos.reliability: 'maybe' must be one of match"),
        ({"context": "data"}, "captions.context: 'data' must be a mapping"),
        ({"context": {"a": 5}}, "captions.context.a: 5 must be text"),
        ({"only": {"data": [["a"]]}}, r"captions.only.data: \[\['a'\]\] must be text or numbers"),
        ({"only": {"data": None}}, "captions.only.data: None must be text or numbers"),
        ({"context": {"a..b": "data"}}, "captions.context: 'a..b' is no dot path"),
        ({"each": 1}, "captions.each: 1 must be of type str"),
    ],
)
def test_a_mistake_names_topic_key_and_value(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidFieldError, match=said):
        parse(**values)


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(InvalidFieldError, match="captions: 5 must be a mapping"):
        parse_topic("captions", 5, PRESETS)  # type: ignore[arg-type]
    with pytest.raises(InvalidFieldError, match="must be a key"):
        parse_topic("captions", {1: 2}, PRESETS)  # type: ignore[dict-item]


@given(st.sampled_from([key_of(row.name) for row in table()]), st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text()),
    st.dictionaries(st.text(), st.text()),
))  # fmt: skip
def test_any_value_of_any_key_is_taken_or_refused_by_name(key: str, value: object) -> None:
    try:
        parse(**{key: value})
    except InvalidFieldError as cause:
        refused = str(cause)
    else:
        refused = ""
    assert not refused or refused.startswith("captions.")


def test_every_row_of_the_table_says_what_it_is_for() -> None:
    assert all(row.metadata["description"].endswith((".", "required.")) for row in table())


@pytest.mark.parametrize(
    ("type_name", "keys", "said"),
    [
        ("nav_msgs/msg/Odometry", {"pose": "pose"},
         "seen.pose: 'pose' cannot be read from topic /seen of type nav_msgs/msg/Odometry: it is .*PoseWithCovariance"),
        ("nav_msgs/msg/Odometry", {"pose": "pose"},
         "with pose, covariance; a message with position and orientation, or a box with center and size is"),
        ("nav_msgs/msg/Odometry", {"pose": "pos.pose"}, "for 'pos'; it has header, child_frame_id, pose, twist"),
        ("nav_msgs/msg/Odometry", {"label": "header"}, "Header with stamp, frame_id; one number or text is needed"),
        ("nav_msgs/msg/Odometry", {"confidence": "child_frame_id"}, "it is string; a number is needed"),
        ("nav_msgs/msg/Odometry", {"stamp": "header"}, "a message with sec and nanosec is needed"),
        ("nav_msgs/msg/Odometry", {"position": "pose.covariance"},
         r"it is float64\[36\]; a message with x, y, z, an array of 2 or 3 numbers, or a fix with latitude and long"),
        ("nav_msgs/msg/Odometry", {"orientation": "pose.pose.position"}, "x, y, z, w, or an array of 4 numbers is"),
        ("sensor_msgs/msg/CameraInfo", {"description": "x", "covariance": "p"},
         r"it is float64\[12\]; an array of 36, 9 or 6 numbers is needed"),
        ("nav_msgs/msg/Odometry", {"confidence": "child_frame_id * 0.01"}, "is string; only a number, or an array of"),
        ("nav_msgs/msg/Odometry", {"confidence": "conf * 0.01"}, "for 'conf'; it has header, child_frame_id"),
        ("nav_msgs/msg/Odometry", {"confidence": "pose.covariance.0 * x"}, "is no path"),
        ("nav_msgs/msg/Odometry", {"confidence": "pose.covariance.[i]"}, "no array is named by `each`"),
        ("nav_msgs/msg/Odometry", {"data": "pose.covariance"}, r"it is float64\[36\]; an array of bytes is needed"),
        ("nav_msgs/msg/Odometry", {"image": "pose"}, "an Image or a CompressedImage is needed"),
        ("nav_msgs/msg/Odometry", {"each": "pose"}, "seen.each: 'pose' .*PoseWithCovariance and no array"),
        ("nav_msgs/msg/Odometry", {"description": "{pos}"}, "seen.description: '{pos}' .*'pos' asks nav_msgs"),
        ("nav_msgs/msg/Odometry", {"description": "child_frame_id"}, "is a field; write it as '{child_frame_id}'"),
        ("nav_msgs/msg/Odometry", {"description": "{"}, "seen.description: '{' .*is no template"),
        ("nav_msgs/msg/Odometry", {"context": {"a": "x"}}, "seen.context.a: 'x' cannot be read"),
        ("nav_msgs/msg/Odometry", {"context": {"a": "header.frame_id", "a.b": "header.frame_id"}},
         "'a.b' needs 'a' to be an object"),
        ("nav_msgs/msg/Odometry", {"only": {"pose": 1}}, "seen.only.pose: 'pose' .*one number or text is needed"),
        ("visualization_msgs/msg/MarkerArray", {"label": "/markers"},
         r"one number or text is needed; such as /markers.\[i\], if it lies beside 'markers'"),
        ("visualization_msgs/msg/MarkerArray", {"label": "{markers.0.ns}"},
         "for 'markers'; it has .*; it starts at an element of 'markers', '/markers.0.ns' at the message"),
        ("diagnostic_msgs/msg/DiagnosticArray", {"label": "header.frame_id"},
         "asks diagnostic_msgs/msg/DiagnosticStatus for 'header'; it has level, name, message, hardware_id, values"),
    ],
)  # fmt: skip
def test_a_source_that_does_not_fit_the_type_is_refused_at_start(
    maker: Maker, type_name: str, keys: dict[str, Any], said: str
) -> None:
    with pytest.raises(TopicError, match=said):
        extractor(maker, type_name, **keys)


@pytest.mark.parametrize(
    ("type_name", "said"),
    [
        ("nowhere_msgs/msg/Thing", "seen.type: 'nowhere_msgs/msg/Thing' cannot be found: [^?]*$"),
        ("std_msgs/msg/Strng", "seen.type: .* cannot be found: .*; did you mean 'std_msgs/msg/String'?"),
        ("geometry_msg/msg/PoseStamped", "cannot be found: .*; did you mean 'geometry_msgs/msg/PoseStamped'?"),
    ],
)
def test_a_type_that_does_not_exist_is_told_with_the_nearest_one(maker: Maker, type_name: str, said: str) -> None:
    with pytest.raises(InvalidFieldError, match=said):
        extractor(maker, type_name)


def test_a_type_without_a_preset_needs_a_description(maker: Maker) -> None:
    with pytest.raises(InvalidFieldError, match=r"seen.description: '' is needed, because there is no preset for geom"):
        extractor(maker, "geometry_msgs/msg/Twist")
