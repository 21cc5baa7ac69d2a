"""Every test that takes `maker` runs over both kinds of messages."""

from __future__ import annotations

import pytest

from ..support.perception.messages import Maker, RclpyMaker, RosbagsMaker


@pytest.fixture(scope="session", params=[RosbagsMaker, RclpyMaker], ids=["rosbags", "rclpy"])
def maker(request: pytest.FixtureRequest) -> Maker:
    made: Maker = request.param()
    return made
