"""Presets: what is known of common message types, so that topic and type suffice. The data is in `presets.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from ..memory.errors import InvalidFieldError
from ..memory.paths import expanded
from .topic_config import TopicConfig, full_type_name
from .topic_keys import arguments, flattened

PRESETS_FILE = Path(__file__).with_name("presets.yaml")


class Presets:
    """Dotted keys and values for each message type."""

    def __init__(self, by_type: Mapping[str, Mapping[str, object]]) -> None:
        self._by_type = {name: dict(values) for name, values in by_type.items()}

    def of(self, type_name: str) -> dict[str, object]:
        """What is known of a type; empty for one without a preset."""
        return dict(self._by_type.get(type_name, {}))

    def types(self) -> tuple[str, ...]:
        """The types that have a preset."""
        return tuple(self._by_type)


def load_presets(own_file: Path | str | None = None) -> Presets:
    """The package's presets, and a file of one's own merged over them: type by type, key by key.

    Raises:
        InvalidFieldError: a file cannot be read, or a preset in it cannot be used; the error names file, type and key.
    """
    merged: dict[str, dict[str, object]] = {}
    for path in [PRESETS_FILE, *([expanded("presets_file", own_file)] if own_file else [])]:
        for type_name, values in _read(path).items():
            merged[type_name] = {**merged.get(type_name, {}), **values}
    return Presets(merged)


def _read(path: Path) -> dict[str, dict[str, object]]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise InvalidFieldError("presets", str(path), f"cannot be read: {cause}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InvalidFieldError("presets", str(path), "must hold message types, each with its keys and values")
    return {
        full_type_name(f"presets in {path}", str(type_name)): _checked(path, str(type_name), values)
        for type_name, values in content.items()
    }


def _checked(path: Path, type_name: str, values: object) -> dict[str, object]:
    where = f"presets in {path}: {type_name}"
    if not isinstance(values, Mapping):
        raise InvalidFieldError(where, values, "must be a mapping of keys to values")
    flat = flattened(where, values)
    for fixed in ("topic", "type"):
        if fixed in flat:
            raise InvalidFieldError(f"{where}.{fixed}", flat[fixed], "belongs to a topic, not to the preset of a type")
    TopicConfig(name=where, topic="/any", type=type_name, **arguments(where, flat))  # type: ignore[arg-type]
    return flat
