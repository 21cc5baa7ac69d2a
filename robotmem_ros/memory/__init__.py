"""The memory itself, without ROS: learn, save perceptions, recall, forget, update."""

from .config.parameters import Parameters
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
from .learning.store_or_merge import Learned
from .models import Change, Kind, Memory, PerceptionData, PerceptionType, Pose, SeenObject, Sighting, Stored
from .objects.field_of_view import FieldOfView
from .purge.purge import Purged
from .robot_memory import RobotMemory
from .search.result import Mode, RecallResult
from .status import Status

__all__ = [
    "Change",
    "DatabaseUnusableError",
    "Explanation",
    "FieldOfView",
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
    "RecallResult",
    "RobotMemory",
    "RobotMemoryError",
    "SeenObject",
    "SessionNotFoundError",
    "Sighting",
    "Status",
    "StorageError",
    "Stored",
]
