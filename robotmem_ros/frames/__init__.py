"""Frames without ROS: transforms over time as tf2 keeps them, and a queue for items that wait for one."""

from .errors import (
    ConnectivityError,
    ExtrapolationError,
    FrameError,
    FrameLookupError,
    FrameLoopError,
    InvalidTransformError,
    NoStampError,
    QueueFullError,
    UnknownFrameError,
)
from .topics import TF_TYPE, FrameOwners, TransformTopics, is_static, transform_topics, unread_hint
from .transform import IDENTITY, Transform
from .transform_buffer import DEFAULT_HISTORY_NS, TimeJump, TimeJumps, TransformBuffer, strip_slash
from .waiting import TransformQueue
