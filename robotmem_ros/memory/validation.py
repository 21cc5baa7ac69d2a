"""The checks at every door: text, JSON, numbers, poses. Each gives the clean value or an error naming the field."""

from __future__ import annotations

import json
import math
import operator
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sized
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TypeVar

import numpy as np

from .argument import MAX_DEPTH, MAX_IDS, MAX_NAME, MAX_NAMES, MAX_QUERY
from .errors import InvalidFieldError, did_you_mean
from .models import Kind, Pose, Size

ALL_COLLECTIONS = "*"
"""Name of all collections in a request that only reads; no name of a collection contains it."""
USER_CONTEXT = "user_context"
"""Key of a context in plain text."""
MAX_COORDINATE = 1e8
"""Metres: more than any position on Earth has in ECEF (6.4e6), UTM (1e7) or Web Mercator (2e7). What lies farther out
came by a transform or a sensor that is broken; its squares and distances would overflow, and no map could show it."""

LATEST_NS = 2**63 - 1
_SUSPICIOUS = re.compile(r"\\u|[0-9][eE]|[0-9]{300}")
"""A character that may be NUL or half of one, a number that may be infinite or too large."""
_T = TypeVar("_T")
_SIGNS = {
    "separates the names of a list": ",;",
    "separates the parts of a path": "/\\",
    "has a meaning in a parameter": ":=",
    "has a meaning in a URL": "?#%",
    "cannot stand in the name of a file": '<>|"',
}
"""Signs that no name of a new collection contains, by what they mean elsewhere."""
_FIRST_SIGNS = {
    "means all but this one in a list": "!",
    "begins an option of a command": "-",
    "hides a file or leads out of its folder": ".",
    "means a home folder": "~",
}
_NEW_NAME = "name it with letters, digits, spaces, `_`, `-` and `.`"


def is_blank(text: str) -> bool:
    """Tell whether a text shows nothing: white space, control and zero-width characters only."""
    if text[:1].isalnum():
        return False
    return all(character.isspace() or unicodedata.category(character) in {"Cc", "Cf", "Cs"} for character in text)


def has_word(text: str) -> bool:
    """Tell whether a text has a letter or a digit of any script."""
    return any(map(str.isalnum, text))


