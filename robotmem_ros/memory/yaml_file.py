"""Read and write YAML; each error names the parameter, the file, the key, the value and what would be right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidFieldError


@dataclass(frozen=True)
class Entry:
    """A value of a YAML file and where it stands."""

    field: str
    """The parameter that names the file."""
    file: Path
    path: str
    """Keys and indexes from the top of the file; empty for the whole content."""
    value: object

    def wrong(self, expected: str) -> InvalidFieldError:
        """Return the error for this entry."""
        place = f"{self.field} {self.file}" + (f": {self.path}" if self.path else "")
        return InvalidFieldError(place, self.value, expected)

    def items(self, names: frozenset[str] | None = None) -> Iterator[tuple[str, Entry]]:
        """Yield the names of a mapping and their entries.

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
            if names is not None and name not in names:
                raise part.wrong(f"is unknown here; there are {', '.join(sorted(names))}")
            yield name, part

    def parts(self, names: frozenset[str] | None = None) -> dict[str, Entry]:
        """Return `items` as a mapping."""
        return dict(self.items(names))

    def elements(self) -> Iterator[Entry]:
        """Yield the elements of a list.

        Raises:
            InvalidFieldError: it is no list.
        """
        if not isinstance(self.value, list):
            raise self.wrong("must be a list")
        for index, value in enumerate(self.value):
            yield Entry(self.field, self.file, f"{self.path}[{index}]", value)

    def text(self) -> str:
        """Return a text that is not empty, without surrounding white space.

        Raises:
            InvalidFieldError: it is none.
        """
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong("must be text")
        return self.value.strip()

    def number(self, low: float, high: float) -> float:
        """Return a number in a range, both ends included.

        Raises:
            InvalidFieldError: it is none, or lies outside.
        """
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.wrong("must be a number")
        if not low <= self.value <= high:
            raise self.wrong(f"must lie in {low:g} to {high:g}")
        return float(self.value)

    def flag(self) -> bool:
        """Return true or false.

        Raises:
            InvalidFieldError: it is neither.
        """
        if not isinstance(self.value, bool):
            raise self.wrong("must be true or false")
        return self.value


def read_yaml(field: str, file: Path) -> Entry:
    """Read a file that the parameter `field` names; an empty one holds an empty mapping.

    Raises:
        InvalidFieldError: it cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise _unreadable(field, file, cause) from None
    content = parse_yaml(field, file, text)
    return Entry(field, file, "", {} if content is None else content)


def parse_yaml(field: str, file: Path, text: str) -> object:
    """Return what a text of YAML holds, which stood in a file.

    Raises:
        InvalidFieldError: it is no YAML.
    """
    try:
        import yaml
    except ImportError:
        raise InvalidFieldError(field, file, "needs PyYAML (pip install pyyaml)") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)
    except (ValueError, yaml.YAMLError, RecursionError) as cause:
        raise _unreadable(field, file, cause) from None


def _unreadable(field: str, file: Path, cause: Exception) -> InvalidFieldError:
    return InvalidFieldError(field, file, f"cannot be read: {' '.join(str(cause).split())}")


def yaml_text(value: object) -> str:
    """Write a value as YAML, with names in their order."""
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=False, default_flow_style=None, allow_unicode=True)
    return text
