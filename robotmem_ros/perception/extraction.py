"""Extract observations from one message, live or recorded; one bad element never stops the rest."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..frames import Transform
from ..memory import Kind, PerceptionType, Pose, validation
from ..memory.argument import MAX_CONTEXT
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.geometry import Matrix
from ..memory.models import ImportKey, NewMemory, Size
from ..memory.new_memory import check_positions, checked_data, context_frame, source_of
from . import values
from .counters import DropError, DropReason
from .depth import View, box_of
from .images import thumbnail
from .message_types import TypeDescription
from .observation import SPATIAL, Observation, Origin, holds_position
from .plan import Planner
from .sources import NoValueError, Reader
from .topic_config import TopicConfig
from .values import plain_text, scalar

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
_NEGATIVE = re.compile(r"-\d+", re.ASCII)
_NO_FRAME = (
    "frame_id is empty, so it is unknown where the position is: name the frame in {0}.frame, such as \"'camera'\"; "
    "{0}.require_frame: false takes memory_frame"
)
_POSITION = 3
"""Numbers of a pose without an orientation."""


class Extraction(NamedTuple):
    """The observations of one message."""

    observations: list[Observation]
    drops: Counter[DropReason]
    """Numbers of unusable elements, by reason."""
    stamp_ns: int
    """Stamp of the message's header, else time of receipt."""
    details: Mapping[DropReason, str]
    """Explanation of the last drop for each reason."""


class _Place(NamedTuple):
    """What a source reads from: the arguments of `Reader.read`."""

    element: Any
    message: Any
    nth: int


class _Whole(NamedTuple):
    """What the elements of one message share."""

    stamp_ns: int
    parameters: Parameters
    origin: Origin | None
    depth: View | DropError | None


