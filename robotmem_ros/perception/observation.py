"""An observation: what one element of a message tells, as a value that is moved between frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..frames import FrameError, Transform
from ..memory import Pose, validation
from ..memory.geometry import Matrix
from ..memory.models import NewMemory

SPATIAL = "spatial"
"""The part of a context that holds positions, and the name of their frame."""
Origin = tuple[int, int, int]
"""The place of a message in a recording: the first three numbers of an ImportKey."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One element of a message's array, or the message as a whole."""

    new: NewMemory
    """The memory to store, with all that belongs to it; in the frame that the message names until it is transformed."""
    has_orientation: bool = False
    """Whether the pose has an orientation; else it is a position."""
    covariance: Matrix | None = None
    """Covariance of the position in m²; None if it is unset (all zero, or first element negative) or not finite."""
    state: str | None = None
    """Text that is compared when only changes are stored; None stores everything."""
    is_dropped: bool = False
    """Whether the observation is not stored, though its object was detected and so is not absent."""

    @property
    def position_frame(self) -> str:
        """Return the frame of all its positions; empty if it has none."""
        return self.new.frame_id if self.new.pose is not None or holds_position(self._spatial()) else ""

    def in_frame(self, transform: Transform, frame_id: str) -> Observation:
        """Transform pose, covariance and the positions of the context into the target frame of `transform`.

        Raises:
            InvalidFieldError: a transformed position lies too far out.
        """
        new, pose, covariance = self.new, self.new.pose, self.covariance
        if pose is not None:
            pose = transform.apply_pose(pose) if self.has_orientation else Pose(*transform.apply(pose[:3]))
            validation.check_coordinates("pose", pose[:3])
        new = replace(new, frame_id=frame_id, pose=pose)
        if spatial := self._spatial():
            new_spatial = _transform_values("context.spatial", spatial, transform)
            if "frame_id" in new_spatial:
                new_spatial["frame_id"] = frame_id
            new = _with_spatial(new, new_spatial)
        new_covariance = None if covariance is None else transform.apply_covariance(covariance)
        return replace(self, new=new, covariance=new_covariance)

    def in_own_frame(self, frame_id: str) -> Observation:
        """Keep the observation in its frame, and name the frame in `spatial.source_frame_id` of the context."""
        new_spatial = {**self._spatial(), "source_frame_id": frame_id}
        return replace(self, new=_with_spatial(replace(self.new, frame_id=frame_id), new_spatial))

    def _spatial(self) -> Mapping[str, Any]:
        if f'"{SPATIAL}"' not in self.new.context:
            return {}
        spatial = json.loads(self.new.context).get(SPATIAL)
        return spatial if isinstance(spatial, dict) else {}


class Placed(NamedTuple):
    """A perception that comes alone, by a service or ~/perception, and needs no transform any more."""

    new: NewMemory
    reason: str = ""
    """Why it stays in its own frame, in which nothing becomes an object; empty if all of it is in the memory frame."""


PlacePerception = Callable[[NewMemory], Future[Placed]]
"""Function that moves a perception into the memory frame, now or when its transform has come."""


def placed(new: NewMemory, result: Transform | FrameError, memory_frame: str) -> Placed:
    """Return a perception in the memory frame, or as it is if there is no transform.

    Raises:
        InvalidFieldError: a transformed position lies too far out.
    """
    if not isinstance(result, Transform):
        return kept(new, str(result))
    return Placed(Observation(new, has_orientation=True).in_frame(result, memory_frame).new)


def kept(new: NewMemory, problem: str) -> Placed:
    """Return a perception that stays in its own frame, because of a `problem`."""
    return Placed(new, f"kept in frame {new.frame_id!r}, and so no object: {problem}")


def _with_spatial(new: NewMemory, spatial: Mapping[str, object]) -> NewMemory:
    return replace(new, context=validation.compact_json({**json.loads(new.context), SPATIAL: spatial}))


def _transform_values(field: str, values: Mapping[str, object], transform: Transform) -> dict[str, object]:
    new_values: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            new_values[key] = _transform_values(f"{field}.{key}", value, transform)
        elif (numbers := validation.position_numbers(value)) is not None:
            x, y, z = (*numbers, 0.0)[:3]
            new_values[key] = place = list(transform.apply((x, y, z))[: len(numbers)])
            validation.check_coordinates(f"{field}.{key}", place)
        else:
            new_values[key] = value
    return new_values


def holds_position(value: object) -> bool:
    """Tell whether a part of a context has the numbers of a position."""
    if isinstance(value, Mapping):
        return any(holds_position(inner) for inner in value.values())
    return validation.position_numbers(value) is not None
