"""The values that go in and come out: poses, memories, answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple


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


class Mode(str, Enum):
    """What a recall really ran on."""

    HYBRID = "hybrid"
    BM25_ONLY = "bm25_only"
    VEC_ONLY = "vec_only"
    STRUCTURED = "structured"


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
        """The context, parsed."""
        parsed: dict[str, Any] = json.loads(self.context_json)
        return parsed


@dataclass(frozen=True)
class Answer:
    """The answer to one recall: memories, best first, and how they were found."""

    memories: tuple[Memory, ...]
    mode: Mode
    reason: str = ""
    """What was missing, when something was."""

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> Memory:
        return self.memories[index]


@dataclass(frozen=True)
class Stored:
    """What became of something that was given to be remembered."""

    memory_id: int
    is_new: bool = True
    """False when an import had stored it before, and for a duplicate."""


@dataclass(frozen=True)
class Learned(Stored):
    """What became of a fact that was learned."""

    category: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 0.0
    """As it is stored now, in [0, 1]."""
    method: str = ""
    """Of a duplicate: how it was found to be one, `exact`, `jaccard` or `cosine`; empty for a new fact."""
    similarity: float = 0.0
    """Of a duplicate: how alike the two are by that method, in [0, 1]."""
    contradicts: tuple[int, ...] = ()
    """The facts that it contradicts."""
    reason: str = ""
    """What was missing, when something was: without a model, meanings are not compared."""

    @property
    def status(self) -> str:
        """`stored`, or `duplicate` of the fact with this id, which is stronger now."""
        return "stored" if self.is_new else "duplicate"


class Decision(NamedTuple):
    """One thing that was decided about a memory when it was learned."""

    field: str
    """`category`, `confidence`, `tag`, `scope_file`, `scope_entity`, or a path such as `params.grip_force`."""
    value: str
    rule: str
    """The name of the rule that decided; several are joined by ` + `. `caller`: it was given."""


class Repetition(NamedTuple):
    """A fact that was learned again."""

    repeated_at: int
    """Nanoseconds since the epoch, by the wall clock."""
    session_id: str
    content: str
    """The words of the repetition."""
    method: str
    """`exact`, `jaccard` or `cosine`."""
    similarity: float
    confidence_before: float
    observed_before: int
    """When it was observed last before: nanoseconds since the epoch, by the robot's clock."""


class Contradiction(NamedTuple):
    """A fact that contradicts another one."""

    memory_id: int
    reason: str
    """In what, such as `force: 12.5 N, now 15 N`."""
    content: str
    is_newer: bool
    """Whether it is the one to believe."""


@dataclass(frozen=True)
class Explanation:
    """Why a memory is what it is."""

    memory_id: int
    status: str
    """`active`, `superseded` or `invalidated`."""
    decisions: tuple[Decision, ...]
    """What was decided when it was learned or last corrected, and by which rules; none of what was not classified."""
    times_learned: int = 1
    repetitions: tuple[Repetition, ...] = ()
    """The last hundred times that it was learned again, oldest first."""
    contradictions: tuple[Contradiction, ...] = ()
    """The active facts that contradict it, newest first."""


class ImportKey(NamedTuple):
    """What of a recording a memory was made of; it is stored once."""

    import_id: int
    recorded_at: int
    """Nanoseconds, by the clock of the recorder."""
    nth: int
    """Which one it is of the messages of its topic and time."""
    element: int
    """Which element of its message."""


@dataclass(frozen=True)
class Recording:
    """One topic of a recording, as it is imported."""

    digest: str
    """Of the content of the recording."""
    topic: str
    configuration: str
    """Digest of all that decides what is read of it."""
    path: str


@dataclass(frozen=True)
class Sighting:
    """One observation of an object."""

    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    position: tuple[float, float, float]
    """Metres, in the frame of the object."""
    confidence: float
    label: str
    thinned: int
    """How many sightings before it were counted and not kept."""


@dataclass(frozen=True)
class Change:
    """One change of a memory, and what the memory was before it."""

    changed_at: str
    """ISO 8601 in UTC, by the wall clock."""
    change: str
    """What was done: `update`, `forget`, `restore` and so on."""
    reason: str
    before: dict[str, object]
    """The fields that were changed, with the values they had."""


@dataclass(frozen=True)
class Purged:
    """What a purge deleted."""

    memories: int
    sightings: int
    """Of these memories, and the older ones of objects that stay."""
    sessions: int
    bytes_before: int
    """Size of the file with its write-ahead log."""
    bytes_after: int


@dataclass(frozen=True)
class View:
    """What a detector looked at, once, and what it saw there."""

    origin: tuple[float, float, float]
    """Where the sensor was, in metres."""
    direction: tuple[float, float, float]
    """Where it looked; of any length but zero."""
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    reach: float
    """Metres up to which the detector surely sees an object."""
    horizontal: float
    """Opening angle from left to right within which it surely sees, in radians."""
    vertical: float
    """The same from top to bottom."""
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Where the sensor's top is; not parallel to `direction`."""
    seen: frozenset[int] = frozenset()
    """Ids of the objects that this message gave a sighting of."""
    glimpses: tuple[Glimpse, ...] = ()
    """What was detected and is no sighting, for it was left out."""
    labels: frozenset[str] = frozenset()
    """The labels that the detector can give; empty for any."""
    source: str = ""
    """Which detector it is: only objects that it saw before are missed by it; empty for all objects."""
    frame_id: str = ""
    """Frame of all positions and directions; empty for the memory frame."""
    collection: str = ""
    """Empty for the default collection."""
    import_key: ImportKey | None = None


class SeenObject(NamedTuple):
    """What is known of an object, without what was perceived of it."""

    memory_id: int
    label: str
    position: tuple[float, float, float]
    """Metres."""
    confidence: float
    frame_id: str
    first_seen: int
    """Nanoseconds since the epoch, by the robot's clock."""
    last_seen: int
    times_seen: int
    confirmed: bool


class Glimpse(NamedTuple):
    """That something was detected, and where."""

    label: str
    position: tuple[float, float, float]
    """Metres."""


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
class Status:
    """What the database holds, and what is missing."""

    mode: Mode
    reason: str
    db_path: str
    db_bytes: int
    schema_version: int
    embedding_model: str
    facts: int
    perceptions: int
    pending_vectors: int
    removed: int = 0
    """Memories that retention removed so far."""

    @property
    def memories(self) -> int:
        """Active memories of both kinds."""
        return self.facts + self.perceptions
