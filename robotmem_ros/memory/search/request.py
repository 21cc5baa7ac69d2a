"""The arguments of a recall and of a timeline, as their caller gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, fields
from enum import Enum

from ..argument import Json, argument
from ..bounds import MAX_IDS, MAX_NAMES, MAX_QUERY
from ..times import Time
from ..validation import member

MAX_N = 100
"""Memories that a recall returns at most."""
MAX_ENTRIES = 1000
"""Entries of a page of a timeline."""
Names = Iterable[str] | str | None
"""Names, any of which will do; a single one does for a list of one, and none is no condition."""
Where = Mapping[str, object] | Iterable[float] | str | None
"""A place as an object with a `target`, or the two or three numbers of the target alone; both also as a text."""
DEADLINE, MAX_DEADLINE = 1.0, 60.0
"""Seconds to wait for the fleet."""
NEARBY = 5.0
"""Metres around a place that is given as numbers alone."""


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
class _Conditions:
    """The conditions that a recall and a timeline have in common."""

    collections: Names = argument((), "memories of these collections", '["kitchen", "hall"]', entries=MAX_NAMES)
    session_ids: Names = argument((), "memories of these sessions", '"4e1f02c2"', entries=MAX_NAMES)
    excluded_session_ids: Names = argument((), "no memories of these sessions", '["4e1f02c2"]', entries=MAX_NAMES)
    kinds: Names = argument((), "memories of these kinds: facts, perceptions, notes", '"fact"', entries=MAX_NAMES)
    categories: Names = argument((), "facts of these categories", '["constraint"]', entries=MAX_NAMES)
    labels: Names = argument((), "perceptions with these labels", '"mug"', entries=MAX_NAMES)
    tags: Names = argument((), "memories with all of these tags", '["dock", "night"]', entries=MAX_NAMES)
    any_tags: Names = argument((), "memories with at least one of these tags", '["dock", "night"]', entries=MAX_NAMES)
    areas: Names = argument((), "memories in these areas", '"kitchen"', entries=MAX_NAMES)
    include_unconfirmed: bool = argument(False, "also objects that are not confirmed", "True")
    scope: str = argument("robot", "whose memories: `robot` (its own), `fleet` or `both`", '"both"')
    deadline: float = argument(DEADLINE, "seconds to wait for the fleet", "0.5", within=(0.0, MAX_DEADLINE))


@dataclass(slots=True)
class RecallRequest(_Conditions):
    """The arguments of `RobotMemory.recall`, named like the fields of `Recall.srv`; `parse_query` checks them.

    A condition that takes several values has a plural name. `session_id` and `collection`, which all verbs have, name
    one more.
    """

    query: str = argument("", "words, or a question", '"where is the red mug?"', limit=MAX_QUERY)
    n: int = argument(5, "largest number of memories", "10", within=(1, MAX_N))
    min_confidence: float | None = argument(
        None, "smallest confidence of a memory now, in [0, 1]; default: 0.3, and less if only faded memories match",
        "0.5", within=(0.0, 1.0),
    )  # fmt: skip
    """None leaves out what was not as sure as 0.3 when it was stored, and faded memories if anything fresh matches."""
    session_id: str | None = argument(None, "memories of this session", '"4e1f02c2"')
    context_filter: Json = argument(
        None,
        "conditions on the context, such as '{\"task.success\": true}'; a key with a dot stands in quotes, as in "
        """'{"params.\\"max.speed\\"": 1}'""",
        '{"task.success": True, "params.force": {"$lt": 15}}',
    )
    spatial_sort: Where = argument(
        None,
        'nearest first, such as 1.0,2.0 or \'{"target": [1.0, 2.0, 0.0], "max_distance": 5.0}\'',
        "(1.0, 2.0, 0.0)",
    )
    """`field` (default `position`), `target` in metres, `frame_id` if it is not the memory frame, `max_distance`."""
    after: Time | None = argument(
        None, "memories observed at or after this time, as in 2026-01-31T12:00", '"2 hours ago"'
    )
    before: Time | None = argument(None, "memories observed before this time", "datetime(2026, 1, 31, 12)")
    collection: str | None = argument(None, "memories of this collection; `*` is all", '"kitchen"')
    _: KW_ONLY
    min_relevance: float | None = argument(
        None,
        "nothing, if no memory is so relevant to the words, in [0, 1]; default: the parameter",
        "0.4",
        within=(0.0, 1.0),
    )
    ids: Iterable[int] | int | None = argument((), "these memories", "[3, 7]", entries=MAX_IDS)
    near: Where = argument(
        None,
        'memories near a place, such as 1.0,2.0 (within 5 m) or \'{"target": [1.0, 2.0], "max_distance": 5.0}\'',
        '{"target": (1.0, 2.0), "max_distance": 3.0}',
    )
    """As `spatial_sort`, with a `max_distance`, which is 5 m for numbers alone."""
    within: Json = argument(
        None,
        'memories in a box, such as \'{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}\'',
        '{"min_corner": (0.0, 0.0), "max_corner": (4.0, 3.0)}',
    )
    """`field` and `frame_id` as in `spatial_sort`, and corners of two or three numbers in metres."""
    since_last_visit: Where = argument(
        None, "memories observed since the robot's last visit to a place, given as `near` is", "(1.0, 2.0)"
    )
    representatives_only: bool = argument(False, "of similar facts, only the representative", "True")
    explain: bool = argument(False, "how each score came about", "True")
    fold: bool = argument(
        True, "one memory stands for all of the same text; with a place, or without words, for those nearby", "False"
    )
    count_usage: bool = argument(
        True, "whether the results count as used, by retention and by the session, and the log has it", "False",
        only_python=True,
    )  # fmt: skip
    caller: str = argument("python", "who asks, for the log of recalls", '"planner"', only_python=True)


@dataclass(slots=True, kw_only=True)
class TimelineRequest(_Conditions):
    """The arguments of `RobotMemory.timeline`, named like the fields of `Timeline.srv`.

    The conditions are those of a recall, and mean the same.
    """

    n: int = argument(50, "largest number of memories", "100", within=(1, MAX_ENTRIES))
    cursor: str = argument("", "the cursor of the page before", "page.cursor")
    oldest_first: bool = argument(False, "the oldest memories first", "True")
    after: Time | None = argument(
        None, "memories observed at or after this time, as in 2026-01-31T12:00", '"yesterday"'
    )
    before: Time | None = argument(None, "memories observed before this time", "datetime(2026, 1, 31, 12)")
    collection: str | None = argument(None, "memories of this collection; `*` is all", '"kitchen"')
    min_confidence: float = argument(0.0, "smallest confidence of a memory now, in [0, 1]", "0.5", within=(0.0, 1.0))
    include_forgotten: bool = argument(False, "also memories that were forgotten or superseded", "True")

    def as_recall(self) -> RecallRequest:
        """Return a recall under the same conditions."""
        names = {entry.name for entry in fields(self)} & {entry.name for entry in fields(RecallRequest)}
        return RecallRequest(**{name: getattr(self, name) for name in names - {"n"}})
