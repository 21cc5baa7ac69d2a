"""Hold what a message says about one thing in the world, and move it into another frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..frames import Transform
from ..memory import Pose

Matrix = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
_SPATIAL = "spatial"
_PLANE, _SPACE = 2, 3


@dataclass(frozen=True)
class Observation:
    """One element of a message's array, or the message as a whole."""

    description: str
    stamp_ns: int
    """When it was observed: nanoseconds since the epoch, by the clock of the message, else when it was received."""
    frame_id: str = ""
    """Frame of `pose` and `covariance`; empty if the message names none."""
    pose: tuple[float, ...] | None = None
    """x, y, z in metres; and a unit quaternion x, y, z, w if the message has an orientation."""
    covariance: Matrix | None = None
    """Of the position, in m²; None if it is unset (all zero, or its first element negative) or not finite."""
    label: str = ""
    confidence: float = 0.9
    """How sure the source is, in [0, 1]."""
    perception_type: str = "visual"
    context: Mapping[str, object] = field(default_factory=dict)
    """A JSON object."""
    data: bytes = field(default=b"", repr=False)
    data_format: str = ""
    """Such as "jpeg", or "rgb8/160x120" for pixels row by row; empty when there is no data."""
    session_id: str = ""
    collection: str = ""
    identity: str = ""
    """Identity of the thing, as its source names it (a tracking id, a name); empty if there is only a label."""
    state: str | None = None
    """What is compared when only changes are stored; None stores everything."""
    element: int = 0
    """Index in the array of its message."""
    is_dropped: bool = False
    """It is not stored, but was detected all the same: its object is not absent."""

    @property
    def position_frame(self) -> str:
        """Frame of all its positions; empty if it has none, or nothing names their frame."""
        spatial = self.context.get(_SPATIAL)
        named = spatial if isinstance(spatial, Mapping) else {}
        if self.pose is None and not any(_holds_position(value) for value in named.values()):
            return ""
        inner = named.get("frame_id")
        return (self.frame_id or (inner if isinstance(inner, str) else "")).removeprefix("/")

    def transformed(self, transform: Transform, frame_id: str) -> Observation:
        """Return it in the frame to which `transform` leads: pose, covariance and the positions of its context."""
        changes: dict[str, object] = {"frame_id": frame_id}
        if self.pose is not None:
            x, y, z = self.pose[:3]
            is_point = len(self.pose) == _SPACE
            changes["pose"] = transform.apply((x, y, z)) if is_point else tuple(transform.apply_pose(Pose(*self.pose)))
        if self.covariance is not None:
            changes["covariance"] = _rotated(self.covariance, transform)
        spatial = self.context.get(_SPATIAL)
        if isinstance(spatial, Mapping):
            moved = _moved(spatial, transform)
            if "frame_id" in moved:
                moved["frame_id"] = frame_id
            changes["context"] = {**self.context, _SPATIAL: moved}
        return replace(self, **changes)  # type: ignore[arg-type]

    def in_own_frame(self, frame_id: str) -> Observation:
        """Return it unmoved, with its frame in `spatial.source_frame_id` of the context."""
        spatial = self.context.get(_SPATIAL)
        marked = {**(spatial if isinstance(spatial, Mapping) else {}), "source_frame_id": frame_id}
        return replace(self, frame_id=frame_id, context={**self.context, _SPATIAL: marked})


def _moved(values: Mapping[str, object], transform: Transform) -> dict[str, object]:
    moved: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            moved[key] = _moved(value, transform)
        elif (numbers := _numbers(value)) is not None:
            x, y, z = (*numbers, 0.0)[:3]
            moved[key] = list(transform.apply((x, y, z))[: len(numbers)])
        else:
            moved[key] = value
    return moved


def _holds_position(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_position(inner) for inner in value.values())
    return _numbers(value) is not None


def _numbers(value: object) -> list[float] | None:
    """Return what the database takes for a position: two or three numbers."""
    if not isinstance(value, (list, tuple)) or len(value) not in {_PLANE, _SPACE}:
        return None
    if not all(isinstance(part, (int, float)) and not isinstance(part, bool) for part in value):
        return None
    return [float(part) for part in value]


def _rotated(covariance: Matrix, transform: Transform) -> Matrix:
    """Return R C Rᵀ, with R the rotation of the transform."""
    rotation = Transform(0.0, 0.0, 0.0, *transform[3:])
    half = [rotation.apply(row) for row in covariance]  # rows of C Rᵀ
    columns = [rotation.apply((half[0][i], half[1][i], half[2][i])) for i in range(3)]
    return (
        (columns[0][0], columns[1][0], columns[2][0]),
        (columns[0][1], columns[1][1], columns[2][1]),
        (columns[0][2], columns[1][2], columns[2][2]),
    )
