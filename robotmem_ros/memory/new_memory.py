"""Turns what a caller gives into a validated memory, ready to be stored."""

from __future__ import annotations

from collections.abc import Callable

from . import validation
from .config.parameters import Parameters
from .errors import InvalidFieldError
from .models import Kind, NewMemory, PerceptionType


def new_fact(
    parameters: Parameters,
    *,
    now: Callable[[], int],
    insight: object,
    context: object = None,
    session_id: object = None,
    collection: object = None,
    human_summary: object = None,
    category: object = None,
    tags: object = (),
    confidence: object = None,
    observed_at: object = None,
    scope_files: object = (),
    scope_entities: object = (),
) -> NewMemory:
    """A fact; its positions are in `context.spatial.frame_id`, else in the memory frame.

    A confidence of None, and what is empty of category, tags and scope, is left to classification.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    clean_context = validation.context("context", context, limit=parameters.context_limit)
    open_fields = {
        "category": validation.name("category", category),
        "tags": validation.names("tags", tags),
        "confidence": None if confidence is None else validation.number("confidence", confidence, low=0.0, high=1.0),
        "scope_files": " ".join(validation.names("scope_files", scope_files)),
        "scope_entities": " ".join(validation.names("scope_entities", scope_entities)),
    }
    given = {name: value for name, value in open_fields.items() if value not in (None, "", ())}
    return NewMemory(
        kind=Kind.FACT,
        content=validation.text("insight", insight, limit=parameters.content_limit, required=True),
        human_summary=validation.text("human_summary", human_summary or "", limit=parameters.summary_limit),
        context=validation.compact_json(clean_context),
        session_id=validation.name("session_id", session_id),
        collection=validation.name("collection", collection, default=parameters.collection),
        observed_at=_observed_at(observed_at, now),
        frame_id=_frame(None, clean_context, parameters),
        map_id=parameters.map_id,
        given=frozenset(given),
        **given,  # type: ignore[arg-type]
    )


def new_perception(
    parameters: Parameters,
    *,
    now: Callable[[], int],
    description: object,
    perception_type: object = "visual",
    data: object = None,
    metadata: object = None,
    context: object = None,
    session_id: object = None,
    collection: object = None,
    pose: object = None,
    frame_id: object = None,
    label: object = None,
    as_object: object = True,
    confidence: object = 0.9,
    observed_at: object = None,
    received_at: object = 0,
) -> NewMemory:
    """A perception; its pose and positions are in `frame_id`, else `context.spatial.frame_id`, else the memory frame.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    clean_context = validation.context("context", context, limit=parameters.context_limit)
    clean_metadata = validation.json_object("metadata", metadata, limit=parameters.context_limit)
    return NewMemory(
        kind=Kind.PERCEPTION,
        content=validation.text("description", description, limit=parameters.content_limit, required=True),
        context=validation.compact_json(clean_context),
        session_id=validation.name("session_id", session_id),
        collection=validation.name("collection", collection, default=parameters.collection),
        perception_type=validation.member("perception_type", perception_type or "visual", PerceptionType).value,
        perception_data=_data(data, parameters.data_limit),
        perception_metadata=validation.compact_json(clean_metadata) if clean_metadata else None,
        pose=validation.pose("pose", pose),
        label=validation.name("label", label),
        as_object=validation.flag("as_object", as_object),
        confidence=validation.number("confidence", confidence, low=0.0, high=1.0),
        observed_at=_observed_at(observed_at, now),
        frame_id=_frame(frame_id, clean_context, parameters),
        map_id=parameters.map_id,
        received_at=validation.time_ns("received_at", received_at),
    )


def _observed_at(value: object, now: Callable[[], int]) -> int:
    if value is not None:
        return validation.time_ns("observed_at", value)
    time = validation.whole("clock", now())
    if time <= 0:
        raise InvalidFieldError("observed_at", value, "is not given, and the clock shows no time yet")
    return time


def _frame(given: object, context: dict[str, object], parameters: Parameters) -> str:
    return validation.name("frame_id", given) or context_frame(context) or parameters.memory_frame


def context_frame(context: dict[str, object]) -> str:
    """The frame that a context names for its positions, `spatial.frame_id`; empty when it names none."""
    spatial = context.get("spatial")
    return validation.name("context.spatial.frame_id", spatial.get("frame_id")) if isinstance(spatial, dict) else ""


def _data(value: object, limit: int) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidFieldError("data", value, "must be bytes")
    data = bytes(value)
    if len(data) > limit:
        raise InvalidFieldError("data", f"{len(data)} bytes", f"is too much; at most {limit} bytes are allowed")
    return data or None
