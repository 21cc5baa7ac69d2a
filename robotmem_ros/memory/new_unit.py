"""Check the units of an export or a fleet: the one door through which what another file wrote enters.

Each field has the check that it has when a caller gives it, within the widest limits that parameters allow: the other
file may have had others. What a file may hold is what can be read again.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from . import validation
from .areas import checked_area
from .argument import MAX_CONTEXT, MAX_NAME, MAX_SUMMARY, MAX_TAGS
from .config.parameters import Parameters
from .errors import InvalidFieldError
from .geometry import Covariance, checked_covariance
from .map_values import read_grid
from .models import Kind, PerceptionType
from .new_memory import LEFT_TO_RULES, TOLD, check_positions

Row = Mapping[str, Any]
Check = Callable[[str, Any], Any]
"""Takes the name of a field and its value, and returns the clean value or raises InvalidFieldError."""
_MAXIMUM: dict[str, Any] = {item.name: item.metadata.get("maximum") for item in fields(Parameters)}
_TEXT, _DATA = (int(_MAXIMUM[name]) for name in ("content_limit", "data_limit"))
_UUID = re.compile("[0-9a-f]{32}")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00")
_QUATERNION = ("qx", "qy", "qz", "qw")
_POSE = ("x", "y", "z", *_QUATERNION)
_SIZE = ("size_x", "size_y", "size_z")
_MATRIX = (("vxx", "vxy", "vxz"), ("vxy", "vyy", "vyz"), ("vxz", "vyz", "vzz"))


def check_unit(row: object) -> dict[str, Any]:
    """Return a unit of a feed with clean values.

    Raises:
        InvalidFieldError: a field cannot be used; the field is named by its path, such as `sightings[3].label`.
    """
    values = _mapping("row", row)
    unit = values.get("unit")
    if not isinstance(unit, str) or unit not in UNITS:
        raise InvalidFieldError("unit", unit, f"is unknown; use one of {', '.join(UNITS)}")
    clean = {**values, **_fields(UNITS[unit])("", values)}
    if unit == "memory":
        _check_memory(clean)
    elif unit == "map":
        read_grid(clean)
    return clean


def check_deleted(uuids: object) -> tuple[str, ...]:
    """Return the UUIDs of what a batch deletes.

    Raises:
        InvalidFieldError: one is none.
    """
    try:
        return tuple(_list(uuid)("deleted", uuids))
    except InvalidFieldError as error:
        raise InvalidFieldError("deleted", error.value, "must be UUIDs in hexadecimal digits") from error


def check_head(row: object) -> dict[str, Any]:
    """Return the first line of a batch with clean values.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    clean: dict[str, Any] = _fields(_HEAD)("", row)
    return {**clean, "deleted": check_deleted(clean["deleted"])}


