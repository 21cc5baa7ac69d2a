"""Write recordings for tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from robotmem_ros.memory import Memory, RobotMemory
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.storage import rows

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "bags"
RECORDINGS = Path(os.environ.get("ROBOTMEM_BAGS", SHARED))
NAV2 = RECORDINGS / "nav2_turtlebot.mcap"
TF_EXAMPLE = RECORDINGS / "tf_example"
GRID = "nav_msgs/msg/OccupancyGrid"
STRING, POSE, TF = "std_msgs/msg/String", "geometry_msgs/msg/PoseStamped", "tf2_msgs/msg/TFMessage"

One = tuple[str, int, Any]
"""Topic, time of recording and message."""


class Messages:
    """Makes messages of a typestore."""

    def __init__(self) -> None:
        typesys = pytest.importorskip("rosbags.typesys")
        self.store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self._types = self.store.types

    def string(self, text: str) -> Any:
        return self._types[STRING](data=text)

    def header(self, frame: str, stamp_ns: int) -> Any:
        stamp = self._types["builtin_interfaces/msg/Time"](sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND)
        return self._types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)

    def pose(self, frame: str, stamp_ns: int, x: float) -> Any:
        point = self._types["geometry_msgs/msg/Point"](x=x, y=0.0, z=0.0)
        turn = self._types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0)
        pose = self._types["geometry_msgs/msg/Pose"](position=point, orientation=turn)
        return self._types[POSE](header=self.header(frame, stamp_ns), pose=pose)

    def transform(self, parent: str, child: str, stamp_ns: int, x: float) -> Any:
        shift = self._types["geometry_msgs/msg/Vector3"](x=x, y=0.0, z=0.0)
        turn = self._types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0)
        one = self._types["geometry_msgs/msg/TransformStamped"](
            header=self.header(parent, stamp_ns),
            child_frame_id=child,
            transform=self._types["geometry_msgs/msg/Transform"](translation=shift, rotation=turn),
        )
        return self._types[TF](transforms=[one])

    def grid(self, frame: str, stamp_ns: int, cells: Sequence[Sequence[int]], resolution: float = 0.05) -> Any:
        """Make a map of rows of cells, its origin at x 1, y 2."""
        point = self._types["geometry_msgs/msg/Point"](x=1.0, y=2.0, z=0.0)
        turn = self._types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0)
        header = self.header(frame, stamp_ns)
        info = self._types["nav_msgs/msg/MapMetaData"](
            map_load_time=header.stamp,
            resolution=resolution,
            width=len(cells[0]),
            height=len(cells),
            origin=self._types["geometry_msgs/msg/Pose"](position=point, orientation=turn),
        )
        return self._types[GRID](header=header, info=info, data=np.array(cells, np.int8).ravel())


def write_bag(path: Path, messages: Messages, content: Iterable[One], *, storage: str = "mcap", **how: Any) -> Path:
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    plugin = {"mcap": rosbag2.StoragePlugin.MCAP, "sqlite3": rosbag2.StoragePlugin.SQLITE3}[storage]
    writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
    if "mode" in how:
        writer.set_compression(rosbag2.CompressionMode[how["mode"]], rosbag2.CompressionFormat.ZSTD)
    connections: dict[str, Any] = {}
    with writer:
        for topic, stamp_ns, message in content:
            name = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, name, typestore=messages.store)
            writer.write(connections[topic], stamp_ns, messages.store.serialize_cdr(message, name))
    return path


def split_bag(path: Path, messages: Messages, content: Sequence[One], *, parts: int, **how: Any) -> Path:
    """Write a recording in several files with one metadata.yaml."""
    size = -(-len(content) // parts)
    path.mkdir()
    told: list[dict[str, Any]] = []
    for part in range(parts):
        one = write_bag(path / f"{path.name}_{part}", messages, content[part * size : (part + 1) * size], **how)
        told.append(yaml.safe_load((one / "metadata.yaml").read_text())["rosbag2_bagfile_information"])
        for file in one.iterdir():
            if file.suffix == ".yaml":
                file.unlink()
            else:
                file.rename(path / file.name)
        one.rmdir()
    begin = min(one["starting_time"]["nanoseconds_since_epoch"] for one in told)
    end = max(one["starting_time"]["nanoseconds_since_epoch"] + one["duration"]["nanoseconds"] for one in told)
    counted: dict[str, dict[str, Any]] = {}
    for topic in (topic for one in told for topic in one["topics_with_message_count"]):
        known = counted.setdefault(topic["topic_metadata"]["name"], {**topic, "message_count": 0})
        known["message_count"] += topic["message_count"]
    whole = {
        **told[0],
        "relative_file_paths": [name for one in told for name in one["relative_file_paths"]],
        "starting_time": {"nanoseconds_since_epoch": begin},
        "duration": {"nanoseconds": end - begin},
        "message_count": sum(one["message_count"] for one in told),
        "topics_with_message_count": list(counted.values()),
        "files": [file for one in told for file in one["files"]],
    }
    (path / "metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": whole}))
    return path


def lz4_bag(path: Path, messages: Messages, content: Iterable[One]) -> Path:
    """Write an MCAP recording with lz4 chunks, for which the writer has no option."""
    storage = pytest.importorskip("rosbags.rosbag2.storage_mcap")
    frame = pytest.importorskip("lz4.frame")
    original = storage.McapWriter.__init__

    def init(self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        self.compression, self.compressor = "lz4", frame.compress

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage.McapWriter, "__init__", init)
        return write_bag(path, messages, content)


def write_ros1(path: Path, messages: Messages, content: Iterable[One], *, compression: str = "") -> Path:
    """Write a recording of ROS 1 with the same messages; their headers have a `seq`."""
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    tf = typesys.get_types_from_msg("geometry_msgs/TransformStamped[] transforms", TF)
    store.register({name: tf[name] for name in tf if name not in store.fielddefs})
    writer = rosbag1.Writer(path)
    if compression:
        writer.set_compression(rosbag1.Writer.CompressionFormat[compression])
    connections: dict[str, Any] = {}
    with writer:
        for topic, stamp_ns, message in content:
            name = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, name, typestore=store)
            writer.write(connections[topic], stamp_ns, store.serialize_ros1(_with_seq(store, message), name))
    return path


def _with_seq(store: Any, message: Any) -> Any:
    if isinstance(message, (list, tuple)):
        return [_with_seq(store, one) for one in message]
    name = getattr(message, "__msgtype__", None)
    if name is None:
        return message
    parts = {field: _with_seq(store, getattr(message, field)) for field in message.__dataclass_fields__}
    if name == "std_msgs/msg/Header":
        parts["seq"] = 0
    return store.types[name](**{key: value for key, value in parts.items() if not key.startswith("__")})


def drive(messages: Messages, seconds: int = 20) -> list[One]:
    """Return captions, and poses in `odom`, which moves away from `map` by 1 m/s; the last transform lags."""
    found: list[One] = [("/tf_static", START, messages.transform("map", "station", 0, 5.0))]
    for second in range(seconds):
        at = START + second * SECOND
        found += [
            ("/caption", at, messages.string(f"caption number n{second}")),
            ("/pose", at, messages.pose("odom", at - SECOND // 2, 0.0)),
            ("/tf", at + SECOND // 4, messages.transform("map", "odom", at, float(second))),
        ]
    return found


CONFIG = f"""
/**:
  ros__parameters:
    perception_topics: [captions, poses]
    captions:
      topic: /caption
      type: {STRING}
    poses.topic: /pose
    poses:
      type: {POSE}
"""


def config_file(folder: Path, text: str = CONFIG) -> Path:
    path = folder / "memory.yaml"
    path.write_text(text)
    return path


def stored(db_path: Path) -> list[Memory]:
    """Return all memories of a file, in the order of storage."""
    with RobotMemory(db_path, embedding_model="") as memory:
        return everything(memory)


def everything(memory: RobotMemory) -> list[Memory]:
    """Return all memories, in the order of storage; more than one recall returns."""
    with memory.parts.database.snapshot() as snapshot:
        ids = [row[0] for row in snapshot.rows("SELECT id FROM memories ORDER BY id")]
        found = rows.read(snapshot, ids, Decay(rate=0.0, now=0))
    return [found[one] for one in ids if one in found]


def contents(memories: Sequence[Memory]) -> list[str]:
    return [one.content for one in memories]
