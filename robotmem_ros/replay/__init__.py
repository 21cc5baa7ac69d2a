"""Import recordings, with or without ROS."""

from .bag import Bag, BagError, MissingPackageError, Recorded, RecordedTopic, ReplayError, TopicTypeError
from .config import ReplayConfig, load_config
from .replay import DryRun, Replay, Result

__all__ = [
    "Bag",
    "BagError",
    "DryRun",
    "MissingPackageError",
    "Recorded",
    "RecordedTopic",
    "Replay",
    "ReplayConfig",
    "ReplayError",
    "Result",
    "TopicTypeError",
    "load_config",
]
