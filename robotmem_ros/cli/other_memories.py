"""Read what other memories hold as facts and perceptions, by the names that people give to the fields of a memory."""

from __future__ import annotations

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import timezone
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ..memory import validation
from ..memory.argument import MAX_SUMMARY, MAX_TAGS
from ..memory.clocks import FIRST_OF_WALL_CLOCKS
from ..memory.errors import InvalidFieldError
from ..memory.models import NewFact, NewPerception
from ..memory.times import moment
from .export_file import opened_import
from .other_files import FORMATS, Item

_ORIENTATION = ("qx", "qy", "qz", "qw")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": (
        "text", "content", "insight", "fact", "memory", "observation", "description", "caption", "document",
        "statement", "note", "message",
    ),
    "human_summary": ("human_summary", "summary", "title"),
    "category": ("category",),
    "tags": ("tags", "tag", "keywords"),
    "label": ("label", "class", "class_name", "object"),
    "pose": ("pose", "position", "xyz", "coordinates"),
    **{axis: (axis, f"position_{axis}", f"pose_{axis}", f"pos_{axis}", f"{axis}_m") for axis in "xyz"},
    **{part: (part, f"orientation_{part[1]}") for part in _ORIENTATION},
    "yaw": ("yaw", "theta"),
    "frame_id": ("frame_id", "frame"),
    "observed_at": ("stamp", "timestamp", "time", "observed_at", "valid_at", "created_at", "datetime", "date"),
    "confidence": ("confidence", "certainty", "probability"),
    "session_id": ("session_id", "session"),
    "collection": ("collection", "namespace"),
    "perception_type": ("perception_type", "modality"),
    "scope_files": ("scope_files", "files"),
    "scope_entities": ("scope_entities", "entities"),
    "context": ("context", "metadata", "meta", "payload"),
    "kind": ("kind",),
    "vector": ("embedding", "embeddings", "vector"),
}  # fmt: skip
"""Names of each field in files, lower case and underscores, the first first: what has a later one is kept as well."""
FIELDS = tuple(name for name in _NAMES if name != "vector")
_PLACE = ("pose", "x", "y", "z", *_ORIENTATION, "yaw")
_KINDS: Mapping[str, type] = {"fact": NewFact, "perception": NewPerception}
_LISTS = ("tags", "scope_files", "scope_entities")
_TAKEN = {
    "fact": {"text", "kind", *(entry.name for entry in fields(NewFact))},
    "perception": {"text", "kind", "tags", *_PLACE, *(entry.name for entry in fields(NewPerception))},
}
"""Fields of each kind; what else a row has is kept in its context."""
_ONLY_PERCEPTIONS = _TAKEN["perception"] - _TAKEN["fact"] - {"frame_id"}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANTS = {"true": True, "false": False}
_UNITS = (10**9, 10**6, 10**3, 1)
"""Nanoseconds of the units in which a time may be counted."""


class Row(NamedTuple):
    """A memory of another memory, as this one takes it."""

    request: NewFact | NewPerception
    tags: tuple[str, ...]
    """Tags of a perception, which is made without."""
    digest: tuple[int, int]
    """Says which one it is, in whatever file it stands."""
    place: str
    keys: Mapping[str, str]

    def named(self, error: InvalidFieldError) -> InvalidFieldError:
        """Return an error with the place and the key of the file instead of the field of the request."""
        return _named(error, self.place, self.keys)


