"""Values of messages of a depth camera, and of the 2D boxes that were detected in its image."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from robotmem_ros.frames import Transform

from .intakes import header

BOXES = "vision_msgs/msg/Detection2DArray"
IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
OPTICAL = "camera_optical"
KEYS = {"depth": "/depth", "camera_info": "/info", "min_interval": 0.0}
OPTICAL_IN_MAP = Transform(10.0, 0.0, 1.0, -0.5, 0.5, -0.5, 0.5)
"""A camera that looks along x of the map, one metre above it."""
WIDTH, HEIGHT, FOCAL = 64, 48, 50.0
Pixels = np.ndarray[Any, np.dtype[Any]]


def camera_info(stamp_ns: int, focal: float = FOCAL) -> dict[str, Any]:
    k = [focal, 0.0, WIDTH / 2, 0.0, focal, HEIGHT / 2, 0.0, 0.0, 1.0]
    return {"header": header(OPTICAL, stamp_ns), "width": WIDTH, "height": HEIGHT, "k": k}


def wall(metres: float, width: int = WIDTH, height: int = HEIGHT) -> Pixels:
    """Depths in metres of a wall that faces the camera."""
    return np.full((height, width), metres, np.float32)


def image(stamp_ns: int, metres: Pixels, encoding: str = "16UC1", *, is_bigendian: bool = False) -> dict[str, Any]:
    pixels = np.round(metres * 1000).astype(np.uint16) if encoding == "16UC1" else metres.astype(np.float32)
    big: Pixels = pixels.byteswap() if is_bigendian else pixels
    return {
        "header": header(OPTICAL, stamp_ns), "height": metres.shape[0], "width": metres.shape[1],
        "encoding": encoding, "is_bigendian": int(is_bigendian), "step": metres.shape[1] * pixels.dtype.itemsize,
        "data": big.tobytes(),
    }  # fmt: skip


def png(pixels: Pixels) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint16)).save(out, "PNG")
    return out.getvalue()


def compressed(stamp_ns: int, metres: Pixels, encoding: str = "16UC1") -> dict[str, Any]:
    """A message as compressed_depth_image_transport makes it, with its default quantisation of floats."""
    if encoding == "16UC1":
        parameters, pixels = (0.0, 0.0), np.round(metres * 1000)
    else:
        quantisation, farthest = 100.0, 10.0
        scale = quantisation * (quantisation + 1.0)
        offset = 1.0 - scale / farthest
        parameters = scale, offset
        pixels = np.where(metres > 0, scale / np.where(metres > 0, metres, 1.0) + offset, 0)
    data = struct.pack("<iff", 0, *parameters) + png(pixels)
    return {"header": header(OPTICAL, stamp_ns), "format": f"{encoding}; compressedDepth png", "data": data}


def boxes(stamp_ns: int, *middles: tuple[float, float], size: float = 10.0, label: str = "mug") -> dict[str, Any]:
    hypothesis = {"hypothesis": {"class_id": label, "score": 0.9}}
    detections = [
        {"results": [hypothesis], "bbox": {"center": {"position": {"x": x, "y": y}}, "size_x": size, "size_y": size}}
        for x, y in middles
    ]
    return {"header": header(OPTICAL, stamp_ns), "detections": detections}
