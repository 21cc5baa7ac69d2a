"""Recordings into memory, with or without ROS."""

from .bag import Bag, Recorded, RecordedTopic
from .config import ReplayConfig, load_config
from .errors import BagError, MissingPackageError, ReplayError, TopicTypeError
from .rehearsal import Rehearsal
from .replay import Replay, Result, Window

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
