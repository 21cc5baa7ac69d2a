"""What a detector's topic surely sees around its sensor, from its configuration: so that absence can be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..frames import Transform
from ..memory.objects.field_of_view import Detection, FieldOfView
from .errors import TopicError
from .message_types import TypeDescription
from .observation import Placed
from .topic_config import TopicConfig

_BODY_IN_OPTICAL = Transform(qx=0.5, qy=-0.5, qz=0.5, qw=0.5)
"""From axes ahead, left and up to those of a picture: right, down and ahead (REP 103)."""
_OPTICAL = "_optical"
_AHEAD, _UP = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Detector:
    """The sensor of one topic; its messages tell all that it sees at their time."""

    config: TopicConfig

    @classmethod
    def of(cls, config: TopicConfig, types: TypeDescription) -> Detector | None:
        """That of a topic; None where absence is not to be told.

        Raises:
            TopicError: a message does not tell all that is seen at once, or not where the sensor was.
        """
        if not config.field_of_view_range:
            return None
        if not config.each:
            why = "one message must hold all that is seen at once, an array that `each` names"
            raise TopicError(
                f"{config.name}.field_of_view.range", config.field_of_view_range, config.topic, config.type, why
            )
        if not config.field_of_view_frame and "header" not in types.fields(config.type):
            why = "the message has no header to name the frame of the sensor; name it here"
            raise TopicError(f"{config.name}.field_of_view.frame", "", config.topic, config.type, why)
        return cls(config)

    def frame_of(self, message: Any) -> str:
        """The frame of the sensor; empty where nothing names it."""
        named = self.config.field_of_view_frame or message.header.frame_id
        return str(named).removeprefix("/")

    def field_of_view(
        self, sensor_frame: str, sensor: Transform, stamp_ns: int, found: Sequence[Placed], frame_id: str
    ) -> FieldOfView:
        """Return what was looked at, in the memory frame `frame_id`; `sensor` takes the sensor's frame there."""
        config = self.config
        body = sensor.compose(_BODY_IN_OPTICAL) if self._looks_along_z(sensor_frame) else sensor
        direction = Transform(0.0, 0.0, 0.0, *body[3:])
        return FieldOfView(
            origin=body[:3],
            direction=direction.apply(_AHEAD),
            up=direction.apply(_UP),
            observed_at=stamp_ns,
            max_range=config.field_of_view_range,
            horizontal=config.field_of_view_horizontal,
            vertical=config.field_of_view_vertical,
            dropped=tuple(_detection(one) for one in found if one.is_glimpse and one.observation.pose is not None),
            source=config.topic,
            frame_id=frame_id,
        )

    def _looks_along_z(self, sensor_frame: str) -> bool:
        axis = self.config.field_of_view_axis
        return axis == "z" or (axis == "match" and _OPTICAL in sensor_frame)


def _detection(placed: Placed) -> Detection:
    pose = placed.observation.pose
    assert pose is not None
    return Detection(placed.observation.label, (pose[0], pose[1], pose[2]))
