"""Describe what a detector's topic surely detects around its sensor, so that absence can be noticed."""

from __future__ import annotations

from typing import Any

from ..frames import Transform
from ..memory.objects.field_of_view import Detection, FieldOfView
from .errors import TopicError
from .message_types import TypeDescription
from .topic_config import TopicConfig

_BODY_IN_OPTICAL = Transform(qx=0.5, qy=-0.5, qz=0.5, qw=0.5)
"""From axes ahead, left and up to those of a picture: right, down and ahead (REP 103)."""
_OPTICAL = "_optical"
_AHEAD, _UP = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


class Detector:
    """The sensor of one topic, each of whose messages holds all that it detects at once.

    Raises:
        TopicError: a message does not hold all that is detected at once, or nothing names the frame of the sensor.
    """

    def __init__(self, config: TopicConfig, types: TypeDescription) -> None:
        self._config = config
        key, reach = f"{config.name}.field_of_view", config.field_of_view_range
        if not config.each:
            why = "one message must hold all that is seen at once, an array that `each` names"
            raise TopicError(f"{key}.range", reach, config.topic, config.type, why)
        if not config.field_of_view_frame and "header" not in types.fields(config.type):
            why = "the message has no header to name the frame of the sensor; name it here"
            raise TopicError(f"{key}.frame", "", config.topic, config.type, why)

    def frame_of(self, message: Any) -> str:
        """Return the frame of the sensor; empty if nothing names it."""
        return str(self._config.field_of_view_frame or message.header.frame_id).removeprefix("/")

    def field_of_view(
        self, sensor_frame: str, sensor: Transform, stamp_ns: int, dropped: tuple[Detection, ...], frame_id: str
    ) -> FieldOfView:
        """Return what it looked at, in the memory frame `frame_id`; `sensor` leads from the sensor's frame to there."""
        config = self._config
        axis = config.field_of_view_axis
        is_optical = axis == "z" or (axis == "match" and _OPTICAL in sensor_frame)
        body = sensor.compose(_BODY_IN_OPTICAL) if is_optical else sensor
        direction = Transform(0.0, 0.0, 0.0, *body[3:])
        return FieldOfView(
            origin=body[:3],
            direction=direction.apply(_AHEAD),
            up=direction.apply(_UP),
            observed_at=stamp_ns,
            max_range=config.field_of_view_range,
            horizontal=config.field_of_view_horizontal,
            vertical=config.field_of_view_vertical,
            dropped=dropped,
            source=config.topic,
            frame_id=frame_id,
        )
