"""The parameters of a real node: declared from the table, checked at start and at every set."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter, get_parameter_value

from robotmem_ros.memory import Parameters
from robotmem_ros.srv import Learn

from ..support.node.graph import Client

CONFIG = Path(__file__).resolve().parents[2] / "config" / "memory.yaml"


def set_one(client: Client, name: str, value: object) -> tuple[bool, str]:
    message = Parameter(name, value=value).to_parameter_msg()
    (result,) = client.call(SetParameters, "set_parameters", parameters=[message]).results
    return result.successful, result.reason


def test_every_parameter_of_the_table_is_declared_with_its_description(client: Client) -> None:
    names = [entry.name for entry in fields(Parameters)]
    listed = client.call(ListParameters, "list_parameters").result.names
    assert set(names) <= set(listed)
    described = client.call(DescribeParameters, "describe_parameters", names=names).descriptors
    for entry, descriptor in zip(fields(Parameters), described, strict=True):
        assert descriptor.description.startswith(entry.metadata["description"])
        assert descriptor.read_only == entry.metadata["read_only"]
        ranges = [*descriptor.integer_range, *descriptor.floating_point_range]
        assert bool(ranges) == (entry.metadata["minimum"] is not None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("rrf_k", 0), ("rrf_k", 1.5), ("fusion", "magic"), ("real_weight", -1.0), ("real_weight", float("nan")),
     ("content_limit", 0), ("db_path", "/elsewhere.db"), ("memory_frame", "a\nb"), ("collection", 7)],
)  # fmt: skip
def test_a_bad_value_is_rejected_and_changes_nothing(client: Client, name: str, value: object) -> None:
    before = client.call(GetParameters, "get_parameters", names=[name]).values
    successful, reason = set_one(client, name, value)
    assert not successful
    assert name in reason or "read-only" in reason or "type" in reason.lower()
    assert client.call(GetParameters, "get_parameters", names=[name]).values == before


def test_a_good_value_holds_from_the_next_request_on(client: Client) -> None:
    assert set_one(client, "content_limit", 10) == (True, "")
    response = client.call(Learn, "learn", insight="eleven char")
    assert "insight: 'eleven char' is 11 characters long; at most 10" in response.error
    assert set_one(client, "content_limit", 2000) == (True, "")
    assert client.call(Learn, "learn", insight="eleven char", collection="parameters").success


def test_a_whole_number_is_taken_where_a_float_is_wanted(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''", "-p", "real_weight:=2")
    client: Client = connect()
    client.until_active()
    assert set_one(client, "real_weight", 3) == (True, "")


def test_a_text_with_a_colon_is_set_if_it_is_quoted_as_the_documentation_says(client: Client) -> None:
    page = (CONFIG.parents[1] / "docs" / "parameters.md").read_text()
    (written,) = re.findall(r'ros2 param set /memory object_radii "(.*?)"', page)
    value = get_parameter_value(written)
    assert value.string_value == "chair: 0.5, mug: 0.2"
    message = ParameterMessage(name="object_radii", value=value)
    (result,) = client.call(SetParameters, "set_parameters", parameters=[message]).results
    assert (result.successful, result.reason) == (True, "")
    assert set_one(client, "object_radii", "") == (True, "")


def test_the_parameter_file_of_the_package_starts_the_node(own: Any) -> None:
    start, connect = own
    start("--params-file", str(CONFIG), "-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
    client: Client = connect()
    status = client.until_active()
    assert status.db_path == ":memory:"


PARAMETERS = """
/**:
  ros__parameters:
    db_path: ":memory:"
    embedding_model: ""
    object_radus: 0.3
    perception_topics: [doors]
    doors: {topic: /doors, type: std_msgs/msg/String, description: "{data}"}
    door: {topic: /door, type: std_msgs/msg/String}
memry:
  ros__parameters: {map_id: ground}
amcl:
  ros__parameters: {laser_max_range: 20.0}
"""


def test_a_parameter_without_effect_is_reported_with_the_name_that_was_meant(own: Any, tmp_path: Path) -> None:
    file = tmp_path / "robot.yaml"
    file.write_text(PARAMETERS)
    start, connect = own
    node = start("--params-file", str(file))
    connect().until_active()
    warnings = [line.split("]: ", 1)[1] for line in node.output.splitlines() if "[WARN]" in line]
    assert warnings == [
        "object_radus: is no parameter and is ignored; did you mean 'object_radius'?",
        "door.topic, door.type: 'door' is not listed in perception_topics and is ignored; list it to subscribe",
        f"{file}: section 'memry' is not for '/memory' and is ignored; name it '/memory'",
    ]


def test_an_empty_list_is_a_valid_value(own: Any, tmp_path: Path) -> None:
    file = tmp_path / "robot.yaml"
    topic = {"topic": "/door", "type": "std_msgs/msg/String", "labels": []}
    own_parameters = {"db_path": ":memory:", "embedding_model": "", "perception_topics": ["door"], "door": topic}
    file.write_text(yaml.safe_dump({"/memory": {"ros__parameters": own_parameters}}))
    start, connect = own
    node = start("--params-file", str(file))
    connect().until_active()
    assert "[WARN]" not in node.output


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        ("rrf_k:=0", "rrf_k out of range. Min: 1, Max: 1000, value: 0"),
        ("fusion:=magic", "fusion: 'magic' must be one of scores, rrf"),
        ("content_limit:=many", "content_limit"),
        ("rrf_k:=7.5", "rrf_k"),
    ],
)
def test_a_bad_value_at_start_ends_the_node_with_a_clear_error(own: Any, argument: str, error: str) -> None:
    start, _ = own
    node = start("-p", "db_path:=':memory:'", "-p", argument)
    assert node.ended() == 1
    assert error in node.output
    assert "Traceback" not in node.output
