"""The arguments of a recall, of a timeline and of counts: each field with what is told and checked about it.

A field that is a condition says how it is read, by a function of `query.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, MISSING, dataclass, field
from enum import Enum
from functools import partial
from typing import Any

from ..argument import BOX, FILTER, MAX_AGE, MAX_IDS, MAX_N, MAX_QUERY, NEAR, Json, Names, Where, argument, names
from ..conditions.attributes import OneOf, Representatives, Tags
from ..conditions.condition import Not
from ..models import Kind
from ..text.normal_form import label_key, tag_key
from ..times import Time
from ..validation import member
from . import query as reading
from .query import by_names

MAX_ENTRIES = 1000
"""Entries of a page of a timeline."""
DEFAULT_COUNTS, MAX_COUNTS = 1000, 10_000
"""Values that are counted, by default and at most."""
DEADLINE, MAX_DEADLINE = 1.0, 60.0
"""Seconds to wait for the fleet."""


class CountField(str, Enum):
    """What memories can be counted by."""

    COLLECTIONS = "collections"
    CATEGORIES = "categories"
    TAGS = "tags"
    LABELS = "labels"
    AREAS = "areas"
    SESSIONS = "sessions"
    KINDS = "kinds"


class Scope(str, Enum):
    """Whose memories to look at."""

    ROBOT = "robot"
    FLEET = "fleet"
    BOTH = "both"

    @classmethod
    def of(cls, value: str) -> Scope:
        """Return a scope by its name, the robot's own for an empty one; raises InvalidFieldError."""
        return member("scope", value or cls.ROBOT, cls)


@dataclass(slots=True, kw_only=True)
class Scoped:
    """Whose memories to look at."""

    scope: str = argument(
        "robot", "whose memories: `robot` (its own), `fleet` or `both`", '"both"',
        more="See the parameter `fleet_url`; empty means `robot`.", see="recall.md#the-memories-of-a-fleet",
    )  # fmt: skip
    deadline: float = argument(
        DEADLINE, "seconds to wait for the fleet", "0.5", within=(0.0, MAX_DEADLINE),
        more="If it does not answer in time, the robot answers with its own, and `reason` says why.",
    )  # fmt: skip


_session_id = partial(OneOf, "session_id")


@dataclass(slots=True, kw_only=True)
class _Conditions(Scoped):
    """The conditions that a recall and a timeline have in common."""

    collections: Names = names(
        "memories of these collections", '["kitchen", "hall"]', condition=reading.collections,
        more="Without both, those of the parameter `collection`, and notes. A collection includes what other "
        "robots of the fleet know in it; `@NAME` is all that one robot knows.", see="interfaces.md#collections",
    )  # fmt: skip
    session_ids: Names = names(
        "memories of these sessions", '"4e1f02c2"', condition=by_names(_session_id, has_single=True)
    )
    excluded_session_ids: Names = names(
        "no memories of these sessions", '["4e1f02c2"]', condition=by_names(lambda names: Not(_session_id(names)))
    )
    kinds: Names = names(
        "memories of these kinds: facts, perceptions, notes", '"fact"', condition=reading.kinds, choices=Kind,
        more="Each may stand in the plural as well; without it, those of the parameter `recall_kinds`.",
    )  # fmt: skip
    categories: Names = names(
        "facts of these categories", '["constraint"]', condition=by_names(partial(OneOf, "category"))
    )
    labels: Names = names(
        "perceptions with these labels", '"mug"', condition=by_names(partial(OneOf, "label"), label_key),
        more="Case and spaces do not matter.",
    )  # fmt: skip
    tags: Names = names(
        "memories with all of these tags", '["dock", "night"]', condition=by_names(Tags, tag_key),
        more="A tag under one of them counts, too.", see="learning.md#tags",
    )  # fmt: skip
    any_tags: Names = names(
        "memories with at least one of these tags", '["dock", "night"]',
        condition=by_names(partial(Tags, is_any=True), tag_key), more="A tag under one of them counts, too.",
        see="learning.md#tags",
    )  # fmt: skip
    areas: Names = names(
        "memories in these areas", '"kitchen"', condition=reading.areas, see="objects.md#areas",
        more="They are named by `spatial.area` in the context, or the pose lies in the polygon of the area in "
        "the parameter `areas_file`. The name of no area is an error.",
    )  # fmt: skip
    max_age: float = argument(
        0.0, "memories observed at most so many seconds ago; 0 for any age", "600.0", within=(0.0, MAX_AGE),
        condition=reading.max_age,
        more="It counts from now by the robot's clock. An object that was not seen within it is left out, also if it "
        "was at another place then; `after` has it as it was.",
    )  # fmt: skip
    include_unconfirmed: bool = argument(
        False, "also objects that are not confirmed", "True", condition=reading.confirmed_objects,
        more="Without it they are left out, see Memory.msg, and `reason` says how many, unless "
        "`context_filter` has a condition on `confirmed`.", see="objects.md#existence",
    )  # fmt: skip
    as_of: Time | None = argument(
        None, "what was known at this time, from nothing later", '"yesterday 14:00"', condition=reading.as_of,
        see="recall.md#as-it-was",
        more="An object is where it was believed to be.",
    )  # fmt: skip
    changed_since: Time | None = argument(
        None, "objects that appeared, left or moved since this time", '"yesterday"', condition=reading.changed_since,
        see="recall.md#what-changed",
        more="Of each, `change` says which, and `moved_from` where it was.",
    )  # fmt: skip


