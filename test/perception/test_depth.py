"""2D boxes with a depth image become things at a place, in whatever form the depths come."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from robotmem_ros.frames import TransformBuffer
from robotmem_ros.memory import InvalidFieldError, Memory, RobotMemory
from robotmem_ros.perception import DropReason, Intake
from robotmem_ros.perception.counters import DropError
from robotmem_ros.perception.depth import box_of, depths_of

from ..support.perception.cameras import (
    BOXES,
    CAMERA_INFO,
    COMPRESSED,
    FOCAL,
    HEIGHT,
    IMAGE,
    KEYS,
    OPTICAL,
    OPTICAL_IN_MAP,
    WIDTH,
    Pixels,
    boxes,
    camera_info,
    compressed,
    image,
    png,
    wall,
)
from ..support.perception.intakes import SECOND, header, intake_into, settled, stored
from ..support.perception.messages import STAMP_NS, RosbagsMaker

MIDDLE = (WIDTH / 2, HEIGHT / 2)
Make = Callable[..., Intake]


def camera_buffer() -> TransformBuffer:
    buffer = TransformBuffer()
    buffer.add("map", OPTICAL, 0, OPTICAL_IN_MAP, static=True)
    return buffer


def see_info(intake: Intake, maker: Any, **values: Any) -> None:
    raw = maker.raw(CAMERA_INFO, camera_info(STAMP_NS, **values))
    intake.cameras[0].receive_info(raw, partial(maker.make, CAMERA_INFO, camera_info(STAMP_NS, **values)))


def see_depth(intake: Intake, maker: Any, values: dict[str, Any], kind: str = IMAGE) -> None:
    intake.cameras[0].receive_depth(maker.raw(kind, values), partial(maker.make, kind, values))
    intake.collect()


def place(memory: RobotMemory) -> Memory:
    (one,) = stored(memory)
    assert one.pose is not None
    return one


FORMS: list[tuple[str, Callable[[Pixels], dict[str, Any]]]] = [
    (IMAGE, lambda metres: image(STAMP_NS, metres)),
    (IMAGE, lambda metres: image(STAMP_NS, metres, is_bigendian=True)),
    (IMAGE, lambda metres: image(STAMP_NS, metres, "32FC1")),
    (COMPRESSED, lambda metres: compressed(STAMP_NS, metres)),
    (COMPRESSED, lambda metres: compressed(STAMP_NS, metres, "32FC1")),
    (COMPRESSED, lambda metres: {
        "header": header(OPTICAL, STAMP_NS), "format": "16UC1; png compressed ", "data": png(metres * 1000)
    }),
]  # fmt: skip


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_a_box_lies_at_the_median_depth_of_its_middle(memory: RobotMemory, maker: Any, form: int) -> None:
    kind, make = FORMS[form]
    intake = intake_into(memory, maker, BOXES, keys=KEYS, buffer=camera_buffer())
    see_info(intake, maker)
    see_depth(intake, maker, make(wall(2.0)), kind)
    # Ten pixels right of the middle, five above it.
    intake.receive("seen", maker.make(BOXES, boxes(STAMP_NS, (MIDDLE[0] + 10, MIDDLE[1] - 5))), STAMP_NS)
    mug = place(memory)
    assert mug.pose is not None
    # Ahead is x of the map, right is -y, down is -z.
    assert mug.pose[:3] == pytest.approx((12.0, -10 / FOCAL * 2.0, 1.0 + 5 / FOCAL * 2.0), abs=0.03)
    assert (mug.frame_id, mug.label, mug.times_seen, mug.observed_at) == ("map", "mug", 1, STAMP_NS)


def test_the_background_and_holes_do_not_count(make: Make, memory: RobotMemory, rosbags: RosbagsMaker) -> None:
    metres = wall(6.0)
    metres[20:29, 28:37] = 1.5
    metres[22:25, 30:33] = 0.0
    intake = make(BOXES, keys=KEYS, buffer=camera_buffer())
    see_info(intake, rosbags)
    see_depth(intake, rosbags, image(STAMP_NS, metres))
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, MIDDLE, size=14.0)), STAMP_NS)
    pose = place(memory).pose
    assert pose is not None
    assert pose[0] == pytest.approx(11.5, abs=0.001)


def test_an_image_of_another_resolution_shows_the_same_place(
    make: Make, memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    metres = wall(4.0, WIDTH // 2, HEIGHT // 2)
    metres[:, : WIDTH // 4] = 2.0
    intake = make(BOXES, keys=KEYS, buffer=camera_buffer())
    see_info(intake, rosbags)
    see_depth(intake, rosbags, image(STAMP_NS, metres))
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, (20.0, 24.0), (50.0, 24.0))), STAMP_NS)
    assert sorted(mug.pose[0] for mug in stored(memory) if mug.pose) == pytest.approx([12.0, 14.0])


def drop(memory: RobotMemory, intake: Intake) -> tuple[DropReason, str]:
    counts = settled(memory, intake)
    ((reason, number),) = counts.drops.items()
    assert (number, stored(memory)) == (1, [])
    return reason, counts.details[reason]


@pytest.mark.parametrize(
    ("metres", "u", "words"),
    [
        (0.0, 32.0, r"no valid depth in the middle of the box at \(32, 24\) of 10 x 10 pixels"),
        (math.nan, 32.0, "no valid depth"),
        (2.0, 500.0, "no valid depth"),
        (2.0, 1e300, r"at \(1e\+300, 24\)"),
        (2.0, math.nan, "is no box in pixels"),
    ],
)
def test_a_box_without_a_valid_depth_is_dropped_with_the_reason(
    memory: RobotMemory, rosbags: RosbagsMaker, metres: float, u: float, words: str
) -> None:
    intake = intake_into(memory, rosbags, BOXES, keys=KEYS)
    see_info(intake, rosbags)
    see_depth(intake, rosbags, image(STAMP_NS, wall(metres), "32FC1"))
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, (u, 24.0))), STAMP_NS)
    reason, detail = drop(memory, intake)
    assert reason is DropReason.NO_DEPTH
    assert re.search(words, detail)


def test_a_box_waits_for_its_image_and_takes_the_nearest(
    make: Make, memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    intake = make(BOXES, keys=KEYS, buffer=camera_buffer())
    see_depth(intake, rosbags, image(STAMP_NS - 30_000_000, wall(5.0)))
    see_info(intake, rosbags)
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, MIDDLE)), STAMP_NS)
    assert (intake.waiting_for_transforms, stored(memory)) == (1, [])
    see_depth(intake, rosbags, image(STAMP_NS + 10_000_000, wall(3.0)))
    pose = place(memory).pose
    assert pose is not None
    assert pose[0] == pytest.approx(13.0)
    assert intake.waiting_for_transforms == 0


def test_a_box_whose_image_never_comes_is_dropped_with_the_reason(
    make: Make, memory: RobotMemory, rosbags: RosbagsMaker
) -> None:
    now = [0.0]
    intake = make(BOXES, keys=KEYS, transform_timeout=1.0, clocks=[lambda: now[0]])
    see_info(intake, rosbags)
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, MIDDLE)), STAMP_NS)
    intake.collect()
    assert intake.waiting_for_transforms == 1
    now[0] = 1.0
    intake.collect()
    assert drop(memory, intake) == (DropReason.NO_DEPTH, "no depth image with a stamp has come on /depth")


def test_an_image_of_another_time_is_not_taken(make: Make, memory: RobotMemory, rosbags: RosbagsMaker) -> None:
    intake = make(BOXES, keys=KEYS)
    see_info(intake, rosbags)
    see_depth(intake, rosbags, image(STAMP_NS + SECOND, wall(2.0)))
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, MIDDLE)), STAMP_NS)
    problem = "the nearest image of /depth is 1.000 s away; depth_tolerance is 0.05 s"
    assert drop(memory, intake) == (DropReason.NO_DEPTH, problem)


@pytest.mark.parametrize(
    ("focal", "words"), [(None, "no CameraInfo has come on /info"), (0.0, "the camera is not calibrated")]
)
def test_a_box_needs_a_calibrated_camera(
    make: Make, memory: RobotMemory, rosbags: RosbagsMaker, focal: float | None, words: str
) -> None:
    intake = make(BOXES, keys=KEYS)
    if focal is not None:
        see_info(intake, rosbags, focal=focal)
    see_depth(intake, rosbags, image(STAMP_NS, wall(2.0)))
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, MIDDLE)), STAMP_NS)
    intake.finish()
    assert words in drop(memory, intake)[1]


@pytest.mark.parametrize(
    ("box_format", "first", "size"), [("center_size", (28.0, 24.0), 16.0), ("corner_size", (20.0, 16.0), 16.0)]
)
def test_a_box_may_be_written_in_several_ways(
    memory: RobotMemory, rosbags: RosbagsMaker, box_format: str, first: tuple[float, float], size: float
) -> None:
    intake = intake_into(memory, rosbags, BOXES, keys={**KEYS, "box_format": box_format}, buffer=camera_buffer())
    see_info(intake, rosbags)
    see_depth(intake, rosbags, image(STAMP_NS, wall(2.0)))
    intake.receive("seen", rosbags.make(BOXES, boxes(STAMP_NS, first, size=size)), STAMP_NS)
    pose = place(memory).pose
    assert pose is not None
    assert pose[:3] == pytest.approx((12.0, -(28 - 32) / FOCAL * 2.0, 1.0))
    assert box_of("corners", 20.0, 16.0, 36.0, 32.0) == box_of("corner_size", 20.0, 16.0, 16.0, 16.0)


def test_the_spread_of_the_depths_and_the_size_of_the_box_are_the_covariance(make: Make, rosbags: RosbagsMaker) -> None:
    intake = make(BOXES, keys=KEYS)
    see_info(intake, rosbags)
    metres = wall(2.0) + np.linspace(-0.4, 0.4, WIDTH, dtype=np.float32)
    see_depth(intake, rosbags, image(STAMP_NS, metres, "32FC1"))
    view = intake.cameras[0].view(STAMP_NS, 0.05)
    _, smooth = view.locate((*MIDDLE, 4.0, 4.0))
    _, rough = view.locate((*MIDDLE, 60.0, 4.0))
    assert smooth[2][2] < rough[2][2] == pytest.approx(0.15**2, rel=0.2)
    assert rough[0][0] == pytest.approx((0.1 * 60 * 2.0 / FOCAL) ** 2, rel=0.1)


def test_images_are_kept_within_bounds_and_forgotten_when_time_goes_back(make: Make, rosbags: RosbagsMaker) -> None:
    intake = make(BOXES, keys=KEYS)
    see_info(intake, rosbags)
    for number in range(1000):
        see_depth(intake, rosbags, image(STAMP_NS + number * SECOND, wall(2.0, 2, 2)))
    camera = intake.cameras[0]
    camera.view(STAMP_NS + 999 * SECOND, 0.05)
    with pytest.raises(DropError, match="the nearest image"):
        camera.view(STAMP_NS, 0.05)
    intake.clear()
    with pytest.raises(DropError, match="no depth image with a stamp has come"):
        camera.view(STAMP_NS + 999 * SECOND, 0.05)


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (IMAGE, {**image(STAMP_NS, wall(1.0)), "encoding": "rgb8", "step": 3 * WIDTH}, "'rgb8' is no depth"),
        (IMAGE, {**image(STAMP_NS, wall(1.0)), "data": b"\x00"}, "has 1 bytes"),
        (COMPRESSED, {"format": "16UC1; compressedDepth rvl", "data": bytes(40)}, "let compressedDepth publish png"),
        (
            COMPRESSED,
            {"format": "16UC1; compressedDepth png", "data": bytes(40)},
            "28 bytes are no compressed depth image",
        ),
        (COMPRESSED, {"format": "16UC1; compressedDepth png", "data": b"\x00"}, "has 1 bytes"),
    ],
)
def test_what_is_no_depth_image_says_so(rosbags: RosbagsMaker, kind: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(DropError, match=words):
        depths_of(rosbags.make(kind, values))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"depth": "/depth"}, "it needs camera_info, too"),
        ({"camera_info": "/info"}, "it needs depth, too"),
        ({**KEYS, "box": []}, "depth needs the four numbers of a box"),
        ({**KEYS, "box": ["id", "id", "id", "id"]}, "it is string; a number is needed"),
    ],
)
def test_a_wrong_configuration_is_refused_at_start(make: Make, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidFieldError, match=words):
        make(BOXES, keys=keys)