class Extractor:
    """Read the messages of one topic; made once, at start.

    Raises:
        TopicError: a source of the configuration does not fit the message type.
    """

    def __init__(self, config: TopicConfig, types: TypeDescription) -> None:
        self._config = config
        self._plan = plan = Planner(config, types).plan()
        self.label_names = plan.label_names
        """Names of classes, if the topic has any."""
        # A type without a header leaves it to `memory_frame`.
        names_frame = plan.message_has_header or plan.element_has_header or "frame" in plan.readers
        self._needs_frame = names_frame and config.require_frame
        self._told_of_datum = False
        self._origin_is_unset = config.origin_is_unset or len(plan.poses) > 1

    def extract(
        self,
        message: Any,
        receipt_ns: int,
        parameters: Parameters,
        origin: Origin | None = None,
        depth: View | DropError | None = None,
    ) -> Extraction:
        """Return the observations of a message that was received at `receipt_ns`, in the order of its array.

        `origin` is its place in a recording. `depth` has the depths for its boxes, or why there are none. Never raises
        for the content of a message: what cannot be used is counted by its reason.
        """
        drops: Counter[DropReason] = Counter()
        observations: list[Observation] = []
        details: dict[DropReason, str] = {}
        try:
            elements = self._elements(message, drops)
            whole = _Whole(self._message_stamp(message) or receipt_ns, parameters, origin, depth)
        except Exception as cause:
            reason = _reason(cause)
            return Extraction([], Counter([reason]), receipt_ns, {reason: str(cause)})
        for index, element in enumerate(elements):
            try:
                observations.append(self._observation(_Place(element, message, index), whole))
            except Exception as cause:  # noqa: PERF203 -- one bad element never stops the rest
                reason = _reason(cause)
                drops[reason] += 1
                details[reason] = str(cause)
        return Extraction(observations, drops, whole.stamp_ns, details)

    def _elements(self, message: Any, drops: Counter[DropReason]) -> Any:
        if self._plan.array_path is None:
            return (message,)
        elements = self._plan.array_path.read(message, message)
        limit = self._config.max_elements
        if len(elements) == 0:
            drops[DropReason.EMPTY_ARRAY] += 1
        if len(elements) > limit:
            drops[DropReason.TOO_MANY] += len(elements) - limit
            return elements[:limit]
        return elements

    def _observation(self, place: _Place, whole: _Whole) -> Observation:
        parameters = whole.parameters
        for reader, choices in self._plan.only:
            if scalar(reader.read(*place)) not in choices:
                raise DropError(DropReason.NOT_SELECTED)
        stamp_ns = self._stamp(place) or whole.stamp_ns
        if stamp_ns <= 0:
            raise DropError(DropReason.NO_STAMP, "the message has no stamp, and the clock shows no time yet")
        data, data_format = self._data(place)
        content = self._description(place, parameters)
        pose, covariance, frame_id = self._located(place, whole)
        label = self._name("label", place)
        confidence = self._optional("confidence", place, values.confidence, 0.9)
        perception_type = self._sense(place)
        context = self._context(place, parameters)
        session_id, collection = self._name("session_id", place), self._name("collection", place)
        if SPATIAL in context:
            check_positions(f"context.{SPATIAL}", context[SPATIAL])
            frame_id = frame_id or context_frame(context)
        if not frame_id and self._needs_frame and (pose is not None or holds_position(context.get(SPATIAL))):
            raise DropError(DropReason.BAD_FRAME, _NO_FRAME.format(self._config.name))
        new = NewMemory(
            Kind.PERCEPTION,
            content=content,
            collection=parameters.new_collection("collection", collection) if collection else parameters.collection,
            observed_at=stamp_ns,
            frame_id=frame_id or parameters.memory_frame,
            map_id=parameters.map_id,
            session_id=session_id,
            context=validation.json_text("context", context, limit=MAX_CONTEXT) if context else "{}",
            pose=None if pose is None else Pose(*pose),
            size=self._size(place),
            perception_type=perception_type,
            perception_data=checked_data("data", data, parameters) if data else None,
            perception_metadata=validation.compact_json({"format": data_format}) if data_format else None,
            label=label,
            confidence=confidence,
            decay_rate=0.0 if perception_type == PerceptionType.PLACE else None,
            source=source_of(context) or ("topic" if whole.origin is None else "import"),
            stream=self._config.topic,
            identity=self._identity(place),
            import_key=None if whole.origin is None else ImportKey(*whole.origin, place.nth),
        )
        return Observation(
            new,
            has_orientation=pose is not None and len(pose) > _POSITION,
            covariance=covariance,
            state=self._optional("changes_only", place, plain_text, None),
        )

    def _optional(self, key: str, place: _Place, make: Callable[[Any], _T], default: _T) -> _T:
        reader = self._plan.readers.get(key)
        if reader is None:
            return default
        try:
            return make(reader.read(*place))
        except NoValueError:
            return default

    def _description(self, place: _Place, parameters: Parameters) -> str:
        try:
            value = self._plan.readers["description"].read(*place)
        except NoValueError as cause:
            raise DropError(DropReason.NO_DESCRIPTION, f"description: {cause}") from None
        text = value if isinstance(value, str) else plain_text(value)
        try:
            return validation.text("description", text, limit=parameters.content_limit, required=True)
        except InvalidFieldError:
            if validation.is_blank(text):
                raise DropError(DropReason.NO_DESCRIPTION, "the description is empty") from None
            raise

    def _name(self, key: str, place: _Place) -> str:
        value = self._optional(key, place, _as_is, "")
        return validation.name(key, value if isinstance(value, str) else plain_text(value)) if value != "" else ""

    def _identity(self, place: _Place) -> str:
        identity = self._name("identity", place)
        # A tracker gives -1 to what it does not track.
        return "" if _NEGATIVE.fullmatch(identity) else identity

    def _sense(self, place: _Place) -> str:
        value = self._optional("perception_type_from", place, plain_text, "")
        if not value:
            return self._config.perception_type
        return str(validation.member("perception_type", value, PerceptionType).value)

    def _message_stamp(self, message: Any) -> int:
        return values.stamp_ns(message.header.stamp) if self._plan.message_has_header else 0

    def _stamp(self, place: _Place) -> int:
        stamp_ns = self._optional("stamp", place, values.stamp_ns, 0)
        if not stamp_ns and self._plan.element_has_header:
            stamp_ns = values.stamp_ns(place.element.header.stamp)
        return stamp_ns

    def _frame(self, place: _Place) -> str:
        frame = self._name("frame", place)
        if not frame and self._plan.element_has_header:
            frame = place.element.header.frame_id
        if not frame and self._plan.message_has_header:
            frame = place.message.header.frame_id
        return validation.frame("frame_id", frame)

    def time_of_boxes(self, message: Any, receipt_ns: int) -> int:
        """Return the time of a message that a depth image is to match; raises what its content does."""
        stamp_ns = self._message_stamp(message)
        elements = self._elements(message, Counter())
        return (self._stamp(_Place(elements[0], message, 0)) if len(elements) else 0) or stamp_ns or receipt_ns

    def _located(self, place: _Place, whole: _Whole) -> tuple[tuple[float, ...] | None, Matrix | None, str]:
        """Return pose, covariance and frame; the frame is empty if nothing names it."""
        if self._plan.box:
            return self._located_by_depth(place, whole.depth)
        covariance = self._optional("covariance", place, values.covariance, None)
        if not self._plan.is_geographic:
            return self._pose(place), covariance, self._frame(place)
        datum = whole.parameters.earth_datum()
        point = None if datum is None else self._optional("position", place, partial(values.on_earth, datum), None)
        if datum is None or point is None:
            self._tell_of_datum()
            return None, None, self._frame(place)
        turn = Transform(qz=math.sin(-datum.yaw / 2.0), qw=math.cos(datum.yaw / 2.0))
        turned = None if covariance is None else turn.apply_covariance(covariance)
        return turn.apply(point), turned, whole.parameters.memory_frame

    def _located_by_depth(self, place: _Place, depth: View | DropError | None) -> tuple[tuple[float, ...], Matrix, str]:
        if not isinstance(depth, View):
            raise depth or DropError(DropReason.NO_DEPTH)
        numbers = (float(scalar(reader.read(*place))) for reader in self._plan.box)
        position, covariance = depth.locate(box_of(self._config.box_format, *numbers))
        return position, covariance, self._name("frame", place) or depth.frame_id or self._frame(place)

    def _tell_of_datum(self) -> None:
        if not self._told_of_datum:
            self._told_of_datum = True
            _LOG.warning(
                "%s: fixes are stored without a position; name the origin in the parameter datum", self._config.topic
            )

    def _pose(self, place: _Place) -> tuple[float, ...] | None:
        position = self._optional("position", place, _as_is, None)
        if position is not None:
            found = values.pose(position, self._optional("orientation", place, _as_is, None))
            if self._config.origin_is_unset and not any(found[:_POSITION]):
                raise DropError(DropReason.NO_POSE, "the position is the origin of its frame")
            return found
        errors: dict[DropReason, DropError] = {}
        for reader in self._plan.poses:
            pose = self._pose_at(reader, place)
            if isinstance(pose, DropError):
                errors[pose.reason] = pose
            elif pose is not None:
                return pose
        if DropReason.BAD_POSE in errors:
            raise errors[DropReason.BAD_POSE]
        if self._config.at_frame:
            return 0.0, 0.0, 0.0
        if errors:
            raise errors[DropReason.NO_POSE]
        return None

    def _pose_at(self, reader: Reader, place: _Place) -> tuple[float, ...] | DropError | None:
        try:
            return values.pose_set(reader.read(*place), origin_is_unset=self._origin_is_unset)
        except NoValueError:
            return None
        except DropError as cause:
            return cause

    def _size(self, place: _Place) -> Size | None:
        try:
            edges = [reader.read(*place) for reader in self._plan.size]
        except NoValueError:
            return None
        return values.size(edges[0] if len(edges) == 1 else edges) if edges else None

    def _context(self, place: _Place, parameters: Parameters) -> dict[str, object]:
        text = self._optional("context_json", place, _as_is, "")
        example = '{"task": {"success": true}}'
        context = validation.json_object("context", text, limit=MAX_CONTEXT, example=example) if text else {}
        for part in self._plan.context:
            try:
                value = part.convert(part.reader.read(*place))
            except NoValueError:
                continue
            values.put(context, part.name, value)
        return context

    def _data(self, place: _Place) -> tuple[bytes, str]:
        image = self._optional("image", place, _as_is, None)
        if image is not None:
            return thumbnail(image, width=self._config.thumbnail_width, height=self._config.thumbnail_height)
        data = self._optional("data", place, values.raw_bytes, b"")
        return data, self._name("data_format", place) if data else ""


def _as_is(value: Any) -> Any:
    return value


def _reason(cause: Exception) -> DropReason:
    if isinstance(cause, InvalidFieldError):
        return DropReason.of_field(cause.field)
    return cause.reason if isinstance(cause, DropError) else DropReason.UNREADABLE