_AFTER = "memories observed at or after this time, as in 2026-01-31T12:00"
_BEFORE = "memories observed before this time"
_WINDOW = (
    "The window `[after, before)` is half-open. An object is in it if it stayed somewhere at a time of it, and is "
    "returned as it was last in it."
)
_COLLECTION = "memories of this collection; `*` is all"


@dataclass(slots=True)
class RecallRequest(_Conditions):
    """The arguments of `RobotMemory.recall`, named like the fields of `Recall.srv`; `parse_query` checks them.

    A condition that takes several values has a plural name. `session_id` and `collection`, which all verbs have, name
    one more.
    """

    query: str = argument(
        "", "words, or a question", '"where is the red mug?"', limit=MAX_QUERY,
        more="There is a letter or a digit in it. Words that say when are the window if the request gives no time, see "
        "the parameter `time_words`. It may be empty if there is a condition or a spatial sort: then the order is "
        "distance, else most recent first.", see="recall.md#without-a-query",
    )  # fmt: skip
    n: int = argument(
        5, "largest number of memories", "10", within=(1, MAX_N),
        more="Python and the service cut more than 100 to 100, and `reason` says so.",
    )  # fmt: skip
    min_confidence: float | None = argument(
        None, "smallest confidence of a memory now, in [0, 1]; default: 0.3, and less if only faded memories match",
        "0.5", within=(0.0, 1.0), condition=reading.confidence, see="recall.md#time-decay",
        more="0 means no limit. Without it, memories that have faded, see Memory.msg, are left out if anything "
        "fresh matches, and `reason` says how many; if nothing fresh does, they are the result.",
    )  # fmt: skip
    session_id: str | None = argument(None, "memories of this session", '"4e1f02c2"')
    context_filter: Json = argument(
        None,
        "conditions on the context, such as '{\"task.success\": true}'; a key with a dot stands in quotes, as in "
        """'{"params.\\"max.speed\\"": 1}'""", '{"task.success": True, "params.force": {"$lt": 15}}',
        shape=FILTER, condition=reading.context_filter, see="recall.md#paths",
        more='A JSON object of dot paths, such as {"task.success": true, "params.force.value": {"$lt": 15.0}}. '
        "A key that is empty, has a dot, or begins with a double quote stands in double quotes, as a JSON "
        'string: {"params.\\"controller.max_speed\\"": 0.5}. Operators: equality, $lt $lte $gt $gte $ne $in '
        "$exists $prefix $contains; $and $or $not join filters, up to 8 within each other, with 100 "
        "comparisons in all and 1,000 values in a list.",
    )  # fmt: skip
    spatial_sort: Where = argument(
        None, 'nearest first, such as 1.0,2.0 or \'{"target": [1.0, 2.0, 0.0], "max_distance": 5.0}\'',
        "(1.0, 2.0, 0.0)", see="recall.md#distance",
        more="With a query, among the memories that match it. Without it, the order is by relevance.",
    )  # fmt: skip
    """`field` (default `position`), `target` in metres, `frame_id` if it is not the memory frame, `max_distance`."""
    after: Time | None = argument(None, _AFTER, '"2 hours ago"', condition=reading.window)
    before: Time | None = argument(None, _BEFORE, "datetime(2026, 1, 31, 12)", more=_WINDOW)
    collection: str | None = argument(None, _COLLECTION, '"kitchen"')
    _: KW_ONLY
    min_relevance: float | None = argument(
        None, "nothing, if no memory is so relevant to the words, in [0, 1]; default: the parameter",
        "0.4", within=(0.0, 1.0), see="recall.md#relevance",
        more="0 means no limit; `reason` tells how near the best one comes. Without it, the parameter "
        "`min_relevance` holds, and of what a condition on what, where or when leaves, the best is "
        "returned all the same, with `relevant` false. The conditions that are none of these are "
        "collection, collections, excluded_session_ids, kinds, representatives_only and the smallest "
        "confidence, nor is spatial_sort one.",
    )  # fmt: skip
    ids: Iterable[int] | int | None = argument((), "these memories", "[3, 7]", entries=MAX_IDS, condition=reading.ids)
    near: Where = argument(
        None, 'memories near a place, such as 1.0,2.0 (within 5 m) or \'{"target": [1.0, 2.0], "max_distance": 5.0}\'',
        '{"target": (1.0, 2.0), "max_distance": 3.0}',
        shape=NEAR, condition=reading.circle, more="Unlike spatial_sort, this does not change their order.",
    )  # fmt: skip
    """As `spatial_sort`, with a `max_distance`, which is 5 m for numbers alone."""
    within: Json = argument(
        None, 'memories in a box, such as \'{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}\'',
        '{"min_corner": (0.0, 0.0), "max_corner": (4.0, 3.0)}', shape=BOX, condition=reading.box,
    )  # fmt: skip
    """`field` and `frame_id` as in `spatial_sort`, and corners of two or three numbers in metres."""
    since_last_visit: Where = argument(
        None, "memories observed since the robot's last visit to a place, given as `near` is", "(1.0, 2.0)",
        shape=NEAR, condition=reading.since_last_visit, see="recall.md#distance",
        more="The robot is there when it observes something there; after a time without, see the parameter "
        "`visit_gap`, the next observation is another visit. The visit that still goes on does not count. "
        "If there was none before, the time is not limited, and `reason` says so.",
    )  # fmt: skip
    usually_at: str | None = argument(
        None, "objects where they usually are at a time of day, such as 09:00 or Monday 09:00", '"09:00"',
        condition=reading.usually_at, see="recall.md#habits",
        more="The most usual place comes first, `presence` is the share of days on which the object was there, and "
        "`reason` has the days.",
    )  # fmt: skip
    representatives_only: bool = argument(
        False, "of similar facts, only the representative", "True", condition=reading.if_set(Representatives()),
        more="The facts that another one of their group represents are left out, see Consolidate.srv.",
        see="learning.md#sessions",
    )  # fmt: skip
    explain: bool = argument(
        False, "how each score came about", "True", more="See ScoreExplanation.msg.", see="recall.md#relevance"
    )
    fold: bool = argument(
        True, "one memory stands for all of the same text; with a place, or without words, for those nearby", "False",
        see="recall.md#folding",
        more="The newest stands for the others and says for how many. With a place, or without a query, only "
        "what is at the same place is folded, so that each mug stays. False lists all one by one.",
    )  # fmt: skip
    count_usage: bool = argument(
        True, "whether the results count as used, by retention and by the session, and the log has it", "False",
        only_python=True,
    )  # fmt: skip
    time_words: bool | None = argument(
        None, "whether words of the query that say when are its window; default: the parameter; not those of a text "
        "that is no question", "False", only_python=True,
    )  # fmt: skip
    result_frame: str = argument(
        "", "frame in which poses are returned, which a node alone knows; empty for the memory frame", '"map"',
        only_python=True,
    )  # fmt: skip
    caller: str = argument("python", "who asks, for the log of recalls", '"planner"', only_python=True)


