"""Translate classes into names: detectors often send the number of a class, such as 56 for a chair."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..memory.errors import InvalidFieldError
from ..memory.validation import expanded_path
from ..memory.yaml_file import Entry, read_yaml
from .message_types import FieldType, TypeDescription
from .sources import Reader
from .values import plain_text

_LOG = logging.getLogger(__name__)
_YAML = frozenset({".yaml", ".yml", ".json"})
_MOST_TOLD = 100
"""Classes without a name that the log tells of; a source that is no class has new ones all the time."""


def read_label_names(key: str, path: str) -> Mapping[str, str]:
    """Read the names of classes from a file.

    A `.yaml`, `.yml` or `.json` file holds a list of names or a mapping of classes to names, maybe below `names`. Any
    other holds a name on each line; the first is class 0.

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
    return {str(number): line.strip() for number, line in enumerate(lines) if line.strip()}


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


class NamedLabel:
    """The reader of a label that is the name of a class; a class without a name stays as it is, and is told once."""

    def __init__(self, source: Reader, names: Mapping[str, str], topic: str) -> None:
        self._source = source
        self._names = names
        self._known = frozenset(names.values())
        self._topic = topic
        self._told: set[str] = set()

    def read(self, element: Any, message: Any, index: int = 0) -> str:
        """Return the name; NoValueError if the message has no class."""
        value = self._source.read(element, message, index)
        label = plain_text(value)
        if label not in self._names and label.endswith(".0"):
            # A number of a class may be sent as a float.
            label = label.removesuffix(".0")
        name = self._names.get(label)
        if name is None and label and label not in self._known:
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