def check_points(points: object) -> list[dict[str, Any]]:
    """Return points of a path with clean values.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    clean: list[dict[str, Any]] = _list(_fields(_POINT))("points", points)
    return clean


def uuid(field: str, value: object) -> str:
    """Return a UUID of 32 hexadecimal digits, in small letters."""
    text = value.lower() if isinstance(value, str) else ""
    if not _UUID.fullmatch(text):
        raise InvalidFieldError(field, value, "must be a UUID of 32 hexadecimal digits")
    return text


def _mapping(field: str, value: object) -> Row:
    if not isinstance(value, Mapping):
        raise InvalidFieldError(field, value, "must be a JSON object")
    return value


def _fields(checks: Mapping[str, Check]) -> Check:
    def check(field: str, value: object) -> dict[str, Any]:
        values, start = _mapping(field or "row", value), f"{field}." if field else ""
        for name in checks:
            if name not in values:
                raise InvalidFieldError(f"{start}{name}", None, "is missing")
        return {name: check(f"{start}{name}", values[name]) for name, check in checks.items()}

    return check


def _list(check: Check) -> Check:
    def check_all(field: str, value: object) -> list[Any]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise InvalidFieldError(field, value, "must be a list")
        return [check(f"{field}[{index}]", item) for index, item in enumerate(value)]

    return check_all


def _at_most_one(check: Check) -> Check:
    check_all = _list(check)

    def check_few(field: str, value: object) -> list[Any]:
        items: list[Any] = check_all(field, value)
        if len(items) > 1:
            raise InvalidFieldError(field, f"{len(items)} entries", "are too many; there is one at most")
        return items

    return check_few


def _by_name(name: Check, check: Check, *, required: bool = False) -> Check:
    def check_all(field: str, value: object) -> dict[str, Any]:
        values = _mapping(field, value)
        if required and not values:
            raise InvalidFieldError(field, value, "is empty")
        return {name(field, key): check(f"{field}.{key}", item) for key, item in values.items()}

    return check_all


def _or_none(check: Check) -> Check:
    return lambda field, value: None if value is None else check(field, value)


def _one_of(*choices: str) -> Check:
    def check(field: str, value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise InvalidFieldError(field, value, f"must be one of {', '.join(map(repr, choices))}")
        return value

    return check


def _text(limit: int) -> Check:
    def check(field: str, value: object) -> str:
        validation.text(field, value, limit=limit)
        return str(value)

    return check


def _number(low: float = 0.0, high: float = 1e18) -> Check:
    return lambda field, value: validation.number(field, value, low=low, high=high)


def _whole(low: int = 0, high: int = 2**62) -> Check:
    return lambda field, value: validation.whole(field, value, low=low, high=high)


def _name(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidFieldError(field, value, "must be text")
    return validation.name(field, value)


def _required_name(field: str, value: object) -> str:
    clean = _name(field, value)
    if not clean:
        raise InvalidFieldError(field, value, "is empty")
    return clean


def _collection(field: str, value: object) -> str:
    return validation.collection(field, _required_name(field, value))


def _frame(field: str, value: object) -> str:
    return validation.frame(field, _name(field, value))


def _stamp(field: str, value: object) -> str:
    try:
        if isinstance(value, str) and _STAMP.fullmatch(value) and datetime.fromisoformat(value).timestamp() >= 0:
            return value
    except (ValueError, OverflowError):
        pass
    raise InvalidFieldError(field, value, "must be a time in UTC such as 2026-01-31T12:00:00+00:00")


def _changed(field: str, value: object) -> str:
    return "" if value == "" else _stamp(field, value)


def _json(field: str, value: object) -> dict[str, object]:
    return validation.json_object(field, _mapping(field, value), limit=_TEXT)


def _context(field: str, value: object) -> dict[str, object]:
    context = validation.json_object(field, _mapping(field, value), limit=MAX_CONTEXT)
    check_positions(f"{field}.spatial", context.get("spatial"))
    return context


def _context_text(field: str, value: object) -> str:
    _context(field, validation.json_object(field, _text(_TEXT)(field, value), limit=MAX_CONTEXT))
    return str(value)


def _data(field: str, value: object) -> str:
    text = _text(2 * _DATA)(field, value)
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        raise InvalidFieldError(field, value, "must be bytes in Base64") from None
    return str(text)


def _decision(field: str, value: object) -> list[str]:
    parts: list[str] = _list(_text(_TEXT))(field, value)
    if len(parts) != 3:
        raise InvalidFieldError(field, value, "must be a field, a value and a rule")
    return parts


def _size(field: str, value: object) -> list[float]:
    size = validation.size(field, value)
    if size is None:
        raise InvalidFieldError(field, value, "must be 3 lengths in metres, all above 0")
    return [*size]


def _polygons(field: str, value: object) -> dict[str, object]:
    polygons = {
        name: checked_area(f"{field}.{name}", name, corners) for name, corners in _mapping(field, value).items()
    }
    return {area.name: [[*corner] for corner in area.corners] for area in polygons.values()}


_FLAG = _whole(0, 1)
_MOST = 2**31
"""Counts are added up, which must fit into 64 bits."""
_COUNT = _whole(0, _MOST)
_SHARE = _number(0.0, 1.0)
_COORDINATE = _number(-validation.MAX_COORDINATE, validation.MAX_COORDINATE)
_LENGTH = _number(1e-6, validation.MAX_COORDINATE)
_PART_OF_UNIT = _number(-1.001, 1.001)
"""A component of a unit quaternion, with room for rounding."""
_VARIANCE, _COVARIANCE = _number(1e-12, 1e12), _number(-1e12, 1e12)
"""From a micrometre to a thousand kilometres, squared."""
_METHODS = ("exact", "jaccard", "cosine")
_time = validation.time_ns
_TAGS = _list(_name)
_DECISIONS = _list(_decision)
_VERSION: Mapping[str, Check] = {"uuid": uuid, "robot": uuid, "revision": _whole()}
_CONTRIBUTION: Mapping[str, Check] = {
    "content": _text(_TEXT), "human_summary": _text(MAX_SUMMARY), "context": _context_text, "category": _name,
    "tags": _TAGS, "confidence": _SHARE, "decay_rate": _or_none(_SHARE), "scope_files": _text(_TEXT),
    "scope_entities": _text(_TEXT), "given": _list(_one_of(*LEFT_TO_RULES)), "decisions": _DECISIONS,
}  # fmt: skip
assert {*TOLD} <= _CONTRIBUTION.keys()


def _contribution(field: str, value: object) -> dict[str, Any]:
    # It has those values that were known.
    values = _mapping(field, value)
    for name in values:
        if name not in _CONTRIBUTION:
            raise InvalidFieldError(f"{field}.{name}", values[name], "is no field of a fact")
    clean: dict[str, Any] = _fields({name: _CONTRIBUTION[name] for name in values})(field, values)
    return clean


_HEAD: Mapping[str, Check] = {
    "robot": uuid, "epoch": _text(MAX_NAME), "first": _whole(), "last": _whole(), "rows": _whole(),
    "deleted": _list(lambda field, value: value), "lived_days": _whole(),
}  # fmt: skip
_POINT: Mapping[str, Check] = {
    "observed_at": _time, "x": _COORDINATE, "y": _COORDINATE, "yaw": _number(-1e6, 1e6), "segment": _time,
    "frame_id": _frame, "map_id": _name, "collection": _collection, "session_id": _name,
}  # fmt: skip
_OBJECT: Mapping[str, Check] = {
    "votes": _by_name(_name, _COUNT, required=True),
    **dict.fromkeys(("vxx", "vyy", "vzz"), _VARIANCE),
    **dict.fromkeys(("vxy", "vxz", "vyz"), _COVARIANCE),
    "first_seen": _time, "last_seen": _time, "times_seen": _whole(1, _MOST), "hits": _number(), "misses": _number(),
    "missed": _number(), "last_hit": _time, "last_missed": _time, "appeared": _time, "sure": _SHARE,
    "sizes": _list(_size), "confirmed": _FLAG, "told": _FLAG, "last_kept": _time,
    "subsampled": _COUNT, "sources": _by_name(_text(_TEXT), _text(_TEXT)), "described_at": _time,
    "described_in": _name,
}  # fmt: skip
_SIGHTING: Mapping[str, Check] = {
    "observed_at": _time, **dict.fromkeys("xyz", _COORDINATE), "confidence": _SHARE, "label": _name,
    "subsampled": _COUNT, "session_id": _name,
}  # fmt: skip
_STAY: Mapping[str, Check] = {
    "first_seen": _time, "last_seen": _time, "first_absent": _time, "label": _name, "area": _name,
    "confidence": _SHARE, **dict.fromkeys("xyz", _COORDINATE),
}  # fmt: skip
_CHANGE: Mapping[str, Check] = {"changed_at": _stamp, "change": _required_name, "reason": _text(_TEXT), "before": _json}
_LEARNING: Mapping[str, Check] = {
    "learned_at": _stamp, "session_id": _name, "observed_at": _time, "method": _one_of("first", *_METHODS),
    "similarity": _number(-1.0, 1.0 + 1e-6), "gain": _SHARE, "adds": _FLAG, "fact": _contribution,
}  # fmt: skip
_MEMORY: Mapping[str, Check] = {
    **_VERSION,
    "type": _one_of(Kind.FACT.value, Kind.PERCEPTION.value), "collection": _collection, "session_id": _name,
    "content": _text(_TEXT), "human_summary": _text(MAX_SUMMARY), "context": _context, "source": _text(MAX_NAME),
    "tags": _by_name(_required_name, _one_of("auto", "user")), "label": _name,
    "perception_type": _or_none(_one_of(*(item.value for item in PerceptionType))), "category": _name,
    "scope_files": _text((MAX_NAME + 1) * MAX_TAGS), "scope_entities": _text((MAX_NAME + 1) * MAX_TAGS),
    "times_learned": _COUNT, "confidence": _SHARE, "decay_rate": _or_none(_SHARE),
    "status": _one_of("active", "superseded", "invalidated"), "status_reason": _text(_TEXT),
    "superseded_at": _or_none(_stamp), "observed_at": _time, "received_at": _time, "frame_id": _frame, "map_id": _name,
    **dict.fromkeys("xyz", _or_none(_COORDINATE)), **dict.fromkeys(_QUATERNION, _or_none(_PART_OF_UNIT)),
    **dict.fromkeys(_SIZE, _or_none(_LENGTH)),
    "access_count": _COUNT, "return_count": _COUNT, "last_accessed": _or_none(_stamp), "recalled_at": _time,
    "created_at": _stamp, "updated_at": _changed, "decisions": _or_none(_DECISIONS),
    "perception_metadata": _or_none(_json), "perception_data": _or_none(_data),
    "evidence_age": _whole(-(2**31), 2**31), "replacement": _or_none(uuid), "group": _or_none(uuid),
    "object": _at_most_one(_fields(_OBJECT)), "sightings": _list(_fields(_SIGHTING)),
    "stays": _list(_fields(_STAY)),
    "history": _list(_fields(_CHANGE)), "contributions": _list(_fields(_LEARNING)),
    "outcomes": _at_most_one(_fields({"total": _number(), "weight": _number()})),
    "neighbours": _list(_fields({"uuid": uuid, "together": _COUNT, "alone": _COUNT})),
    "contradictions": _list(_fields({"uuid": uuid, "reason": _text(_TEXT)})),
    "similar": _list(_fields({"uuid": uuid, "method": _one_of(*_METHODS), "similarity": _number(-1.0, 1.0 + 1e-6)})),
}  # fmt: skip
UNITS: Mapping[str, Mapping[str, Check]] = {
    "memory": _MEMORY,
    "session": {
        **_VERSION,
        "external_id": _required_name, "collection": _collection, "context": _context,
        "status": _one_of("active", "ended"), "client_type": _name, "started_at": _time, "ended_at": _or_none(_time),
        "end_reason": _name, "superseded": _or_none(_whole()), "expires_at": _or_none(_time),
        "outcome": _or_none(_SHARE), "recalls": _by_name(uuid, _SHARE),
    },
    "map": {
        **_VERSION,
        "map_id": _name, "collection": _collection, "frame_id": _frame, "resolution": _number(),
        "origin_x": _COORDINATE, "origin_y": _COORDINATE, "origin_yaw": _number(-1e6, 1e6), "width": _whole(1),
        "height": _whole(1), "observed_at": _time, "cells": _data,
    },
    "tag": {
        **_VERSION,
        "tag": _required_name, "parent": _or_none(_required_name), "display_name": _text(MAX_NAME),
        "updated_at": _changed,
    },
    "areas": {
        **_VERSION,
        "map_id": _name, "frame_id": _frame, "polygons": _polygons, "updated_at": _changed,
    },
}  # fmt: skip
"""The checks of each field of each unit; what else a row has is of no use here."""


def _check_memory(row: Row) -> None:
    # What must hold between fields.
    for part, names in (("size", _SIZE), ("pose", _POSE)):
        present = [name for name in names if row[name] is not None]
        if present and len(present) < len(names):
            missing = next(name for name in names if row[name] is None)
            raise InvalidFieldError(missing, None, f"is missing from the {part}")
    is_fact = row["type"] == Kind.FACT.value
    if is_fact != (row["perception_type"] is None):
        raise InvalidFieldError("perception_type", row["perception_type"], "does not go with the type of the memory")
    for thing in row["object"]:
        if is_fact or not present or not row["label"]:
            raise InvalidFieldError("object", "an object", "must be a perception with a label and a pose")
        checked_covariance("object[0].vxx to vzz", [[thing[name] for name in names] for names in _MATRIX])
        covariance = Covariance(*(thing[f"v{axes}"] for axes in Covariance._fields))
        if not _is_invertible(covariance):
            raise InvalidFieldError("object[0].vxx to vzz", [*covariance], "must be a covariance that can be inverted")
    if row["access_count"] and row["last_accessed"] is None:
        raise InvalidFieldError("last_accessed", None, "is missing from a memory that was recalled")
    for outcome in row["outcomes"]:
        if outcome["total"] > outcome["weight"] * (1 + 1e-9):
            raise InvalidFieldError("outcomes[0].total", outcome["total"], "is more than its weight")


def _is_invertible(covariance: Covariance) -> bool:
    try:
        inverse = covariance.inverse()
    except (ZeroDivisionError, OverflowError):
        return False
    return all(map(math.isfinite, inverse)) and min(inverse.xx, inverse.yy, inverse.zz) > 0
