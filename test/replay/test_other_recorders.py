"""Recordings as other recorders make them: only what is configured has to be readable."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from robotmem_ros.frames import TF_TYPE
from robotmem_ros.perception.occupancy import MAP_TYPE
from robotmem_ros.replay import Bag

from ..support.bags import SECOND, START, STRING, Messages, contents, stored, write_bag
from .conftest import Import

CAPTIONS = f"perception_topics: [captions]\ncaptions: {{topic: /caption, type: {STRING}}}"
THINGS = """
perception_topics: [things]
things: {topic: /things, type: my_msgs/msg/Thing, description: "{name}", label: name}
"""
SERVICE = "int64 a\nint64 b\n---\nint64 sum\n"
OTHER_QOS = "- history: 3\n  depth: 7\n  reliability: 2\n"
"""Qualities of service without most of their parts, as people write them by hand."""


class Written(NamedTuple):
    """A channel of an MCAP file and its messages."""

    topic: str
    type_name: str
    schema: str
    messages: Sequence[bytes]
    schema_encoding: str = "ros2msg"
    encoding: str = "cdr"
    metadata: Sequence[tuple[str, str]] = ()


def write_mcap(path: Path, channels: Sequence[Written], *, profile: str = "", chunked: bool = False) -> Path:
    """Write an MCAP file without a summary, one message of each channel a second."""

    def text(value: str | bytes) -> bytes:
        data = value if isinstance(value, bytes) else value.encode()
        return struct.pack("<I", len(data)) + data

    def record(opcode: int, data: bytes) -> bytes:
        return struct.pack("<BQ", opcode, len(data)) + data

    body = b""
    for number, channel in enumerate(channels, 1):
        schema = text(channel.type_name) + text(channel.schema_encoding) + text(channel.schema)
        body += record(3, struct.pack("<H", number) + schema)
        pairs = b"".join(text(key) + text(value) for key, value in channel.metadata)
        body += record(
            4, struct.pack("<HH", number, number) + text(channel.topic) + text(channel.encoding) + text(pairs)
        )
        for second, raw in enumerate(channel.messages):
            stamp = START + second * SECOND
            body += record(5, struct.pack("<HIQQ", number, second, stamp, stamp) + raw)
    if chunked:
        body = record(
            6, struct.pack("<QQQI", START, START, len(body), 0) + text("") + struct.pack("<Q", len(body)) + body
        )
    head = b"\x89MCAP0\r\n" + record(1, text(profile) + text("test"))
    path.write_bytes(head + body + record(15, bytes(4)) + record(2, bytes(20)) + b"\x89MCAP0\r\n")
    return path


@pytest.fixture
def captions(messages: Messages) -> list[bytes]:
    return [bytes(messages.store.serialize_cdr(messages.string(f"caption {n}"), STRING)) for n in range(3)]


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("profile", ["ros2", "", "x"])
def test_topics_that_are_not_configured_keep_no_other_from_being_read(
    tmp_path: Path, imported: Import, db: Path, captions: list[bytes], capsys: pytest.CaptureFixture[str],
    *, chunked: bool, profile: str,
) -> None:  # fmt: skip
    event = "example_interfaces/srv/AddTwoInts_Event"
    file = write_mcap(
        tmp_path / "foreign.mcap",
        [
            Written("/scene", "foxglove.SceneUpdate", "\x8f\x00", [b"\x0a\x00"], "protobuf", "protobuf"),
            Written("/add/_service_event", event, SERVICE, [bytes(40)]),
            Written("/status", "Status", "{}", [json.dumps({"a": 1}).encode()], "jsonschema", "json"),
            Written("/undefined", "lost_msgs/msg/A", "", [bytes(8)], ""),
            Written("/unknown", "lost_msgs/msg/B", "", [bytes(8)], "unknown"),
            Written("/partial", "lost_msgs/msg/C", "other_msgs/Missing part", [bytes(8)]),
            Written("/nameless", "RealsenseMetadata", "", [bytes(8)], ""),
            Written("/broken", "lost_msgs/msg/D", "int8 a-b\n%", [bytes(8)]),
            Written("/qos", "std_msgs/msg/Int8", "int8 data", [], metadata=[("offered_qos_profiles", OTHER_QOS)]),
            Written("/caption", STRING, "string data", captions, metadata=[("offered_qos_profiles", "{[")]),
        ],
        profile=profile,
        chunked=chunked,
    )
    assert imported(file, config=CAPTIONS) == 0
    assert contents(stored(db)) == [f"caption {n}" for n in range(3)]
    said = capsys.readouterr().out
    assert [line.split() for line in said.partition("not read:\n")[2].splitlines()[:2]] == [
        ["/add/_service_event", event, "1"],
        ["/broken", "lost_msgs/msg/D", "1"],
    ]
    assert "/scene               foxglove.SceneUpdate" in said


@pytest.mark.parametrize("name", ["std_msgs/String", "std_msgs/msg/String", "std_msgs::msg::dds_::String_"])
@pytest.mark.parametrize("configured", ["std_msgs/String", STRING])
def test_a_type_has_one_name_however_it_is_written(
    tmp_path: Path, imported: Import, db: Path, captions: list[bytes], *, name: str, configured: str
) -> None:
    idl = "module std_msgs { module msg { module dds_ { struct String_ { string data_; }; }; }; };"
    schema = (idl, "omgidl") if "::" in name else ("string data", "ros2msg")
    file = write_mcap(tmp_path / "a.mcap", [Written("/caption", name, schema[0], captions, schema[1])])
    assert imported(file, config=CAPTIONS.replace(STRING, configured)) == 0
    assert len(stored(db)) == 3


def test_a_configured_topic_of_another_serialisation_is_an_error_that_names_it(
    tmp_path: Path, imported: Import, captions: list[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_mcap(tmp_path / "a.mcap", [Written("/caption", STRING, "string data", captions, encoding="protobuf")])
    assert imported(file, config=CAPTIONS) == 1
    assert "captions.topic: '/caption' is recorded as 'protobuf'; what is read are cdr" in capsys.readouterr().err


def test_parts_that_a_definition_lacks_come_from_elsewhere(tmp_path: Path, imported: Import, db: Path) -> None:
    name = b"mug"
    raw = b"\x00\x01\x00\x00" + struct.pack("<I", len(name) + 1) + name + bytes(4) + struct.pack("<ddd", 1, 2, 3)
    channels = [
        Written("/things", "my_msgs/Thing", "string name\nmy_msgs/Place place\n", [raw]),
        # Its part is defined beside another topic, and the part of that by this machine.
        Written("/places", "my_msgs/Place", "geometry_msgs/Point at\n", []),
    ]
    assert imported(write_mcap(tmp_path / "a.mcap", channels), config=THINGS) == 0
    assert contents(stored(db)) == ["mug"]


@pytest.mark.parametrize(("topic", "type_name"), [("/tf", TF_TYPE), ("/tf_static", TF_TYPE), ("/map", MAP_TYPE)])
@pytest.mark.parametrize("other", [STRING, "my_msgs/msg/Unknown"])
def test_a_topic_that_has_another_type_as_well_stops_no_import(
    tmp_path: Path, imported: Import, db: Path, captions: list[bytes], *, topic: str, type_name: str, other: str
) -> None:
    empty = b"\x00\x01\x00\x00" + bytes(4)
    channels = [
        Written(topic, type_name, "", [empty]),
        Written(topic, other, "", captions[:2]),
        Written("/caption", STRING, "string data", captions),
    ]
    imported(write_mcap(tmp_path / "a.mcap", channels), config=f"map_topic: map\n{CAPTIONS}")
    assert len(stored(db)) == 3


def test_a_folder_defines_what_nothing_else_does(
    tmp_path: Path, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = b"\x00\x01\x00\x00" + struct.pack("<I", 4) + b"mug\0"
    file = write_mcap(tmp_path / "a.mcap", [Written("/things", "my_msgs/msg/Thing", "", [raw], "")])
    assert imported(file, config=THINGS) == 1
    assert "'my_msgs/msg/Thing' cannot be found: neither the recording nor" in capsys.readouterr().err
    folder = tmp_path / "definitions" / "my_msgs" / "msg"
    folder.mkdir(parents=True)
    assert imported(file, "--definitions", str(folder), config=THINGS) == 1
    assert "definitions: " in capsys.readouterr().err
    (folder / "Thing.msg").write_text("string name\r\n")
    assert imported(file, "--definitions", str(tmp_path / "definitions"), config=THINGS) == 0
    assert contents(stored(db)) == ["mug"]
    assert f"my_msgs/msg/Thing: as the folder '{tmp_path}/definitions' defines it" in capsys.readouterr().out


def test_of_definitions_that_differ_the_one_that_decodes_is_taken(tmp_path: Path, imported: Import, db: Path) -> None:
    # The first message has an empty array, which tells nothing of its elements.
    head = b"\x00\x01\x00\x00" + struct.pack("<I", 4) + b"mug\0"
    full = head + struct.pack("<I4xdd", 1, 1.0, 2.0)
    folder = tmp_path / "definitions" / "my_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Thing.msg").write_text("string name\nPlace[] places\n")
    (folder / "Place.msg").write_text("float64 x\nfloat64 y\n")
    wrong = f"string name\nPlace[] places\n{'=' * 80}\nMSG: my_msgs/Place\nfloat32 x\n"
    channel = Written("/things", "my_msgs/msg/Thing", wrong, [head + bytes(4), head + bytes(4), full])
    file = write_mcap(tmp_path / "a.mcap", [channel])
    assert imported(file, "--definitions", str(folder.parent), config=THINGS) == 0
    assert len(stored(db)) == 3


def test_the_hash_in_a_recording_decides_between_definitions(tmp_path: Path, messages: Messages) -> None:
    # Both decode the message.
    folder = tmp_path / "definitions" / "my_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Thing.msg").write_text("float32 a\nfloat32 b\n")
    raw = b"\x00\x01\x00\x00" + struct.pack("<ff", 1.0, 2.0)
    typesys = pytest.importorskip("rosbags.typesys")
    messages.store.register(typesys.get_types_from_msg("float32 a\nfloat32 b\n", "my_msgs/msg/Thing"))
    told = [("topic_type_hash", messages.store.hash_rihs01("my_msgs/msg/Thing"))]
    channel = Written("/things", "my_msgs/msg/Thing", "float32 b\nfloat32 a\n", [raw], metadata=told)
    with Bag(write_mcap(tmp_path / "a.mcap", [channel]), definitions=folder.parent) as bag:
        (message,) = bag.messages({"/things"})
        assert bag.deserialised(message).a == 1.0


def test_each_message_is_read_by_the_definition_of_its_own_channel(
    tmp_path: Path, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # As after an update of a package, or of robots that have two versions of it.
    head = b"\x00\x01\x00\x00"
    old = head + struct.pack("<I4si", 4, b"mug", 7)
    new = head + struct.pack("<iI4s", 7, 4, b"cup")
    channels = [
        Written("/things", "my_msgs/msg/Thing", "string name\nint32 number", [old]),
        Written("/things", "my_msgs/msg/Thing", "int32 number\nstring name", [new]),
        Written("/others", "my_msgs/msg/Thing", "int32 number\nstring name", [new]),
    ]
    both = THINGS.replace("[things]", "[things, others]")
    both += 'others: {topic: /others, type: my_msgs/msg/Thing, description: "other {name} {number}"}\n'
    assert imported(write_mcap(tmp_path / "a.mcap", channels), config=both) == 0
    assert sorted(contents(stored(db))) == ["cup", "mug", "other cup 7"]
    assert "damaged" not in capsys.readouterr().err


def test_messages_of_another_type_on_a_configured_topic_are_told(
    tmp_path: Path, imported: Import, db: Path, captions: list[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    channels = [
        Written("/caption", STRING, "string data", captions),
        Written("/caption", "my_msgs/msg/Thing", "string name", captions[:1]),
    ]
    assert imported(write_mcap(tmp_path / "a.mcap", channels), config=CAPTIONS) == 0
    assert len(stored(db)) == 3
    assert "my_msgs/msg/Thing  1  of another type than is configured" in capsys.readouterr().out


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nanoseconds: 29000000000", "nanoseconds: 5000000000", "metadata.yaml says 5.0 s from 2023-11-14 22:13:20"),
        (f"nanoseconds_since_epoch: {START}", f"nanoseconds_since_epoch: {START + 25 * SECOND}", "the files hold 29.0"),
        ("message_count: 30", "message_count: 6", "metadata.yaml counts 6 messages, the files hold 30"),
        ("message_count: 30", "message_count: 90", "metadata.yaml counts 90 messages, the files hold 30"),
        ("message_count: 30", "message_count: many", ""),
        ("std_msgs/msg/String", "std_msgs/msg/Int8", ""),
        ("offered_qos_profiles:", "offered_qos_profiles: '- depth: 3' #", ""),
        ("name: /caption", "name: /other", ""),
        ("serialization_format: cdr", "serialization_format: other", ""),
        ("version: 9", "version: 99", ""),
        ("rosbag2_bagfile_information:", "rosbag2_bagfile_information: [", "cannot be read"),
        ("rosbag2_bagfile_information:", "other:", "has no rosbag2_bagfile_information; the files are read"),
    ],
)  # fmt: skip
def test_metadata_is_a_hint_and_the_files_are_read(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str],
    *, storage: str, old: str, new: str, said: str,
) -> None:  # fmt: skip
    content = [("/caption", START + n * SECOND, messages.string(f"caption {n}")) for n in range(30)]
    bag = write_bag(tmp_path / "bag", messages, content, storage=storage)
    metadata = bag / "metadata.yaml"
    text = metadata.read_text()
    assert old in text
    metadata.write_text(text.replace(old, new))
    assert imported(bag, config=CAPTIONS) == 0
    assert len(stored(db)) == 30
    assert said in capsys.readouterr().out


def test_what_a_recorder_left_in_its_log_is_read(
    tmp_path: Path, messages: Messages, imported: Import, db: Path
) -> None:
    content = [("/caption", START + n * SECOND, messages.string(f"caption {n}")) for n in range(30)]
    (file,) = write_bag(tmp_path / "bag", messages, content, storage="sqlite3").glob("*.db3")
    cut = tmp_path / "cut.db3"
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute(
            "INSERT INTO messages(topic_id, timestamp, data) SELECT topic_id, timestamp + 1, data FROM messages"
        )
        writer.commit()
        cut.write_bytes(file.read_bytes())
        cut.with_name("cut.db3-wal").write_bytes(file.with_name(f"{file.name}-wal").read_bytes())
    assert imported(cut, config=CAPTIONS) == 0
    assert len(stored(db)) == 60


def test_a_file_that_says_its_end_needs_no_metadata(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", messages, [("/caption", START, messages.string("a mug"))])
    (bag / "metadata.yaml").unlink()
    assert imported(bag, config=CAPTIONS) == 0
    assert contents(stored(db)) == ["a mug"]
    assert "there is no metadata.yaml; the files are read" in capsys.readouterr().out


@pytest.mark.parametrize(("listed", "there"), [("bag.mcap.zstd", "bag.mcap"), ("bag.mcap", "drive.mcap")])
def test_files_that_were_decompressed_or_renamed_are_not_missing(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str],
    *, listed: str, there: str,
) -> None:  # fmt: skip
    bag = write_bag(tmp_path / "bag", messages, [("/caption", START, messages.string("a mug"))])
    (bag / "bag.mcap").rename(bag / there)
    metadata = bag / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("- bag.mcap", f"- {listed}"))
    assert imported(bag, config=CAPTIONS) == 0
    assert contents(stored(db)) == ["a mug"]
    metadata.write_text(
        metadata.read_text()
        .replace(f"- {listed}", f"- {listed}\n    - bag_1.mcap")
        .replace("message_count: 1", "message_count: 2")
    )
    assert imported(bag, config=CAPTIONS) == 1
    assert "bag_1.mcap is missing or empty" in capsys.readouterr().err


def test_files_that_metadata_does_not_list_are_read_and_copies_are_not(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [
        write_bag(tmp_path / f"part{n}", messages, [("/caption", START + n * SECOND, messages.string(f"caption {n}"))])
        for n in range(2)
    ]
    (parts[1] / "part1.mcap").rename(parts[0] / "part1.mcap")
    (parts[0] / "part0.db3").write_bytes(b"a copy")
    assert imported(parts[0], config=CAPTIONS) == 0
    assert contents(stored(db)) == ["caption 0", "caption 1"]
    said = capsys.readouterr().out
    assert "metadata.yaml counts 1 messages, the files hold 2" in said
    assert "part0.db3 is not read: it is a copy in another format" in said
