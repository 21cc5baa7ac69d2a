"""A memory: what it is, on its way into the database, and as recall gives it back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from .fact import Decision
from .json_object import parsed_object
from .recording import ImportKey


class Kind(str, Enum):
    """What a memory is."""

    FACT = "fact"
    PERCEPTION = "perception"


class PerceptionType(str, Enum):
    """The sense that a perception came by."""

    VISUAL = "visual"
    TACTILE = "tactile"
    AUDITORY = "auditory"
    PROPRIOCEPTIVE = "proprioceptive"
    PROCEDURAL = "procedural"


class Pose(NamedTuple):
    """A place and an orientation: metres, and a unit quaternion."""

    x: float
    y: float
    z: float
    qx: float = 0.0
    qy: float = 0.0
    qz: float = 0.0
    qw: float = 1.0


@dataclass(frozen=True)
class NewMemory:
    """A validated memory on its way into the database."""

    kind: Kind
    content: str
    collection: str
    observed_at: int
    frame_id: str
    map_id: str
    session_id: str = ""
    human_summary: str = ""
    context: str = "{}"
    pose: Pose | None = None
    perception_type: str | None = None
    perception_data: bytes | None = field(default=None, repr=False)
    perception_metadata: str | None = None
    label: str = ""
    as_object: bool = True
    """Of a perception: whether it is a sighting of an object where it has what that takes."""
    confidence: float = 0.9
    category: str = ""
    tags: tuple[str, ...] = ()
    scope_files: str = ""
    scope_entities: str = ""
    source: str = ""
    """What perceived it, such as a topic."""
    identity: str = ""
    """Which thing it is to `source`, such as a tracking id; empty where that does not tell."""
    import_key: ImportKey | None = None
    received_at: int = 0
    """When it came in with a stream, by the robot's clock, in nanoseconds; 0 for what was told in a call."""
    given: frozenset[str] = frozenset()
    """Of a fact: which of category, tags, confidence, scope_files and scope_entities its caller gave."""
    decisions: tuple[Decision, ...] = ()
    """Of a fact that was classified: what was decided, and by which rule."""


@dataclass(frozen=True)
class Stored:
    """What became of something that was given to be remembered."""

    memory_id: int
    is_new: bool = True
    """False when an import had stored it before, and for a duplicate."""
    times_seen: int = 0
    """Of a sighting: how often its object was seen, this time included; 1 for a new one. 0 for what is no sighting."""


@dataclass(frozen=True)
class Memory:
    """One memory as recall gives it back."""

    id: int
    kind: Kind
    content: str
    human_summary: str
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    created_at: int
    """Nanoseconds since the epoch, by the wall clock."""
    frame_id: str
    map_id: str
    pose: Pose | None
    perception_type: str
    label: str
    confidence: float
    """How sure it is now, decayed."""
    category: str
    tags: tuple[str, ...]
    context_json: str
    """Everything else that came with it, as the text of a JSON object."""
    session_id: str
    collection: str
    first_seen: int | None = None
    """Of an object: nanoseconds since the epoch of its first sighting; None for what is no object."""
    last_seen: int | None = None
    """Of an object: of its last sighting, the same as `observed_at`; None for what is no object."""
    times_seen: int = 0
    """How many sightings an object was made of; 0 for what is no object."""
    confirmed: bool = False
    """Whether an object was seen as often as the parameter `object_confirmations` wants."""
    contradicted_by: int = 0
    """The newest active fact that is newer than this one and contradicts it; 0 when there is none."""
    score: float = 1.0
    """In [0, 1], relative to the best answer."""
    distance: float = float("nan")
    """Metres to the target of the spatial sort; NaN without one."""

    @property
    def context(self) -> dict[str, Any]:
        """The context, parsed.

        Raises:
            StorageError: it is damaged.
        """
        return parsed_object(f"context of memory {self.id}", self.context_json)


@dataclass(frozen=True)
class PerceptionData:
    """What was stored with a perception and is not searched: raw data or a thumbnail, and metadata."""

    memory_id: int
    perception_type: str
    """The sense that it came by."""
    data: bytes = field(repr=False)
    """Empty where there is none."""
    metadata_json: str
    """The text of a JSON object; `{}` where there is none."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, parsed.

        Raises:
            StorageError: it is damaged.
        """
        return parsed_object(f"metadata of memory {self.memory_id}", self.metadata_json)

    @property
    def data_format(self) -> str:
        """What the data is, such as `jpeg` or `rgb8/64x48`; empty where nobody said."""
        told = self.metadata.get("format")
        return told if isinstance(told, str) else ""
