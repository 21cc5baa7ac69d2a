"""The memory itself, without ROS: learn, save perceptions, recall, forget, update."""

from .errors import (
    DatabaseUnusableError,
    FrameMismatchError,
    InvalidFieldError,
    MemoryClosedError,
    MemoryNotFoundError,
    RobotMemoryError,
    SessionNotFoundError,
    StorageError,
)
from .parameters import Parameters
from .records import Answer, Kind, Memory, Mode, PerceptionType, Pose, SeenObject, Sighting, Status, Stored, View
from .robot_memory import RobotMemory

__all__ = [
    "Answer",
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
