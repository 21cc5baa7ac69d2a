"""The memory itself, without ROS: learn, save perceptions, recall, forget, update."""

from .batch import Applied, Batch, Cursor
from .config.parameters import Parameters
from .doctor import Finding, Severity
from .errors import (
    DatabaseUnusableError,
    ForkedMemoryError,
    FrameMismatchError,
    InvalidFieldError,
    MemoryClosedError,
    MemoryNotFoundError,
    PurgeUnfinishedError,
    ReadOnlyError,
    RewoundError,
    RobotMemoryError,
    SessionNotFoundError,
    StorageError,
)
from .learning.explanation import Explanation
from .learning.learning import Learned
from .learning.vocabulary import Retagged
from .maps import OccupancyGrid, Origin, PathPoint
from .models import (
    Change,
    Event,
    EventKind,
    Events,
    Kind,
    Match,
    MatchChange,
    Memory,
    PerceptionData,
    PerceptionType,
    Pose,
    SeenObject,
    Sighting,
    Stored,
)
from .notes.lines import NoteLines, NotesState
from .objects.field_of_view import FieldOfView
from .robot_memory import RobotMemory, open_memory
from .search.counts import Count
from .search.details import MemoriesInFull, MemoryDetails
from .search.result import BriefMemory, Hit, Mode, RecallResult
from .search.timeline import Timeline, TimelineEntry
from .status import Status
from .storage.purge_rows import Purged
from .storage.tag_rows import Tag

__all__ = [
    "Applied",
    "Batch",
    "BriefMemory",
    "Change",
    "Count",
    "Cursor",
    "DatabaseUnusableError",
    "Event",
    "EventKind",
    "Events",
    "Explanation",
    "FieldOfView",
    "Finding",
    "ForkedMemoryError",
    "FrameMismatchError",
    "Hit",
    "InvalidFieldError",
    "Kind",
    "Learned",
    "Match",
    "MatchChange",
    "MemoriesInFull",
    "Memory",
    "MemoryClosedError",
    "MemoryDetails",
    "MemoryNotFoundError",
    "Mode",
    "NoteLines",
    "NotesState",
    "OccupancyGrid",
    "Origin",
    "Parameters",
    "PathPoint",
    "PerceptionData",
    "PerceptionType",
    "Pose",
    "PurgeUnfinishedError",
    "Purged",
    "ReadOnlyError",
    "RecallResult",
    "Retagged",
    "RewoundError",
    "RobotMemory",
    "RobotMemoryError",
    "SeenObject",
    "SessionNotFoundError",
    "Severity",
    "Sighting",
    "Status",
    "StorageError",
    "Stored",
    "Tag",
    "Timeline",
    "TimelineEntry",
    "open_memory",
]
