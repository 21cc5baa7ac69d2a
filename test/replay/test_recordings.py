"""The import of recordings that others made, where they can be had."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from robotmem_ros.memory import Memory, RobotMemory
from robotmem_ros.replay import Bag, Replay, load_config

from ..support.bags import NAV2, SECOND, TF_EXAMPLE, config_file, everything

CONFIG = """
perception_topics: [amcl, odometry]
amcl: {topic: /amcl_pose, type: geometry_msgs/msg/PoseWithCovarianceStamped}
odometry: {topic: /odom, type: nav_msgs/msg/Odometry, min_interval: %s}
"""
pytest.importorskip("rosbags")


@pytest.fixture(scope="module", params=[0.0, 1.0], ids=["all", "one a second"])
def result(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Replay, list[Memory]]]:
    if not NAV2.exists():
        pytest.skip(f"the recording {NAV2} is not here")
    folder = tmp_path_factory.mktemp("nav2")
    config = load_config(config_file(folder, CONFIG % request.param), {"embedding_model": "", "queue_policy": "block"})
    with Bag(NAV2) as bag, RobotMemory(folder / "memory.db", embedding_model="") as memory:
        replay = Replay(bag, config, memory)
        replay.run()
        memory.flush()
        yield replay, everything(memory)


def test_every_message_is_accounted_for(result: tuple[Replay, list[Memory]]) -> None:
    replay, memories = result
    counts = replay.result().counts
    assert {name: one.messages for name, one in counts.items()} == {"amcl": 135, "odometry": 2639}
    for one in counts.values():
        assert (one.messages, one.waiting_count) == (one.stored_count + one.drops.total(), 0)
    assert sum(one.stored_count for one in counts.values()) == len(memories)
    assert counts["amcl"].stored_count == 135
    assert counts["odometry"].stored_count in {2611, 94}
    assert replay.result().unusable_transforms == 0


def test_stamps_are_those_of_the_headers(result: tuple[Replay, list[Memory]]) -> None:
    _, memories = result
    assert all(924 * SECOND <= one.observed_at < 1100 * SECOND for one in memories)


def test_odometry_agrees_with_amcl_in_the_map(result: tuple[Replay, list[Memory]]) -> None:
    # The tolerance is that of test/frames/test_nav2_bag.py, and how far the robot goes in half an interval.
    _, memories = result
    assert {one.frame_id for one in memories} == {"map"}
    odometry = [one for one in memories if one.content.startswith("odometry")]
    slack = 0.0 if len(odometry) > 1000 else 0.2
    apart = []
    for amcl in memories:
        nearest = min(odometry, key=lambda one: abs(one.observed_at - amcl.observed_at))
        if amcl.content.startswith("pose") and abs(nearest.observed_at - amcl.observed_at) <= SECOND // 2:
            assert amcl.pose is not None
            assert nearest.pose is not None
            apart.append(math.dist(amcl.pose[:3], nearest.pose[:3]))
    assert len(apart) >= 130
    assert statistics.median(apart) < 0.04 + slack
    assert max(apart) < 0.16 + 2 * slack


@pytest.mark.skipif(not TF_EXAMPLE.exists(), reason=f"the recording {TF_EXAMPLE} is not here")
def test_a_recording_of_transforms_alone_can_be_read(tmp_path: Path) -> None:
    config = load_config(config_file(tmp_path, CONFIG % 0.0), {"embedding_model": ""})
    with Bag(TF_EXAMPLE) as bag, RobotMemory(":memory:", embedding_model="") as memory:
        replay = Replay(bag, config, memory)
        replay.run()
    done = replay.result()
    assert (done.read, done.unusable_transforms, done.counts) == (518, 0, {})
    assert [topic.topic for topic in done.missing_topics] == ["/amcl_pose", "/odom"]
