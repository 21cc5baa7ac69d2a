"""Extract observations from one message, live or recorded; one bad element never stops the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..memory import PerceptionType, validation
from ..memory.config.parameters import Parameters
from . import values
from .drop_reason import DropError, DropReason
from .errors import NoValueError
from .images import thumbnail
from .message_types import TypeDescription
from .observation import Observation
from .plan import Planner
from .template import Reader
from .topic_config import TopicConfig
from .values import plain_text, scalar

_T = TypeVar("_T")


class Extraction(NamedTuple):
    """What one message says."""

    observations: list[Observation]
    dropped: Counter[DropReason]
    """How many elements could not be used, and why."""
    last_drop: str = ""
    """The last of them in words."""


class Extractor:
    """Read the messages of one topic; made once, at start.

    Raises:
        TopicError: a source of the configuration does not fit the message type.
    """

    def __init__(self, config: TopicConfig, types: TypeDescription, parameters: Parameters) -> None:
        self._config = config
        self._types = types
        self._plan = Planner(config, types).plan()
        self._content_limit = parameters.content_limit
        self._context_limit = parameters.context_limit

    def message_stamp(self, message: Any, receipt_ns: int) -> int:
        """Return the stamp of the message's header, else when it was received. For sampling."""
        try:
            return self._message_stamp(message) or receipt_ns
        except (DropError, AttributeError, TypeError, ValueError):
            return receipt_ns

    def extract(self, message: Any, receipt_ns: int) -> Extraction:
        """Return the observations of a message that was received at `receipt_ns`, in the order of its array.

        Never raises for the content of a message: what cannot be used is counted by its reason.
        """
        dropped: Counter[DropReason] = Counter()
        found: list[Observation] = []
        last = ""
        try:
            elements = self._elements(message, dropped)
            message_ns = self._message_stamp(message)
        except Exception as cause:
            return Extraction([], Counter([_reason(cause)]), f"{self._config.topic}: {cause}")
        default_ns = message_ns or receipt_ns
        for index, element in enumerate(elements):
            try:
                found.append(self._observation(element, message, index, default_ns))
            except Exception as cause:  # noqa: PERF203 -- one bad element never stops the rest
                dropped[_reason(cause)] += 1
                last = f"{self._config.topic}: {cause}"
        return Extraction(found, dropped, last)

    def _elements(self, message: Any, dropped: Counter[DropReason]) -> Any:
        if self._plan.each is None:
            return (message,)
        elements = self._plan.each.read(message, message)
        limit = self._config.max_elements
        if len(elements) == 0:
            dropped[DropReason.EMPTY_ARRAY] += 1
        if len(elements) > limit:
            dropped[DropReason.TOO_MANY] += len(elements) - limit
            return elements[:limit]
        return elements

    def _observation(self, element: Any, message: Any, index: int, default_ns: int) -> Observation:
        for reader, allowed in self._plan.only:
            if scalar(reader.read(element, message)) not in allowed:
                raise DropError(DropReason.NOT_SELECTED)
        stamp_ns = self._stamp(element, message) or default_ns
        if stamp_ns <= 0:
            raise DropError(DropReason.NO_STAMP, "the message has no stamp, and the clock shows no time yet")
        data, data_format = self._data(element, message)
        return Observation(
            description=self._description(element, message),
            stamp_ns=stamp_ns,
            frame_id=self._frame(element, message),
            pose=self._pose(element, message),
            covariance=self._optional("covariance", element, message, values.covariance, None),
            label=self._name("label", DropReason.BAD_LABEL, element, message),
            confidence=self._optional("confidence", element, message, values.confidence, 0.9),
            perception_type=self._sense(element, message),
            context=self._context(element, message),
            data=data,
            data_format=data_format,
            session_id=self._name("session_id", DropReason.BAD_NAME, element, message),
            collection=self._name("collection", DropReason.BAD_NAME, element, message),
            identity=self._name("identity", DropReason.BAD_NAME, element, message),
            state=self._optional("changes_only", element, message, plain_text, None),
            element=index,
        )

    def _optional(self, key: str, element: Any, message: Any, make: Callable[[Any], _T], default: _T) -> _T:
        reader = self._plan.readers.get(key)
        if reader is None:
            return default
        try:
            return make(reader.read(element, message))
        except NoValueError:
            return default

    def _description(self, element: Any, message: Any) -> str:
        try:
            read = plain_text(self._plan.readers["description"].read(element, message))
        except NoValueError as cause:
            raise DropError(DropReason.NO_DESCRIPTION, f"description: {cause}") from None
        if validation.is_blank(read):
            raise DropError(DropReason.NO_DESCRIPTION, "the description is empty")
        return values.valid(DropReason.BAD_DESCRIPTION, validation.text, "description", read, limit=self._content_limit)

    def _name(self, key: str, reason: DropReason, element: Any, message: Any) -> str:
        read = self._optional(key, element, message, plain_text, "")
        return values.valid(reason, validation.name, key, read) if read else ""

    def _sense(self, element: Any, message: Any) -> str:
        read = self._optional("perception_type_from", element, message, plain_text, "") or self._config.perception_type
        checks = DropReason.BAD_NAME, validation.member, "perception_type", read, PerceptionType
        return str(values.valid(*checks).value)

    def _message_stamp(self, message: Any) -> int:
        return values.stamp_ns(message.header.stamp) if self._plan.message_has_header else 0

    def _stamp(self, element: Any, message: Any) -> int:
        stamp_ns = self._optional("stamp", element, message, values.stamp_ns, 0)
        if not stamp_ns and self._plan.element_has_header:
            stamp_ns = values.stamp_ns(element.header.stamp)
        return stamp_ns

    def _frame(self, element: Any, message: Any) -> str:
        frame = self._name("frame", DropReason.BAD_FRAME, element, message)
        if not frame and self._plan.element_has_header:
            frame = values.valid(DropReason.BAD_FRAME, validation.name, "frame_id", element.header.frame_id)
        if not frame and self._plan.message_has_header:
            frame = values.valid(DropReason.BAD_FRAME, validation.name, "frame_id", message.header.frame_id)
        # tf1 wrote "/map".
        return frame.removeprefix("/")

    def _pose(self, element: Any, message: Any) -> tuple[float, ...] | None:
        position = self._optional("position", element, message, _same, None)
        if position is not None:
            return values.pose(position, self._optional("orientation", element, message, _same, None))
        failed: dict[DropReason, DropError] = {}
        for reader in self._plan.poses:
            pose = self._pose_at(reader, element, message)
            if isinstance(pose, DropError):
                failed[pose.reason] = pose
            elif pose is not None:
                return pose
        if DropReason.BAD_POSE in failed:
            raise failed[DropReason.BAD_POSE]
        if self._config.at_frame:
            return 0.0, 0.0, 0.0
        if failed:
            raise failed[DropReason.NO_POSE]
        return None

    def _pose_at(self, reader: Reader, element: Any, message: Any) -> tuple[float, ...] | DropError | None:
        try:
            return values.pose_set(reader.read(element, message), among_others=len(self._plan.poses) > 1)
        except NoValueError:
            return None
        except DropError as cause:
            return cause

    def _context(self, element: Any, message: Any) -> dict[str, object]:
        text = self._optional("context_json", element, message, _same, "")
        checks = DropReason.BAD_CONTEXT, validation.json_object, "context", text
        context: dict[str, object] = values.valid(*checks, limit=self._context_limit) if text else {}
        for part in self._plan.context:
            try:
                value = values.json_value(part.reader.read(element, message), part.found, self._types)
            except NoValueError:
                continue
            values.put(context, part.name, value)
        return context

    def _data(self, element: Any, message: Any) -> tuple[bytes, str]:
        image = self._optional("image", element, message, _same, None)
        if image is not None:
            size = self._config.thumbnail_width, self._config.thumbnail_height
            return thumbnail(image, width=size[0], height=size[1])
        data = self._optional("data", element, message, values.raw_bytes, b"")
        return data, self._name("data_format", DropReason.BAD_NAME, element, message) if data else ""


def _same(value: Any) -> Any:
    return value


def _reason(cause: Exception) -> DropReason:
    return cause.reason if isinstance(cause, DropError) else DropReason.UNREADABLE
