"""Reads the data files of rules, tags and quantities; errors name the file, the entry and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidFieldError


@dataclass(frozen=True)
class Entry:
    """A value somewhere in a data file, which knows where it stands."""

    field: str
    """The parameter that names the file."""
    file: Path
    path: str
    value: object

    def wrong(self, wanted: str) -> InvalidFieldError:
        """The error that says what is wrong with this entry."""
        where = f"{self.field} {self.file}" + (f": {self.path}" if self.path else "")
        return InvalidFieldError(where, self.value, wanted)

    def items(self, allowed: frozenset[str] | None = None) -> Iterator[tuple[str, Entry]]:
        """The parts of a mapping by name.

        Raises:
            InvalidFieldError: it is no mapping, or has a name that is not allowed.
        """
        if not isinstance(self.value, Mapping):
            raise self.wrong("must hold names with their values")
        for name, value in self.value.items():
            path = f"{self.path}.{name}" if self.path else str(name)
            part = Entry(self.field, self.file, path, value)
            if not isinstance(name, str) or not name.strip():
                raise part.wrong(f"stands under {name!r}, which is no name; words such as no, on and true want quotes")
            if allowed is not None and name not in allowed:
                raise part.wrong(f"is unknown here; there are {', '.join(sorted(allowed))}")
            yield name, part

    def parts(self, allowed: frozenset[str] | None = None) -> dict[str, Entry]:
        """As `items`, in one mapping."""
        return dict(self.items(allowed))

    def elements(self) -> Iterator[Entry]:
        """The elements of a list.

        Raises:
            InvalidFieldError: it is no list.
        """
        if not isinstance(self.value, list):
            raise self.wrong("must be a list")
        for index, value in enumerate(self.value):
            yield Entry(self.field, self.file, f"{self.path}[{index}]", value)

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong("must be text")
        return self.value.strip()

    def number(self, low: float, high: float) -> float:
        """A number in a range, both ends included."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.wrong("must be a number")
        if not low <= self.value <= high:
            raise self.wrong(f"must lie in {low:g} to {high:g}")
        return float(self.value)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("must be true or false")
        return self.value


def read_data_file(field: str, file: Path) -> Entry:
    """The content of a YAML file.

    Raises:
        InvalidFieldError: it cannot be read.
    """
    try:
        import yaml
    except ImportError:
        raise InvalidFieldError(field, str(file), "needs PyYAML (pip install pyyaml)") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as cause:
        raise InvalidFieldError(field, str(file), f"cannot be read: {' '.join(str(cause).split())}") from None
    return Entry(field, file, "", {} if content is None else content)
