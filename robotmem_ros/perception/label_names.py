"""Translate classes into names: detectors often send the number of a class, such as 56 for a chair."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..memory.errors import InvalidFieldError
from ..memory.validation import expanded_path
from ..memory.yaml_file import Entry, read_yaml
from .counters import DropError, DropReason
from .message_types import FieldType, TypeDescription
from .sources import Reader
from .values import plain_text

INFO_TYPES = "vision_msgs/msg/LabelInfo", "vision_msgs/msg/VisionInfo"
"""Types of messages that tell names."""
_LOG = logging.getLogger(__name__)
_YAML = frozenset({".yaml", ".yml", ".json"})
_NUMBERED = re.compile(r"([0-9]{1,9})(?:\s*[:,=]\s*|\s+)(\S.*)")
"""A line such as `56 chair`, `56: chair` or `56,chair`."""
_MAX_BYTES = 10_000_000
"""Largest file of names that a topic may name."""
_MOST_TOLD = 100
"""Classes without a name that the log tells of; a source that is no class has new ones all the time."""


def read_label_names(key: str, path: str) -> Mapping[str, str]:
    """Read the names of classes from a file.

    A `.yaml`, `.yml` or `.json` file holds a list of names or a mapping of classes to names, maybe below `names`. Any
    other holds a name on each line; the first is class 0, unless each begins with its number, as in `56 chair`.

    Raises:
        InvalidFieldError: the file cannot be read, or holds something else; named as `key`.
    """
    file = expanded_path(key, path)
    if file.suffix.lower() in _YAML:
        top = read_yaml(key, file)
        if isinstance(top.value, Mapping) and isinstance(top.value.get("names"), (Mapping, list)):
            top = Entry(key, file, "names", top.value["names"])
        return _names(top)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as cause:
        raise InvalidFieldError(key, path, f"cannot be read: {cause}") from None
    named = {str(number): line.strip() for number, line in enumerate(lines) if line.strip()}
    numbered = [_NUMBERED.fullmatch(line) for line in named.values()]
    return {str(int(match[1])): match[2] for match in numbered if match} if all(numbered) else named


def _names(entry: Entry) -> Mapping[str, str]:
    value = entry.value
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, Mapping) or not value:
        raise entry.wrong("must hold a list of names, or classes with their names, such as 56: chair")
    for number, name in value.items():
        if not isinstance(name, str) or not name.strip():
            path = ".".join(filter(None, (entry.path, str(number))))
            raise Entry(entry.field, Path(entry.file), path, name).wrong("must be a name; no, on and true want quotes")
    return {str(number): name.strip() for number, name in value.items()}


def names_in(info: Any) -> Mapping[str, str] | str:
    """Return the names that a vision_msgs/LabelInfo holds, or a VisionInfo by a file; else where the latter has them.

    Raises:
        InvalidFieldError: the file cannot be used.
    """
    if hasattr(info, "class_map"):
        return {str(one.class_id): one.class_name.strip() for one in info.class_map if one.class_name.strip()}
    location = str(info.database_location)
    try:
        file = Path(location.removeprefix("file://"))
        is_file = file.is_file() and file.stat().st_size <= _MAX_BYTES
    except (OSError, ValueError):
        is_file = False
    return read_label_names("database_location", str(file)) if is_file else location


def told_by(topic: str, info: Any) -> Mapping[str, str] | str:
    """Return the names that a message of a topic tells by itself, or why it tells none."""
    try:
        found = names_in(info)
    except InvalidFieldError as cause:
        return f"{topic}: {cause}"
    if isinstance(found, str):
        return f"{topic} says that the names are in {found[:200]!r}, which cannot be read here; give label_names"
    return found or f"{topic} tells no name"


class LabelNames:
    """The names of the classes of one topic: those of its configuration, and those that a topic tells.

    Until somebody has told one, a class that is to be named is dropped.
    """

    def __init__(self, names: Mapping[str, str], info_topic: str) -> None:
        self._names = dict(names)
        self._known = frozenset(names.values())
        self._problem = "" if names or not info_topic else f"{info_topic} has not told the names of the classes yet"

    def learn(self, names: Mapping[str, str]) -> None:
        """Add names."""
        if names:
            self._names.update(names)
            self._known = frozenset(self._names.values())
            self._problem = ""

    def fail(self, problem: str) -> None:
        """Note why there are no names, as long as there are none."""
        if self._problem:
            self._problem = problem

    @property
    def are_missing(self) -> bool:
        """Tell whether no name is known, though a topic should tell them."""
        return bool(self._problem)

    def name(self, label: str) -> str | None:
        """Return the name of a class, or itself if it is one of the names; None if there is none.

        Raises:
            DropError: no name is known yet.
        """
        if self._problem:
            raise DropError(DropReason.BAD_LABEL, self._problem)
        # A number of a class may be sent as a float.
        found = self._names.get(label) or self._names.get(label.removesuffix(".0"))
        return label if found is None and label in self._known else found


class NamedLabel:
    """The reader of a label that is the name of a class; a class without a name stays as it is, and is told once."""

    def __init__(self, source: Reader, names: LabelNames, topic: str) -> None:
        self._source = source
        self._names = names
        self._topic = topic
        self._told: set[str] = set()

    def read(self, element: Any, message: Any, index: int = 0) -> str:
        """Return the name; NoValueError if the message has no class, DropError if no name is known yet."""
        label = plain_text(self._source.read(element, message, index))
        name = self._names.name(label) if label else ""
        if name is None:
            self._tell(label)
        return label if name is None else name

    def check(self, types: TypeDescription, element: FieldType, message: FieldType) -> FieldType:
        """Return the type of a text; PathError if the type of the message has no such field."""
        self._source.check(types, element, message)
        return FieldType("string")

    def _tell(self, label: str) -> None:
        if label not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(label)
            _LOG.warning("%s: label_names has no name for class %r, which stays its label", self._topic, label[:80])
