"""The arguments of the verbs that search and store nothing: each field with what is told and checked about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, MISSING, dataclass

from ..argument import (
    BOX,
    ID,
    IDS,
    MAX_DETAILS,
    MAX_HISTORY,
    MAX_IDS,
    MAX_NAME,
    NEAR,
    Json,
    Names,
    Where,
    argument,
    names,
)
from ..map_values import MAX_POINTS
from ..search.counts import MAX_BINS
from ..search.request import of_recall
from ..sessions.sessions import LONGEST
from ..times import Time


@dataclass(slots=True)
class GetMemoriesRequest:
    """Which memories to read in full."""

    ids: Iterable[int] | int = argument(MISSING, "ids of the memories", "[3, 7]", entries=MAX_DETAILS, shape=IDS)
    _: KW_ONLY
    include_forgotten: bool = argument(False, "also those that were forgotten or superseded", "True")


@dataclass(slots=True)
class ForgetRequest:
    """The memories to withdraw."""

    memory_id: Iterable[int] | int = argument(MISSING, "id of the memory, or ids of many", "7", entries=MAX_IDS)
    reason: str = argument(
        MISSING, "why it is wrong or of no use any more; it is kept with the memory", '"the mug was thrown away"',
        limit="content_limit",
    )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LookRequest:
    """What was looked for, and is not there: all that is given must hold of an object."""

    near: Where = argument(
        None, 'the place, such as 1.0,2.0 (within 1 m) or \'{"target": [1.0, 2.0], "max_distance": 0.5}\'',
        '{"target": (1.0, 2.0), "max_distance": 0.5}', shape=NEAR, more="It is in the memory frame.",
    )  # fmt: skip
    within: Json = argument(
        None, 'the space, such as \'{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}\'',
        '{"min_corner": (0.0, 0.0), "max_corner": (4.0, 3.0)}', shape=BOX,
    )  # fmt: skip
    ids: Iterable[int] | int | None = argument((), "these objects", "[3, 7]", entries=MAX_IDS)
    labels: Names = names("what has one of these labels; by default all", '"mug"')
    observed_at: Time | None = argument(
        None, "when the look was; by default now", '"2 minutes ago"', more="What was seen later is not missed."
    )


@dataclass(slots=True)
class RestoreRequest:
    """The memories to bring back."""

    memory_id: Iterable[int] | int = argument(
        MISSING, "id of a memory that was forgotten or superseded, or ids of many", "[3, 7]", entries=MAX_IDS
    )


@dataclass(slots=True, kw_only=True)
class PurgeRequest:
    """The memories to delete for good; all conditions that are given must hold."""

    ids: Iterable[int] | int | None = argument(None, "these memories", "[3, 7]", entries=MAX_IDS)
    session_id: str | None = argument(None, "memories of this session, and the session", '"4e1f02c2"')
    collection: str | None = argument(None, "memories of this collection, and its sessions", '"kitchen"')
    before: Time | None = argument(None, "memories observed before", '"30 days ago"')
    dry_run: bool = argument(False, "only tell what would be deleted", "True")


@dataclass(slots=True)
class ObjectHistoryRequest:
    """Whose sightings to list."""

    memory_id: int = argument(MISSING, "id of the object", "7", shape=ID)
    n: int = argument(100, "largest number of sightings, the newest first", "20", within=(1, MAX_HISTORY))


@dataclass(slots=True)
class EventsRequest:
    """Which events to read."""

    after: int = argument(0, "number of the last event that is known; 0 for none", "41")
    n: int = argument(100, "largest number of events", "20", within=(1, MAX_HISTORY))


@dataclass(slots=True, kw_only=True)
class WatchRequest:
    """What to watch: the conditions are those of a recall, and mean the same."""

    query, session_id, before, as_of = "", None, None, None  # what a recall alone has
    labels: Names = of_recall("labels")
    areas: Names = of_recall("areas")
    near: Where = of_recall("near")
    within: Json = of_recall("within")
    context_filter: Json = of_recall("context_filter")
    ids: Iterable[int] | int | None = of_recall("ids")
    kinds: Names = of_recall("kinds")
    collection: str | None = of_recall("collection")
    collections: Names = of_recall("collections")
    categories: Names = of_recall("categories")
    tags: Names = of_recall("tags")
    any_tags: Names = of_recall("any_tags")
    include_unconfirmed: bool = of_recall("include_unconfirmed")
    after: int | None = argument(
        None, "number of the event to begin after, to go on where a watch ended; by default what happens from now on",
        "41", within=(0, 2**63 - 1),
    )  # fmt: skip


@dataclass(slots=True)
class GetDataRequest:
    """Whose data to read."""

    memory_id: int = argument(MISSING, "id of the perception", "7", shape=ID)


@dataclass(slots=True, kw_only=True)
class DoctorRequest:
    """How to examine the memory."""

    fix: bool = argument(
        False, "also mend what can be mended without a loss", "True",
        more="It rebuilds indexes, shortens the log, and computes missing vectors.",
    )  # fmt: skip


@dataclass(slots=True)
class StartSessionRequest:
    """The episode that begins."""

    context: Json = argument(
        None, 'what the episode is about, such as {"task": "clear the table", "place": "kitchen"}, or plain text',
        '{"task": "clear the table"}',
        more='It is a JSON object of at most 64 KB; plain text becomes {"user_context": text}. Later sessions about the'
        " same are offered the facts learned in this one.",
    )  # fmt: skip
    collection: str | None = argument(
        None, "namespace of the episode and of what is recalled in it", '"kitchen"',
        more="Empty means the parameter `collection`.",
    )  # fmt: skip
    _: KW_ONLY
    max_duration: float | None = argument(
        None, "seconds after which it ends by itself; 0 for the parameter", "600.0", within=(0.0, LONGEST),
        more="They are of the robot's clock, at most 31 years; the parameter is `session_max_duration`. The session is "
        "closed as `expired`, and EndSession still takes its outcome.",
    )  # fmt: skip


@dataclass(slots=True)
class EndSessionRequest:
    """The episode that ends."""

    session_id: str = argument(
        MISSING, "id that start_session returned", "session.session_id",
        more="A session that was ended before is an error. One that expired is ended by this, with its outcome, and "
        "keeps the time at which it expired.",
    )  # fmt: skip
    outcome_score: float | None = argument(
        None, "how well it went, from 0 (failed) to 1 (full success); leave it out if nobody can say", "0.8",
        within=(0.0, 1.0),
    )  # fmt: skip


@dataclass(slots=True)
class SessionsRequest:
    """Which sessions to list."""

    collection: str | None = argument(None, "only those of this collection", '"kitchen"')
    n: int = argument(20, "largest number of sessions", "100", within=(1, 1_000_000))
    _: KW_ONLY
    cursor: str | None = argument(None, "id of the last session of the page before", '"4e1f02c2"')


@dataclass(slots=True)
class ConsolidateRequest:
    """The session whose facts to group."""

    session_id: str = argument(MISSING, "id of the session", '"4e1f02c2"')
    collection: str | None = argument(
        None, "its collection; by default that of the session", '"kitchen"', more="Else the parameter `collection`."
    )
    _: KW_ONLY
    dry_run: bool = argument(False, "only tell what the groups would be", "True")


@dataclass(slots=True)
class TagsRequest:
    """Whose use of the tags to count."""

    collection: str | None = argument(None, "count only memories of this collection", '"kitchen"')


@dataclass(slots=True)
class AddTagRequest:
    """The tag to add, and where it stands."""

    tag: str = argument(
        MISSING, "the tag; one that is there is moved", '"fridge"', limit=MAX_NAME, more="Case does not matter."
    )
    parent: str = argument("", "tag above it; empty for the top", '"kitchen"', limit=MAX_NAME, more="It must be there.")
    display_name: str = argument("", "what people read; empty for the tag as it is written", '"Fridge"', limit=MAX_NAME)


_CHANGEABLE = "It must be there, and no tag that rules give."


@dataclass(slots=True)
class RenameTagRequest:
    """The tag to rename."""

    tag: str = argument(MISSING, "the tag", '"fridge"', limit=MAX_NAME, more=_CHANGEABLE)
    new_tag: str = argument(
        MISSING, "its new name; if that is there, the two become one", '"icebox"', limit=MAX_NAME,
        more="It must not stand under the old one.",
    )  # fmt: skip
    _: KW_ONLY
    dry_run: bool = argument(False, "only tell how many memories have it", "True")


@dataclass(slots=True)
class RemoveTagRequest:
    """The tag to remove."""

    tag: str = argument(MISSING, "the tag", '"icebox"', limit=MAX_NAME, more=_CHANGEABLE)
    _: KW_ONLY
    dry_run: bool = argument(False, "only tell how many memories have it", "True")


@dataclass(slots=True)
class RecallsRequest:
    """How much of the log of recalls to list."""

    n: int = argument(100, "largest number of recalls, and of memories", "20", within=(1, 1000))


@dataclass(slots=True, kw_only=True)
class DensityRequest:
    """The window to divide, and whose memories to count in it."""

    bins: int = argument(100, "equal parts of the window", "24", within=(1, MAX_BINS))
    after: Time | None = argument(None, "memories observed at or after this time", '"yesterday"')
    before: Time | None = argument(None, "memories observed before this time", '"today"')
    collection: str | None = argument(None, "memories of this collection; by default of all", '"kitchen"')


@dataclass(slots=True)
class SeenObjectsRequest:
    """How many objects to list."""

    limit: int = argument(2000, "largest number of objects", "100", within=(1, 10_000))
    _: KW_ONLY
    include_unconfirmed: bool = argument(False, "also objects that are not confirmed", "True")
    as_of: Time | None = argument(None, "as they were believed to be at this time", '"yesterday 14:00"')


@dataclass(slots=True, kw_only=True)
class PathRequest:
    """Which part of the robot's path to return."""

    after: Time | None = argument(None, "at or after this time", '"2 hours ago"')
    before: Time | None = argument(None, "before this time", '"today"')
    map_id: str | None = argument(None, "name of the map; by default the present one", '"floor1"')
    n: int = argument(5000, "largest number of points, which lie evenly", "100", within=(1, MAX_POINTS))


