"""Give 2D boxes a place: the box of a detection, in a depth image that is registered to the image it was detected in.

The position is in the optical frame of the camera (REP 103: x right, y down, z ahead): the middle of the box,
deprojected by the intrinsic matrix K of the CameraInfo at the median of the depths in the middle of the box.
"""

from __future__ import annotations

import math
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..frames.transform_buffer import strip_slash
from ..memory.geometry import Matrix
from .counters import DropError, DropReason
from .images import compressed_image, pixels_of
from .message_types import TypeDescription, UnknownTypeError, raw_stamp_reader
from .values import stamp_ns as nanoseconds

Depths = npt.NDArray[Any]
Read = Callable[[], Any]
"""Function that deserialises a message, or returns None if its bytes are none."""
Box = tuple[float, float, float, float]
"""Middle (u, v) and size of a box, in pixels of the image of the CameraInfo."""

CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
_MAX_BYTES = 128 << 20
"""Bytes of the images of one camera that are kept for detections still to come; the oldest go first."""
_MAX_IMAGES = 600
_MIDDLE = 0.5
"""Share of the width and height of a box whose depths count: its corners show what is behind the thing."""
_MAX_SAMPLES = 10_000
"""Depths of one box that are read."""
_MIN_RELATIVE_STDDEV = 0.01
"""Smallest standard deviation along the ray, relative to the depth: that of a good depth camera at two metres."""
_BOX_STDDEV = 0.1
"""Standard deviation of the middle of a box, relative to its size."""
_MAD_TO_STDDEV = 1.4826
"""Ratio of the standard deviation to the median absolute deviation, of a normal distribution."""
_MILLIMETRE = 1e-3
_ENCODINGS = ("16UC1", "mono16", "32FC1")
"""Encodings of depths: millimetres, the same by the name that some drivers give it, and metres (REP 118)."""
_CONFIG_HEADER = struct.Struct("<iff")
"""The header of compressed_depth_image_transport: the format, and two parameters of the quantisation."""
_NS = 1_000_000_000


class Intrinsics(NamedTuple):
    """What a CameraInfo says: focal lengths and principal point in pixels, the size of the image, and its frame."""

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int
    frame_id: str


class _StampedImage(NamedTuple):
    stamp_ns: int
    size: int
    read: Read


