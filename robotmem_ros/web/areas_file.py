"""Read and extend the file of the areas; what stands in it stays as it is, comments too."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import yaml

from ..memory.areas import Area, read_areas
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, StorageError
from ..memory.validation import expanded_path
from ..memory.yaml_file import read_yaml
from .failures import ConflictError

_LOCK = threading.Lock()


def areas_of(parameters: Parameters) -> tuple[Area, ...]:
    """Return the areas of `areas_file`, the smallest first; none if that is not set.

    Raises:
        InvalidFieldError: the file cannot be used.
    """
    file = _file(parameters)
    return read_areas(file) if file else ()


def add_area(parameters: Parameters, name: str, polygon: Sequence[Sequence[float]]) -> Area:
    """Add an area to `areas_file`.

    Raises:
        ConflictError: no file is configured, or it has an area of this name.
        InvalidFieldError: the area cannot be used.
        StorageError: the file cannot be written.
    """
    file = _file(parameters)
    if file is None:
        raise ConflictError("areas_file", "", "is not set; start the console with --areas-file FILE")
    with _LOCK:
        if name in {one.name for one in areas_of(parameters)}:
            raise ConflictError("name", name, "is the name of an area already; give another one")
        before = file.read_text(encoding="utf-8")
        corners = [[float(part) for part in corner] for corner in polygon]
        try:
            return _written(file, before, name, corners)
        except OSError as cause:
            raise StorageError(f"write the areas to {str(file)!r}", cause) from cause


def _file(parameters: Parameters) -> Path | None:
    # A link stays one: the file that it names is written.
    named = parameters.areas_file
    return expanded_path("areas_file", named).resolve() if named else None


def _written(file: Path, before: str, name: str, corners: list[list[float]]) -> Area:
    # Readers see the old file or the new one. It is read as they will before it takes the place of the old one.
    descriptor, made = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    new = Path(made)
    try:
        os.close(descriptor)
        for text in _candidates(before, name, corners):
            new.write_text(text, encoding="utf-8")
            added = _added(new, before, name, corners)
            if added is not None:
                new.chmod(file.stat().st_mode & 0o777)
                new.replace(file)
                return added
    finally:
        new.unlink(missing_ok=True)
    raise InvalidFieldError("name", name, "cannot be written to the file of the areas")


def _candidates(before: str, name: str, corners: list[list[float]]) -> tuple[str, ...]:
    # A line at the end, which keeps comments; if the file is not written so, all anew.
    line = yaml.safe_dump({name: corners}, default_flow_style=None, allow_unicode=True, width=10**6)
    appended = (
        before
        + ("" if before.endswith("\n") else "\n")
        + "".join(f"{_indent(before)}{part}\n" for part in line.splitlines())
    )
    known = yaml.safe_load(before)["areas"]
    whole = yaml.safe_dump({"areas": {**known, name: corners}}, default_flow_style=None, allow_unicode=True, width=120)
    return appended, whole


def _indent(before: str) -> str:
    inside = [line for line in before.splitlines() if line[:1] == " " and line.strip()[:1] not in {"", "#", "-", "["}]
    return inside[-1][: len(inside[-1]) - len(inside[-1].lstrip(" "))] if inside else "  "


def _added(new: Path, before: str, name: str, corners: list[list[float]]) -> Area | None:
    # The new area if the file says what it said before and the area; an area that nobody can use is told.
    try:
        found = read_yaml("areas_file", new).value
    except InvalidFieldError:
        return None
    if found != {"areas": {**yaml.safe_load(before)["areas"], name: corners}}:
        return None
    return next((one for one in read_areas(new) if one.name == name.strip()), None)