def text(field: str, value: object, *, limit: int, required: bool = False) -> str:
    """Return a text without surrounding white space, at most `limit` characters long."""
    if not isinstance(value, str):
        raise InvalidFieldError(field, value, "must be text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidFieldError(field, value, "contains a lone surrogate and is not valid Unicode") from None
    if "\0" in value:
        raise InvalidFieldError(field, value, "contains a NUL character")
    if is_blank(value):
        if required:
            raise InvalidFieldError(field, value, "is blank; give some text")
        return ""
    value = value.strip()
    if len(value) > limit:
        raise InvalidFieldError(field, value, f"is {len(value)} characters long; at most {limit} are allowed")
    return value


def query(field: str, value: object, *, required: bool = False) -> str:
    """Return the text of a query, which must have a word; blank gives an empty one, unless it is required."""
    clean = text(field, value, limit=MAX_QUERY, required=required)
    if clean and not has_word(clean):
        raise InvalidFieldError(field, value, "has no letter and no digit to search for; give words, or leave it empty")
    return clean


def name(field: str, value: object, *, default: str = "") -> str:
    """Return a short name on one line, such as a session, a label or a frame; None and white space give the default."""
    if value is None or value == "":
        return default
    clean = text(field, value, limit=MAX_NAME)
    content = str(value).strip()
    if not content.isprintable() and any(unicodedata.category(character) == "Cc" for character in content):
        raise InvalidFieldError(field, value, "contains control characters")
    if content and not clean:
        raise InvalidFieldError(field, value, "has only characters that show nothing")
    return clean or default


def collection(field: str, value: object, *, default: str = "", wildcard: str | None = None) -> str:
    """Return the name of a collection; `*` alone gives `wildcard`, where all collections may be meant."""
    clean = name(field, value, default=default)
    if clean == ALL_COLLECTIONS and wildcard is not None:
        return wildcard
    if ALL_COLLECTIONS in clean:
        alone = "" if wildcard is None else ", and stands alone"
        raise InvalidFieldError(
            field, value, f"contains `{ALL_COLLECTIONS}`, which means all collections{alone}; name one without it"
        )
    return clean


def new_collection(field: str, value: str) -> str:
    """Return the name of a collection to store into, which no list, URL or path of a file reads as anything else."""
    for meaning, signs in _SIGNS.items():
        if found := next((sign for sign in signs if sign in value), ""):
            raise InvalidFieldError(field, value, f"contains {found!r}, which {meaning}; {_NEW_NAME}")
    for meaning, signs in _FIRST_SIGNS.items():
        if value.startswith(tuple(signs)):
            raise InvalidFieldError(field, value, f"begins with {value[0]!r}, which {meaning}; {_NEW_NAME}")
    return value


def frame(field: str, value: object, *, default: str = "") -> str:
    """Return the name of a frame as tf2 reads it, without a leading slash; None and blank give the default."""
    clean = name(field, value, default=default)
    bare = clean.removeprefix("/")
    if clean and not bare.strip("/"):
        raise InvalidFieldError(field, value, "is no name of a frame; give one such as 'map'")
    return bare


def names(field: str, values: object, *, limit: int = MAX_NAMES) -> tuple[str, ...]:
    """Return names without blanks and repetitions, in alphabetical order."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidFieldError(field, values, "must be a list of names")
    return tuple(sorted({clean for value in limited(field, values, limit, "names") if (clean := name(field, value))}))


def limited(field: str, values: Iterable[object], limit: int, plural: str) -> list[object]:
    """Return at most `limit` values; no more is read than may be there, since an iterator may be endless."""
    items = list(islice(values, limit + 1))
    if len(items) > limit:
        count = f"{len(values)} {plural}" if isinstance(values, Sized) else f"more than {limit} {plural}"
        raise InvalidFieldError(field, count, f"are too many; give at most {limit}")
    return items


def ids(field: str, values: object, *, in_order: bool = False, limit: int = MAX_IDS) -> tuple[int, ...]:
    """Return whole numbers without repetitions, ascending or in their own order.

    A single one does for a list of one, None gives none.
    """
    if values is None:
        return ()
    if isinstance(values, (str, bytes)):
        raise InvalidFieldError(field, values, "must be a list of whole numbers")
    items = values if isinstance(values, Iterable) else [values]
    numbers = dict.fromkeys(whole(field, value) for value in limited(field, items, limit, "ids"))
    return tuple(numbers if in_order else sorted(numbers))


def one_or_more(field: str, value: object) -> tuple[int, ...]:
    """Return the ids of memories to change, a single one or any number of them, each once and in their order."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return tuple(dict.fromkeys(whole(field, item) for item in value))
    return (whole(field, value),)


def number(field: str, value: object, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number within `low` and `high`, both included, as Python's own."""
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, Real)):
        raise InvalidFieldError(field, value, "must be a number")
    try:
        result = float(value)
    except OverflowError:
        raise InvalidFieldError(field, value, "is too large") from None
    except TypeError:
        raise InvalidFieldError(field, value, "must be a number") from None
    if not math.isfinite(result):
        raise InvalidFieldError(field, value, "must be a finite number")
    if not low <= result <= high:
        raise InvalidFieldError(field, value, f"must lie in {low:g} to {high:g}")
    return result


def whole(field: str, value: object, *, low: int = -LATEST_NS, high: int = LATEST_NS) -> int:
    """Return a whole number within `low` and `high`, both included, that fits 64 bits, as Python's own."""
    try:
        result: int = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidFieldError(field, value, "must be a whole number") from None
    if isinstance(value, bool):
        raise InvalidFieldError(field, value, "must be a whole number")
    if not -LATEST_NS <= result <= LATEST_NS:
        raise InvalidFieldError(field, value, "does not fit 64 bits")
    if not low <= result <= high:
        expected = f"must be {low:,} or more" if high == LATEST_NS else f"must lie in {low:,} to {high:,}"
        raise InvalidFieldError(field, value, expected)
    return result


def flag(field: str, value: object) -> bool:
    """Return true or false, as Python's own."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidFieldError(field, value, "must be true or false")
    return bool(value)


def time_ns(field: str, value: object) -> int:
    """Return a time in nanoseconds since the epoch, not negative."""
    result = whole(field, value)
    if result < 0:
        raise InvalidFieldError(field, value, "must not lie before the epoch")
    return result


def window(after: object, before: object) -> tuple[int | None, int | None]:
    """Return the ends of a window `[after, before)` in nanoseconds since the epoch; None leaves one open."""
    since = None if after is None else time_ns("after", after)
    until = None if before is None else time_ns("before", before)
    if since is not None and until is not None and since >= until:
        raise InvalidFieldError("after", since, f"must lie before `before` ({until})")
    return since, until


def vector(
    field: str, value: object, *, sizes: Container[int], rule: str, low: float = -math.inf, high: float = math.inf
) -> tuple[float, ...]:
    """Return finite numbers of a list, a tuple or an array of one of these sizes; `rule` ends the error message."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidFieldError(field, value, rule)
    numbers = tuple(value)
    if not _are_finite_floats(numbers, low, high):
        numbers = tuple(number(f"{field}[{index}]", item, low=low, high=high) for index, item in enumerate(numbers))
    if len(numbers) not in sizes:
        raise InvalidFieldError(field, value, rule)
    return numbers


