"""Frames without ROS: transforms over time as tf2 keeps them, and a queue for what has to wait for one."""

from .errors import (
    ConnectivityError,
    ExtrapolationError,
    FrameError,
    FrameLookupError,
    FrameLoopError,
    InvalidTransformError,
    NoStampError,
    Refusal,
    UnknownFrameError,
)
from .time_jumps import TimeJump, TimeJumps
from .transform import IDENTITY, Transform
from .transform_buffer import TransformBuffer
from .waiting import Drop, GivenUp, Ready, TransformQueue

__all__ = [
    "IDENTITY",
    "ConnectivityError",
    "Drop",
    "ExtrapolationError",
    "FrameError",
    "FrameLookupError",
    "FrameLoopError",
    "GivenUp",
    "InvalidTransformError",
    "NoStampError",
    "Ready",
    "Refusal",
    "TimeJump",
    "TimeJumps",
    "Transform",
    "TransformBuffer",
    "TransformQueue",
    "UnknownFrameError",
]
