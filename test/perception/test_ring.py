"""The ring of messages is bounded in time and bytes, and its file is an MCAP file that recordings are read from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.perception import TypestoreTypes
from robotmem_ros.perception.mcap import WrittenChannel, WrittenMessage, definition_text, write_mcap
from robotmem_ros.perception.ring import Ring
from robotmem_ros.replay.bag import Bag

SECOND = 10**9
LIMIT = 4_000


def channel(topic: str, type_name: str) -> WrittenChannel:
    """Return a channel of a type that rosbags knows."""
    from rosbags.typesys import Stores, get_typestore

    return WrittenChannel(
        topic, type_name, definition_text(TypestoreTypes(get_typestore(Stores.ROS2_KILTED)), type_name)
    )


TEXT = WrittenChannel("/text", "std_msgs/msg/String", "string data\n")
OTHER = WrittenChannel("/other", "std_msgs/msg/String", "string data\n")


def text(seconds: float, words: str = "", topic: WrittenChannel = TEXT) -> WrittenMessage:
    """Return a std_msgs/String."""
    data = words.encode() + b"\0"
    return WrittenMessage(topic, round(seconds * SECOND), b"\0\1\0\0" + len(data).to_bytes(4, "little") + data)


def filled(messages: Iterable[WrittenMessage], limit: int = LIMIT) -> Ring:
    """Return a ring of two seconds."""
    ring = Ring(2.0, lambda: limit)
    for message in messages:
        ring.add(message)
    return ring


def test_only_the_last_seconds_are_kept() -> None:
    messages = [text(100 + number / 2) for number in range(10)]
    ring = filled(messages)
    assert ring.last(messages[-1].received_at) == tuple(messages[-5:])
    assert ring.last(messages[-1].received_at + SECOND) == tuple(messages[-3:])
    assert ring.last(messages[-1].received_at + 3 * SECOND) == ()


def test_nothing_of_a_clock_that_was_set_back_is_kept() -> None:
    ring = filled([text(100), text(101), text(50), text(50.5)])
    assert [message.received_at / SECOND for message in ring.last(round(50.5 * SECOND))] == [50, 50.5]


def test_its_file_is_never_larger_than_the_limit() -> None:
    for limit in (*range(0, 1_200, 7), LIMIT):
        ring = filled((text(100 + n / 1000, "x" * (n % 50), (TEXT, OTHER)[n % 2]) for n in range(100)), limit)
        kept = ring.last(101 * SECOND)
        assert not kept or len(write_mcap(kept)) <= limit
    assert len(write_mcap(kept)) > LIMIT - 100


def test_a_message_that_is_too_large_leaves_the_others() -> None:
    small, large = text(100, "small"), text(100.5, "x" * LIMIT)
    ring = filled([small])
    assert not ring.add(large)
    assert ring.last(101 * SECOND) == (small,)


def test_a_smaller_limit_holds_at_once() -> None:
    limit = LIMIT
    ring = Ring(2.0, lambda: limit)
    for number in range(20):
        ring.add(text(100 + number / 100, "x" * 50))
    limit = 600
    assert 0 < len(write_mcap(ring.last(101 * SECOND))) <= limit


def test_a_recording_reads_the_file(tmp_path: Path) -> None:
    pytest.importorskip("rosbags")
    path = tmp_path / "before.mcap"
    messages = [text(100, "one"), text(100.5, "other", OTHER), text(101, "two")]
    path.write_bytes(write_mcap(messages))
    with Bag(path) as bag:
        found = [(m.topic, m.receipt_ns, bag.deserialised(m).data) for m in bag.messages(bag.topics)]
        assert not bag.damage
    assert found == [
        ("/text", 100 * SECOND, "one"), ("/other", 100_500_000_000, "other"), ("/text", 101 * SECOND, "two")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "type_name",
    ["nav_msgs/msg/Odometry", "sensor_msgs/msg/PointCloud2", "std_msgs/msg/Empty", "tf2_msgs/msg/TFMessage"],
)
def test_rosbags_reads_the_definitions(type_name: str) -> None:
    typesys = pytest.importorskip("rosbags.typesys")
    definition = channel("/topic", type_name).definition
    types = typesys.get_types_from_msg(definition, type_name)
    known = typesys.get_typestore(typesys.Stores.ROS2_KILTED).fielddefs
    fields = {name: entry[1] for name, entry in types.items()}
    assert type_name in fields
    for name, entry in fields.items():
        assert entry == ([] if type_name == "std_msgs/msg/Empty" else known[name][1])


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("ring_seconds", 0.0, r"must lie in 0.1 to 600.0 s"),
        ("ring_seconds", float("nan"), "ring_seconds"),
        ("ring_topics", "scan", "must be a list of texts"),
        ("ring_topics", ["scan"], "watch_actions"),
    ],
)
def test_bad_parameters_are_refused(name: str, value: object, problem: str) -> None:
    with pytest.raises(InvalidFieldError, match=problem):
        Parameters(**{name: value})  # type: ignore[arg-type]
