"""`ros2 service call NAME TYPE YAML` where ROS 2 has no command line, as in the wheels: sends and prints the same."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

import rclpy
import yaml

_DEADLINE = 120.0


def filled(message: Any, values: dict[str, Any]) -> Any:
    """Set the fields of a message to the values of a YAML document."""
    types: dict[str, str] = message.get_fields_and_field_types()
    for name, value in values.items():
        setattr(message, name, _value(types[name], value))
    return message


def _value(kind: str, value: Any) -> Any:
    item = re.fullmatch(r"(?:sequence<)?([\w/]+)(?:, \d+>|>|\[\d+\])?", kind)
    assert item, kind
    if isinstance(value, list):
        return [_value(item[1], one) for one in value]
    return filled(_type(item[1], "msg")(), value) if isinstance(value, dict) else value


def _type(name: str, folder: str) -> Any:
    package, *_, last = name.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), last)


def main(name: str, kind: str, request: str) -> None:
    """Call until there is a response: a service that has not found this node yet sends its response to nobody."""
    service = _type(kind, "srv")
    rclpy.init()
    node = rclpy.create_node("caller")
    client = node.create_client(service, name)
    assert client.wait_for_service(_DEADLINE), f"no service {name}"
    for _ in range(40):
        future = client.call_async(filled(service.Request(), yaml.safe_load(request)))
        rclpy.spin_until_future_complete(node, future, timeout_sec=_DEADLINE / 40)
        if future.done():
            break
    print(f"response:\n{future.result()}")
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main(*sys.argv[-3:])