class Reader:
    """Read a file of another memory, and note what becomes of its keys.

    Args:
        path: The file, compressed or not; `-` is standard input.
        keys: Fields by keys of the file that are read as them, besides the known ones.
        now: Time by which `3 minutes ago` is read, in nanoseconds.
    """

    def __init__(self, path: Path, keys: Mapping[str, str], now: int) -> None:
        self._path, self._now = path, now
        own = {field: tuple(key for key, read_as in keys.items() if read_as == field) for field in FIELDS}
        self._names = {field: (*own.get(field, ()), *names) for field, names in _NAMES.items()}
        self._own_keys = frozenset(keys)
        self.read_as: dict[str, str] = {}
        """Fields by the keys that were read as them."""
        self.kept: Counter[str] = Counter()
        """Rows by the keys that were kept in the context."""
        self.left_out: Counter[str] = Counter()
        """Rows by the keys of vectors, which are of another model."""

    def rows(self, format_name: str) -> Generator[Row | InvalidFieldError]:
        """Yield what the file holds in its order; an error stands for what cannot be understood.

        Raises:
            InvalidFieldError: the file cannot be read.
        """
        with opened_import(self._path) as lines:
            text = "".join(lines).removeprefix("\ufeff")  # Excel begins UTF-8 with a byte order mark
        for item in FORMATS[format_name](text, self._path):
            if isinstance(item, InvalidFieldError):
                yield item
                continue
            keys = self._keys(item.values)
            try:
                yield self._row(item, keys)
            except InvalidFieldError as error:
                yield _named(error, item.place, keys)
            except RecursionError:
                yield InvalidFieldError(item.place, "{...}", "is nested too deeply")

    def _keys(self, values: Mapping[str, object]) -> dict[str, str]:
        """Return the key of each field that a row has."""
        filled = [key for key, value in values.items() if _is_given(value)]
        by_name = {**{_plain(key): key for key in reversed(filled)}, **{key: key for key in self._own_keys & {*filled}}}
        keys: dict[str, str] = {}
        for field, names in self._names.items():
            name = next((name for name in names if name in by_name and by_name[name] not in keys.values()), None)
            if name is not None:
                keys[field] = by_name[name]
        if str(values.get(keys.get("kind", ""))).lower() not in _TAKEN:
            keys.pop("kind", None)
        if "context" in keys and _object(values[keys["context"]]) is None:
            del keys["context"]
        summary = values[keys["human_summary"]] if "human_summary" in keys else ""
        if "human_summary" in keys and "text" not in keys:
            keys["text"] = keys.pop("human_summary")
        elif not isinstance(summary, str) or len(summary) > MAX_SUMMARY:
            del keys["human_summary"]
        unused = ("x", "y", "z") if "pose" in keys else () if "x" in keys or "y" in keys else _PLACE
        return {field: key for field, key in keys.items() if field not in unused}

    def _row(self, item: Item, keys: dict[str, str]) -> Row:
        values = item.values
        if (vector := keys.pop("vector", None)) is not None:
            self.left_out[vector] += 1
        kind = str(values[keys["kind"]]).lower() if "kind" in keys else ""
        kind = kind or ("perception" if _ONLY_PERCEPTIONS & keys.keys() else "fact")
        for field in keys.keys() - _TAKEN[kind]:
            del keys[field]
        rest = [key for key, value in values.items() if _is_given(value) and key not in {*keys.values(), vector}]
        self.read_as |= {key: field for field, key in keys.items()}
        self.kept.update(rest)
        row = {field: values[key] for field, key in keys.items()}
        others = {key: _of_cell(values[key]) if item.is_text else values[key] for key in rest}
        context = _object(row.pop("context", {})) or {}
        row["context"] = {keys["context"]: context, **others} if context.keys() & others else {**context, **others}
        text = json.dumps([kind, row], sort_keys=True).encode()
        digest: Any = struct.unpack("<qq", blake2b(text, digest_size=16).digest())
        tags, request = self._request(kind, row)
        return Row(request, tags, digest, item.place, keys)

    def _request(self, kind: str, row: dict[str, Any]) -> tuple[tuple[str, ...], NewFact | NewPerception]:
        row.pop("kind", None)
        text = row.pop("text", row.get("label"))
        if text is None:
            known_keys = ", ".join(self._names["text"])
            raise InvalidFieldError("text", None, f"is missing; its key is one of {known_keys}, or give --key KEY=text")
        if pose := _pose({field: row.pop(field) for field in _PLACE if field in row}):
            row["pose"] = pose
        if "observed_at" in row:
            row["observed_at"] = _stamp(row["observed_at"], self._now)
        if "confidence" in row:
            row["confidence"] = _number("confidence", row["confidence"])
        for field in ("label", "session_id", "collection"):
            if type(row.get(field)) is int:
                row[field] = str(row[field])
        for field in _LISTS:
            if field in row:
                row[field] = _list(row[field])
        if kind == "fact":
            return (), NewFact(text, **row)
        tags = validation.names("tags", row.pop("tags", ()), limit=MAX_TAGS)
        return tags, NewPerception(text, **row)


