"""The values of a memory: what goes in, what comes out, and the records kept beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .argument import ID, MAX_SUMMARY, MAX_TAGS, SIZE, Json, argument
from .clocks import utc
from .display import json_values, place_text, time_text
from .errors import MALFORMED, StorageError, shown
from .geometry import Covariance
from .times import Time

Vector = npt.NDArray[np.float32]
"""One embedding: shape (dim,), unit length."""
Vectors = npt.NDArray[np.float32]
"""Many embeddings: shape (n, dim), rows of unit length."""


def parsed_object(name: str, text: str) -> dict[str, Any]:
    """Parse a JSON object; `name` says which, such as `context of memory 7`.

    Raises:
        StorageError: it is damaged.
    """
    try:
        value: dict[str, Any] = json.loads(text)
    except MALFORMED as cause:
        raise StorageError(f"read the {name}", cause) from cause
    return value


class Kind(str, Enum):
    """What a memory is."""

    FACT = "fact"
    PERCEPTION = "perception"
    NOTE = "note"
    """A part of a file in a folder of notes; it changes with the file alone."""


class PerceptionType(str, Enum):
    """The sense that a perception came by; a named place came by none, somebody told it."""

    VISUAL = "visual"
    TACTILE = "tactile"
    AUDITORY = "auditory"
    PROPRIOCEPTIVE = "proprioceptive"
    PROCEDURAL = "procedural"
    PLACE = "place"


OF_NO_THING = frozenset(
    item.value for item in (PerceptionType.PROPRIOCEPTIVE, PerceptionType.PROCEDURAL, PerceptionType.PLACE)
)
"""Types whose pose is where the robot was, or a place: they never give a sighting of an object."""


class Pose(NamedTuple):
    """A position in metres and an orientation as a unit quaternion."""

    x: float
    y: float
    z: float
    qx: float = 0.0
    qy: float = 0.0
    qz: float = 0.0
    qw: float = 1.0


class Size(NamedTuple):
    """The edges of the box around a thing in metres, along the axes of its own orientation; all above 0."""

    x: float
    y: float
    z: float


@dataclass(slots=True)
class NewFact:
    """A fact as its caller gives it, with the arguments of `RobotMemory.learn`; `new_fact` checks it.

    Classification fills in a confidence of None and what is empty of category, tags and scope.
    """

    insight: str = argument(
        MISSING, "the fact, in a sentence that stands alone", '"a grip force of 12.5 N holds the red mug"',
        limit="content_limit",
    )  # fmt: skip
    context: Json = argument(
        None,
        'what else belongs to it, such as {"task": {"name": "pick", "success": true}, "params": {"force": 12.5}}',
        '{"task": {"success": True}, "params": {"force": 12.5}}',
        more="It is a JSON object with `params`, `spatial`, `robot`, `task`, `env`, ..., or plain text, which becomes "
        '{"user_context": text}. Without `params`, the numbers with units in the text become `params`, such as '
        '{"grip_force": {"value": 12.5, "unit": "N"}}. Its positions are in `spatial.frame_id`.',
    )
    session_id: str | None = argument(
        None, "the session that it belongs to", "session.session_id", more="It may have ended."
    )
    collection: str | None = argument(
        None, "its collection, if not the default one", '"kitchen"', more="That is the parameter `collection`."
    )
    _: KW_ONLY
    human_summary: str | None = argument(None, "a short text for people", '"mug: 12.5 N"', limit=MAX_SUMMARY)
    category: str | None = argument(None, "its category; left out, rules find it", '"constraint"')
    tags: Iterable[str] = argument(
        (), "its tags; left out, rules find them", '["gripper"]', entries=MAX_TAGS,
        more="`tags` and `any_tags` of Recall filter by them.",
    )  # fmt: skip
    confidence: float | None = argument(
        None, "how sure it is, in [0, 1]; left out, rules estimate it", "0.8", within=(0.0, 1.0)
    )
    observed_at: Time | None = argument(
        None, "when it was observed, if not now", '"3 minutes ago"', more="Now is by the robot's clock."
    )
    """Nanoseconds since the epoch."""
    scope_files: Iterable[str] = argument(
        (), "files that it is about; left out, rules find them", '["grasp.yaml"]', entries=MAX_TAGS
    )
    scope_entities: Iterable[str] = argument(
        (), "names that it is about; left out, rules find them", '["mug"]', entries=MAX_TAGS
    )


@dataclass(slots=True)
class NewPerception:
    """A perception as its caller gives it, with the arguments of `RobotMemory.save_perception`."""

    description: str = argument(
        MISSING, "what was perceived, in words", '"a red mug on the table"', limit="content_limit"
    )
    perception_type: str = argument("visual", "the sense that it came by", '"tactile"', choices=PerceptionType)
    data: bytes | None = argument(
        None, "raw data or a thumbnail, at most `data_limit` bytes", "jpeg_bytes", in_repr=False, only_python=True
    )
    metadata: Json = argument(None, "what is to be known of the data", '{"format": "jpeg"}', only_python=True)
    context: Json = argument(None, 'what else belongs to it, such as {"task": "patrol"}', '{"task": "patrol"}')
    _: KW_ONLY
    session_id: str | None = argument(None, "the session that it belongs to", "session.session_id")
    collection: str | None = argument(None, "its collection, if not the default one", '"kitchen"')
    pose: Iterable[float] | None = argument(
        None,
        "where it is: x, y, z in metres, and a yaw in radians or a quaternion x, y, z, w if it is turned",
        "(3.0, 1.0, 0.8)",
    )
    """In `frame_id`."""
    size: Iterable[float] | None = argument(
        None, "how large it is: the edges x, y, z of a box around it in metres", "(0.08, 0.08, 0.1)", shape=SIZE,
        more="They lie along the axes of the orientation of its pose. That of an object is the median of what its "
        "sightings say.",
    )  # fmt: skip
    frame_id: str | None = argument(None, "frame of the pose, if not the memory frame", '"odom"')
    """Frame of the pose and of positions in the context; None for its `spatial.frame_id`, else the memory frame."""
    label: str | None = argument(None, "what kind of thing it is, such as mug", '"mug"')
    as_object: bool = argument(True, "whether it may be a sighting of an object", "False")
    """Whether it is a sighting of an object if it has a label and a pose in the memory frame."""
    confidence: float = argument(0.9, "how sure it is, in [0, 1]", "0.7", within=(0.0, 1.0))
    observed_at: Time | None = argument(None, "when it was perceived, if not now", "datetime(2026, 1, 31, 12)")
    """Nanoseconds since the epoch; None for now by the robot's clock."""
    received_at: int = argument(
        0, "when it came in with a stream, by the robot's clock; 0 for what was told in a call", "message_time",
        only_python=True,
    )  # fmt: skip


