"""Make sightings for tests, and read the objects that they became."""

from __future__ import annotations

from collections.abc import Sequence

from robotmem_ros.memory import Kind, Memory, Pose, RobotMemory
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.objects.field_of_view import FieldOfView

SECOND = 1_000_000_000


def sighting(
    x: float,
    y: float = 0.0,
    z: float = 0.0,
    *,
    t: float = 100.0,
    label: str = "chair",
    confidence: float = 0.9,
    context: str = "{}",
    collection: str = "default",
    frame_id: str = "map",
    map_id: str = "",
) -> NewMemory:
    """Make a sighting at a position in m, at a time in s."""
    return NewMemory(
        Kind.PERCEPTION, f"a {label}", collection, round(t * SECOND), frame_id, map_id, context=context,
        pose=Pose(x, y, z), label=label, confidence=confidence, perception_type="visual",
    )  # fmt: skip


def see(memory: RobotMemory, *new: NewMemory, covariances: Sequence[object] = ()) -> list[int]:
    """Store one message; return the ids of the objects."""
    return [stored.memory_id for stored in memory.store_sightings(new, covariances).result()]


def objects(memory: RobotMemory, **conditions: object) -> list[Memory]:
    """Return all objects by id."""
    condition = {"times_seen": {"$gte": 1}, **conditions}
    found = memory.recall(n=100, min_confidence=0.0, context_filter=condition, include_unconfirmed=True)
    return sorted(found.memories, key=lambda each: each.id)


def the(memory: RobotMemory, memory_id: int) -> Memory:
    """Return one memory by id."""
    (found,) = memory.recall(min_confidence=0.0, context_filter={"id": memory_id}, include_unconfirmed=True)
    return found.memory


def place(memory: Memory) -> tuple[float, float, float]:
    """Return its position."""
    assert memory.pose is not None
    return memory.pose[:3]


def missed(memory: RobotMemory) -> dict[int, float]:
    """Return how many looks did not detect each object, each by the probability that it existed."""
    with memory.parts.database.snapshot() as snapshot:
        return dict(snapshot.rows("SELECT memory_id, misses + missed FROM objects"))


def undetected(memory: RobotMemory, view: FieldOfView) -> tuple[int, ...]:
    """Store a field of view without sightings; return the ids of the objects that it should have shown."""
    before = missed(memory)
    memory.store_sightings([], field_of_view=view).result()
    return tuple(memory_id for memory_id, looks in missed(memory).items() if looks > before[memory_id])