def _named(error: InvalidFieldError, place: str, keys: Mapping[str, str]) -> InvalidFieldError:
    field = re.split(r"[.[]", error.field)[0]
    name = "text" if field in {"insight", "description"} else field
    whole_name = f"{keys.get(name, name)}{error.field.removeprefix(field)}"
    return InvalidFieldError(f"{place}, {whole_name}", error.value, error.expected)


def _plain(key: str) -> str:
    """Return a key as the table of names has it: `createdAt` and `Created At` are created_at."""
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.strip())).lower()


def _is_given(value: object) -> bool:
    is_nothing = isinstance(value, float) and math.isnan(value)
    return not is_nothing and not (isinstance(value, str) and not value.strip()) and value not in (None, [], {})


def _object(value: object) -> dict[str, Any] | None:
    """Return a JSON object that is given as one or as its text; None for anything else."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return value if isinstance(value, dict) else None


def _of_cell(cell: str) -> object:
    """Return what a cell of text holds: a number, true or false, JSON, or its text."""
    text = cell.strip()
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _NUMBER.fullmatch(text) or text[:1] in {"{", "["}:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return cell


def _list(value: object) -> Any:
    """Return names that stand in a list, or in a text: as JSON, or between commas, semicolons or bars."""
    if not isinstance(value, str):
        return value if isinstance(value, list) else [value]
    parsed = _of_cell(value)
    return parsed if isinstance(parsed, list) else [name for part in re.split("[,;|]", value) if (name := part.strip())]


def _number(field: str, value: object) -> float:
    with suppress(ValueError):
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return float(value)
    raise InvalidFieldError(field, value, "must be a number")


def _pose(row: Mapping[str, Any]) -> Any:
    """Return the numbers of a place; None for none."""
    if not row:
        return None
    if "pose" in row:
        numbers = _numbers_of(row["pose"])
        if not isinstance(numbers, list):
            return numbers
    else:
        for axis in "xy":
            if axis not in row:
                raise InvalidFieldError(axis, None, "is missing; a place has x and y")
        numbers = [_number(axis, row.get(axis, 0.0)) for axis in "xyz"]
    turned = [part for part in _ORIENTATION if part in row]
    if len(numbers) > 3 and (turned or "yaw" in row):
        raise InvalidFieldError("pose", row["pose"], "has an orientation, and the row has another one")
    if turned:
        return numbers + [_number(part, row.get(part, 0.0)) for part in _ORIENTATION]
    return [*numbers, _number("yaw", row["yaw"])] if "yaw" in row else numbers


def _numbers_of(value: Any) -> Any:
    """Return the numbers of a list, of their text, or of a message such as a Pose; anything else as it is."""
    value = value if (message := _object(value)) is None else message
    if isinstance(value, str):
        value = validation.numbers_in(value) or value
    if isinstance(value, dict):
        place = value
        while isinstance(place.get("pose"), dict):
            place = place["pose"]
        position, turned = place.get("position", place), place.get("orientation")
        parts = [position, *([turned] if turned else [])]
        if not all(isinstance(part, dict) and "x" in part and "y" in part for part in parts):
            return value
        names = ("xyz", "xyzw")[: len(parts)]
        numbers = [
            [_number(f"pose.{axis}", part.get(axis, 0.0)) for axis in axes]
            for part, axes in zip(parts, names, strict=True)
        ]
        return [number for part in numbers for number in part]
    return [*value, 0.0] if isinstance(value, list) and len(value) == 2 else value


def _stamp(value: object, now: int) -> int:
    """Return a time in nanoseconds; a number that is one of our days is of seconds, or of their thousandths."""
    if isinstance(value, dict):
        seconds = value.get("sec", value.get("secs"))
        nanoseconds = value.get("nanosec", value.get("nsecs", value.get("nsec", 0)))
        if type(seconds) is int and type(nanoseconds) is int:
            return moment("observed_at", seconds * 10**9 + nanoseconds, now)
    with suppress(InvalidOperation, ValueError):
        number = Decimal(str(value))
        for unit in _UNITS:
            if number.is_finite() and FIRST_OF_WALL_CLOCKS <= number * unit < 1000 * FIRST_OF_WALL_CLOCKS:
                return moment("observed_at", int(number * unit), now)
    return moment("observed_at", value, now, timezone.utc)
