"""`robotmem replay` on recordings written here: what is stored, once; and what is said of what cannot be."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ..support.bags import CONFIG, SECOND, START, Messages, contents, drive, stored, write_bag
from .conftest import Import

INT8 = "std_msgs/msg/Int8, description: '{data}'"

HOW = [
    {"storage": "mcap"},
    {"storage": "sqlite3"},
    {"storage": "mcap", "mode": "FILE"},
    {"storage": "mcap", "mode": "STORAGE"},
    {"storage": "sqlite3", "mode": "MESSAGE"},
    {"storage": "sqlite3", "mode": "FILE"},
]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_every_message_is_stored_at_its_stamp_and_place(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, how: dict[str, str]
) -> None:
    assert imported(write_bag(tmp_path / "bag", messages, drive(messages), **how)) == 0
    found = stored(db)
    captions = [one for one in found if one.content.startswith("caption")]
    poses = [one for one in found if one.pose is not None]
    assert [one.observed_at for one in captions] == [START + second * SECOND for second in range(20)]
    # The first pose is older than the first transform; of the others, each is half way between two transforms.
    assert [one.observed_at for one in poses] == [START + second * SECOND - SECOND // 2 for second in range(1, 20)]
    assert [one.pose.x for one in poses if one.pose] == pytest.approx([second - 0.5 for second in range(1, 20)])
    assert {one.frame_id for one in found} == {"map"}


@pytest.mark.parametrize("speed", [0.2, 3, 50])
def test_a_simulation_may_run_slower_or_faster_than_it_was_recorded(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, speed: float
) -> None:
    began = START + 10**6 * SECOND
    content = [(name, began + round((at - START) / speed), message) for name, at, message in drive(messages, 90)]
    assert imported(write_bag(tmp_path / "bag", messages, content)) == 0
    poses = [one.pose.x for one in stored(db) if one.pose]
    assert poses == pytest.approx([second - 0.5 for second in range(1, 90)])


def test_dropped_messages_are_counted_by_reason(
    tmp_path: Path, messages: Messages, imported: Import, capsys: pytest.CaptureFixture[str]
) -> None:
    config = CONFIG.replace("topic: /caption", "topic: /caption\n      min_interval: 5.0")
    assert imported(write_bag(tmp_path / "bag", messages, drive(messages)), config=config) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["/caption", "std_msgs/msg/String", "20", "20", "4", "16", "min_interval"] in lines
    assert ["/pose", "geometry_msgs/msg/PoseStamped", "20", "20", "19", "1", "no_transform"] in lines


def test_importing_twice_changes_nothing(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", messages, drive(messages))
    assert imported(bag) == 0
    before = stored(db)
    shutil.move(bag, tmp_path / "moved")
    assert imported(tmp_path / "moved") == 0
    assert stored(db) == before
    assert "20 already_stored" in capsys.readouterr().out


def test_a_partial_import_is_completed(tmp_path: Path, messages: Messages, imported: Import, db: Path) -> None:
    bag = write_bag(tmp_path / "bag", messages, drive(messages))
    assert imported(bag, "--start", "5", "--duration", "10", "--topics", "captions") == 0
    assert contents(stored(db)) == [f"caption number n{second}" for second in range(5, 15)]
    assert imported(bag) == 0
    assert sorted(contents(stored(db))) == sorted(
        [f"caption number n{second}" for second in range(20)] + ["pose (0.00, 0.00, 0.00) in odom"] * 19
    )


def test_another_collection_is_another_import(tmp_path: Path, messages: Messages, imported: Import, db: Path) -> None:
    bag = write_bag(tmp_path / "bag", messages, drive(messages))
    assert (imported(bag), imported(bag, "--collection", "other")) == (0, 0)
    with sqlite3.connect(db) as connection:
        counts = dict(connection.execute("SELECT collection, count(*) FROM memories GROUP BY collection"))
    connection.close()
    assert counts == {"default": 39, "other": 39}


def test_a_forgotten_memory_is_not_imported_again(
    tmp_path: Path, messages: Messages, imported: Import, db: Path
) -> None:
    bag = write_bag(tmp_path / "bag", messages, drive(messages))
    assert imported(bag) == 0
    first = stored(db)[0]
    with RobotMemory(db, embedding_model="") as memory:
        memory.forget(first.id, "wrong")
    assert imported(bag) == 0
    assert len(stored(db)) == 38


def test_a_dry_run_says_what_would_be_stored_and_writes_nothing(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [*drive(messages), ("/other", START + 30 * SECOND, messages.string("x"))]
    assert imported(write_bag(tmp_path / "bag", messages, content), "--dry-run") == 0
    printed = capsys.readouterr().out
    assert not db.exists()
    assert "would store" in printed
    assert ["/pose", "geometry_msgs/msg/PoseStamped", "20", "20", "19"] in [
        line.split()[:5] for line in printed.splitlines()
    ]
    assert "not read:\n  /other  std_msgs/msg/String  1\n" in printed


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("perception_topics: [a]", "perception_topics: 'a' has no parameters"),
        ("perception_topic: [a]", r"perception_topic: \['a'\] in .* is no parameter; did you mean 'perception_topics'"),
        ("a: [", "config: .* cannot be read"),
        ("- a", "config: .* must hold parameters"),
        (f"perception_topics: [a]\na: {{topic: /caption, type: {INT8}}}", "a.type: .* the recording has"),
        ("perception_topics: [a]\na: {topic: /caption, type: std_msgs/msg/String, label: nope}", "a.label: 'nope'"),
        ("object_radus: 0.3", "object_radus: 0.3 in .*: is no parameter; did you mean 'object_radius'?"),
        ("perception_topics: [doors]\ndoors: {topic: /caption, type: std_msgs/msg/String}\ndoor: {gate: true}",
         "door.gate: True in .*: 'door' is not listed in perception_topics; did you mean 'doors'?"),
        ("memry: {ros__parameters: {n: 1}}", "config: .* section 'memry' is not for '/memory' and is ignored; name it"),
        ("/**: {ros__parameters: {}}\nother: {ros__parameters: {map_id: a, n: 1}}\nmem: {ros__parameters: {map_id: a}}",
         "config: .* section 'mem' is not for"),
        ("slam: {ros__parameters: {n: 1}}", "config: .* it has no section for '/memory', only for 'slam'"),
        ("transform_timeout: -1.0", "transform_timeout: -1.0 must lie in"),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_used_is_refused_at_once(
    tmp_path: Path,
    messages: Messages,
    imported: Import,
    capsys: pytest.CaptureFixture[str],
    *,
    config: str,
    why: str,
) -> None:
    bag = write_bag(tmp_path / "bag", messages, drive(messages))
    assert imported(bag, config=config) == 1
    assert re.match(f"robotmem: {why}", capsys.readouterr().err)


def test_topics_to_read_must_be_configured(
    tmp_path: Path, messages: Messages, imported: Import, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(write_bag(tmp_path / "bag", messages, drive(messages)), "--topics", "/scan") == 1
    assert "--topics: /scan not configured; configured: /caption, /pose" in capsys.readouterr().err
