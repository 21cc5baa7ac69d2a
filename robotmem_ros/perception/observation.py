"""Hold what a message says about one thing in the world, and move it into another frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..frames import Transform
from ..memory import Pose
from .drop_reason import Reason

Matrix = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True)
class Observation:
    """A perception in the frame of its sensor."""

    description: str
    stamp_ns: int
    """When it was observed: nanoseconds since the epoch, by the clock of the message."""
    stamp_is_receipt: bool = False
    """The message had no stamp: `stamp_ns` is when it was received."""
    frame_id: str = ""
    """Frame of `pose` and `covariance`; empty where the message names none."""
    pose: tuple[float, ...] | None = None
    """x, y, z in metres; and a unit quaternion x, y, z, w where the message has an orientation."""
    covariance: Matrix | None = None
    """Of the position, in m²; None where it is unset (all zero, or its first element negative) or not finite."""
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
    """Which thing this is, as the source tells them apart (a tracking id, a name); empty for what has a label only."""
    state: str | None = None
    """What is compared when only changes are stored; None stores everything."""


@dataclass(frozen=True)
class Extraction:
    """What became of one message."""

    observations: tuple[Observation, ...]
    refusals: Counter[Reason]
    """How many elements could not be used, and why."""
    last_refusal: str = ""
    """The last of them in words, for the log."""


_SPATIAL = "spatial"
_PLANE, _SPACE = 2, 3


@dataclass(frozen=True)
class Placed:
    """An observation as it is stored; `observation.pose` and its covariance are in `frame_id`."""

    observation: Observation
    frame_id: str
    """Empty where nothing names a frame."""
    element: int = 0
    """Which one of its message it is."""
    is_glimpse: bool = False
    """It is not to be stored, and only tells that something was there."""


def frame_of(observation: Observation) -> str:
    """The frame that its positions are in; empty where there are no positions, or nothing names their frame."""
    spatial = observation.context.get(_SPATIAL)
    named = spatial if isinstance(spatial, Mapping) else {}
    if observation.pose is None and not any(_holds_position(value) for value in named.values()):
        return ""
    inner = named.get("frame_id")
    return (observation.frame_id or (inner if isinstance(inner, str) else "")).removeprefix("/")


def transformed(observation: Observation, transform: Transform, frame_id: str) -> Observation:
    """The observation in another frame."""
    changes: dict[str, object] = {"frame_id": frame_id}
    if observation.pose is not None:
        point = observation.pose[:3]
        changes["pose"] = (
            transform.apply((point[0], point[1], point[2]))
            if len(observation.pose) == _SPACE
            else tuple(transform.apply_pose(Pose(*observation.pose)))
        )
    if observation.covariance is not None:
        changes["covariance"] = _turned(observation.covariance, transform)
    spatial = observation.context.get(_SPATIAL)
    if isinstance(spatial, Mapping):
        moved = _moved(spatial, transform)
        if "frame_id" in moved:
            moved["frame_id"] = frame_id
        changes["context"] = {**observation.context, _SPATIAL: moved}
    return replace(observation, **changes)  # type: ignore[arg-type]


def marked(observation: Observation, frame_id: str) -> Observation:
    """The observation left in its frame, and its context says so in `spatial.source_frame_id`."""
    spatial = observation.context.get(_SPATIAL)
    kept = dict(spatial) if isinstance(spatial, Mapping) else {}
    kept["source_frame_id"] = frame_id
    return replace(observation, frame_id=frame_id, context={**observation.context, _SPATIAL: kept})


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
    """What the database takes for a position: two or three numbers."""
    if not isinstance(value, (list, tuple)) or len(value) not in {_PLANE, _SPACE}:
        return None
    if not all(isinstance(part, (int, float)) and not isinstance(part, bool) for part in value):
        return None
    return [float(part) for part in value]


def _turned(covariance: Matrix, transform: Transform) -> Matrix:
    """R C Rᵀ, with R the rotation of the transform."""
    rotation = Transform(0.0, 0.0, 0.0, *transform[3:])
    half = [rotation.apply(row) for row in covariance]  # rows of C Rᵀ
    columns = [rotation.apply((half[0][i], half[1][i], half[2][i])) for i in range(3)]
    return (
        (columns[0][0], columns[1][0], columns[2][0]),
        (columns[0][1], columns[1][1], columns[2][1]),
        (columns[0][2], columns[1][2], columns[2][2]),
    )
