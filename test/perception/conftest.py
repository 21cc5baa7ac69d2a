"""Every test that takes `maker` runs over both kinds of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.perception import Intake

from ..support.perception.intakes import intake_into
from ..support.perception.messages import Maker, RclpyMaker, RosbagsMaker


@pytest.fixture(scope="session", params=[RosbagsMaker, RclpyMaker], ids=["rosbags", "rclpy"])
def maker(request: pytest.FixtureRequest) -> Maker:
    made: Maker = request.param()
    return made


@pytest.fixture(scope="session")
def rosbags() -> RosbagsMaker:
    """Makes messages without ROS."""
    return RosbagsMaker()


@pytest.fixture
def memory(request: pytest.FixtureRequest) -> Iterator[RobotMemory]:
    """A memory; parametrize it indirectly by parameters."""
    with RobotMemory(":memory:", embedding_model="", **getattr(request, "param", {})) as opened:
        yield opened


@pytest.fixture
def make(memory: RobotMemory, rosbags: RosbagsMaker) -> Callable[..., Intake]:
    return partial(intake_into, memory, rosbags)
