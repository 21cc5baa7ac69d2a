"""2D boxes of a recording get their place from its depth images, as live ones do."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ..support.bags import SECOND, START, stored, write_bag
from ..support.perception.cameras import (
    BOXES,
    CAMERA_INFO,
    COMPRESSED,
    HEIGHT,
    IMAGE,
    OPTICAL,
    OPTICAL_IN_MAP,
    WIDTH,
    boxes,
    camera_info,
    compressed,
    image,
    wall,
)
from ..support.perception.intakes import transforms
from ..support.perception.messages import RosbagsMaker
from .conftest import Import
from .test_other_recorders import Written, write_mcap

CONFIG = """
/**:
  ros__parameters:
    perception_topics: [boxes]
    boxes:
      topic: /boxes
      type: vision_msgs/msg/Detection2DArray
      depth: {depth}
      camera_info: /info
"""


def drive(depth: str, late: int) -> list[tuple[str, int, Any]]:
    """Five boxes, one a second; each is recorded `late` ns after its image, or before it."""
    maker, content = RosbagsMaker(), []
    make = compressed if "compressed" in depth else image
    kind = COMPRESSED if "compressed" in depth else IMAGE
    content.append(("/tf_static", START, transforms(maker, "map", OPTICAL, START, OPTICAL_IN_MAP)))
    for second in range(1, 6):
        stamp = START + second * SECOND
        content += [
            ("/info", stamp, maker.make(CAMERA_INFO, camera_info(stamp))),
            (depth, stamp + SECOND // 2, maker.make(kind, make(stamp, wall(2.0)))),
            ("/boxes", stamp + SECOND // 2 + late, maker.make(BOXES, boxes(stamp, (WIDTH / 2, HEIGHT / 2)))),
        ]
    return sorted(content, key=lambda one: one[1])


@pytest.mark.parametrize("late", [SECOND // 5, -SECOND // 5])
@pytest.mark.parametrize("depth", ["/camera/depth", "/camera/depth/compressedDepth"])
def test_boxes_of_a_recording_become_one_object(
    tmp_path: Path, imported: Import, db: Path, depth: str, late: int
) -> None:
    recording = write_bag(tmp_path / "bag", RosbagsMaker(), drive(depth, late))  # type: ignore[arg-type]
    assert imported(recording, config=CONFIG.format(depth=depth)) == 0
    (mug,) = stored(db)
    assert (mug.label, mug.times_seen, mug.frame_id) == ("mug", 5, "map")
    assert mug.pose is not None
    assert mug.pose[:3] == pytest.approx((12.0, 0.0, 1.0), abs=0.01)


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        (("/info", "/info"), "what comes on the topic of depth is no Image or CompressedImage"),
        (("/camera/depth", "/camera/depth"), "what comes on /camera/depth is no CameraInfo"),
    ],
)
def test_topics_of_other_types_are_told(
    tmp_path: Path, imported: Import, capsys: pytest.CaptureFixture[str], topics: tuple[str, str], words: str
) -> None:
    recording = write_bag(tmp_path / "bag", RosbagsMaker(), drive("/camera/depth", 0))  # type: ignore[arg-type]
    assert imported(recording, config=CONFIG.replace("/info", topics[1]).format(depth=topics[0])) == 0
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("topic", ["/info", "/camera/depth"])
def test_a_camera_topic_of_a_type_that_nothing_defines_ends_no_import(
    tmp_path: Path, imported: Import, capsys: pytest.CaptureFixture[str], topic: str
) -> None:
    maker, raw = RosbagsMaker(), defaultdict[tuple[str, str], list[bytes]](list)
    for name, _, message in drive("/camera/depth", 0):
        kind = message.__msgtype__
        raw[name, kind].append(bytes(maker.store.serialize_cdr(message, kind)))
    channels = [
        Written(name, kind, maker.store.generate_msgdef(kind, ros_version=2)[0], messages)
        if name != topic
        else Written(name, "lost_msgs/msg/A", "", messages, "")
        for (name, kind), messages in raw.items()
    ]
    file = write_mcap(tmp_path / "bag.mcap", channels)
    assert imported(file, config=CONFIG.format(depth="/camera/depth")) == 0
    assert "no_depth" in capsys.readouterr().out


def test_a_recording_without_the_images_says_why_nothing_is_stored(
    tmp_path: Path, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [one for one in drive("/camera/depth", 0) if one[0] != "/camera/depth"]
    recording = write_bag(tmp_path / "bag", RosbagsMaker(), content)  # type: ignore[arg-type]
    assert imported(recording, config=CONFIG.format(depth="/camera/depth")) == 0
    assert stored(db) == []
    out = capsys.readouterr().out
    assert "no_depth" in out
