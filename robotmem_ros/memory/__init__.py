"""The memory itself, without ROS: learn, save perceptions, recall, forget, update."""

from .errors import (
    DatabaseUnusableError,
    FrameMismatchError,
    InvalidFieldError,
    MemoryClosedError,
    MemoryNotFoundError,
    RobotMemoryError,
    StorageError,
)
from .parameters import Parameters
from .records import (
    Answer,
    Explanation,
    Kind,
    Learned,
    Memory,
    Mode,
    PerceptionType,
    Pose,
    Sighting,
    Status,
    Stored,
    View,
)
from .robot_memory import RobotMemory

__all__ = [
    "Answer",
    "DatabaseUnusableError",
    "Explanation",
    "FrameMismatchError",
    "InvalidFieldError",
    "Kind",
    "Learned",
    "Memory",
    "MemoryClosedError",
    "MemoryNotFoundError",
    "Mode",
    "Parameters",
    "PerceptionType",
    "Pose",
    "RobotMemory",
    "RobotMemoryError",
    "Sighting",
    "Status",
    "StorageError",
    "Stored",
    "View",
]
