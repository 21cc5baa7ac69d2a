"""Import recordings, with or without ROS."""

from .bag import Bag, BagError, MissingPackageError, RecordedMessage, RecordedTopic, ReplayError, TopicTypeError
from .config import ReplayConfig, load_config
from .replay import DryRun, Replay, Result

__all__ = [
    "Bag",
    "BagError",
    "DryRun",
    "MissingPackageError",
    "RecordedMessage",
    "RecordedTopic",
    "Replay",
    "ReplayConfig",
    "ReplayError",
    "Result",
    "TopicTypeError",
    "load_config",
]
