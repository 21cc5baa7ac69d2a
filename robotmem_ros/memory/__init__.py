"""The memory itself, without ROS: learn, save perceptions, recall, forget, update."""

from .errors import (
    DatabaseUnusableError,
    ForkedMemoryError,
    FrameMismatchError,
    InvalidFieldError,
    MemoryClosedError,
    MemoryNotFoundError,
    PurgeUnfinishedError,
    ReadOnlyError,
    RobotMemoryError,
    SessionNotFoundError,
    StorageError,
)
from .learning.explanation import Explanation
from .learning.learned import Learned
from .objects.view import View
from .parameters import Parameters
from .purge.purge import Purged
from .recall.answer import Answer, Mode
from .records.change import Change
from .records.memory import Kind, Memory, PerceptionData, PerceptionType, Pose, Stored
from .records.object import SeenObject, Sighting
from .robot_memory import RobotMemory
from .status import Status

__all__ = [
    "Answer",
    "Change",
    "DatabaseUnusableError",
    "Explanation",
    "ForkedMemoryError",
    "FrameMismatchError",
    "InvalidFieldError",
    "Kind",
    "Learned",
    "Memory",
    "MemoryClosedError",
    "MemoryNotFoundError",
    "Mode",
    "Parameters",
    "PerceptionData",
    "PerceptionType",
    "Pose",
    "PurgeUnfinishedError",
    "Purged",
    "ReadOnlyError",
    "RobotMemory",
    "RobotMemoryError",
    "SeenObject",
    "SessionNotFoundError",
    "Sighting",
    "Status",
    "StorageError",
    "Stored",
    "View",
]
