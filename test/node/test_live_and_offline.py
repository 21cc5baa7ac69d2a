"""One recording, played into a running node and imported offline, gives the same objects."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from rclpy.qos import QoSDurabilityPolicy, QoSProfile

from robotmem_ros.memory import RobotMemory, SeenObject
from robotmem_ros.perception import TopicCounts, message_class
from robotmem_ros.replay import Bag, Replay, load_config

from ..support.node import drive
from ..support.node.configured import values
from ..support.node.graph import Client
from ..support.perception.messages import RosbagsMaker

pytest.importorskip("tf2_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")
pytest.importorskip("vision_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")
pytest.importorskip("rosbags")
SPEED = 4.0
"""Times real time, at which the recording is played."""


@pytest.fixture(scope="module")
def maker() -> RosbagsMaker:
    return RosbagsMaker()


def test_played_live_and_imported_offline_a_recording_gives_the_same_objects(
    own: Any, tmp_path: Path, maker: RosbagsMaker
) -> None:
    messages = drive.drive(maker)
    config = tmp_path / "memory.yaml"
    config.write_text(drive.CONFIG)
    live_counts = played(own, config, tmp_path / "live.db", messages)
    bag = drive.write(tmp_path / "bag", maker, messages)
    counts = imported(config, tmp_path / "offline.db", bag)
    live, offline = objects(tmp_path / "live.db"), objects(tmp_path / "offline.db")
    assert [told(one) for one in live] == [told(one) for one in offline]
    for one, other in zip(live, offline, strict=True):
        assert one.position == pytest.approx(other.position, abs=1e-9)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-12)
    assert poses(tmp_path / "live.db") == pytest.approx(poses(tmp_path / "offline.db"), abs=1e-9)
    assert {name: counts_of(one) for name, one in counts.items()} == live_counts
    # Nothing of the above is empty: there is sampling, there are late transforms, moved and lasting objects.
    assert [one.label for one in offline] == sorted([*(label for label, *_ in drive.THINGS), *(2 * [drive.CARRIED])])
    assert [one.label for one in offline if not one.confirmed] == [drive.CARRIED]
    assert {*live_counts["left"]} == {"stored", "min_interval", "no_transform"}
    assert {*live_counts["right"]} - {"stored", "no_transform"} == {
        "empty_array", "fields_of_view", "fields_of_view_dropped",
    }  # fmt: skip
    assert {*live_counts["poses"]} == {"stored", "min_displacement", "no_transform"}


def played(own: Any, config: Path, db: Path, messages: list[drive.Recorded]) -> dict[str, dict[str, int]]:
    """Plays the messages into a node of its own, in the rhythm they were recorded; what became of each topic."""
    start, connect = own
    node = start("--params-file", str(config), "-p", f"db_path:={db}")
    client: Client = connect()
    client.until_active()
    publishers = {}
    for topic, type_name in sorted({one.topic: one.type_name for one in messages}.items()):
        latched = topic == "/tf_static"
        durability = QoSDurabilityPolicy.TRANSIENT_LOCAL if latched else QoSDurabilityPolicy.VOLATILE
        qos = QoSProfile(depth=1000, durability=durability)
        publishers[topic] = client.publisher(message_class(type_name), topic, qos)
    first, begun = messages[0].receipt_ns, time.monotonic()
    for one in messages:
        due = begun + (one.receipt_ns - first) / SPEED / drive.SECOND
        time.sleep(max(0.0, due - time.monotonic()))
        publishers[one.topic].publish(one.raw)
    numbers = {topic.name: sum(one.topic == topic.topic for one in messages) for topic in load_config(config).topics}
    for name, number in numbers.items():
        client.until(lambda name=name, number=number: settled(client, name, number), name)  # type: ignore[misc]
    found = {name: live_counts_of(client, name) for name in numbers}
    assert node.stop() == 0
    return found


def settled(client: Client, name: str, number: int) -> bool:
    told = values(client, name)
    return told["received"] == str(number) and told["waiting"] == "0"


def live_counts_of(client: Client, name: str) -> dict[str, int]:
    told = values(client, name)
    dropped = {key.removeprefix("dropped."): int(told[key]) for key in told if key.startswith("dropped.")}
    seen = {str(key): int(told[key]) for key in ("fields_of_view", "fields_of_view_dropped") if key in told}
    return {"stored": int(told["stored"]), **seen, **dropped}


def counts_of(counts: TopicCounts) -> dict[str, int]:
    found = {reason.value: number for reason, number in counts.drops.items() if number}
    if counts.fields_of_view:
        found["fields_of_view"] = counts.fields_of_view
        found["fields_of_view_dropped"] = counts.fields_of_view_dropped
    return {"stored": counts.stored_count, **found}


def imported(config: Path, db: Path, bag: Path) -> dict[str, TopicCounts]:
    loaded = load_config(config, {"db_path": str(db), "queue_policy": "block"})
    with Bag(bag) as opened, RobotMemory(db, embedding_model="") as memory:
        replay = Replay(opened, loaded, memory)
        replay.run()
        memory.flush()
        return dict(replay.result().counts)


def objects(db: Path) -> list[SeenObject]:
    with RobotMemory(db, embedding_model="") as memory:
        found = memory.objects(include_unconfirmed=True)
        return sorted(found, key=lambda one: (one.label, *(round(part, 3) for part in one.position)))


def told(one: SeenObject) -> tuple[object, ...]:
    """All of an object but its id and what is computed with rounding."""
    return one.label, one.frame_id, one.first_seen, one.last_seen, one.times_seen, one.confirmed


def poses(db: Path) -> list[float]:
    """Time and place of the memories that are no objects."""
    with RobotMemory(db, embedding_model="") as memory:
        found = memory.recall(n=1000, min_confidence=0.0, context_filter={"label": "", "kind": "perception"})
    in_order = sorted(found, key=lambda one: one.memory.observed_at)
    return [number for one in in_order if one.memory.pose for number in (*one.memory.pose, one.memory.observed_at)]
