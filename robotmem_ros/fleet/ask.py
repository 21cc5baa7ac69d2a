"""Who asks the fleet, and what all questions share: memories as rows, and rows as memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..memory.clocks import nanoseconds
from ..memory.conditions.condition import Condition
from ..memory.config.parameters import Parameters
from ..memory.errors import MALFORMED
from ..memory.geometry import Covariance
from ..memory.models import Kind, Memory, Pose, Size, Vector
from ..memory.validation import compact_json
from . import past
from .conditions import ACTIVE, Parents, Sql, all_of, join, sql
from .connection import Connection

ROBOTS = "JOIN robotmem.robots AS r ON r.id = m.robot "
FROM = f" FROM memory_versions AS m {ROBOTS}"
"""The memories that `ask` is told to ask."""
NEWEST_FIRST = "m.observed_at DESC, m.memory_id DESC, m.uuid DESC"


@dataclass(frozen=True)
class Asker:
    """Who asks, and by what."""

    parameters: Parameters
    vector: Vector | None = None
    """Vector of the text of the query; None without a model that reads it."""
    model: str = ""
    """The model of the vector."""
    reason: str = ""
    """Why there is no vector."""
    parents: Parents = field(default_factory=dict)
    """The tree of tags of whoever asks."""
    file: str = ""
    """The lineage of its file."""
    others: tuple[str, ...] | None = None
    """The collections of other robots in that file, if what it has is left out."""

    versions: Sql = past.NOW
    """The version of each memory that is asked, see `past.versions`."""

    def at(self, connection: Connection, conditions: Iterable[Condition]) -> Asker:
        """Return who asks the memories of the time that is among some conditions.

        Raises:
            psycopg.Error: the fleet cannot be asked.
        """
        return replace(self, versions=past.versions(connection, conditions))

    def ask(self, connection: Connection, *parts: Sql | str, prefix: str = "") -> list[Any]:
        """Return the rows of a statement, as `ask` does."""
        return ask(connection, *parts, versions=self.versions, prefix=prefix)

    def candidates(self, conditions: Iterable[Condition], *, include_inactive: bool = False) -> Sql:
        """Return what must hold of a memory under some conditions."""
        parts = [] if include_inactive else [ACTIVE]
        if self.others is not None:
            # What comes down: see memory/fellow_robots.py.
            parts += [Sql("r.file IS DISTINCT FROM %s", (self.file,))]
            is_here = "('@' || r.name || '/' || m.collection) = ANY (%s)"
            is_shared = "(m.type = 'fact' OR (m.confirmed AND m.map_id = %s))"
            values = ([*self.others], self.parameters.map_id)
            parts += [Sql(f"NOT coalesce({is_here} AND {is_shared}, false)", values)]
        return all_of([*parts, *(sql(condition, self.parents) for condition in conditions)])


_TEXTS = (
    "content", "human_summary", "created_at", "frame_id", "map_id", "label", "category", "source", "scope_files",
    "scope_entities", "session_id", "collection",
)  # fmt: skip
"""Fields of a body that are texts."""


def ask(connection: Connection, *parts: Sql | str, versions: Sql = past.NOW, prefix: str = "") -> list[Any]:
    """Return the rows of a statement that is given in parts; `versions` are those of the memories that it asks.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    statement = join(f"{prefix}WITH memory_versions AS NOT MATERIALIZED (", versions, ") ", *parts)
    return connection.execute(statement.sql.encode(), statement.arguments).fetchall()


def memory(
    memory_id: int, body: Mapping[str, Any], then: Mapping[str, Any] | None, confidence_now: float, faded: bool
) -> Memory | None:
    """Return a memory of the fleet, as it was if its row has `past`.

    Which others it resembles or contradicts only its robot knows.

    A row that no robot wrote may hold anything, and is none.
    """
    try:
        memory = memory_of(memory_id, body, confidence_now, faded)
        return memory if then is None else past.as_it_was(memory, body, then)
    except MALFORMED:
        return None


def size_of(body: Mapping[str, Any]) -> Size | None:
    """Return the size of a memory of the fleet; a row that no robot wrote raises one of MALFORMED."""
    return None if body["size_x"] is None else Size(*(float(body[f"size_{axis}"]) for axis in Size._fields))


def _ends(body: Mapping[str, Any]) -> Iterator[int]:
    return (int(stay["first_absent"]) for stay in body["stays"])


def memory_of(memory_id: int, body: Mapping[str, Any], confidence_now: float, faded: bool) -> Memory:
    """Return the memory of a row that a robot wrote; another one raises one of MALFORMED."""
    thing = body["object"][0] if body["object"] else {}
    first_seen, last_seen = (int(thing[name]) if thing else None for name in ("first_seen", "last_seen"))
    if not all(isinstance(body[name], str) for name in _TEXTS) or not isinstance(body["context"], dict):
        raise TypeError("no robot wrote it")
    return Memory(
        memory_id, Kind(body["type"]), body["content"], body["human_summary"], int(body["observed_at"]),
        nanoseconds(body["created_at"]), body["frame_id"], body["map_id"],
        None if body["x"] is None else Pose(*(float(body[name]) for name in Pose._fields)),
        str(body["perception_type"] or ""), body["label"], float(confidence_now), bool(faded), body["category"],
        tuple(sorted({**body["tags"]})),
        compact_json(body["context"]), body["source"], tuple(body["scope_files"].splitlines()),
        tuple(body["scope_entities"].splitlines()), body["session_id"], body["collection"],
        first_seen, last_seen, int(thing.get("times_seen", 0)), bool(thing.get("confirmed")),
        position_covariance=Covariance(*(float(thing[f"v{part}"]) for part in Covariance._fields)) if thing else None,
        size=size_of(body),
        first_absent=None if thing.get("confirmed") else max(_ends(body), default=None),
    )  # fmt: skip