def coordinates(
    field: str, value: object, *, sizes: Container[int] = (2, 3), rule: str = "must be two or three numbers in metres"
) -> tuple[float, ...]:
    """Return a position in metres, or a pose that begins with one, that no broken transform gave.

    Its numbers may also stand in a text, as `numbers_in` reads it.
    """
    if isinstance(value, str):
        value = numbers_in(value) or value
    numbers = vector(field, value, sizes=sizes, rule=rule)
    check_coordinates(field, numbers[:3])
    return numbers


def numbers_in(text: str) -> list[float]:
    """Read the numbers of a text such as `1, 2`, `1 2` or `[1, 2]`; none if anything else stands in it."""
    bare = text.strip()
    if bare.startswith("[") and bare.endswith("]"):
        bare = bare[1:-1]
    try:
        return [float(part) for part in bare.replace(",", " ").split()]
    except ValueError:
        return []


def check_coordinates(field: str, position: Iterable[float]) -> None:
    """Check that a position lies near enough to the origin to be on Earth."""
    for index, part in enumerate(position):
        if not abs(part) <= MAX_COORDINATE:
            rule = f"must lie within {MAX_COORDINATE:,.0f} m of the origin; look for a wrong unit or a broken transform"
            raise InvalidFieldError(f"{field}[{index}]", part, rule)


def position_numbers(value: object) -> list[float] | None:
    """Return the two or three numbers of a position in a context; None for what is none."""
    if not isinstance(value, (list, tuple)) or len(value) not in {2, 3}:
        return None
    if not all(isinstance(part, (int, float)) and not isinstance(part, bool) for part in value):
        return None
    return [float(part) for part in value]


def _are_finite_floats(values: tuple[object, ...], low: float, high: float) -> bool:
    # Poses are checked with every perception. A sum that overflows is checked number by number.
    if set(map(type, values)) != {float}:
        return False
    floats: tuple[float, ...] = values  # type: ignore[assignment]
    return math.isfinite(sum(floats)) and low <= min(floats) and max(floats) <= high


def member(field: str, value: object, choices: type[_T]) -> _T:
    """Return a member of an enumeration by its value."""
    try:
        return choices(value)  # type: ignore[call-arg]
    except ValueError:
        choice_names = ", ".join(item.value for item in choices)  # type: ignore[attr-defined]
        raise InvalidFieldError(field, value, f"is unknown; use one of {choice_names}") from None


def kind(field: str, value: str) -> Kind:
    """Return a kind of memories by its name, or by the plural of that, such as `notes`."""
    by_name = {f"{item.value}{ending}": item for item in Kind for ending in ("", "s")}
    if value not in by_name:
        near = did_you_mean(value, by_name)
        raise InvalidFieldError(field, value, f"is unknown; use one of {', '.join(item.value for item in Kind)}{near}")
    return by_name[value]


def json_object(field: str, value: object, *, limit: int, example: str = '{"name": "value"}') -> dict[str, object]:
    """Return a JSON object given as a mapping or as text; None and blank text give {}. Errors show the `example`.

    Names and strings must be valid Unicode without NUL, numbers finite, the depth at most 64. Numbers and arrays of
    numpy become those of JSON.
    """
    if value is None or (isinstance(value, str) and is_blank(value)):
        return {}
    if not isinstance(value, (str, Mapping)):
        raise InvalidFieldError(field, value, f"must be a JSON object such as {example}")
    content = json_text(field, value, limit=limit)
    root = _parse(field, content, example)
    if not isinstance(root, dict):
        raise InvalidFieldError(field, content, f"must be a JSON object such as {example}")
    if _may_hide(content):
        _check_json(field, root)
    return root


def json_text(field: str, value: Mapping[str, object] | str, *, limit: int) -> str:
    """Return a JSON object as text, as short as possible, of at most `limit` bytes; a text stays as it is."""
    content = value if isinstance(value, str) else _encode(field, value)
    if len(content) > limit or len(_utf8(field, content)) > limit:
        raise InvalidFieldError(field, content, f"is {len(content)} characters long; at most {limit} bytes are allowed")
    return content


def context(field: str, value: object, *, limit: int) -> dict[str, object]:
    """Return a context: a JSON object as in `json_object`, or plain text, which becomes `{"user_context": text}`.

    What begins with a brace or a bracket is JSON, and so is a single value such as `null` or `5`, which is no object.
    """
    if isinstance(value, str) and _is_plain(value):
        value = {USER_CONTEXT: value.strip()}
    return json_object(field, value, limit=limit, example='{"task": {"success": true}}')


