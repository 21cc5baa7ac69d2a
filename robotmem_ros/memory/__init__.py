"""The memory itself, without ROS: learn, save perceptions, recall, forget, update."""

from .errors import (
    DatabaseUnusableError,
    FrameMismatchError,
    InvalidFieldError,
    MemoryClosedError,
    MemoryNotFoundError,
    PurgeUnfinishedError,
    RobotMemoryError,
    SessionNotFoundError,
    StorageError,
)
from .parameters import Parameters
from .records import (
    Answer,
    Change,
    Kind,
    Memory,
    Mode,
    PerceptionType,
    Pose,
    Purged,
    SeenObject,
    Sighting,
    Status,
    Stored,
    View,
)
from .robot_memory import RobotMemory

__all__ = [
    "Answer",
    "Change",
    "DatabaseUnusableError",
    "FrameMismatchError",
    "InvalidFieldError",
    "Kind",
    "Memory",
    "MemoryClosedError",
    "MemoryNotFoundError",
    "Mode",
    "Parameters",
    "PerceptionType",
    "Pose",
    "PurgeUnfinishedError",
    "Purged",
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
