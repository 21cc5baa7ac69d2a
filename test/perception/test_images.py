"""Thumbnails: the right pixels of every encoding, and damaged images by reason."""

from __future__ import annotations

import builtins
import io
import json
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.perception import DropReason
from robotmem_ros.perception.images import shrink

from ..support.perception.messages import HEADER, Maker, extract

IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
RED = {"rgb8": b"\xff\x00\x00", "bgr8": b"\x00\x00\xff", "rgba8": b"\xff\x00\x00\x09", "bgra8": b"\x00\x00\xff\x09",
       "8UC3": b"\x00\x00\xff"}  # fmt: skip


@pytest.fixture
def no_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a machine where it is not installed.
    monkeypatch.setitem(sys.modules, "PIL", None)


def image(encoding: str, data: bytes, width: int, height: int, **values: Any) -> dict[str, Any]:
    step = len(data) // height if height else 0
    return {
        "header": HEADER,
        "encoding": encoding,
        "width": width,
        "height": height,
        "step": step,
        "data": data,
    } | values


def kept(maker: Maker, type_name: str, values: dict[str, Any], **keys: Any) -> tuple[bytes, str]:
    extraction = extract(maker, type_name, values, **keys)
    assert not extraction.drops, extraction.details
    (seen,) = extraction.observations
    return seen.new.perception_data or b"", json.loads(seen.new.perception_metadata or '{"format": ""}')["format"]


def dropped(maker: Maker, type_name: str, values: dict[str, Any]) -> DropReason:
    ((reason, _),) = extract(maker, type_name, values).drops.items()
    return reason


def jpeg(width: int, height: int, colour: tuple[int, int, int], kind: str = "JPEG") -> bytes:
    images = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    images.new("RGB", (width, height), colour).save(out, kind)
    return out.getvalue()


def opened(data: bytes) -> Any:
    return np.asarray(pytest.importorskip("PIL.Image").open(io.BytesIO(data)))


@pytest.mark.parametrize("encoding", RED)
def test_a_red_image_stays_red_and_becomes_a_small_jpeg(maker: Maker, encoding: str) -> None:
    data, form = kept(maker, IMAGE, image(encoding, RED[encoding] * 640 * 480, 640, 480))
    pixels = opened(data)
    assert form == "jpeg"
    assert pixels.shape == (120, 160, 3)
    assert np.abs(pixels.astype(int) - [255, 0, 0]).max() <= 3


@pytest.mark.usefixtures("no_pillow")
@pytest.mark.parametrize("encoding", RED)
def test_without_pillow_the_pixels_are_kept(maker: Maker, encoding: str) -> None:
    data, form = kept(
        maker, IMAGE, image(encoding, RED[encoding] * 64 * 48, 64, 48), thumbnail={"width": 4, "height": 4}
    )
    assert (data, form) == (b"\xff\x00\x00" * 12, "rgb8/4x3")


@pytest.mark.usefixtures("no_pillow")
@pytest.mark.parametrize("encoding", ["mono8", "8UC1"])
def test_grey_is_averaged_and_padding_left_out(maker: Maker, encoding: str) -> None:
    rows = bytes([0, 10, 20, 30, 99, 99]) + bytes([4, 14, 24, 34, 99, 99])
    values = image(encoding, rows, 4, 2)
    assert kept(maker, IMAGE, values, thumbnail={"width": 2, "height": 2}) == (bytes([7, 27]), "mono8/2x1")


@pytest.mark.parametrize(
    ("encoding", "dtype", "big"), [("16UC1", ">u2", 1), ("16UC1", "<u2", 0), ("mono16", "<u2", 0), ("32FC1", "<f4", 0)]
)
def test_depths_are_picked_and_never_mixed(maker: Maker, encoding: str, dtype: str, big: int) -> None:
    depth = np.array([[0, 1000, 2000, 3000]] * 4, dtype)
    values = image(encoding, depth.tobytes(), 4, 4, is_bigendian=big)
    data, form = kept(maker, IMAGE, values, thumbnail={"width": 2, "height": 2})
    result = "32FC1" if encoding == "32FC1" else "16UC1"
    assert form == f"{result}/2x2"
    assert np.frombuffer(data, dtype.replace(">", "<")).tolist() == [1000, 3000] * 2


