"""Read memories in full, with all that is kept beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import validation
from ..argument import MAX_DETAILS
from ..conditions.decay import Decay
from ..models import Change, Memory, PerceptionData, Sighting
from ..storage import changes, recall_rows, rows, sighting_rows
from ..storage.snapshot import Snapshot

_SIGHTINGS = 100


@dataclass(frozen=True)
class MemoryDetails:
    """A memory in full."""

    memory: Memory
    status: str
    """`active`, `superseded` or `invalidated`."""
    status_reason: str
    """Why it is not active, such as `consolidated, replaced by 7`; empty for an active one."""
    history: tuple[Change, ...]
    """Its last 100 changes, newest first."""
    sightings: tuple[Sighting, ...]
    """Last 100 sightings of an object that were kept, newest first."""
    data: PerceptionData | None
    """Its raw data or thumbnail, and its metadata; None if it has neither."""
    access_count: int = 0
    """Number of recalls that found it."""
    return_count: int = 0
    """Number of recalls that returned it."""
    last_accessed: int | None = None
    """Time of the last of them, in nanoseconds since the epoch by the wall clock; None if there was none."""


@dataclass(frozen=True)
class LeftOut:
    """An id whose memory was not read, and why."""

    memory_id: int
    why: str
    """A clause that follows the name of the memory, such as `was deleted`."""


@dataclass(frozen=True)
class MemoriesInFull:
    """Memories in full, in the order of their ids, and why others are left out."""

    memories: tuple[MemoryDetails, ...]
    left_out: tuple[LeftOut, ...] = ()
    """Ids that were asked for and have no memory here, in their order."""

    @property
    def reason(self) -> str:
        """Return sentences about what is left out; empty if nothing is."""
        return "; ".join(f"memory {entry.memory_id} {entry.why}" for entry in self.left_out)

    def __iter__(self) -> Iterator[MemoryDetails]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> MemoryDetails:
        return self.memories[index]


def parse_ids(values: object) -> tuple[int, ...]:
    """Return at most 100 ids in their order, each once.

    Raises:
        InvalidFieldError: there are more, or one is no whole number.
    """
    return validation.ids("ids", values, in_order=True, limit=MAX_DETAILS)


def read_details(snapshot: Snapshot, ids: tuple[int, ...], decay: Decay, *, include_forgotten: bool) -> MemoriesInFull:
    """Read memories in the order of their ids, in one query for each kind of detail."""
    memories = rows.read(snapshot, ids, decay, include_inactive=include_forgotten)
    memory_ids = [memory_id for memory_id in ids if memory_id in memories]
    statuses = rows.statuses(snapshot, memory_ids)
    histories = changes.histories(snapshot, memory_ids)
    sightings = sighting_rows.histories(snapshot, memory_ids, _SIGHTINGS)
    data = rows.all_perception_data(snapshot, memory_ids)
    usages = recall_rows.usages(snapshot, memory_ids)
    details = tuple(
        MemoryDetails(
            memories[memory_id], *statuses[memory_id], histories.get(memory_id, ()), sightings.get(memory_id, ()),
            data.get(memory_id), *usages[memory_id][:2], usages[memory_id][2],
        )
        for memory_id in memory_ids
    )  # fmt: skip
    return MemoriesInFull(details, tuple(_left_out(snapshot, [number for number in ids if number not in memories])))


def _left_out(snapshot: Snapshot, ids: Sequence[int]) -> Iterator[LeftOut]:
    statuses, last_id = rows.statuses(snapshot, ids), rows.last_id(snapshot)
    for memory_id in ids:
        if memory_id in statuses:
            status, reason = statuses[memory_id]
            yield LeftOut(memory_id, f"is {status}{f' ({reason})' if reason else ''}; include_forgotten reads it")
        else:
            yield LeftOut(memory_id, "was deleted" if 0 < memory_id <= last_id else "is unknown: no memory had this id")