@dataclass(slots=True)
class MemoryUpdate:
    """New values for fields of a memory, with the arguments of `RobotMemory.update`; None leaves a field as it is."""

    memory_id: int = argument(MISSING, "the memory", "7", shape=ID)
    content: str | None = argument(None, "new text", '"a grip force of 11 N holds the red mug"', limit="content_limit")
    _: KW_ONLY
    human_summary: str | None = argument(None, "new short text", '"mug: 11 N"', limit=MAX_SUMMARY)
    context: Json = argument(
        None, "new context", '{"params": {"force": 11}}',
        more='It is a JSON object, or plain text, which becomes {"user_context": text}, and replaces the old one as a '
        "whole.",
    )  # fmt: skip
    category: str | None = argument(None, "new category", '"preference"')
    tags: Iterable[str] | None = argument(
        None, "new tags, instead of all old ones", '["gripper"]', entries=MAX_TAGS,
        more="They do not go together with the next two.",
    )  # fmt: skip
    add_tags: Iterable[str] | None = argument(
        None, "tags to add", '["checked"]', entries=MAX_TAGS, more="The others stay; one may be there."
    )
    remove_tags: Iterable[str] | None = argument(
        None, "tags to remove", '["guess"]', entries=MAX_TAGS, more="The others stay; one may not be there."
    )
    confidence: float | None = argument(None, "new confidence, from 0 to 1", "0.9", within=(0.0, 1.0))
    decay_rate: float | None = argument(
        None, "share of the confidence that it loses per day", "0.01", within=(0.0, 1.0),
        more="That is a day on which it is awake and nothing confirms it; the share is taken instead of the parameter "
        "`decay_rate`, and 0 means that it does not decay.",
    )  # fmt: skip
    label: str | None = argument(
        None, "new label of a perception", '"cup"', more="All sightings of an object so far then count as votes for it."
    )
    perception_type: str | None = argument(
        None, "new sense of a perception", '"visual"', choices=PerceptionType, more="See Perception.msg."
    )
    pose: Iterable[float] | None = argument(
        None, "new x y z, and qx qy qz qw if there is one", "(3.0, 1.0, 0.8)",
        more="It is in metres in `frame_id`, with a unit quaternion.",
    )  # fmt: skip
    frame_id: str | None = argument(
        None, "frame of the pose; by default that of the memory", '"odom"',
        more="Another one is an error for an object, and while the context has positions in the old frame.",
    )  # fmt: skip
    clear: Iterable[str] = argument(
        (), "fields to empty, by their names", '["category"]',
        more="They are human_summary, context, category, tags, decay_rate (which is then the parameter's again), label "
        "and pose. A field that is named here and also set is an error. An object needs its label and pose.",
    )  # fmt: skip
    reason: str | None = argument(None, "why, for the history", '"measured again"', limit="content_limit")


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A checked memory on its way into the database, its fields named after the columns of `memories`."""

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
    size: Size | None = None
    perception_type: str | None = None
    perception_data: bytes | None = field(default=None, repr=False)
    perception_metadata: str | None = None
    label: str = ""
    as_object: bool = True
    """Whether a perception is a sighting of an object if it has a label and a pose in the memory frame."""
    confidence: float = 0.9
    decay_rate: float | None = None
    """Share of its confidence that it loses per day; None for the parameter."""
    category: str = ""
    tags: tuple[str, ...] = ()
    scope_files: str = ""
    """Files that it is about, each on a line of its own."""
    scope_entities: str = ""
    """Names that it is about, each on a line of its own."""
    source: str = ""
    """Who said it, such as `topic` or `agent`; empty if a program did not tell."""
    stream: str = ""
    """Stream that the perception came with, such as a topic by its name."""
    identity: str = ""
    """Which thing it is to `stream`, such as a tracking id; empty if the stream does not tell."""
    import_key: ImportKey | None = None
    received_at: int = 0
    """When it came in with a stream, by the robot's clock, in nanoseconds; 0 for what was told in a call."""
    given: frozenset[str] = frozenset()
    """Names of the fields that the caller of a fact gave: category, tags, confidence, scope_files, scope_entities."""
    decisions: tuple[Decision, ...] = ()
    """Decisions about a classified fact, each with its rule."""