def of_recall(name: str) -> Any:
    """Declare a condition for another request, as a recall has it."""
    condition = RecallRequest.__dataclass_fields__[name]
    return field(default=condition.default, metadata=condition.metadata)


@dataclass(slots=True, kw_only=True)
class TimelineRequest(_Conditions):
    """The arguments of `RobotMemory.timeline`, named like the fields of `Timeline.srv`.

    The conditions are those of a recall, and mean the same.
    """

    query, session_id, context_filter = "", None, None  # what a recall alone has, for the conditions that look at it
    n: int = argument(50, "largest number of memories", "100", within=(1, MAX_ENTRIES))
    cursor: str = argument(
        "", "the cursor of the page before", "page.cursor",
        more="It gives the next page under the same conditions. Empty for the first page.",
    )  # fmt: skip
    oldest_first: bool = argument(False, "the oldest memories first", "True", more="By default the newest come first.")
    after: Time | None = argument(None, _AFTER, '"yesterday"', condition=reading.window)
    before: Time | None = argument(None, _BEFORE, "datetime(2026, 1, 31, 12)", more=_WINDOW)
    collection: str | None = argument(None, _COLLECTION, '"kitchen"')
    min_confidence: float = argument(
        0.0, "smallest confidence of a memory now, in [0, 1]", "0.5", within=(0.0, 1.0), condition=reading.confidence
    )
    include_forgotten: bool = argument(False, "also memories that were forgotten or superseded", "True")


@dataclass(slots=True)
class CountsRequest(Scoped):
    """The arguments of `RobotMemory.counts`."""

    field: str = argument(
        MISSING, "what to count by: `collections`, `categories`, `tags`, `labels`, `areas`, `sessions` or `kinds`",
        '"labels"', choices=CountField,
    )  # fmt: skip
    _: KW_ONLY
    collection: str | None = argument(None, "memories of this collection; by default of all", '"kitchen"')
    n: int = argument(DEFAULT_COUNTS, "largest number of values", "10", within=(1, MAX_COUNTS))
