"""The stamp of serialised messages is that of the deserialised ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.perception import raw_stamp_reader
from robotmem_ros.perception.raw_stamp import _read

from ..support.perception.messages import HEADER, STAMP_NS, Maker


@pytest.mark.parametrize(
    "type_name", ["nav_msgs/msg/Odometry", "sensor_msgs/msg/Image", "geometry_msgs/msg/PoseWithCovarianceStamped"]
)
def test_the_header_s_stamp_is_read_from_the_bytes(maker: Maker, type_name: str) -> None:
    read = raw_stamp_reader(maker.types, type_name)
    assert read is not None
    assert read(maker.raw(type_name, {"header": HEADER})) == STAMP_NS
    assert read(maker.raw(type_name, {})) is None
    assert read(maker.raw(type_name, {"header": {"stamp": {"sec": -5}}})) is None


@pytest.mark.parametrize(
    "type_name", ["std_msgs/msg/String", "visualization_msgs/msg/MarkerArray", "std_msgs/msg/Empty"]
)
def test_what_does_not_begin_with_a_header_has_no_reader(maker: Maker, type_name: str) -> None:
    assert raw_stamp_reader(maker.types, type_name) is None


def test_the_other_byte_order_is_read_too() -> None:
    assert _read(b"\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x07") == 5_000_000_007


@given(st.binary(max_size=24))
def test_any_bytes_are_a_time_or_none(raw: bytes) -> None:
    stamp = _read(raw)
    assert stamp is None or 0 < stamp < 2**31 * 10**9