@dataclass(frozen=True)
class Stored:
    """The result of storing a memory."""

    memory_id: int
    is_new: bool = True
    """Whether the memory was made now; false for a fact learned again, and for another sighting of an object."""
    times_seen: int = 0
    """Number of sightings of the object, this one included; 1 for a new object, 0 for what is no sighting."""
    reason: str = ""
    """Why a perception in another frame than that of the memory became no object; empty otherwise."""


IMPORTED_BEFORE = Stored(0, is_new=False)
"""The result of storing what an import had stored before: nothing changes."""


class Observed:
    """What was observed at a time of the robot's clock."""

    if TYPE_CHECKING:  # a field of what derives from it, in the order of that
        observed_at: int

    @property
    def observed_datetime(self) -> datetime:
        """Return `observed_at` in UTC, to the microsecond."""
        return utc(self.observed_at)


@dataclass(frozen=True)
class Memory(Observed):
    """One memory as it is stored; only its confidence follows from the time."""

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
    """Confidence now, decayed; for an object the probability that it exists."""
    faded: bool
    """Whether it was as sure as recall asks for by default, 0.3, and is no longer."""
    category: str
    tags: tuple[str, ...]
    context_json: str
    """Everything else that came with it, as the text of a JSON object."""
    source: str
    """Who said it: `source` of its context, else the door, such as `topic` or `agent`; empty for a program."""
    scope_files: tuple[str, ...]
    """Files that a fact is about."""
    scope_entities: tuple[str, ...]
    """Names that a fact is about."""
    session_id: str
    collection: str
    first_seen: int | None = None
    """First sighting of an object, in nanoseconds since the epoch; None for what is no object."""
    last_seen: int | None = None
    """Last sighting of an object, the same as `observed_at`; None for what is no object."""
    times_seen: int = 0
    """Number of sightings of an object; 0 for what is no object."""
    confirmed: bool = False
    """Whether the confidence of an object, before decay, is at least the parameter `object_min_existence`."""
    presence: float = math.nan
    """Probability that an object is still there, from 0 to 1; NaN for what is no object of this robot."""
    first_absent: int | None = None
    """The look that found an object gone from its last place, in nanoseconds since the epoch; None if none did."""
    change: str = ""
    """What became of an object: `appeared`, `left` or `moved`, if a recall asked what changed; else empty."""
    moved_from: Pose | None = None
    """Where an object that moved was, as `pose` is given; None of others."""
    contradicted_by: int = 0
    """The newest active fact that is newer than this one and contradicts it; 0 when there is none."""
    similar_ids: tuple[int, ...] = ()
    """The active similar facts, ascending. Their texts differ, so read them, too."""
    position_covariance: Covariance | None = None
    """Covariance of the position of an object, in m², in `frame_id`; None for what is no object, or as it was once."""
    size: Size | None = None
    """Edges of a box around it, in metres along the axes of its own orientation; None if nothing told."""

    @property
    def context(self) -> dict[str, Any]:
        """Return the context, parsed.

        Raises:
            StorageError: it is damaged.
        """
        return parsed_object(f"context of memory {self.id}", self.context_json)

    @property
    def created_datetime(self) -> datetime:
        """Return `created_at` in UTC, to the microsecond."""
        return utc(self.created_at)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them, with `context` parsed.

        Raises:
            StorageError: the context is damaged.
        """
        values: dict[str, Any] = json_values(self)
        return values

    def __repr__(self) -> str:
        return f"<Memory {self.summary()}>"

    def summary(self) -> str:
        """Return id, beginning of the text, place and time in one line."""
        text, place = shown(" ".join(self.content.split())), place_text(self.pose, self.frame_id)
        return f"{self.id} {text}{place}, {time_text(self.observed_at)}"


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
        """Return the metadata, parsed.

        Raises:
            StorageError: it is damaged.
        """
        return parsed_object(f"metadata of memory {self.memory_id}", self.metadata_json)

    @property
    def data_format(self) -> str:
        """Return what the data is, such as `jpeg` or `rgb8/64x48`; empty if that is unknown."""
        format_name = self.metadata.get("format")
        return format_name if isinstance(format_name, str) else ""


CALLER, REPETITION = "caller", "repetition"
"""Sources of a decision that no rule made: the caller, with a fact or a correction, or a later learning of the fact."""


class Decision(NamedTuple):
    """One thing that was decided about a memory when it was learned."""

    field: str
    """`category`, `confidence`, `tag`, `scope_file`, `scope_entity`, or a path such as `params.grip_force`."""
    value: str
    rule: str
    """The name of the rule that decided; several are joined by ` + `. `caller`: it was given; `repetition`: when the
    fact was learned again."""

    @property
    def is_given(self) -> bool:
        """Return whether a caller decided it, and not a rule."""
        return self.rule in {CALLER, REPETITION}


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
    gave: Mapping[str, object]
    """Values that the caller gave, by the names of the fields."""


class Similarity(NamedTuple):
    """A fact that is similar to another one, and how."""

    memory_id: int
    method: str
    """`exact` for the same text in another context, `jaccard` by words, `cosine` by meaning."""
    similarity: float
    """By that method, in [0, 1]."""


class Contradiction(NamedTuple):
    """A fact that contradicts another one."""

    memory_id: int
    reason: str
    """In what, such as `force: 12.5 N, now 15 N`."""
    content: str
    is_newer: bool
    """Whether it is the one to believe."""


@dataclass(frozen=True)
class Sighting(Observed):
    """One observation of an object."""

    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    position: tuple[float, float, float]
    """Metres, in the frame of the object."""
    confidence: float
    label: str
    subsampled: int
    """Number of earlier sightings that were counted and not kept."""


class EventKind(str, Enum):
    """What became of an object or a fact."""

    APPEARED = "appeared"
    """An object was seen for the first time, or was restored; it may not be confirmed yet."""
    CONFIRMED = "confirmed"
    """It is believed to be there, for the first time."""
    MOVED = "moved"
    """It is elsewhere than the last event told, by more than half a metre."""
    GONE = "gone"
    """It is no longer believed to be there."""
    CAME_BACK = "came back"
    """It is believed to be there again."""
    RELABELLED = "relabelled"
    FORGOTTEN = "forgotten"
    """An object or a fact was withdrawn, replaced or deleted."""
    LEARNED = "learned"
    """A fact was learned for the first time, or was restored."""


class Event(NamedTuple):
    """What became of an object or a fact, and how it was then."""

    sequence: int
    """Number of the event in the file; it grows, so that the next ones can be asked for."""
    kind: EventKind
    memory_id: int
    at: int
    """When it was written, in nanoseconds by the robot's clock."""
    observed_at: int
    """When the object or fact was observed last, by the robot's clock; 0 if it is deleted."""
    label: str
    presence: float
    """Probability that an object is there, from 0 to 1; NaN for a fact, and for what is no object any more."""
    pose: Pose | None
    """In the frame below."""
    label_before: str
    """Empty unless it was relabelled."""
    pose_before: Pose | None
    """None unless it moved."""
    content: str
    """Text of the memory as it is now, as what follows; empty if it is deleted."""
    collection: str
    frame_id: str
    map_id: str
    reason: str
    """Why it was forgotten."""
    replaced_by: int
    """The memory that it was forgotten for; 0 if there is none."""


