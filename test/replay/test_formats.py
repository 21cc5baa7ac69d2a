"""Every kind of recording gives the same memories: ROS 1 and 2, split, compressed, with definitions and without."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory import Memory

from ..support.bags import (
    CONFIG,
    SECOND,
    START,
    Messages,
    config_file,
    contents,
    drive,
    lz4_bag,
    split_bag,
    stored,
    write_bag,
    write_ros1,
)
from .conftest import Import, replay

UNKNOWN = "perception_topics: [seen]\nseen: {topic: /caption, type: my_msgs/msg/Things, description: '{data}'}"


def as_ros1(path: Path, messages: Messages) -> Path:
    return write_ros1(path.with_suffix(".bag"), messages, drive(messages))


def as_ros1_lz4(path: Path, messages: Messages) -> Path:
    return write_ros1(path.with_suffix(".bag"), messages, drive(messages), compression="LZ4")


def as_ros1_bz2(path: Path, messages: Messages) -> Path:
    return write_ros1(path.with_suffix(".bag"), messages, drive(messages), compression="BZ2")


def as_split_mcap(path: Path, messages: Messages) -> Path:
    return split_bag(path, messages, drive(messages), parts=3)


def as_split_mcap_zstd(path: Path, messages: Messages) -> Path:
    return split_bag(path, messages, drive(messages), parts=3, mode="STORAGE")


def as_split_sqlite3(path: Path, messages: Messages) -> Path:
    return split_bag(path, messages, drive(messages), parts=3, storage="sqlite3")


def as_split_sqlite3_files(path: Path, messages: Messages) -> Path:
    return split_bag(path, messages, drive(messages), parts=3, storage="sqlite3", mode="FILE")


def as_split_mcap_messages(path: Path, messages: Messages) -> Path:
    return split_bag(path, messages, drive(messages), parts=3, mode="MESSAGE")


def as_mcap_lz4(path: Path, messages: Messages) -> Path:
    return lz4_bag(path, messages, drive(messages))


def as_foxy_file(path: Path, messages: Messages) -> Path:
    return undefined(path, messages, version=1)


def as_galactic_file(path: Path, messages: Messages) -> Path:
    return undefined(path, messages, version=2)


def as_humble_folder(path: Path, messages: Messages) -> Path:
    return undefined(path, messages, version=3).parent


def undefined(path: Path, messages: Messages, *, version: int) -> Path:
    """An sqlite3 recording as it was before definitions were kept in it."""
    bag = write_bag(path, messages, drive(messages), storage="sqlite3")
    (file,) = bag.glob("*.db3")
    columns = "id, name, type, serialization_format" + ", offered_qos_profiles" * (version > 1)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"CREATE TABLE kept AS SELECT {columns} FROM topics")
        connection.executescript("DROP TABLE topics; ALTER TABLE kept RENAME TO topics; DROP TABLE message_definitions")
        if version > 2:
            connection.execute(f"UPDATE schema SET schema_version = {version}")
        else:
            connection.execute("DROP TABLE schema")
    return file


KINDS = [
    as_ros1, as_ros1_lz4, as_ros1_bz2, as_split_mcap, as_split_mcap_zstd, as_split_mcap_messages, as_split_sqlite3,
    as_split_sqlite3_files, as_mcap_lz4, as_foxy_file, as_galactic_file, as_humble_folder,
]  # fmt: skip


@pytest.fixture(scope="module")
def expected(messages: Messages, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    """What a plain recording of ROS 2 stores."""
    folder = tmp_path_factory.mktemp("plain")
    bag, db = write_bag(folder / "bag", messages, drive(messages)), folder / "memory.db"
    assert replay(bag, db, config=config_file(folder, CONFIG)) == 0
    found = told(stored(db))
    assert len(found) == 39
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.removeprefix("as_"))
def test_what_is_stored_is_the_same_whatever_the_kind(
    messages: Messages, imported: Import, db: Path, kind: Callable[[Path, Messages], Path],
    expected: list[tuple[object, ...]],
) -> None:  # fmt: skip
    bag = kind(db.with_name("bag"), messages)
    assert imported(bag) == 0
    assert told(stored(db)) == expected
    assert imported(bag) == 0
    assert told(stored(db)) == expected


def told(memories: list[Memory]) -> list[tuple[object, ...]]:
    return sorted((one.content, one.observed_at, one.frame_id, one.pose or ()) for one in memories)


def test_a_type_that_nothing_defines_is_told(
    tmp_path: Path, messages: Messages, imported: Import, capsys: pytest.CaptureFixture[str]
) -> None:
    file = undefined(tmp_path / "bag", messages, version=1)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE topics SET type = 'my_msgs/msg/Things' WHERE name = '/caption'")
    assert imported(file, config=UNKNOWN) == 1
    said = capsys.readouterr().err
    assert "my_msgs/msg/Things" in said
    assert "cannot be found: neither the recording nor this machine defines it" in said
    assert "--definitions" in said


def test_a_recording_of_a_loop_restarts_transforms_and_samples(
    tmp_path: Path, messages: Messages, imported: Import, db: Path
) -> None:
    # What was recorded while another recording was played twice: stamps go back, the times of recording do not.
    content = []
    for turn in range(2):
        for second in range(20):
            received = START + (turn * 20 + second) * SECOND
            stamp = START + second * SECOND
            content += [
                ("/pose", received + SECOND // 4, messages.pose("odom", stamp, 0.0)),
                ("/tf", received, messages.transform("map", "odom", stamp, second + 100.0 * turn)),
            ]
    config = "perception_topics: [poses]\nposes: {topic: /pose, type: geometry_msgs/msg/PoseStamped, min_interval: 2.0}"
    assert imported(write_bag(tmp_path / "bag", messages, content), config=config) == 0
    found = stored(db)
    assert [one.pose.x for one in found if one.pose] == pytest.approx(
        [*range(0, 20, 2), *(100 + second for second in range(0, 20, 2))]
    )
    assert [one.observed_at for one in found] == 2 * [START + second * SECOND for second in range(0, 20, 2)]


def test_a_stamp_far_ahead_of_its_recording_is_refused_as_live(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [("/pose", START, messages.pose("map", START + ahead * SECOND, 1.0)) for ahead in (0, 9, 11, 10**8)]
    assert imported(write_bag(tmp_path / "bag", messages, content)) == 0
    assert contents(stored(db)) == ["pose (1.00, 0.00, 0.00) in map"] * 2
    assert "2 future_stamp" in capsys.readouterr().out
