"""Recordings into memory, with or without ROS."""

from .bag import Bag, BagError, MissingPackageError, Recorded, RecordedTopic, ReplayError, TopicTypeError
from .config import ReplayConfig, load_config
from .replay import Rehearsal, Replay, Result, Window

__all__ = [
    "Bag",
    "BagError",
    "MissingPackageError",
    "Recorded",
    "RecordedTopic",
    "Rehearsal",
    "Replay",
    "ReplayConfig",
    "ReplayError",
    "Result",
    "TopicTypeError",
    "Window",
    "load_config",
]