class Events(NamedTuple):
    """Events in order, and up to where there are some."""

    events: tuple[Event, ...]
    latest: int
    """Number of the last event of the file; 0 before the first."""


class MatchChange(str, Enum):
    """What became of an object or a fact under the conditions of a watch."""

    CAME = "came"
    """It satisfies them now: it appeared, was confirmed, learned or restored, or came from elsewhere."""
    CHANGED = "changed"
    """It did and does."""
    WENT = "went"
    """It no longer does: it is gone, forgotten or elsewhere."""


class Match(NamedTuple):
    """An event of what satisfies the conditions of a watch, before it or after it."""

    change: MatchChange
    event: Event


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
    uncertainty: float = 0.0
    """Standard deviation of its position along the floor, in metres."""
    collection: str = ""
    map_id: str = ""
    robot: str = ""
    """The robot of the fleet that remembers it; empty for this one."""
    presence: float = math.nan
    """Probability that it is still there, from 0 to 1; NaN for the object of another robot."""
    size: Size | None = None
    """Edges of a box around it, in metres along the axes of its own orientation; None if nothing told."""
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """Unit quaternion x, y, z, w, that of its last sighting."""


ENDED, EXPIRED = "ended", "expired"
"""Why a session is over: somebody ended it, or nobody did within its longest duration."""