LEAST_DISTANCE, MAX_DISTANCE = 0.05, 10.0
"""Metres to a thing that is approached."""
MAX_RADIUS = 2.0
"""Metres of the radius of a robot."""
MAX_APPROACHES = 20
"""Poses to approach a thing."""


@dataclass(slots=True)
class ApproachRequest:
    """What to approach, and how."""

    memory_id: int = argument(MISSING, "what to look at: the id of a memory with a pose", "7", shape=ID)
    _: KW_ONLY
    distance: float = argument(
        0.8, "metres from it to the centre of the robot", "1.0", within=(LEAST_DISTANCE, MAX_DISTANCE)
    )
    radius: float = argument(
        0.3, "metres around the centre of the robot that must be free", "0.25", within=(0.0, MAX_RADIUS)
    )
    n: int = argument(5, "largest number of poses", "1", within=(1, MAX_APPROACHES))


@dataclass(slots=True)
class NoteLinesRequest:
    """Which lines of a note to read."""

    path: str = argument(
        MISSING, "the note, as in the source of a recalled one: handbook/battery.md", '"handbook/battery.md"'
    )
    first_line: int = argument(1, "first line to read", "12", within=(1, 10**9))
    lines: int = argument(100, "largest number of lines", "20", within=(1, 10_000))
