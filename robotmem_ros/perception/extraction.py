"""Extract observations from one message, live or recorded; one bad element never stops the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from ..frames import Transform, stripped
from ..memory import PerceptionType, Pose, validation
from ..memory.config.parameters import Parameters
from . import values
from .counters import DropError, DropReason
from .images import thumbnail
from .message_types import TypeDescription
from .plan import Planner
from .sources import NoValueError, Reader
from .topic_config import TopicConfig
from .values import Matrix, plain_text, scalar

_T = TypeVar("_T")
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
        if self.pose is None and not _holds_position(self._spatial):
            return ""
        inner = self._spatial.get("frame_id")
        return self.frame_id or stripped(inner if isinstance(inner, str) else "")

    def transformed(self, transform: Transform, frame_id: str) -> Observation:
        """Return it in the frame to which `transform` leads: pose, covariance and the positions of its context."""
        changes: dict[str, object] = {"frame_id": frame_id}
        if self.pose is not None:
            x, y, z = self.pose[:3]
            is_point = len(self.pose) == _SPACE
            changes["pose"] = transform.apply((x, y, z)) if is_point else tuple(transform.apply_pose(Pose(*self.pose)))
        if self.covariance is not None:
            changes["covariance"] = _rotated(self.covariance, transform)
        if self._spatial:
            moved = _moved(self._spatial, transform)
            if "frame_id" in moved:
                moved["frame_id"] = frame_id
            changes["context"] = {**self.context, _SPATIAL: moved}
        return replace(self, **changes)  # type: ignore[arg-type]

    def in_own_frame(self, frame_id: str) -> Observation:
        """Return it unmoved, with its frame in `spatial.source_frame_id` of the context."""
        marked = {**self._spatial, "source_frame_id": frame_id}
        return replace(self, frame_id=frame_id, context={**self.context, _SPATIAL: marked})

    @property
    def _spatial(self) -> Mapping[str, Any]:
        named = self.context.get(_SPATIAL)
        return named if isinstance(named, Mapping) else {}


class Extraction(NamedTuple):
    """What one message says."""

    observations: list[Observation]
    dropped: Counter[DropReason]
    """How many elements could not be used, and why."""
    stamp_ns: int
    """Of the message's header, else when it was received."""
    why: Mapping[DropReason, str]
    """Why the last one was dropped for each reason, in words."""


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

    def extract(self, message: Any, receipt_ns: int) -> Extraction:
        """Return the observations of a message that was received at `receipt_ns`, in the order of its array.

        Never raises for the content of a message: what cannot be used is counted by its reason.
        """
        dropped: Counter[DropReason] = Counter()
        found: list[Observation] = []
        why: dict[DropReason, str] = {}
        try:
            elements = self._elements(message, dropped)
            message_ns = self._message_stamp(message) or receipt_ns
        except Exception as cause:
            reason = _reason(cause)
            return Extraction([], Counter([reason]), receipt_ns, {reason: str(cause)})
        for index, element in enumerate(elements):
            try:
                found.append(self._observation(element, message, index, message_ns))
            except Exception as cause:  # noqa: PERF203 -- one bad element never stops the rest
                reason = _reason(cause)
                dropped[reason] += 1
                why[reason] = str(cause)
        return Extraction(found, dropped, message_ns, why)

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
            frame = element.header.frame_id
        if not frame and self._plan.message_has_header:
            frame = message.header.frame_id
        return values.valid(DropReason.BAD_FRAME, validation.frame, "frame_id", frame)

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
