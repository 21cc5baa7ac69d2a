"""Arguments of nodes with configured topics, and their diagnostics."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticArray

from robotmem_ros.srv import Recall

from .graph import Client

IN_MEMORY = ("-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
CAPTIONS = {"topic": "/vlm/caption", "type": "std_msgs/msg/String", "description": "'{data}'"}


def topic(name: str, **keys: object) -> list[str]:
    """Return the arguments that configure one topic; `__` in a key is a dot."""
    arguments = ["-p", f"perception_topics:=[{name}]"]
    for key, value in keys.items():
        arguments += ["-p", f"{name}.{key.replace('__', '.')}:={value}"]
    return arguments


def stored(client: Client, number: int) -> None:
    client.until_status(lambda status: sum(status.topic_stored) == number, f"{number} stored")


def recalled(client: Client, **fields: Any) -> list[Any]:
    everything = {"n": 100, "min_confidence": [0.0], "kinds": ["perception"], "include_unconfirmed": True}
    response = client.call(Recall, "recall", **{**everything, "fold": False, **fields})
    assert response.success, response.error
    return list(response.memories)


def message(client: Client, name: str, part: str) -> str:
    """Return the message of one status on /diagnostics that contains a text."""
    return str(diagnostic(client, name, part).message)


def values(client: Client, name: str) -> dict[str, str]:
    """Return the values of one status on /diagnostics."""
    return {value.key: value.value for value in diagnostic(client, name).values}


def diagnostic(client: Client, name: str, part: str = "") -> Any:
    """Return the next status of a name on /diagnostics whose message contains a text."""
    found: list[Any] = []

    def is_there() -> bool:
        array = newest_diagnostics(client)
        found.extend(s for s in array.status if s.name == f"memory: {name}" and part in s.message)
        return bool(found)

    client.until(is_there, f"diagnostics of {name} with {part!r}")
    return found[-1]


def newest_diagnostics(client: Client) -> DiagnosticArray:
    """Return the next message on /diagnostics."""
    found: list[DiagnosticArray] = []
    subscription = client.node.create_subscription(DiagnosticArray, "/diagnostics", found.append, 10)
    client.until(lambda: bool(found), "diagnostics")
    client.node.destroy_subscription(subscription)
    return found[-1]
