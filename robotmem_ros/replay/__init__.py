"""Import recordings, with or without ROS."""

from .bag import Bag, RecordedMessage, RecordedTopic
from .config import ReplayConfig, load_config
from .definitions import RECORDING
from .errors import BagError, EncodingError, MissingPackageError, ReplayError, TopicTypeError
from .replay import DryRun, Replay, Result, UnreadTopic

__all__ = [
    "RECORDING",
    "Bag",
    "BagError",
    "DryRun",
    "EncodingError",
    "MissingPackageError",
    "RecordedMessage",
    "RecordedTopic",
    "Replay",
    "ReplayConfig",
    "ReplayError",
    "Result",
    "TopicTypeError",
    "UnreadTopic",
    "load_config",
]