def compact_json(value: Mapping[str, object]) -> str:
    """Return the JSON text of a checked object, as short as possible."""
    return _ENCODE(value)


def pose(field: str, value: object) -> Pose | None:
    """Return a pose of 3 numbers (x, y, z), 4 (and a yaw in radians) or 7 (and a quaternion x, y, z, w), or None.

    A quaternion is normalised; one of length zero, as an unset message has it, means no rotation.
    """
    if value is None:
        return None
    rule = "must be 3 numbers (x, y, z), 4 (and a yaw in radians) or 7 (and qx, qy, qz, qw)"
    numbers = coordinates(field, value, sizes=(3, 4, 7), rule=rule)
    quaternion = numbers[3:] or (0.0, 0.0, 0.0, 1.0)
    if len(quaternion) == 1:
        quaternion = (0.0, 0.0, math.sin(quaternion[0] / 2), math.cos(quaternion[0] / 2))
    length = math.hypot(*quaternion)
    if not math.isfinite(length):
        raise InvalidFieldError(field, value, "has a quaternion that is too long to be normalised")
    unit = [part / length for part in quaternion] if length > 0 else [0.0, 0.0, 0.0, 1.0]
    return Pose(*numbers[:3], *unit)


def size(field: str, value: object) -> Size | None:
    """Return the three edges of a box, in metres to the micrometre; None, and three zeros as an unset message, is none.

    Rounded, since what a 32-bit float holds of 0.07 is more.
    """
    if value is None:
        return None
    numbers = coordinates(field, value, sizes=(3,), rule="must be 3 lengths in metres")
    edges = Size(*(round(number, 6) for number in numbers))
    if any(numbers) and min(edges) <= 0.0:
        raise InvalidFieldError(field, value, "must be 3 lengths in metres, all above 0; 3 zeros for an unknown size")
    return edges if any(edges) else None


def expanded_path(field: str, path: str | Path) -> Path:
    """Replace a leading `~` by the home folder.

    Raises:
        InvalidFieldError: there is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as cause:
        raise InvalidFieldError(
            field, str(path), "lies in a home folder that is not known; give a full path"
        ) from cause


def _is_plain(content: str) -> bool:
    first = next((character for character in content if not is_blank(character)), "")
    if first in {"", "{", "["}:
        return False
    try:
        _DECODE(content)
    except ValueError:
        return True
    return False


def _utf8(field: str, content: str) -> bytes:
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidFieldError(field, content, "contains a lone surrogate and is not valid Unicode") from None


class _ConstantError(ValueError):
    """A number of JavaScript that JSON does not have."""


def _refuse_constant(constant: str) -> object:
    raise _ConstantError(constant)


def _from_numpy(value: object) -> object:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


# Made once: to make them takes as long as to use them.
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_from_numpy).encode
_DECODE = json.JSONDecoder(parse_constant=_refuse_constant).decode


def _encode(field: str, value: Mapping[str, object]) -> str:
    try:
        return _ENCODE(value)
    except RecursionError:
        raise InvalidFieldError(field, "{...}", "is nested too deeply or contains itself") from None
    except (TypeError, ValueError) as cause:
        raise InvalidFieldError(field, value, f"cannot be written as JSON: {cause}") from None


def _parse(field: str, content: str, example: str) -> object:
    try:
        return _DECODE(content)
    except RecursionError:
        raise InvalidFieldError(field, content, f"is nested deeper than {MAX_DEPTH} levels") from None
    except _ConstantError as constant:
        raise InvalidFieldError(field, str(constant), "is no JSON number; numbers must be finite") from None
    except ValueError as cause:
        raise InvalidFieldError(field, content, f"is not valid JSON: {cause}; write it as {example}") from None


def _may_hide(content: str) -> bool:
    # What is wrong in a JSON text that was parsed can only be written so; seldom does a text look like it.
    return bool(_SUSPICIOUS.search(content)) or content.count("{") + content.count("[") > MAX_DEPTH


def _check_json(field: str, value: object, path: str = "", depth: int = 0) -> None:
    full_path = f"{field}.{path}" if path else field
    if depth > MAX_DEPTH:
        raise InvalidFieldError(field, path, f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        if "\0" in value:
            raise InvalidFieldError(full_path, value, "contains a NUL character")
        _utf8(full_path, value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidFieldError(full_path, value, "must be a finite number")
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**300:
        raise InvalidFieldError(full_path, "a whole number", "is too large")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_json(field, key, path, depth)
            _check_json(field, item, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_json(field, item, f"{path}[{index}]", depth + 1)