class View:
    """The depths at the stamp of a detection."""

    def __init__(self, intrinsics: Intrinsics, read: Read) -> None:
        self._camera = intrinsics
        self._read = read
        self.frame_id = intrinsics.frame_id
        """Optical frame of the camera; empty if it names none."""

    @cached_property
    def _depths(self) -> Depths:
        message = self._read()
        if message is None:
            raise DropError(DropReason.NO_DEPTH, "the depth image cannot be deserialised")
        return depths_of(message)

    def locate(self, box: Sequence[float]) -> tuple[tuple[float, float, float], Matrix]:
        """Return the position of a box in metres, and its covariance in m², in the optical frame of the camera.

        Raises:
            DropError: there is no valid depth in the middle of the box.
        """
        u, v, width, height = box
        if not all(map(math.isfinite, box)) or width < 0 or height < 0:
            raise DropError(DropReason.NO_DEPTH, f"{tuple(box)} is no box in pixels")
        depths, camera = self._depths, self._camera
        # An image of another resolution shows the same view.
        rows, columns = depths.shape
        sx, sy = columns / (camera.width or columns), rows / (camera.height or rows)
        samples = _valid(_middle(depths, (u * sx, v * sy, width * sx, height * sy)))
        if not samples.size:
            detail = f"the box at ({u:.4g}, {v:.4g}) of {width:.4g} x {height:.4g} pixels"
            raise DropError(DropReason.NO_DEPTH, f"no valid depth in the middle of {detail}")
        z = float(np.median(samples))
        spread = _MAD_TO_STDDEV * float(np.median(np.abs(samples - z)))
        ray = (u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1.0
        across = _BOX_STDDEV * z * width / camera.fx, _BOX_STDDEV * z * height / camera.fy, 0.0
        variance = max(spread, _MIN_RELATIVE_STDDEV * z) ** 2
        covariance = np.outer(ray, ray) * variance + np.diag(np.square(across))
        first, second, third = (tuple(row) for row in covariance.tolist())
        return (ray[0] * z, ray[1] * z, z), (first, second, third)


class DepthCamera:
    """The latest images of one depth topic and its CameraInfo, as bytes until they are needed. Safe for threads."""

    def __init__(self, topic: str, info_topic: str, types: TypeDescription) -> None:
        self.topic = topic
        self.info_topic = info_topic
        self._raw_stamp: Callable[[bytes], int | None] | None = None
        with suppress(UnknownTypeError):  # a recording without such images need not define them
            self._raw_stamp = raw_stamp_reader(types, depth_type(topic))
        self._images: deque[_StampedImage] = deque()
        self._bytes = 0
        self._latest_ns = 0
        self._read_info: Read | None = None
        self._lock = threading.Lock()

    def receive_depth(self, raw: bytes, read: Read) -> None:
        """Keep an image; one without a stamp is of no use."""
        stamp_ns = self._stamp(raw, read)
        if not stamp_ns:
            return
        with self._lock:
            self._images.append(_StampedImage(stamp_ns, len(raw), read))
            self._bytes += len(raw)
            self._latest_ns = stamp_ns
            while len(self._images) > 1 and (self._bytes > _MAX_BYTES or len(self._images) > _MAX_IMAGES):
                self._bytes -= self._images.popleft().size

    def _stamp(self, raw: bytes, read: Read) -> int:
        if (stamp_ns := self._raw_stamp(raw) if self._raw_stamp else None) is not None:
            return stamp_ns
        try:
            return nanoseconds(read().header.stamp)  # of ROS 1, whose bytes begin with something else
        except (AttributeError, DropError):  # another type, or bytes that are none
            return 0

    def receive_info(self, raw: bytes, read: Read) -> None:
        """Keep the latest CameraInfo."""
        del raw
        self._read_info = read

    def is_ready(self, stamp_ns: int) -> bool:
        """Tell whether no better image can come for a detection of this time: images come in the order of stamps."""
        return self._read_info is not None and self._latest_ns >= stamp_ns

    def clear(self) -> None:
        """Forget the images, because time went back."""
        with self._lock:
            self._images.clear()
            self._bytes = self._latest_ns = 0

    def view(self, stamp_ns: int, tolerance: float) -> View:
        """Return the image nearest to a time, at most `tolerance` seconds away.

        Raises:
            DropError: there is none, or no CameraInfo.
        """
        info = None if self._read_info is None else self._read_info()
        if info is None:
            raise DropError(DropReason.NO_DEPTH, f"no CameraInfo has come on {self.info_topic}")
        with self._lock:
            nearest = min(self._images, key=lambda image: abs(image.stamp_ns - stamp_ns), default=None)
        if nearest is None:
            raise DropError(DropReason.NO_DEPTH, f"no depth image with a stamp has come on {self.topic}")
        distance = abs(nearest.stamp_ns - stamp_ns) / _NS
        if distance > tolerance:
            problem = f"the nearest image of {self.topic} is {distance:.3f} s away; depth_tolerance is {tolerance:g} s"
            raise DropError(DropReason.NO_DEPTH, problem)
        return View(intrinsics_of(info, self.info_topic), nearest.read)


def box_of(box_format: str, a: float, b: float, c: float, d: float) -> Box:
    """Return the middle and the size of a box, whose numbers are as `box_format` of a topic says."""
    if box_format == "corners":
        return (a + c) / 2, (b + d) / 2, c - a, d - b
    return (a + c / 2, b + d / 2, c, d) if box_format == "corner_size" else (a, b, c, d)


def depth_type(topic: str) -> str:
    """Return the type of a topic of depth images, by the names of image_transport."""
    kind = "CompressedImage" if topic.rpartition("/")[2].startswith("compressed") else "Image"
    return f"sensor_msgs/msg/{kind}"


def intrinsics_of(info: Any, topic: str) -> Intrinsics:
    """Read a CameraInfo, of ROS 1 or ROS 2.

    Raises:
        DropError: it is no CameraInfo, or of a camera that is not calibrated.
    """
    k = [float(number) for number in getattr(info, "k", getattr(info, "K", ()))]
    if len(k) != 9:
        raise DropError(DropReason.NO_DEPTH, f"what comes on {topic} is no CameraInfo")
    fx, fy, cx, cy = k[0], k[4], k[2], k[5]
    if not all(map(math.isfinite, (fx, fy, cx, cy))) or fx <= 0 or fy <= 0:
        raise DropError(DropReason.NO_DEPTH, f"the CameraInfo of {topic} has no K: the camera is not calibrated")
    return Intrinsics(fx, fy, cx, cy, int(info.width), int(info.height), strip_slash(str(info.header.frame_id)))


def depths_of(message: Any) -> Depths:
    """Return the depths of an Image or CompressedImage, rows by columns: whole millimetres, or metres as floats.

    Raises:
        DropError: it is damaged, or no depth image in an encoding that is known.
    """
    if hasattr(message, "encoding"):
        if message.encoding not in _ENCODINGS:
            problem = f"encoding {str(message.encoding)[:40]!r} is no depth; {', '.join(_ENCODINGS)} are"
            raise DropError(DropReason.UNKNOWN_ENCODING, problem)
        return pixels_of(message)[0][:, :, 0]
    if not hasattr(message, "format"):
        raise DropError(DropReason.NO_DEPTH, "what comes on the topic of depth is no Image or CompressedImage")
    data, name = bytes(message.data), str(message.format)
    if "compressedDepth" not in name:
        return _png(data)
    if "rvl" in name.lower():
        raise DropError(DropReason.UNKNOWN_ENCODING, f"format {name!r} cannot be read; let compressedDepth publish png")
    if len(data) <= _CONFIG_HEADER.size:
        raise DropError(DropReason.BAD_IMAGE, f"a compressedDepth image has {len(data)} bytes")
    _, scale, offset = _CONFIG_HEADER.unpack_from(data)
    inverse = _png(data[_CONFIG_HEADER.size :])
    if not name.startswith("32FC1"):
        return inverse
    # Quantised inverse depths: 0 is no depth.
    with np.errstate(divide="ignore", invalid="ignore"):
        metres = np.where(inverse > 0, scale / (inverse.astype(np.float32) - offset), np.nan)
    return metres.astype(np.float32)


def _png(data: bytes) -> Depths:
    with compressed_image(data, "depth image") as image:
        if not image.mode.startswith("I"):
            problem = f"a {image.format} image of mode {image.mode} is no depth image; 16 bits a pixel are needed"
            raise DropError(DropReason.UNKNOWN_ENCODING, problem)
        # Pillow widens 16 bits to 32 in some versions.
        return np.asarray(image).astype(np.uint16)


def _middle(depths: Depths, box: Box) -> Depths:
    """Return the depths in the middle of a box, in pixels of the depth image; of many, a regular part."""
    u, v, width, height = box
    top, bottom = _span(v, height, depths.shape[0])
    left, right = _span(u, width, depths.shape[1])
    step = max(1, math.isqrt((bottom - top) * (right - left) // _MAX_SAMPLES))
    return depths[top:bottom:step, left:right:step]


def _span(middle: float, size: float, limit: int) -> tuple[int, int]:
    """Return the first pixel of the middle of an extent, and the one after the last; none outside of the image."""
    low, high = math.floor(middle - _MIDDLE * size / 2), math.floor(middle + _MIDDLE * size / 2) + 1
    return min(max(low, 0), limit), min(max(high, 0), limit)


def _valid(depths: Depths) -> npt.NDArray[np.float64]:
    scale = _MILLIMETRE if depths.dtype.kind == "u" else 1.0
    metres = depths.astype(np.float64).ravel() * scale
    return metres[np.isfinite(metres) & (metres > 0.0)]
