"""Extract observations from one message, live or recorded; one bad element never stops the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from ..memory import Kind, PerceptionType, Pose, validation
from ..memory.bounds import MAX_CONTEXT
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.models import ImportKey, NewMemory
from ..memory.new_memory import check_positions, checked_data, context_frame, source_of
from . import values
from .counters import DropError, DropReason
from .images import thumbnail
from .message import SPATIAL, Observation, Origin
from .message_types import TypeDescription
from .plan import Planner
from .sources import NoValueError, Reader
from .topic_config import TopicConfig
from .values import plain_text, scalar

_T = TypeVar("_T")
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


class _Whole(NamedTuple):
    """The message around an element."""

    message: Any
    stamp_ns: int
    parameters: Parameters
    origin: Origin | None


class Extractor:
    """Read the messages of one topic; made once, at start.

    Raises:
        TopicError: a source of the configuration does not fit the message type.
    """

    def __init__(self, config: TopicConfig, types: TypeDescription) -> None:
        self._config = config
        self._plan = Planner(config, types).plan()

    def extract(
        self, message: Any, receipt_ns: int, parameters: Parameters, origin: Origin | None = None
    ) -> Extraction:
        """Return the observations of a message that was received at `receipt_ns`, in the order of its array.

        `origin` is its place in a recording. Never raises for the content of a message: what cannot be used is counted
        by its reason.
        """
        drops: Counter[DropReason] = Counter()
        observations: list[Observation] = []
        details: dict[DropReason, str] = {}
        try:
            elements = self._elements(message, drops)
            whole = _Whole(message, self._message_stamp(message) or receipt_ns, parameters, origin)
        except Exception as cause:
            reason = _reason(cause)
            return Extraction([], Counter([reason]), receipt_ns, {reason: str(cause)})
        for index, element in enumerate(elements):
            try:
                observations.append(self._observation(element, index, whole))
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

    def _observation(self, element: Any, index: int, whole: _Whole) -> Observation:
        message, parameters = whole.message, whole.parameters
        for reader, choices in self._plan.only:
            if scalar(reader.read(element, message)) not in choices:
                raise DropError(DropReason.NOT_SELECTED)
        stamp_ns = self._stamp(element, message) or whole.stamp_ns
        if stamp_ns <= 0:
            raise DropError(DropReason.NO_STAMP, "the message has no stamp, and the clock shows no time yet")
        data, data_format = self._data(element, message)
        content = self._description(element, message, parameters)
        frame_id = self._frame(element, message)
        pose = self._pose(element, message)
        covariance = self._optional("covariance", element, message, values.covariance, None)
        label = self._name("label", element, message)
        confidence = self._optional("confidence", element, message, values.confidence, 0.9)
        perception_type = self._sense(element, message)
        context = self._context(element, message, parameters)
        session_id, collection = self._name("session_id", element, message), self._name("collection", element, message)
        if SPATIAL in context:
            check_positions(f"context.{SPATIAL}", context[SPATIAL])
            frame_id = frame_id or context_frame(context)
        new = NewMemory(
            Kind.PERCEPTION,
            content=content,
            collection=parameters.own_collection("collection", collection) if collection else parameters.collection,
            observed_at=stamp_ns,
            frame_id=frame_id or parameters.memory_frame,
            map_id=parameters.map_id,
            session_id=session_id,
            context=validation.json_text("context", context, limit=MAX_CONTEXT) if context else "{}",
            pose=None if pose is None else Pose(*pose),
            perception_type=perception_type,
            perception_data=checked_data("data", data, parameters) if data else None,
            perception_metadata=validation.compact_json({"format": data_format}) if data_format else None,
            label=label,
            confidence=confidence,
            source=source_of(context) or ("topic" if whole.origin is None else "import"),
            stream=self._config.topic,
            identity=self._name("identity", element, message),
            import_key=None if whole.origin is None else ImportKey(*whole.origin, index),
        )
        return Observation(
            new,
            has_orientation=pose is not None and len(pose) > _POSITION,
            covariance=covariance,
            state=self._optional("changes_only", element, message, plain_text, None),
        )

    def _optional(self, key: str, element: Any, message: Any, make: Callable[[Any], _T], default: _T) -> _T:
        reader = self._plan.readers.get(key)
        if reader is None:
            return default
        try:
            return make(reader.read(element, message))
        except NoValueError:
            return default

    def _description(self, element: Any, message: Any, parameters: Parameters) -> str:
        try:
            value = self._plan.readers["description"].read(element, message)
        except NoValueError as cause:
            raise DropError(DropReason.NO_DESCRIPTION, f"description: {cause}") from None
        text = value if isinstance(value, str) else plain_text(value)
        try:
            return validation.text("description", text, limit=parameters.content_limit, required=True)
        except InvalidFieldError:
            if validation.is_blank(text):
                raise DropError(DropReason.NO_DESCRIPTION, "the description is empty") from None
            raise

    def _name(self, key: str, element: Any, message: Any) -> str:
        value = self._optional(key, element, message, _as_is, "")
        return validation.name(key, value if isinstance(value, str) else plain_text(value)) if value != "" else ""

    def _sense(self, element: Any, message: Any) -> str:
        value = self._optional("perception_type_from", element, message, plain_text, "")
        if not value:
            return self._config.perception_type
        return str(validation.member("perception_type", value, PerceptionType).value)

    def _message_stamp(self, message: Any) -> int:
        return values.stamp_ns(message.header.stamp) if self._plan.message_has_header else 0

    def _stamp(self, element: Any, message: Any) -> int:
        stamp_ns = self._optional("stamp", element, message, values.stamp_ns, 0)
        if not stamp_ns and self._plan.element_has_header:
            stamp_ns = values.stamp_ns(element.header.stamp)
        return stamp_ns

    def _frame(self, element: Any, message: Any) -> str:
        frame = self._name("frame", element, message)
        if not frame and self._plan.element_has_header:
            frame = element.header.frame_id
        if not frame and self._plan.message_has_header:
            frame = message.header.frame_id
        return validation.frame("frame_id", frame)

    def _pose(self, element: Any, message: Any) -> tuple[float, ...] | None:
        position = self._optional("position", element, message, _as_is, None)
        if position is not None:
            return values.pose(position, self._optional("orientation", element, message, _as_is, None))
        errors: dict[DropReason, DropError] = {}
        for reader in self._plan.poses:
            pose = self._pose_at(reader, element, message)
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

    def _pose_at(self, reader: Reader, element: Any, message: Any) -> tuple[float, ...] | DropError | None:
        try:
            return values.pose_set(reader.read(element, message), among_others=len(self._plan.poses) > 1)
        except NoValueError:
            return None
        except DropError as cause:
            return cause

    def _context(self, element: Any, message: Any, parameters: Parameters) -> dict[str, object]:
        text = self._optional("context_json", element, message, _as_is, "")
        context = validation.json_object("context", text, limit=MAX_CONTEXT) if text else {}
        for part in self._plan.context:
            try:
                value = part.convert(part.reader.read(element, message))
            except NoValueError:
                continue
            values.put(context, part.name, value)
        return context

    def _data(self, element: Any, message: Any) -> tuple[bytes, str]:
        image = self._optional("image", element, message, _as_is, None)
        if image is not None:
            size = self._config.thumbnail_width, self._config.thumbnail_height
            return thumbnail(image, width=size[0], height=size[1])
        data = self._optional("data", element, message, values.raw_bytes, b"")
        return data, self._name("data_format", element, message) if data else ""


def _as_is(value: Any) -> Any:
    return value


def _reason(cause: Exception) -> DropReason:
    if isinstance(cause, InvalidFieldError):
        return DropReason.of_field(cause.field)
    return cause.reason if isinstance(cause, DropError) else DropReason.UNREADABLE