@dataclass(frozen=True)
class Session:
    """One episode of a robot."""

    session_id: str
    collection: str
    context_json: str
    started_at: int
    """Nanoseconds since the epoch."""
    ended_at: int | None = None
    """Nanoseconds since the epoch; None while it is open."""
    end_reason: str = ""
    """Empty while it is open, else `ended` or `expired`."""
    outcome: float | None = None
    """In [0, 1], 1 is a full success; None when nobody said."""
    expires_at: int | None = None
    """Nanoseconds since the epoch when it is closed if nobody has ended it; None for never."""
    memories: int = 0
    """Active memories that name it."""
    superseded: int | None = None
    """Facts that were superseded when it was consolidated; None until it is."""

    def __post_init__(self) -> None:
        # SQLite gives back what stands there, and in a damaged file that can be of another type.
        if not isinstance(self.context_json, str) or not isinstance(self.started_at, int):
            raise TypeError(f"session {self.session_id!r} has no context or no start")

    @property
    def context(self) -> dict[str, Any]:
        """Return the context, parsed.

        Raises:
            StorageError: it is damaged.
        """
        return parsed_object(f"context of session {self.session_id!r}", self.context_json)

    @property
    def is_open(self) -> bool:
        """Return whether the session has not ended."""
        return self.ended_at is None

    @property
    def duration(self) -> float | None:
        """Return the duration in seconds; None while the session is open."""
        return None if self.ended_at is None else (self.ended_at - self.started_at) / 1e9


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
    """Digest of the content of the recording."""
    topic: str
    configuration: str
    """Digest of all that decides what is read of it."""
    path: str


@dataclass(frozen=True)
class Change:
    """One change of a memory, and what the memory was before it."""

    changed_at: str
    """ISO 8601 in UTC, by the wall clock."""
    change: str
    """Kind of change: `update`, `repetition`, `forget`, `restore` and so on."""
    reason: str
    before: dict[str, object]
    """The fields that were changed, with the values they had."""