def test_an_image_is_never_made_larger_and_keeps_its_proportions(maker: Maker) -> None:
    for (width, height), (new_width, new_height) in {(8, 6): (8, 6), (1000, 10): (160, 2), (1, 900): (1, 120)}.items():
        data, _ = kept(maker, IMAGE, image("mono8", bytes(width * height), width, height))
        assert opened(data).shape == (new_height, new_width)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_compressed_image_becomes_a_small_jpeg(maker: Maker, kind: str) -> None:
    values = {"header": HEADER, "format": kind.lower(), "data": jpeg(640, 480, (0, 0, 255), kind)}
    data, form = kept(maker, COMPRESSED, values)
    assert (opened(data).shape, form) == ((120, 160, 3), "jpeg")
    assert np.abs(opened(data).astype(int) - [0, 0, 255]).max() <= 3


def test_a_size_of_zero_keeps_a_compressed_image_as_it_is(maker: Maker) -> None:
    values = {"header": HEADER, "format": "webp", "data": b"anything"}
    assert kept(maker, COMPRESSED, values, thumbnail={"width": 0}) == (b"anything", "webp")


@pytest.mark.usefixtures("no_pillow")
def test_without_pillow_a_compressed_image_says_what_is_missing(maker: Maker) -> None:
    assert dropped(maker, COMPRESSED, {"format": "jpeg", "data": b"x"}) == DropReason.NO_DECODER


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (image("mono8", b"", 0, 0), DropReason.BAD_IMAGE),
        (image("mono8", bytes(11), 4, 3, step=4), DropReason.BAD_IMAGE),
        (image("rgb8", bytes(12), 4, 1, step=11), DropReason.BAD_IMAGE),
        (image("rgb8", bytes(12), 4, 1, step=0), DropReason.BAD_IMAGE),
        (image("mono8", bytes(4), 2**31, 2**31), DropReason.BAD_IMAGE),
        (image("yuv422", bytes(12), 2, 2), DropReason.UNKNOWN_ENCODING),
        (image("", bytes(12), 2, 2), DropReason.UNKNOWN_ENCODING),
    ],
)
def test_an_image_that_is_not_what_it_says_is_dropped(maker: Maker, values: dict[str, Any], reason: DropReason) -> None:
    assert dropped(maker, IMAGE, values) == reason


def test_a_damaged_compressed_image_is_dropped(maker: Maker) -> None:
    whole = jpeg(640, 480, (1, 2, 3))
    for data in (b"", b"\xff\xd8", b"no image at all", whole[: len(whole) // 2]):
        assert dropped(maker, COMPRESSED, {"format": "jpeg", "data": data}) == DropReason.BAD_IMAGE
    depth = {"format": "16UC1; compressedDepth", "data": whole}
    assert dropped(maker, COMPRESSED, depth) == DropReason.UNKNOWN_ENCODING


def test_an_image_is_never_written_out(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    message = maker.make(IMAGE, image("rgb8", bytes(12), 2, 2))

    def never(_: object) -> str:
        raise AssertionError("str() of an image takes 0.1 s")

    monkeypatch.setattr(type(message), "__repr__", never)
    extraction = extract(maker, IMAGE, image("rgb8", bytes(12), 2, 2))
    assert extraction.observations
    assert repr(extraction.observations[0])
    assert builtins.len(extraction.drops) == 0


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 20), st.integers(1, 20), st.integers(0, 255))
def test_the_mean_of_equal_pixels_is_that_pixel(rows: int, columns: int, width: int, height: int, grey: int) -> None:
    pixels = np.full((rows, columns, 3), grey, np.uint8)
    for averaged in (True, False):
        small = shrink(pixels, width, height, averaged=averaged)
        assert small.shape[0] <= max(height, 1)
        assert small.shape[1] <= max(width, 1)
        assert (small == grey).all()
